"""Naive Bayes estimators: drop-in replacements for `sklearn.naive_bayes`, and more.

Change the import, keep the code: parameters, fitted attributes, errors and answers are scikit-learn's.
Beyond them every estimator takes NaN as missing, learns new classes at any time, adds (`a + b`), forgets
(`forget`), drops classes, and leaves one out exactly without refitting.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.arrays import Array, Categories, Values, as_categories, is_table
from suffice.core.errors import InvalidOptionError
from suffice.core.priors import Beta, ClassPrior, Dirichlet, Gamma
from suffice.core.statistics.cells import LIMIT
from suffice.estimators._documentation import estimator
from suffice.estimators._fitted import made_once, read_only
from suffice.estimators.generative_classifier import GenerativeClassifier
from suffice.estimators.parameter_checks import ARRAY_LIKE, BOOLEAN, RANDOM_STATE, Allowed, choice, interval
from suffice.estimators.scikit_learn import check_columns, check_random_state, refuse_device, validate_data
from suffice.families import Bernoulli, Categorical, Complement, Family, Gaussian, Kernel, Mixture, Multinomial, Poisson
from suffice.families.kernel import RULES, SHAPES, KernelName, RuleName
from suffice.families.logarithms import log
from suffice.model.forms import Form

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "KernelNB",
    "MixtureNB",
    "MultinomialNB",
    "PoissonNB",
]


def _made_once_unless_warned(make: Callable[[Any], Family[Any]]) -> Callable[[Any], Family[Any]]:
    """Keep the family of plain parameters; without `force_alpha`, making it may warn, every time."""
    kept = made_once(make)
    return lambda self: kept(self) if self.force_alpha is True else make(self)


@estimator()
class _RealNB(GenerativeClassifier):
    """What the estimators of real numbers share: dense rows, and a class prior that may be given as `priors`.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, instead of those of the data.
    """

    priors: ArrayLike | None = None

    _accept_sparse: ClassVar[str | bool] = False

    @made_once
    def _class_prior(self) -> ClassPrior:
        return ClassPrior() if self.priors is None else ClassPrior(np.asarray(self.priors))

    @property
    def class_prior_(self) -> Array:
        """Probability of each class, (n_classes,)."""
        return self._as_learned(np.exp(self._settled().model.log_prior))


@estimator()
class GaussianNB(_RealNB):
    """Gaussian naive Bayes:  p(x | y) = Π_j N(x_j; μ_yj, σ²_yj).

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Portion of the largest variance of any column that is added to every variance. It is computed
        from the rows' weights and from all rows learned so far, so that chunks give what the whole gives.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.naive_bayes import GaussianNB
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> clf = GaussianNB().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> clf.predict([[-0.8, -1], [np.nan, 1.5]])
    array(['low', 'high'], dtype='<U4')
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {"priors": (ARRAY_LIKE, None), "var_smoothing": (interval(Real, 0),)}
    _keeps_single: ClassVar[bool] = True

    var_smoothing: float = 1e-9

    @made_once
    def _family(self) -> Gaussian:
        return Gaussian(prior=None, var_smoothing=self.var_smoothing)

    @property
    def class_count_(self) -> Array:
        """Weight of the rows of each class, (n_classes,)."""
        return self._as_learned(super().class_count_)

    @property
    def epsilon_(self) -> float:
        """What is added to every variance."""
        learned = self._settled()
        return learned.family.epsilon(learned.estimated.statistic)  # type: ignore[attr-defined]

    @property
    def theta_(self) -> Array:
        """Mean of each column in each class, (n_classes, n_features)."""
        return read_only(self._as_learned(self._settled().estimated.statistic.mean))

    @property
    def var_(self) -> Array:
        """Variance of each column in each class, (n_classes, n_features)."""
        return self._as_learned(self._settled().model.distribution.variance)  # type: ignore[attr-defined]


