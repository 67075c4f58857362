// Every kernel's declaration: the table of contents of this folder.
//
// Conventions. Kernels take raw pointers and sizes, and know nothing of Python. The caller allocates every output.
// Accumulating kernels add to the output, so a new output must be zeroed. NaN means missing. A kernel that refuses
// some values returns the position row * cols + col of one of them (the first of its block), or -1. If it is not -1,
// the outputs are unspecified.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace suffice {

using Index = std::int64_t;

constexpr double log_2pi = 1.8378770664093453;

// Where a row is left out of sums of float64, less than this part of a sum is what rounding leaves of it.
constexpr double residue = 0x1p-44;

// A dense matrix: element (i, j) is data[i * row_stride + j * col_stride], and one stride is 1.
template <class T>
struct Matrix {
    const T* data;
    Index rows, cols, row_stride, col_stride;
};

// A column of numbers by itself.
struct StridedColumn {
    const double* data;
    Index stride;
    double operator[](Index i) const { return data[i * stride]; }
};

// A compressed sparse row matrix: entries that are not stored are 0.
template <class T, class I>
struct Sparse {
    const T* data;
    const I* indices;
    const I* indptr;
    Index rows, cols;
};

// The class of each row, 0 .. classes-1, and its weight (null: 1 each). Rows of weight 0 are absent.
struct Rows {
    const std::int32_t* code;
    const double* weight;
    Index classes;
};

// Weights of a block that differ by more than this are summed exactly. Below it, a block of 2^12 rows keeps 20 bits of
// its lightest row.
constexpr double unequal_weights = 0x1p20;

// The value that a kernel returns for a sparse matrix with a column index outside its shape.
constexpr Index malformed = -2;
// The value for a row whose indices do not increase, where an entry stored in parts would be misread.
constexpr Index unordered = -3;

// How an entry becomes a count: unchanged, or as the boolean x > threshold.
struct CountRule {
    bool binarize;
    double threshold;
};

// The number of threads that a large call may use: SUFFICE_NUM_THREADS, else the CPUs this process may run on.
int max_threads();
// Let calls from this thread use at most so many, 0 being no limit; returns the limit before.
int limit_threads(int most);

// labels.cpp: the least and the largest of n integers; codes[i] = values[i] - low, and which of the `range` codes occur
// (false if a value is outside); how many rows have each code, added to `out`; and whether all codes are 0 .. classes-1.
std::pair<std::int64_t, std::int64_t> integer_range(const std::int64_t* values, Index n);
bool codes_within(const std::int32_t* codes, Index n, Index classes);
void count_codes(const std::int32_t* codes, Index n, Index classes, double* out);
bool number_integers(const std::int64_t* values, Index n, std::int64_t low, Index range, std::int32_t* codes,
                     bool* seen);

// nesting.cpp: where a text of JSON lines stands between two of its blocks.
struct Nesting {
    std::int64_t lines, depth, in_string, escaped;
};

// nesting.cpp: the position in the next block of JSON lines at which something is nested deeper than `deepest` levels,
// or is outside of all objects and begins none; or -1. Objects may span lines and blocks; strings end with their line.
Index misplaced_bracket(const std::uint8_t* text, Index n, std::int64_t deepest, Nesting& state);

// sort.cpp: sort values[start[c]..start[c + 1]) of every segment c, NaN last. Unless `order` is null, it gets
// the position that each value had.
void sort_segments(double* values, const Index* start, Index segments, Index* order);

// Columns of codes below 255, which is missing: column j is codes[j * rows ..), its codes are below sizes[j].
struct CodedColumns {
    const std::uint8_t* codes;
    Index rows;
    const Index* sizes;
};

// Pairs of columns. The cells of pair q start at offsets[q]; that of codes (a, b) is a * sizes[second] + b from there.
struct ColumnPairs {
    const std::int32_t* first;
    const std::int32_t* second;
    Index pairs;
    const Index* offsets;
};

// pairs.cpp: add the number of rows of each class in every cell to table (classes, cells); rows have no weights.
void pair_counts(CodedColumns x, ColumnPairs of, Rows rows, double* table);

