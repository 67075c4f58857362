"""Which values tell most of a class."""

import numpy as np
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice import BayesClassifier


def test_of_the_tennis_table_the_most_telling_values():
    x, y = data.tennis()
    rows = dict(zip(data.TENNIS_COLUMNS, x.T.tolist(), strict=True))
    clf = BayesClassifier(dict.fromkeys(rows, sf.Categorical(prior=sf.Dirichlet(1)))).fit(rows, y)
    # Overcast: (4 + 1) / (9 + 3) of the days with tennis, (0 + 1) / (5 + 3) of the others.
    table = clf.top_features("Yes", n=1)
    assert list(table.rows) == ["Outlook = Overcast"]
    assert_allclose(table.values[0, :2], [np.log(5 / 12 / (1 / 8)), 5 / 12], rtol=1e-12)
    # Sunny: (3 + 1) / (5 + 3) against (2 + 1) / (9 + 3); Humidity high (4 + 1) / (5 + 2) against (3 + 1) / (9 + 2).
    without = clf.top_features("No", n=2)
    assert list(without.rows) == ["Outlook = Sunny", "Humidity = High"]
    assert_allclose(without.values[:, 0], np.log([(1 / 2) / (1 / 4), (5 / 7) / (4 / 11)]), rtol=1e-12)
    probable = clf.top_features("Yes", n=2, by="probability")
    assert set(probable.rows) == {"Wind = Weak", "Humidity = Normal"}
    assert_allclose(probable.values[:, 1], 7 / 11, rtol=1e-12)


def test_words_that_tell_of_a_sentiment():
    vocabulary, counts, sentiments = data.sentiment(data.STOP_WORDS)
    clf = BayesClassifier({tuple(vocabulary): sf.Bernoulli(prior=sf.Beta(1, 1))})
    clf.fit(dict(zip(vocabulary, counts.T > 0, strict=True)), sentiments)
    found = clf.top_features("positive", n=50)
    own = dict(zip(found.rows, found.values[:, 0], strict=True))
    for j, word in enumerate(vocabulary):
        p = [
            (np.sum(counts[sentiments == s, j] > 0) + 1) / (np.sum(sentiments == s) + 2)
            for s in ("positive", "negative")
        ]
        assert_allclose(own[word], np.log(p[0] / p[1]), rtol=1e-12)
    assert set(found.rows[:2]) <= {
        word for word, c in zip(vocabulary, counts.T, strict=True) if c[sentiments == "positive"].any()
    }
