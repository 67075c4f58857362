"""Decision regions and class contours of Iris in two dimensions, naive and full side by side, against closed forms."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

import suffice as sf
from suffice import plot
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import GaussianNB
from suffice.views.plot import style

mpl.use("Agg")
import matplotlib.pyplot as plt

COLUMNS = ["sepal length", "sepal width"]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def iris():
    found = load_iris()
    return found.data[:, :2], found.target_names[found.target]


def gaussians(naive):
    """The mean and covariance of each class, by counting; the naive ones without what is beside the diagonal."""
    x, y = iris()
    out = []
    for label in np.unique(y):
        covariance = np.cov(x[y == label].T, bias=True)
        out.append((x[y == label].mean(axis=0), np.diag(np.diag(covariance)) if naive else covariance))
    return out


def log_densities(points, naive):
    return np.column_stack([multivariate_normal.logpdf(points, *each) for each in gaussians(naive)])


def models():
    x, y = iris()
    return {"naive": GaussianNB(var_smoothing=0).fit(x, y), "full": QuadraticDiscriminantAnalysis().fit(x, y)}


def drawn(ax, colour):
    """The points of all contours of a colour."""
    found = [each for each in ax.collections if isinstance(each, mpl.contour.QuadContourSet)]
    own = [each for each in found if mpl.colors.same_color(each.get_edgecolor()[0], colour)]
    return [path.vertices for each in own for path in each.get_paths() if len(path.vertices)]


def test_the_figure_shows_naive_and_full_side_by_side():
    x, y = iris()
    axes = plot.decision_regions(models(), x, y)
    assert [ax.get_title() for ax in axes] == ["naive", "full"]
    assert axes[0].get_position().y0 == pytest.approx(axes[1].get_position().y0)
    for ax in axes:
        assert len(ax.images) == 1
        assert len(drawn(ax, "black")) >= 3
    named = plot.decision_regions(sf.BayesClassifier().fit(dict(zip(COLUMNS, x.T, strict=True)), y))
    assert (named.get_xlabel(), named.get_ylabel()) == ("sepal length", "sepal width")


@pytest.mark.parametrize("naive", [True, False])
def test_regions_are_where_a_class_has_the_largest_density(naive):
    x, y = iris()
    model = models()["naive" if naive else "full"]
    shown = plot.DecisionRegionsDisplay.from_estimator(model, x, y, grid_resolution=101)
    grid = np.stack([each.ravel() for each in np.meshgrid(shown.x, shown.y)], axis=1)
    expected = log_densities(grid, naive)  # of equally many flowers each, the prior says nothing
    assert_array_equal(shown.ax_.images[0].get_array().ravel(), expected.argmax(axis=1))
    assert_allclose(shown.log_density.reshape(3, -1).T, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("naive", [True, False])
def test_on_the_boundaries_drawn_the_best_two_classes_are_equally_probable(naive):
    x, y = iris()
    ax = plot.decision_regions(models()["naive" if naive else "full"], x, y)
    for path in drawn(ax, "black"):
        best = np.sort(log_densities(path, naive), axis=1)
        apart = best[:, 2] - best[:, 1]
        assert np.mean(apart < 0.005) > 0.97
        assert apart.max() < 0.1  # where three regions meet, within a cell of the grid


def test_where_the_boundary_crosses_a_line_is_the_root_of_a_quadratic():
    """Of setosa against versicolor at a sepal width of 3, in centimetres of sepal length."""
    roots = {}
    for naive in (True, False):
        (m0, s0), (m1, s1) = gaussians(naive)[:2]
        p0, p1 = np.linalg.inv(s0), np.linalg.inv(s1)

        def log_odds(length, m0=m0, m1=m1, p0=p0, p1=p1, s0=s0, s1=s1):
            a, b = np.array([length, 3.0]) - m0, np.array([length, 3.0]) - m1
            return 0.5 * (b @ p1 @ b - a @ p0 @ a + np.log(np.linalg.det(s1) / np.linalg.det(s0)))

        c = log_odds(0.0)
        square = (log_odds(1.0) + log_odds(-1.0)) / 2 - c
        roots[naive] = np.roots([square, log_odds(1.0) - c - square, c])
    for naive, name in ((True, "naive"), (False, "full")):
        length = [root for root in roots[naive].real if 4.5 < root < 6.5]
        assert len(length) == 1
        model = models()[name]
        p = model.predict_proba([[length[0], 3.0]])[0]
        assert_allclose(p[0], p[1], rtol=1e-9)
        shown = plot.DecisionRegionsDisplay.from_estimator(model, *iris())
        crossing = [path[np.argmin(np.abs(path[:, 1] - 3.0))] for path in drawn(shown.ax_, "black")]
        assert min(abs(point[0] - length[0]) for point in crossing) < 0.02
    # The full model knows that long sepals of setosa are wide ones, so its boundary is reached earlier.
    naive, full = (min(r for r in roots[each].real if 4.5 < r < 6.5) for each in (True, False))
    assert full < naive - 0.05


def test_a_shared_covariance_gives_straight_boundaries():
    x, y = iris()
    two = y != "virginica"
    model = LinearDiscriminantAnalysis().fit(x[two], y[two])
    means = np.stack([x[y == label].mean(axis=0) for label in ("setosa", "versicolor")])
    within = sum(np.cov(x[y == label].T, bias=True) for label in ("setosa", "versicolor")) / 2
    theta = np.linalg.solve(within, means[1] - means[0])
    offset = -theta @ means.mean(axis=0)
    paths = drawn(plot.decision_regions(model, x[two], y[two]), "black")
    assert len(paths) == 1
    distance = (paths[0] @ theta + offset) / np.linalg.norm(theta)
    assert np.abs(distance).max() < 1e-6  # of centimetres


@pytest.mark.parametrize("naive", [True, False])
def test_contours_are_the_ellipses_that_hold_half_and_nine_tenths_of_a_class(naive):
    shown = plot.DecisionRegionsDisplay.from_estimator(models()["naive" if naive else "full"], grid_resolution=400)
    for i, (mean, covariance) in enumerate(gaussians(naive)):
        paths = drawn(shown.ax_, style.line(i)["color"])
        points = np.concatenate(paths)
        squared = np.einsum("ij,jk,ik->i", points - mean, np.linalg.inv(covariance), points - mean)
        half, nine = 2 * np.log(2), 2 * np.log(10)  # the quantiles of χ² with two degrees of freedom
        near = np.minimum(np.abs(squared / half - 1), np.abs(squared / nine - 1))
        assert near.max() < 0.06
        leaning = np.corrcoef(points.T)[0, 1]
        assert abs(leaning) < 0.05 if naive else leaning > 0.3