// pairs.cpp: add the scores of the cells of each row to the classes but the first of out (rows, width + 1). The scores
// of a pair are (codes of the first + 1, codes of the second + 1, width), pair by pair; the last ones are of missing values.
void pair_scores(CodedColumns x, Index columns, ColumnPairs of, const double* scores, Index width, double* out);

// log_linear.cpp: evidence of rows relative to the first class, values (others, rows, parts) and offset (others, rows).
// With exponents w of the parts, row i has scores  offset_ki + Σ_j w_j values_kij,  and 0 for the first class.
template <class T>
struct Evidence {
    const T* values;
    const double* offset;
    const std::int32_t* code;
    const double* weight;
    Index others, rows, parts;
};
// Blocks of rows bounds[b] .. bounds[b+1]-1: loss[b] is Σ_i v_i (−log p(y_i | x_i)), slope (blocks, parts) its gradient
// by w, and p (others, rows) are the probabilities of all classes but the first.
template <class T>
void log_linear_loss(const Evidence<T>& of, const T* w, const Index* bounds, Index blocks, double* loss, double* slope,
                     double* p);
// Second derivatives of the loss of the rows of each fold, from p; fold[b], ascending, is that of block b. They are
// added to `out`, (folds, parts, parts). Offsets and classes are not read.
template <class T>
void log_linear_hessians(const Evidence<T>& of, const double* p, const Index* bounds, const Index* fold, Index blocks,
                         double* out);

// spread_without.cpp: min(σ, IQR / divisor) of n ascending values with weights, without removed[i] of the weight of the
// value at place[i], i < m; a weight below `residue` of what it was is gone. families/_bandwidth.py has the formula.
void spread_without(const double* values, const double* weight, Index n, const Index* place, const double* removed,
                    Index m, double divisor, double residue, double* out);

// pair_evidence.cpp: what a pair says beyond its columns,  R = log (C + 3) / (C_a C_b / n + 3),  of every class and cell;
// counts and ratios are (classes, cells).
void pair_ratios(const Index* sizes, ColumnPairs of, Index classes, const double* counts, double* ratios);

// pair_evidence.cpp: what pairs say for each class but the first, relative to the first, about rows that are left out
// of the counts of their class:  u_q (R_k − R_0).  R is `ratios` of all classes but the row's own, which is computed from
// `counts`. It is added to the places to[q] and, unless they are the same, to[pairs + q] of
// out (classes - 1, rows, width). Rows have weights.
template <class T>
void pair_left_out(CodedColumns x, ColumnPairs of, Rows rows, const double* counts, const double* ratios,
                   const double* exponents, const std::int32_t* to, Index width, T* out);

// pairs.cpp: the number of edges below each value; `missing` for NaN.
void bin_codes(const double* values, Index n, Index stride, const double* edges, Index count, std::uint8_t missing,
               std::uint8_t* out);

// pairs.cpp: code[v] of each category v, `missing` for negative ones and those from `count` on.
void category_codes(const std::int32_t* values, Index n, Index stride, const std::uint8_t* code, Index count,
                    std::uint8_t missing, std::uint8_t* out);

// interpolate.cpp: the values between m > 0 ascending knots, linearly, and those of the ends beyond; 0 for NaN.
void interpolate(const double* x, Index stride, Index n, const double* knots, const double* values, Index m, float* out,
                 Index out_stride);

// Columns that are computed from the columns `first` and `second`: how, and what these are divided by before.
enum class Combination : std::int32_t { alone, ratio, difference, sum };
struct Combinations {
    const std::int32_t* first;
    const std::int32_t* second;
    const std::int32_t* how;
    const double* scales;  // two for each
    Index count;
};

// found_columns.cpp: a combination of two columns of n rows; NaN where it is missing or not finite.
void combine_columns(Combination how, const double* first, Index first_stride, const double* second,
                     Index second_stride, const double* scales, Index n, double* out);

// found_columns.cpp: the mean log p(y | x) of n rows, each left out of the bins of a combination of columns (columns, n).
// The best of several numbers of bins is taken; a smaller number than was asked for is the last that is tried.
void combinations_tell(const double* columns, Combinations of, Rows rows, Index n, const Index* bins, Index choices,
                       double* out);

