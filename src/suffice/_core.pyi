"""The kernels, described in cpp/kernels.hpp."""

from typing import Any

def max_threads() -> int: ...
def moments(x: Any, codes: Any, classes: int, weight: Any, out_weight: Any, out_mean: Any, out_squares: Any) -> int: ...
def totals(
    x: Any, codes: Any, classes: int, weight: Any, threshold: float | None, out_total: Any, out_missing: Any
) -> int: ...
def sparse_totals(
    data: Any,
    indices: Any,
    indptr: Any,
    cols: int,
    codes: Any,
    classes: int,
    weight: Any,
    threshold: float | None,
    out_total: Any,
) -> tuple[int, bool, bool]: ...
def category_range(x: Any, lowest: Any, highest: Any) -> int: ...
def category_counts(x: Any, codes: Any, classes: int, weight: Any, offsets: Any, table: Any) -> int: ...
def category_scores(x: Any, offsets: Any, scores: Any, classes: int, out: Any) -> int: ...
def gaussian_log_density(x: Any, mean: Any, precision: Any, out: Any) -> int: ...
def gaussian_leave_one_out(
    x: Any,
    codes: Any,
    weight: Any,
    smoothing: float,
    floor: Any,
    stat_weight: Any,
    stat_mean: Any,
    stat_squares: Any,
    out: Any,
) -> int: ...
def scatter(
    x: Any,
    codes: Any,
    classes: int,
    weight: Any,
    out_weight: Any,
    out_mean: Any,
    out_cross: Any,
    out_incomplete: Any,
) -> int: ...
def multivariate_log_density(x: Any, mean: Any, whitening: Any, out: Any, out_incomplete: Any) -> int: ...
def gaussian_gaps(
    x: Any, mean: Any, covariance: Any, weight: Any, log_density: Any, peak: Any, filled: Any, spread: Any
) -> None: ...
def mixture_fit(
    value: Any,
    weight: Any,
    start: Any,
    point: Any,
    select: bool,
    tol: float,
    max_iter: int,
    floor: float,
    uniform: Any,
    share: Any,
    mean: Any,
    variance: Any,
    used: Any,
    steps: Any,
    converged: Any,
    score: Any,
    trace: Any,
) -> None: ...
def mixture_log_density(x: Any, log_norm: Any, mean: Any, precision: Any, used: Any, classes: int, out: Any) -> int: ...
def kernel_log_density(
    kernel: int,
    x: Any,
    order: Any,
    removed: Any,
    at: Any,
    weight: Any,
    start: Any,
    total: Any,
    bandwidth: Any,
    out: Any,
) -> None: ...
def kernel_leave_one_out(
    kernel: int, x: Any, removed: Any, at: Any, weight: Any, start: Any, total: Any, bandwidth: Any, out: Any
) -> None: ...
def sparse_scores(
    data: Any,
    indices: Any,
    indptr: Any,
    threshold: float | None,
    coef: Any,
    absent: Any,
    intercept: Any,
    out: Any,
) -> int: ...
def dense_scores(x: Any, coef: Any, intercept: Any, out: Any) -> bool: ...
def number_integers(values: Any, low: int, codes: Any, seen: Any) -> bool: ...
def sort_segments(values: Any, start: Any, order: Any) -> None: ...
def class_weights(codes: Any, classes: int, weight: Any, out: Any) -> None: ...
def sparse_log_sums(
    data: Any, indices: Any, indptr: Any, cls: Any, removed: Any, table: Any, sums: Any, lengths: Any
) -> int: ...
def posterior(scores: Any, added: Any, fallback: Any, as_log: bool, out: Any) -> int: ...
def most_probable(scores: Any, added: Any, fallback: int, out: Any) -> None: ...
def _tokens(
    document: str | bytes | None, lowercase: bool, accents: str | None, analyzer: str, least: int, most: int
) -> list[str]:
    """A document's tokens one by one, for analyzers and tests: cpp/tokens.hpp."""

class BadDocument(ValueError):  # noqa: N818
    """The number of a document that cannot be read, the position in it, and what is there."""

class Texts:
    """Documents, in the memory of whoever holds them."""

    def __len__(self) -> int: ...
    def add_strings(self, texts: tuple[Any, ...]) -> int: ...
    def add_arrow(self, text: Any, start: Any, present: Any | None) -> None: ...
    def set_tokens(self, text: Any, start: Any, document_start: Any, present: Any = None) -> None: ...
    def take(self, rows: Any) -> Texts: ...
    def missing(self, out: Any) -> None: ...
    def sizes(self, out: Any) -> None: ...
    def hashes(self, out: Any) -> None: ...

class TextReading:
    """How documents are read: cpp/features.hpp."""

    def __init__(
        self,
        lowercase: bool,
        accents: int,
        analyzer: int,
        least: int,
        most: int,
        buckets: int,
        replaced: Any,
        replaced_start: Any,
        replaced_target: Any,
    ) -> None: ...

class Lexicon:
    """A vocabulary ready to be looked up."""

    def __init__(self, text: Any, start: Any, reading: TextReading) -> None: ...
    def __len__(self) -> int: ...

def word_totals(
    texts: Texts, codes: Any, classes: int, weight: Any | None, reading: TextReading, term: int, norm: int
) -> tuple[Any, ...]: ...
def word_matrix(texts: Texts, reading: TextReading) -> tuple[Any, Any, Any, Any]: ...
def count_words(texts: Texts, lexicon: Lexicon) -> tuple[Any, Any, Any]: ...
def weigh_words(texts: Texts, lexicon: Lexicon, term: int, norm: int) -> tuple[Any, Any, Any, Any, Any]: ...
def merge_names(text_a: Any, start_a: Any, text_b: Any, start_b: Any) -> tuple[Any, Any, Any]: ...
def bag_scores(
    start: Any, feature: Any, value: Any, at: Any, code: Any, coef: Any, base: Any, out: Any, lengths: Any
) -> None: ...
def bag_log_sums(
    start: Any,
    feature: Any,
    value: Any,
    codes: Any,
    classes: int,
    weight: Any | None,
    at: Any,
    code: Any,
    table: Any,
    added: float,
    of_nothing: float,
    out: Any,
) -> None: ...
def bag_complement(
    start: Any,
    feature: Any,
    value: Any,
    codes: Any,
    classes: int,
    weight: Any | None,
    at: Any,
    code: Any,
    total: Any,
    every: Any,
    added: float,
    out: Any,
) -> None: ...
def bag_urns(
    start: Any,
    feature: Any,
    value: Any,
    codes: Any | None,
    classes: int,
    weight: Any | None,
    at: Any,
    code: Any,
    total: Any,
    added: float,
    out: Any,
) -> None: ...