@estimator()
class _DiscreteNB(GenerativeClassifier):
    """What the estimators of counts and categories share: `alpha`, and the options of the class prior.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to every count; 0 for none.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to 1e-10. If True, alpha=0 makes whatever a class has not shown
        impossible there.
    fit_prior : bool, default=True
        Learn the class prior; if False it is uniform.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, instead of those of the data.
    """

    _positive_only: ClassVar[bool] = True
    alpha: float | ArrayLike = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: ArrayLike | None = None

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "alpha": (interval(Real, 0), ARRAY_LIKE),
        "fit_prior": (BOOLEAN,),
        "class_prior": (ARRAY_LIKE, None),
        "force_alpha": (BOOLEAN,),
    }

    @made_once
    def _class_prior(self) -> ClassPrior:
        if self.class_prior is not None:
            return ClassPrior(np.asarray(self.class_prior))
        return ClassPrior("mle" if self.fit_prior else "uniform")

    def _check_alpha(self) -> float | Array:
        alpha = self.alpha if isinstance(self.alpha, Real) else np.array(self.alpha, dtype=np.float64)
        if isinstance(alpha, np.ndarray):
            if alpha.shape != (self.n_features_in_,):
                raise InvalidOptionError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {len(alpha)} elements instead of {self.n_features_in_}."
                )
            if alpha.min() < 0:
                raise InvalidOptionError("All values in alpha must be greater than 0.")
        if np.min(alpha) < 1e-10 and not self.force_alpha:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` "
                "to keep alpha unchanged.",
                stacklevel=4,
            )
            return np.maximum(alpha, 1e-10)
        return alpha  # type: ignore[return-value]  # a Real is a float here

    @property
    def class_log_prior_(self) -> Array:
        """Log-probability of each class, (n_classes,)."""
        return self._settled().model.log_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.positive_only = self._positive_only
        return tags


class _TotalsNB(_DiscreteNB):
    """What the estimators of totals share."""

    @property
    def feature_count_(self) -> Array:
        """Weighted total of each column in each class, (n_classes, n_features)."""
        return read_only(self._settled().estimated.statistic.total)

    @property
    def feature_log_prob_(self) -> Any:
        """Log-probability of each column in each class, (n_classes, n_features)."""
        distribution = self._settled().model.distribution
        return log(distribution.probability)  # type: ignore[attr-defined]


@estimator()
class MultinomialNB(_TotalsNB):
    """Multinomial naive Bayes, for counts:  p(x | y) ∝ Π_j θ_yj^(x_j),  θ_yj = (n_yj + α) / Σ_j (n_yj + α).

    Examples
    --------
    >>> from suffice.naive_bayes import MultinomialNB
    >>> clf = MultinomialNB().fit([[2, 1, 0], [3, 0, 0], [0, 1, 4]], ["ham", "ham", "spam"])
    >>> clf.predict([[0, 0, 1]])
    array(['spam'], dtype='<U4')
    """

    @_made_once_unless_warned
    def _family(self) -> Family[Any]:
        return Multinomial(prior=Dirichlet(self._check_alpha()))


@estimator()
class ComplementNB(_TotalsNB):
    """Complement naive Bayes (Rennie et al., 2003): a class is scored by the words of all the others.

    Parameters
    ----------
    fit_prior : bool, default=True
        Learn `class_log_prior_`; the scores do not use it.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes; the scores do not use them.
    norm : bool, default=False
        Divide the weights of each class by their sum.

    Examples
    --------
    >>> from suffice.naive_bayes import ComplementNB
    >>> clf = ComplementNB().fit([[2, 1, 0], [3, 0, 0], [0, 1, 4]], ["ham", "ham", "spam"])
    >>> clf.predict([[0, 0, 1]])
    array(['spam'], dtype='<U4')
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {**_DiscreteNB._parameters, "norm": (BOOLEAN,)}

    norm: bool = False

    @_made_once_unless_warned
    def _family(self) -> Family[Any]:
        return Complement(prior=Dirichlet(self._check_alpha()), norm=self.norm)

    def _class_prior(self) -> ClassPrior:
        return replace(super()._class_prior(), ignored=True)

    @property
    def class_log_prior_(self) -> Array:
        """Log-probability of each class, (n_classes,)."""
        learned = self._settled()
        return replace(learned.prior, ignored=False).log(learned.statistics.weight)

    @property
    def feature_log_prob_(self) -> Array:
        """The weights, (n_classes, n_features)."""
        return self._settled().model.distribution.weight  # type: ignore[attr-defined]

    @property
    def feature_all_(self) -> Array:
        """Weighted total of each column, (n_features,)."""
        return self.feature_count_.sum(axis=0)


@estimator()
class BernoulliNB(_TotalsNB):
    """Bernoulli naive Bayes, for booleans:  p(x | y) = Π_j θ_yj^(x_j) (1 − θ_yj)^(1 − x_j).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        θ_yj = (n_yj + α) / (n_y + 2α); 0 for no smoothing.
    binarize : float or None, default=0.0
        x_j counts as true where it is above this. With None, x must lie between 0 and 1.

    Examples
    --------
    >>> from suffice.naive_bayes import BernoulliNB
    >>> clf = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], [True, True, False])
    >>> clf.predict([[0, 1]])
    array([False])
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {**_DiscreteNB._parameters, "binarize": (None, interval(Real, 0))}

    _positive_only: ClassVar[bool] = False

    binarize: float | None = 0.0

    @_made_once_unless_warned
    def _family(self) -> Family[Any]:
        alpha = self._check_alpha()
        return Bernoulli(prior=Beta(alpha, alpha), threshold=self.binarize)


@estimator()
class PoissonNB(_TotalsNB):
    """Poisson naive Bayes, for counts without an upper bound:  p(x | y) = Π_j λ_yj^(x_j) e^(−λ_yj) / x_j!

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Events imagined to have been seen in each class: λ_yj = (Σ x_j + α) / (n_y + β).
    beta : float, default=1.0
        Rows imagined to have held them. alpha=0 and beta=0 give maximum likelihood.

    Examples
    --------
    >>> from suffice.naive_bayes import PoissonNB
    >>> clf = PoissonNB().fit([[0], [1], [7], [9]], ["calm", "calm", "busy", "busy"])
    >>> clf.predict([[2], [6]])
    array(['calm', 'busy'], dtype='<U4')
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {**_DiscreteNB._parameters, "beta": (interval(Real, 0),)}

    beta: float = 1.0

    @_made_once_unless_warned
    def _family(self) -> Family[Any]:
        return Poisson(prior=Gamma(self._check_alpha(), self.beta))

    @property
    def rate_(self) -> Array:
        """λ, the expected count of each column in each class, (n_classes, n_features)."""
        return self._settled().model.distribution.rate  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> Array:
        """Log λ, (n_classes, n_features)."""
        with np.errstate(divide="ignore"):
            return np.log(self.rate_)


@estimator()
class CategoricalNB(_DiscreteNB):
    """Categorical naive Bayes:  p(x_j = k | y) = (n_yjk + α) / (n_yj + α m_j).

    Columns hold numbers 0, 1, 2, … that stand for categories, as scikit-learn wants them, or strings, or
    anything else that sorts; pandas' categoricals too. A category never met in training has its smoothed
    probability, α / (n_yj + α (m_j + 1)).

    Parameters
    ----------
    alpha : float, default=1.0
        Added to every count; 0 for none.
    min_categories : int or array-like of shape (n_features,), default=None
        How many categories a column of numbers has at least.

    Examples
    --------
    >>> from suffice.naive_bayes import CategoricalNB
    >>> clf = CategoricalNB().fit([["sunny", "hot"], ["rain", "cool"], ["rain", "mild"]], ["no", "yes", "yes"])
    >>> clf.predict([["rain", "hot"], ["snow", None]])
    array(['yes', 'yes'], dtype='<U3')
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        **_DiscreteNB._parameters,
        "min_categories": (None, ARRAY_LIKE, interval(Integral, 1)),
        "alpha": (interval(Real, 0),),
    }
    _accept_sparse: ClassVar[str | bool] = False
    _form: ClassVar[Form] = "categories"

    alpha: float = 1.0
    min_categories: int | ArrayLike | None = None

    def _family(self) -> Family[Any]:
        least = self.min_categories
        if least is not None:
            least = np.asarray(least)
            if not np.issubdtype(least.dtype, np.signedinteger):
                raise InvalidOptionError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
            if least.ndim and least.shape != (self.n_features_in_,):
                raise InvalidOptionError(
                    f"'min_categories' should have shape ({self.n_features_in_},) when an array-like is provided. "
                    f"Got {least.shape} instead."
                )
        return Categorical(prior=Dirichlet(self._check_alpha()), min_categories=least)

    def _check_X(self, X: Any, reset: bool = False) -> Categories:
        if isinstance(X, Categories):
            return X
        if self._is_plain(X, "iuf", reset):
            return as_categories(X)
        refuse_device(X)
        if is_table(X) or isinstance(X, np.ma.MaskedArray):
            rows = as_categories(X)
            if not rows.codes.size:
                validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)  # raises
            check_columns(self, X, reset=reset)
            return rows
        if not isinstance(X, np.ndarray) and not hasattr(X, "__array__") and isinstance(X, (list, tuple)):
            X = _object_rows(X)
        numbers = "numeric" if getattr(X, "dtype", None) is not None and X.dtype.kind in "biufc" else None
        return as_categories(validate_data(self, X, reset=reset, dtype=numbers, ensure_all_finite=False))

    @property
    def category_count_(self) -> list[Array]:
        """Weight of each category in each class, column by column, (n_classes, n_categories)."""
        counts = self._counts()
        return counts.columns(counts.weight)

    @property
    def categories_(self) -> list[Values]:
        """The categories of each column, in the order of the counts, (n_categories,)."""
        counts = self._counts()
        return list(counts.keys or [np.arange(size) for size in counts.sizes])

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """Number of categories of each column, (n_features,)."""
        return self._counts().sizes

    @property
    def feature_log_prob_(self) -> list[Array]:
        """Log-probability of each category in each class, column by column, (n_classes, n_features)."""
        counts, model = self._counts(), self._settled().model
        with np.errstate(divide="ignore"):
            return counts.columns(np.log(model.distribution.probability))  # type: ignore[attr-defined]

    def _counts(self) -> Any:
        return self._settled().model.distribution.counts  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@estimator()
class KernelNB(_RealNB):
    """Naive Bayes with kernel densities:  p(x | y) = Π_j Σ_i K((x_j − x_ij) / h_yj) / (n_y h_yj) over the rows i of y.

    Parameters
    ----------
    kernel : {"gaussian", "epanechnikov", "triangular", "uniform", "biweight", "cosine"}, default="gaussian"
        The shape of the bump that each value contributes. All but the Gaussian are 0 from a distance of h on.
    bandwidth : {"silverman", "scott", "sheather-jones", "likelihood"}, float or array-like of shape (n_features,), \
            default="silverman"
        The width h of the bumps: a rule for each class and column, one number, or one for each column.
    limit : int or None, default=4096
        The number of cells that the values of a column are counted in, for each class. Where there are no more distinct
        values, the cells are the values themselves; where there are more, a cell is a point at its middle. None keeps
        all values, which needs memory for all of them.

    Examples
    --------
    >>> from suffice.naive_bayes import KernelNB
    >>> X = [[-3.0], [-2.8], [3.0], [3.1], [0.1], [0.0], [-0.2]]
    >>> clf = KernelNB(bandwidth=0.5).fit(X, ["outer"] * 4 + ["inner"] * 3)
    >>> clf.predict([[-2.5], [0.5], [40.0]])
    array(['outer', 'inner', 'outer'], dtype='<U5')
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "kernel": (choice(*SHAPES),),
        "bandwidth": (choice(*RULES), interval(Real, 0, closed="neither"), ARRAY_LIKE),
        "limit": (None, interval(Integral, 1)),
        "priors": (ARRAY_LIKE, None),
    }

    kernel: KernelName = "gaussian"
    bandwidth: RuleName | float | ArrayLike = "silverman"
    limit: int | None = LIMIT

    @made_once
    def _family(self) -> Kernel:
        width: Any = self.bandwidth if isinstance(self.bandwidth, (str, Real)) else np.asarray(self.bandwidth)
        return Kernel(self.kernel, width, self.limit)

    @property
    def bandwidth_(self) -> Array:
        """Bandwidth of each column in each class, (n_classes, n_features)."""
        return read_only(self._settled().model.distribution.bandwidth)  # type: ignore[attr-defined]


def _object_rows(X: Any) -> Any:
    """A list of rows as an array, keeping strings, numbers and None what they are."""
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if array.dtype.kind in "UO" else array


@estimator()
class MixtureNB(_RealNB):
    """Naive Bayes with a mixture of Gaussians for each column:  p(x | y) = Π_j Σ_k π_yjk N(x_j; μ_yjk, σ²_yjk).

    The values are kept, each distinct one once, and the mixtures found by expectation-maximization (EM) when they
    are first asked for: by a prediction or an attribute, which is then where a `NotConvergedWarning` comes from.
    `leave_one_out` runs EM again for every row.

    Parameters
    ----------
    components : int, default=2
        Gaussians for each class and column; fewer where a class has fewer distinct values.
    select : {"bic"} or None, default=None
        With "bic", choose 1 … `components` for each class and column by Schwarz's criterion.
    tol : float, default=1e-3
        EM ends when a step changes the mean log-likelihood of a row by less, as scikit-learn's GaussianMixture.
    max_iter : int, default=100
        Steps after which it ends anyway, with a warning.
    n_init : int, default=1
        Number of starts; the likeliest result counts. One is from quantiles, the others are drawn (k-means++).
    floor : float, default=1e-6
        Least variance of a component, in units of the variance of the column in the class: from 1e-10 to 1.
    random_state : int, RandomState instance or None, default=0
        Draws the starts after the first.
    limit : int or None, default=4096
        The number of cells that the values of a column are counted in, for each class. Where there are no more distinct
        values, the cells are the values themselves; where there are more, a cell is a point at its middle. None keeps
        all values. Of rows of joint columns, at most twice as many are kept.

    Examples
    --------
    >>> from suffice.naive_bayes import MixtureNB
    >>> X = [[-4], [-3], [3], [4], [-1], [0], [0.5], [1]]
    >>> clf = MixtureNB().fit(X, ["outside"] * 4 + ["inside"] * 4)
    >>> clf.predict([[-3.4], [0.2], [3.2]])
    array(['outside', 'inside', 'outside'], dtype='<U7')
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "components": (interval(Integral, 1),),
        "select": (None, choice("bic")),
        "tol": (interval(Real, 0),),
        "max_iter": (interval(Integral, 1),),
        "n_init": (interval(Integral, 1),),
        "floor": (interval(Real, 1e-10, 1, "both"),),
        "random_state": RANDOM_STATE,
        "limit": (None, interval(Integral, 1)),
        "priors": (ARRAY_LIKE, None),
    }

    components: int = 2
    select: str | None = None
    tol: float = 1e-3
    max_iter: int = 100
    n_init: int = 1
    floor: float = 1e-6
    random_state: Any = 0
    limit: int | None = LIMIT

    @made_once
    def _family(self) -> Mixture:
        seed = self.random_state
        if not isinstance(seed, Integral):  # the family's options are frozen: draw a number for them
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        return Mixture(
            self.components,
            select=self.select,  # type: ignore[arg-type]  # checked by its constraint
            tol=self.tol,
            max_iter=self.max_iter,
            n_init=self.n_init,
            floor=self.floor,
            random_state=int(seed),
            limit=self.limit,
        )

    def _mixtures(self) -> Any:
        return self._settled().model.distribution

    @property
    def weights_(self) -> Array:
        """π, (classes, columns, components)."""
        return read_only(self._mixtures().share)

    @property
    def means_(self) -> Array:
        """μ, (classes, columns, components)."""
        return read_only(self._mixtures().mean)

    @property
    def variances_(self) -> Array:
        """σ², (classes, columns, components)."""
        return read_only(self._mixtures().variance)

    @property
    def n_components_(self) -> NDArray[np.int64]:
        """How many components are used, (classes, columns)."""
        return self._mixtures().used.copy()

    @property
    def n_iter_(self) -> NDArray[np.int64]:
        """Steps that EM took, (classes, columns)."""
        return self._mixtures().steps.copy()