// class_weights.cpp: the weight of the rows of each class (classes,), and what rounding took from it; and whether n
// numbers are integers, and (`summed`) so small that their sum is exact. In this kernel and the next, `low` gets what
// rounding takes from the sums. It may be null where all weights and counts are integers.
void class_weights(Rows rows, Index n, double* out, double* low);
bool all_whole(const double* values, Index n, bool summed);

// moments.cpp: weight, mean and centred squares (classes, cols) of every class and column, and beside them what rounding
// took from weight, mean and squares, then the doubt of each: `rest` (classes, 6, cols). `overflow` gets a column whose
// squares are not finite, or -1.
template <class T>
Index moments(Matrix<T> x, Rows rows, double* weight, double* mean, double* squares, double* rest, Index* overflow);
// The same of n rows whose columns are not in one matrix.
Index moments(const std::vector<StridedColumn>& columns, Rows rows, Index n, double* weight, double* mean,
              double* squares, double* rest, Index* overflow);

// compensated.cpp: sums and what rounding took from them. `rest` is (n, 2): the remainder and the doubt of each number;
// null: the numbers are exact.
struct Sums {
    double *value, *rest;
};
// out = a + sign * b of numbers without remainder; returns whether all are integers, and so exact.
bool add_whole(const double* a, const double* b, Index n, double sign, double* out);
// out = a + sign * b. With a negative sign, what only rounding leaves becomes 0; returns the first number of b that
// exceeds that of a, or -1.
Index add_sums(Sums a, Sums b, Index n, double sign, Sums out);
// out = value + low, with a doubt of `error` times its size where low is not 0; returns whether it is not 0 anywhere.
bool join_parts(const double* value, const double* low, Index n, double error, Sums out);
// out = factor * a. The doubt grows by a last digit unless the factor is a power of two: rows whose weights were
// multiplied one by one are rounded.
constexpr double scale_error = 0x1p-51;
void scale_sums(Sums a, Index n, double factor, Sums out);
// Moments (rows, cols) of a and b together, or of a without b if the sign is negative. Returns the position of the first
// that is refused, or -1; `what` is 1 if there is too little weight, 2 too little squares, 3 if a number overflows.
struct Moments {
    double *weight, *mean, *squares, *rest;
};
Index merge_moments(Moments a, Moments b, Index rows, Index cols, double sign, Moments out, Index* what);
// Moments (groups, cols) of all classes together, of moments (groups, classes, cols). Returns a column that overflows, or -1.
Index pool_moments(Moments a, Index groups, Index classes, Index cols, Moments out);

// row_hashes.cpp: mix 64 bits of every entry of a row into its hash, column by column. A column is float64, or `bits`;
// or the bits of row i are bits[code[i]], those at `last` where the code is negative. Returns
// whether no code is beyond `last`.
struct HashColumn {
    const double* number;
    const std::uint64_t* bits;
    const std::int32_t* code;
    Index last;
};
bool row_hashes(const HashColumn* columns, Index cols, Index rows, std::uint64_t missing, std::uint64_t* out);
// The rows of positive weight (null: all) whose hash is at most `most`, and among the `size` least distinct ones of these
// rows, ascending.
std::vector<Index> least_hashes(const std::uint64_t* hashes, const double* weight, Index rows, Index size,
                                std::uint64_t most);
// The same rows of weight 1, the first of each hash and class, sorted by both, with the number of rows like it.
struct CountedRow {
    Index row, count;
};
std::vector<CountedRow> least_rows(const std::uint64_t* hashes, const std::int32_t* codes, Index rows, Index size,
                                   std::uint64_t most);

// step_scores.cpp: out[i, c] += scores[k, c], k the number of the m ascending edges below x_i, so scores are
// (m + 1, width). With `exact` edges are values, and k is m where x_i is none of them. NaN is missing. Returns the row of
// an infinite value, or -1.
Index step_scores(const double* x, Index stride, Index n, const double* edges, Index m, bool exact,
                  const double* scores, Index width, Index classes, double* out);
// Write those k of all columns to `out`, column by column; the edges of column j are at start[j] : start[j + 1]. NaN
// where an entry is missing. Returns the position of an infinite value, or -1.
Index step_places(const Matrix<double>& x, const double* edges, const Index* start, bool exact, float* out);

