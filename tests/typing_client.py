"""Uses of suffice that `test_types.py` runs type checkers on: lines marked `mistake` must be reported, no others."""

import numpy as np

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis
from suffice.naive_bayes import GaussianNB, MultinomialNB

x = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 0.0]])
y = ["a", "b", "b"]

# ---- what is right

classifier: sf.BayesClassifier = sf.BayesClassifier(
    {"age": sf.Gaussian(), ("height", "weight"): sf.MultivariateGaussian(), "note": sf.Text()}, calibrate="classes"
).fit({"age": [1, 2]}, y)
classifier.predict_proba({"age": [3]})
both: sf.BayesClassifier = classifier + classifier
naive: GaussianNB = GaussianNB(priors=[0.5, 0.5], var_smoothing=1e-9).fit(x, y)
GaussianNB(priors=np.array([0.5, 0.5]))
MultinomialNB(alpha=0.5).partial_fit(x, y, classes=["a", "b"])
LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
text: sf.TextClassifier = sf.TextClassifier(event="complement").fit(["a text", "another"], ["a", "b"])
sf.BagOfWords(ngram_range=(1, 2)).fit_transform(["a text", "another"])
family: sf.Family[sf.Moments] = sf.Gaussian(var_smoothing=1e-9, learn="predictive", prior=sf.NormalInverseGamma())
moments: sf.Moments = sf.Moments.of(x, np.zeros(3, np.int32), 1)
merged: sf.Moments = moments + moments - moments
version: str = sf.__version__
sf.load("model.suffice")
sf.errors.InvalidDataError("what was found")
sf.plot.ConditionalsDisplay.from_estimator(classifier)

# ---- what is not

sf.BayesClassifier(calibrate="klasses")  # mistake
sf.BayesClassifier(smoothing="much")  # mistake
sf.Nonsense()  # mistake
sf.naive_bayes.NonsenseNB()  # mistake
sf.Gaussian(var_smoothing="a")  # mistake
sf.Gaussian(learn="guess")  # mistake
GaussianNB(prior=1)  # mistake
sf.TextClassifier(event="words")  # mistake
sf.load(3)  # mistake
moments + sf.Totals(np.zeros((1, 1)), np.zeros((1, 1)))  # mistake
sf.errors.NoSuchError()  # mistake
