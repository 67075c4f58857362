// Every kernel's declaration: the table of contents of this folder.
//
// Conventions. Kernels see raw pointers and sizes, never Python. The caller allocates every output.
// Accumulating kernels add to what the output holds, so a fresh output must be zeroed. NaN means
// missing. Where an input may hold a value that is refused, the kernel returns the position
// row * cols + col of one such value (the first of its block), or -1; outputs are then unspecified.
#pragma once

#include <cstdint>

namespace suffice {

using Index = std::int64_t;

constexpr double log_2pi = 1.8378770664093453;

// A dense matrix: element (i, j) is data[i * row_stride + j * col_stride], and one stride is 1.
template <class T>
struct Matrix {
    const T* data;
    Index rows, cols, row_stride, col_stride;
};

// A compressed sparse row matrix: what is not stored is zero.
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

// What a kernel returns for a sparse matrix with a column index outside it.
constexpr Index malformed = -2;

// How an entry is read as a count: as it is, or as x > threshold.
struct CountRule {
    bool binarize;
    double threshold;
};

// The threads a large call may use: SUFFICE_NUM_THREADS, else the CPUs this process may run on.
int max_threads();

// labels.cpp: codes[i] = values[i] - low, and which of the `range` codes occur. False if a value is not among them.
bool number_integers(const std::int64_t* values, Index n, std::int64_t low, Index range, std::int32_t* codes,
                     bool* seen);

// sort.cpp: sort values[start[c]..start[c + 1]) of every segment c, NaN last. Where `order` is not null it is told from
// which place among all values each came.
void sort_segments(double* values, const Index* start, Index segments, Index* order);

// class_weights.cpp: the weight of each class's rows (classes,); whether all codes are 0 .. classes-1.
void class_weights(Rows rows, Index n, double* out);
bool codes_within(const std::int32_t* codes, Index n, Index classes);

// moments.cpp: weight, mean and centred squares (classes, cols) of every class and column.
template <class T>
Index moments(Matrix<T> x, Rows rows, double* weight, double* mean, double* squares);

// scatter.cpp: weight (classes,), mean (classes, cols) and centred cross-products (classes, cols, cols) of the rows of
// each class that have no missing entry; `incomplete` (rows,) tells which have one. x must be row-major, the outputs
// zeroed.
template <class T>
Index scatter(Matrix<T> x, Rows rows, double* weight, double* mean, double* cross, bool* incomplete);

// totals.cpp: Σ w·x, and the weight of missing entries, (classes, cols). Refuses infinite values,
// and negative ones unless they are binarized.
template <class T>
Index totals(Matrix<T> x, Rows rows, CountRule rule, double* total, double* missing);

// sparse_totals.cpp: Σ w·x (classes, cols). `found` reports what the caller must attend to.
struct SparseFindings {
    bool missing;    // a stored entry is NaN; it was skipped
    bool duplicate;  // a row's indices do not increase: the matrix may store an entry twice
    bool malformed;  // a column index lies outside the matrix
};
template <class T, class I>
Index sparse_totals(Sparse<T, I> x, Rows rows, CountRule rule, double* total, SparseFindings* found);

// categories.cpp: codes 0 .. m-1 in each column, negative or NaN = missing.
// The smallest and largest code of every column (empty: lowest > highest). Refuses infinite values.
template <class T>
Index category_range(Matrix<T> x, Index* lowest, Index* highest);
// Weight of every class and category: table (classes, offsets[cols]), column j starting at offsets[j].
// Reports a code outside its column's part of the table, or negative: it was not counted.
template <class T>
Index category_counts(Matrix<T> x, Rows rows, const Index* offsets, double* table);
// out[i, c] += Σ_j scores[offsets[j] + x_ij, c]; the last slot of a column is for codes beyond the known.
// Reports a negative code: the caller knows whether it means missing.
template <class T>
Index category_scores(Matrix<T> x, const Index* offsets, const double* scores, Index stride, Index classes,
                      double* out);

// gaussian.cpp, gaussian_leave_one_out.cpp: out[i, c] = Σ_j log N(x_ij; mean_cj, 1/precision_cj²), missing entries left out.
template <class T>
Index gaussian_log_density(Matrix<T> x, const double* mean, const double* precision, Index classes, double* out);
// The same with row i taken out of its own class code[i] and out of the pooled variance that is
// smoothed with: var_cj = squares / weight + smoothing * max_j pooled variance, but at least floor_j. Every class
// must have some weight in every column.
template <class T>
Index gaussian_leave_one_out(Matrix<T> x, Rows rows, double smoothing, const double* floor, const double* weight,
                             const double* mean, const double* squares, double* out);

// multivariate.cpp: out[i, c] = log N(x_i; mean_c, (WᵀW)⁻¹), W lower triangular: one for each class, or one for all
// (matrices = 1). Rows with a missing entry are marked `incomplete`, and what they get is unspecified.
template <class T>
Index multivariate_log_density(Matrix<T> x, const double* mean, const double* whitening, Index classes, Index matrices,
                               double* out, bool* incomplete);

// gaps.cpp: the same of rows with gaps, from covariances (classes, cols, cols); rows with the same gaps should follow each
// other. What is asked for is not null: the log-density of the observed entries, and what it is at its peak (rows, classes);
// the rows with their gaps filled by the conditional mean (rows, classes, cols); and Σ_i w_i Cov(x_i | observed)
// (classes, cols, cols), to which is added.
void gaussian_incomplete(const double* x, Index rows, Index d, const double* mean, const double* covariance,
                         Index classes, const double* weight, double* log_density, double* peak, double* filled,
                         double* spread);

// mixture.cpp: Gaussian mixtures of one dimension by EM, one task for each class and column. Task t's points are
// start[t] .. start[t+1]-1, ascending and distinct; where they are all one to floating point, the variance is point[t].
// A task starts from quantiles and, `draws` times more, from centres drawn by the numbers `uniform` (draws, components);
// the likeliest run counts. No variance is below `floor` times that of the points.
// `select` chooses 1 .. components by BIC. Results are (tasks, components), `used` of them, by ascending mean;
// `steps` were taken, `score` is the mean log-likelihood, `trace` (tasks, max_iter + 1) that before each step and at the end, or null.
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

// mixture_log_density.cpp: out[i, c] = Σ_j log Σ_k exp(log_norm_cjk - ½ ((x_ij - mean_cjk) precision_cjk)²) over the first
// used_cj components, missing entries and columns without components left out. Squared distances end at 1e300.
struct MixtureTables {
    const double *log_norm, *mean, *precision;
    const Index* used;
    Index classes, components;
};
template <class T>
Index mixture_log_density(Matrix<T> x, MixtureTables tables, double* out);

// kernel_density.cpp: out[order[i], c] += log f_c(x_i), f_c the kernel density estimate with bandwidth[c] of class c's
// points: at[start[c]..start[c + 1]), distinct and ascending, with weights that sum to total[c]. x is ascending. A compact kernel
// counts as at least 1e-12 times the Gaussian one of the same standard deviation. Where `removed` is not null,
// removed[i] is first taken from the weight of the point at x_i, which must be there.
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

// sparse_scores.cpp: out[i, c] = intercept[c] + Σ_j x_ij coef[j, c], a missing entry adding
// -absent[j, c] (its share of the intercept). coef and absent are (cols, stride), absent may be null.
template <class T, class I>
Index sparse_scores(Sparse<T, I> x, CountRule rule, const double* coef, const double* absent, Index stride,
                    const double* intercept, Index classes, double* out);

// dense_scores.cpp: out[i, c] = intercept[c] + Σ_j x_ij coef[j, c], coef (cols, stride); whether every score is finite.
template <class T>
bool dense_scores(Matrix<T> x, const double* coef, Index stride, const double* intercept, Index classes, double* out);

// sparse_log_sums.cpp: sums[i] = Σ_j x_ij log(table[cls[i], j] - removed[i] x_ij), −inf where nothing is left of
// a count, and lengths[i] = Σ_j x_ij, missing entries left out of both. table is (classes, cols).
template <class T, class I>
Index sparse_log_sums(Sparse<T, I> x, const std::int32_t* cls, const double* removed, const double* table, double* sums,
                      double* lengths);

// posterior.cpp: turn each row of log p(x, y) = scores + added (classes,) into log p(y | x), or p(y | x). A row in
// which every class is impossible becomes `fallback` (classes,). Returns how many there were. `out` may be
// `scores`, which are overwritten in any case.
template <class T>
Index posterior(double* scores, Index rows, Index classes, const double* added, const double* fallback, bool as_log,
                T* out);
// The class of each row's largest scores + added, the first of equals; `fallback` where all are impossible.
void most_probable(const double* scores, Index rows, Index classes, const double* added, Index fallback, Index* out);

}  // namespace suffice
