"""Naive Bayes of every basic kind and what lies beyond it, on small data: train, look, predict, merge, forget.

Run it with `make demo`.
"""

import time

import numpy as np
import sklearn.naive_bayes
from sklearn.datasets import load_iris

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    KernelNB,
    MixtureNB,
    MultinomialNB,
    PoissonNB,
)

TENNIS = """
sunny hot high weak no; sunny hot high strong no; overcast hot high weak yes; rain mild high weak yes;
rain cool normal weak yes; rain cool normal strong no; overcast cool normal strong yes; sunny mild high weak no;
sunny cool normal weak yes; rain mild normal weak yes; sunny mild normal strong yes; overcast mild high strong yes;
overcast hot normal weak yes; rain mild high strong no
"""
SENTIMENT = {
    "this book is awesome": "positive",
    "harry potter books suck": "negative",
    "these pretzles are making me thirsty": "negative",
    "they choppin my fingers off ira": "negative",
    "supreme beings of leisure rock": "positive",
    "cheeto jesus is a tyrant": "negative",
}
PEOPLE = {
    "male": [(6.00, 180, 12), (5.92, 190, 11), (5.58, 170, 12), (5.92, 165, 10)],
    "female": [(5.00, 100, 6), (5.50, 150, 8), (5.42, 130, 7), (5.75, 150, 9)],
}
CUSTOMERS = {  # None: not known
    "age": [25, 38, 52, 46, None, 61, 29, 44, 23, 35, 58, 31, 27, 49, 33, 55],
    "job": [
        *["shop", "tech", "tech", None, "shop", "law", "farm", "tech"],
        *["farm", "shop", "law", "tech", "farm", "law", "shop", None],
    ],
    "member": [False, True, True, True, False, None, False, True, False, False, True, True, False, True, None, False],
    "shoe size": [41, 44, 38, 42, 43, None, 40, 39, 42, 44, 41, 43, 38, 40, 42, 41],
    "buys": ["no", "yes", "yes", "yes", "no", "yes", "no", "no", "no", "no", "yes", "no", "no", "yes", "no", "yes"],
}


def show(title: str) -> None:
    """Print a heading."""
    print(f"\n{title}\n{'─' * len(title)}")


def posterior(model: object, row: object) -> str:
    """Write p(y | x) of one row as text."""
    shares = model.predict_proba(row)[0]
    return ", ".join(f"p({label} | x) = {p:.4f}" for label, p in zip(model.classes_, shares, strict=True))


def tables() -> None:
    """Numbers, categories, booleans and missing values in one table; what each column adds for one row."""
    show("BayesClassifier: any table in one line")
    model = sf.BayesClassifier().fit(CUSTOMERS, "buys")
    print(model.schema_)
    row = {"age": [34], "job": ["law"], "member": [False], "shoe size": [None]}
    print("34, law, no member:          ", posterior(model, row))
    evidence = {name: values[0] for name, values in model.evidence(row, label="yes").items()}
    for name in ("prior", *row, "rest", "log_odds"):
        print(f"  {name:12} {evidence[name]:+6.2f}  {bar(evidence[name])}")
    filled = model.impute(CUSTOMERS)
    print(f"the unknown jobs are filled:  {[filled['job'][i] for i in (3, 15)]}")


def bar(amount: float, width: int = 12) -> str:
    """Draw a signed amount as a bar to the left or to the right of a line."""
    length = min(round(4 * abs(amount)), width)
    return f"{'█' * length:>{width}}│" if amount < 0 else f"{'':{width}}│{'█' * length}"


def categories() -> None:
    """Should you play tennis? Strings are read as they are, and values may be missing."""
    show("Categorical: should you play tennis?")
    rows = [line.split() for line in TENNIS.replace("\n", " ").split(";")]
    x, y = [r[:4] for r in rows], [r[4] for r in rows]
    model = CategoricalNB().fit(x, y)
    outlook = model.tables()[1]
    print(outlook)
    print("overcast, hot, high, strong: ", posterior(model, [["overcast", "hot", "high", "strong"]]))
    print("the same, wind unknown:      ", posterior(model, [["overcast", "hot", "high", None]]))


def words() -> None:
    """Is it praise? Word counts for the multinomial, their presence for the Bernoulli model."""
    show("Multinomial and Bernoulli: is it praise?")
    vocabulary = sorted({word for text in SENTIMENT for word in text.split() if len(word) > 1})

    def counts(text: str) -> list[int]:
        return [text.split().count(word) for word in vocabulary]

    x, y = [counts(text) for text in SENTIMENT], list(SENTIMENT.values())
    text = "just had my first cheeto ever it was awesome"
    print(f"“{text}”")
    for model in (MultinomialNB(), BernoulliNB()):
        print(f"  {type(model).__name__:14}", posterior(model.fit(x, y), [counts(text)]))