// line_scores.cpp: out[i, c] += level[k, c] + slope[k, c] (x_i - origin[k]), k the number of the m > 0 ascending breaks
// below x_i, which is bounded by the first and the last break before. k is m + 1 for NaN, whose slope does not count.
struct Lines {
    const double *origin, *level, *slope;  // (m + 2,), and (m + 2, classes) twice
};
void line_scores(const double* x, Index stride, Index n, const double* breaks, Index m, Lines lines, Index classes,
                 double* out);

// string_codes.cpp: a column of strings, as Arrow holds it: string i is bytes[offset[i]] .. bytes[offset[i + 1] - 1],
// and it is missing where bit i + first_bit of `valid` is 0 (null: none is).
template <class Offset>
struct StringColumn {
    const Offset* offset;
    const char* bytes;
    const std::uint8_t* valid;
    Index first_bit, rows;
    bool present(Index i) const { return !valid || (valid[(i + first_bit) >> 3] >> ((i + first_bit) & 7) & 1); }
    std::string_view operator[](Index i) const { return {bytes + offset[i], std::size_t(offset[i + 1] - offset[i])}; }
};
// Number the distinct strings in sorted order, -1 being missing; returns a row for each of them.
template <class Offset>
std::vector<Index> string_codes(StringColumn<Offset> column, std::int32_t* codes);

// scatter.cpp: weight (classes,), mean (classes, cols) and centred cross-products (classes, cols, cols) of the rows of
// each class without missing entries; `incomplete` (rows,) marks the other rows. x must be row-major, the outputs
// zeroed. Beside them goes `rest` (classes, 2 + 3 cols + cols²): what rounding took from the weight and its doubt, the same
// for each mean, the doubts of the variances, and what rounding took from each product.
template <class T>
Index scatter(Matrix<T> x, Rows rows, double* weight, double* mean, double* cross, double* rest, bool* incomplete);

// merge_scatter.cpp: scatter of a and b together, or of a without b; as merge_moments.
struct Scatter {
    double *weight, *mean, *cross, *rest;
};
Index merge_scatter(Scatter a, Scatter b, Index classes, Index cols, double sign, Scatter out, Index* what);

// fourth.cpp: Σ w z_i² z_j and Σ w z_i² z_j² about given means (classes, cols), both (classes, cols, cols), of rows that
// are complete or have no weight. Beside them goes `rest` (classes, 3, cols, cols): what rounding took from both, and
// the doubt of the second. x must be row-major.
struct Fourth {
    double *third, *fourth, *rest;
};
template <class T>
void fourth(Matrix<T> x, Rows rows, const double* mean, const double* mean_low, Fourth out);

// fourth.cpp: the same of a and b together, or of a without b, where their scatters merge to `merged`.
void merge_fourth(Scatter a, Fourth of_a, Scatter b, Fourth of_b, Scatter merged, Index classes, Index cols,
                  double sign, Fourth out);

// compensated.cpp: out[s] = Σ weight[start[s] .. start[s + 1]), and what rounding takes.
void sum_segments(const double* value, const double* low, const Index* start, Index segments, double* out,
                  double* out_low);

// totals.cpp: Σ w·x and the weight of missing entries, both (classes, cols). Refuses infinite values, and negative
// ones unless they are compared with a threshold. `low` is (2, classes, cols), for both sums.
template <class T>
Index totals(Matrix<T> x, Rows rows, CountRule rule, double* total, double* missing, double* low);

// sparse_totals.cpp: Σ w·x (classes, cols). `found` reports what the caller must handle.
struct SparseFindings {
    bool missing;    // a stored entry is NaN; it was skipped
    bool duplicate;  // a row's indices do not increase: the matrix may store an entry twice
    bool malformed;  // a column index lies outside the matrix
};
template <class T, class I>
Index sparse_totals(Sparse<T, I> x, Rows rows, CountRule rule, double* total, double* low, SparseFindings* found);