def measures() -> None:
    """Real numbers and counts."""
    show("Gaussian: height, weight, foot size")
    x = np.array([row for rows in PEOPLE.values() for row in rows], dtype=float)
    y = [label for label, rows in PEOPLE.items() for _ in rows]
    model = GaussianNB().fit(x, y)
    print("6.00 ft, 130 lb, size 8:     ", posterior(model, [[6.0, 130, 8]]))
    print("height not measured:         ", posterior(model, [[np.nan, 130, 8]]))
    wide = sf.Model.fit(x, y, sf.Gaussian(learn="predictive"))
    p = dict(zip(wide.labels.tolist(), wide.posterior(np.array([[6.0, 130, 8]]))[0], strict=True))
    print(f"parameters integrated out:    p(female | x) = {p['female']:.4f}: four rows a class are not much")
    show("Poisson: calls in an hour")
    model = PoissonNB().fit([[2], [3], [1], [9], [12], [8]], ["calm"] * 3 + ["busy"] * 3)
    print("5 calls:                     ", posterior(model, [[5]]))


def beyond() -> None:
    """Densities of other shapes than one bell for each column: the flowers that naive Bayes cannot separate."""
    show("Beyond the naive assumption: exact leave-one-out on Iris, sepals only")
    x, y = load_iris(return_X_y=True)
    x = x[:, :2]
    models = {
        "one bell a column": GaussianNB(),
        "two bells a column": MixtureNB(components=2),
        "a kernel a column": KernelNB(),
        "one covariance": LinearDiscriminantAnalysis(),
        "a covariance each": QuadraticDiscriminantAnalysis(),
    }
    for what, model in models.items():
        out = model.fit(x, y).leave_one_out(x, y)
        right, loss = np.mean(out.argmax(axis=1) == y), -out[np.arange(len(y)), y].mean()
        print(f"{what:20} {type(model).__name__:30} accuracy {right:.4f}, log-loss {loss:.3f}")
    width = model.impute([[6.0, np.nan]])[0, 1]
    print(f"A sepal 6 cm long, its width not measured: expected {width:.2f} cm")


def algebra() -> None:
    """One pass trains; everything else is adding and subtracting."""
    show("Statistics add and subtract (Iris)")
    x, y = load_iris(return_X_y=True)
    theirs = sklearn.naive_bayes.GaussianNB().fit(x, y)
    ours = GaussianNB().fit(x, y)
    error = np.abs(ours.predict_proba(x) - theirs.predict_proba(x)).max()
    print(f"change one import:            largest difference from scikit-learn {error:.0e}")
    merged = GaussianNB().fit(x[::2], y[::2]) + GaussianNB().fit(x[1::2], y[1::2])
    print(f"merge two halves:             {merged.score(x, y):.4f} accuracy, whole {ours.score(x, y):.4f}")
    out = ours.leave_one_out(x, y)
    print(f"leave each flower out, exact: {np.mean(out.argmax(axis=1) == y):.4f} accuracy, nothing refitted")
    ours.forget(x[:10], y[:10])
    print(f"forget ten flowers:           class counts {ours.class_count_.astype(int).tolist()}")
    ours.drop_class(2)
    print(f"drop a class:                 classes {ours.classes_.tolist()}")
    print(f"what it keeps:                {ours.statistics_!r}")


def speed() -> None:
    """Time one fit and one predict beside scikit-learn."""
    show("Speed: 200 000 rows × 50 columns, 10 classes")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200_000, 50)), rng.integers(0, 10, 200_000)
    for what, arguments in (("fit", (x, y)), ("predict_log_proba", (x,))):
        times = []
        for model in (sklearn.naive_bayes.GaussianNB(), GaussianNB()):
            model.fit(x, y)
            begun = time.perf_counter()
            getattr(model, what)(*arguments)
            times.append(time.perf_counter() - begun)
        ratio = f"{times[0] / times[1]:3.0f} times as fast"
        print(f"{what:18} scikit-learn {1e3 * times[0]:5.0f} ms   suffice {1e3 * times[1]:5.1f} ms   {ratio}")


if __name__ == "__main__":
    print("suffice", sf.__version__, "· one pass suffices")
    tables()
    categories()
    words()
    measures()
    beyond()
    algebra()
    speed()
    print("\nNext: README.md, docs/classifier.md for tables, docs/families.md for the mathematics of each family.")