// categories.cpp: codes 0 .. m-1 in each column, negative or NaN = missing.
// The smallest and largest code of every column (empty: lowest > highest). Refuses infinite values.
template <class T>
Index category_range(Matrix<T> x, Index* lowest, Index* highest);
// The weight of every class and category: table (classes, offsets[cols]), with column j from offsets[j] on.
// Returns the position of a code that is negative or outside the table, and was not counted.
template <class T>
Index category_counts(Matrix<T> x, Rows rows, const Index* offsets, double* table, double* low);
// out[i, c] += Σ_j scores[offsets[j] + x_ij, c]; the last row of a column is for unknown codes.
// Returns the position of a negative code: the caller decides whether it is missing.
template <class T>
Index category_scores(Matrix<T> x, const Index* offsets, const double* scores, Index stride, Index classes,
                      double* out);

// gaussian.cpp, gaussian_leave_one_out.cpp: out[i, c] = Σ_j log N(x_ij; mean_cj, 1/precision_cj²), skipping missing
// entries.
template <class T>
Index gaussian_log_density(Matrix<T> x, const double* mean, const double* precision, Index classes, double* out);
// The same with row i taken out of its class code[i] and out of the pooled variance, where
// var_cj = squares / weight + smoothing * max_j pooled variance, but at least floor_j. Every class must have some
// weight in every column.
template <class T>
Index gaussian_leave_one_out(Matrix<T> x, Rows rows, double smoothing, const double* floor, const double* weight,
                             const double* mean, const double* squares, double* out);

// How many rows the prior of a mean counts as, and the shape of that of the variance.
struct StudentPrior {
    double strength, shape;
};
// student_leave_one_out.cpp: out[i, c] = Σ_j norm_cj − half_cj log(1 + ((x_ij − mean_cj) precision_cj)²), skipping missing
// entries.
template <class T>
Index student_log_density(Matrix<T> x, const double* mean, const double* precision, const double* norm,
                          const double* half, Index classes, double* out);
// student.cpp, student_leave_one_out.cpp: the log-density of Student's t, the normal distribution with mean and variance
// integrated out, with row i taken out of its class code[i] and out of the prior, which is centred on all classes. Means
// are relative to the origin of their column. Missing entries are skipped.
template <class T>
Index student_leave_one_out(Matrix<T> x, Rows rows, StudentPrior prior, const double* origin, const double* weight,
                            const double* mean, const double* squares, double* out);

// multivariate.cpp: out[i, c] = log N(x_i; mean_c, (WᵀW)⁻¹), W lower triangular: one for each class, or one for all
// (matrices = 1). Rows with a missing entry are marked `incomplete`; their output is unspecified.
template <class T>
Index multivariate_log_density(Matrix<T> x, const double* mean, const double* whitening, Index classes, Index matrices,
                               double* out, bool* incomplete);

// incomplete.cpp: rows with missing entries under covariances (classes, cols, cols). It is fastest if rows that miss
// the same entries are neighbours. Computes the outputs that are not null: the log-density of the observed entries and
// its value at the peak (rows, classes); the rows with missing entries replaced by their conditional mean (rows,
// classes, cols); and, added to the output, Σ_i w_i Cov(x_i | observed) (classes, cols, cols).
void gaussian_incomplete(const double* x, Index rows, Index d, const double* mean, const double* covariance,
                         Index classes, const double* weight, double* log_density, double* peak, double* filled,
                         double* spread);

// mixture.cpp: Gaussian mixtures in one dimension by EM, one task for each class and column. The points of task t are
// start[t] .. start[t+1]-1, ascending and distinct; if rounding makes them equal, the variance is point[t]. EM runs
// from quantiles and `draws` times from random centres, given by the numbers `uniform` (draws, components); the run with the
// highest likelihood is kept. No variance is below `floor` times that of the points. `select` chooses 1 .. components
// by BIC. Results are (tasks, components) by ascending mean, of which `used` are filled. `score` is the mean
// log-likelihood after `steps` steps; `trace` (tasks, max_iter + 1), or null, gets it before each step and at the end.
struct MixtureOptions {
    Index components;
    bool select;
    double tol;
    Index max_iter;
    double floor;
    Index draws;
    const double* uniform;
};
struct MixtureResult {
    double *share, *mean, *variance;
    Index *used, *steps;
    bool* converged;
    double *score, *trace;
};
void mixture_fit(const double* value, const double* weight, const Index* start, Index tasks, const double* point,
                 MixtureOptions options, MixtureResult out);

// mixture_log_density.cpp: out[i, c] = Σ_j log Σ_k exp(log_norm_cjk - ½ ((x_ij - mean_cjk) precision_cjk)²) over the
// first used_cj components, skipping missing entries and columns without components. Squared distances are at most 1e300.
struct MixtureTables {
    const double *log_norm, *mean, *precision;
    const Index* used;
    Index classes, components;
};
template <class T>
Index mixture_log_density(Matrix<T> x, MixtureTables tables, double* out);

// kernel_density.cpp: out[order[i], c] += log f_c(x_i), f_c the kernel density estimate with bandwidth[c] of class c's
// points: at[start[c]..start[c + 1]), distinct and ascending, with weights that sum to total[c]. x is ascending. A
// compact kernel is at least 1e-12 times the Gaussian kernel of the same standard deviation. Unless `removed` is null, removed[i] is
// first subtracted from the weight of the point at x_i, which must exist.
enum class Kernel { gaussian, epanechnikov, triangular, uniform, biweight, cosine };
struct Points {
    const double* at;
    const double* weight;
    const Index* start;
    const double* total;
    Index classes;
};
void kernel_log_density(Kernel kernel, const double* x, const Index* order, Index n, const double* removed,
                        Points points, const double* bandwidth, double* out);
bool places_within(const Index* order, Index n, Index rows);
// The same for one class and a bandwidth for each x_i, in any order; out[i] is set.
void kernel_leave_one_out(Kernel kernel, const double* x, Index n, const double* removed, Points points,
                          const double* bandwidth, double* out);

// sparse_scores.cpp: out[i, c] = intercept[c] + Σ_j x_ij coef[j, c], where a missing entry adds
// -absent[j, c], its part of the intercept. coef and absent are (cols, stride), absent may be null.
template <class T, class I>
Index sparse_scores(Sparse<T, I> x, CountRule rule, const double* coef, const double* absent, Index stride,
                    const double* intercept, Index classes, double* out);

// dense_scores.cpp: out[i, c] = intercept[c] + Σ_j x_ij coef[j, c], coef (cols, stride). Returns
// whether every score is finite.
template <class T>
bool dense_scores(Matrix<T> x, const double* coef, Index stride, const double* intercept, Index classes, double* out);

// cosines.cpp: z_id = height cos 2π(phase_d + Σ_j x_ij frequency[at_j, d] + Σ_j frequency[code_ij, d]), where a code
// outside 0 .. features-1 adds nothing. x is (rows, numbers), code (rows, categories), frequency (features, cosines);
// cosines are a multiple of 16.
struct Cosines {
    const float *frequency, *phase;
    const Index* at;
    Index features, cosines, numbers, categories;
    double height;
};
// out[i, d] = z_id, (rows, cosines).
void cosines(const Cosines& of, const float* x, const std::int32_t* code, Index rows, float* out);
// out[i, c] = intercept[c] + Σ_d z_id coef[c, d], (rows, classes).
void cosine_scores(const Cosines& of, const float* x, const std::int32_t* code, Index rows, const double* coef,
                   const double* intercept, Index classes, double* out);

// sparse_log_sums.cpp: sums[i] = Σ_j x_ij log(table[cls[i], j] - removed[i] x_ij), −inf where no count is
// left, and lengths[i] = Σ_j x_ij; both skip missing entries. table is (classes, cols).
template <class T, class I>
Index sparse_log_sums(Sparse<T, I> x, const std::int32_t* cls, const double* removed, const double* table, double* sums,
                      double* lengths);

// posterior.cpp: turn each row of log p(x, y) = scores + added (classes,) into log p(y | x), or p(y | x). A row in
// which every class is impossible becomes `fallback` (classes,). Returns the number of such rows, or -1 - i if row i is
// the first with a score that is NaN or infinitely large. `scores` are overwritten; `out` may be `scores`. A part `mixed` of
// p(y | x), unless as its logarithm, is that of the prior, e^fallback.
template <class T>
Index posterior(double* scores, Index rows, Index classes, const double* added, const double* fallback, bool as_log,
                double mixed, T* out);
// The class with the largest scores + added of each row, the first of equal ones; `fallback` where all are -inf. Returns
// the first row with a score that is NaN or infinitely large, or -1.
Index most_probable(const double* scores, Index rows, Index classes, const double* added, Index fallback, Index* out);

}  // namespace suffice
