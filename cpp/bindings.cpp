// Python bindings of the kernels on numbers: types and checks of shapes. Docstrings say what is written and returned.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <variant>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "numpy_vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace suffice {

void bind_candidates(nb::module_& m);  // candidates_bindings.cpp
void bind_cells(nb::module_& m);       // cells_bindings.cpp
void bind_pairs(nb::module_& m);       // pairs_bindings.cpp
void bind_texts(nb::module_& m);       // text_bindings.cpp

namespace {

template <class T>
using Dense = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Codes = Vector<std::int32_t>;
using Weights = std::optional<Vector<double>>;
using Threshold = std::optional<double>;
using Low = std::optional<Out<double>>;

template <class T>
Matrix<T> matrix(const Dense<T>& x) {
    Matrix<T> m{x.data(), Index(x.shape(0)), Index(x.shape(1)), x.stride(0), x.stride(1)};
    // A single row or column may carry any stride.
    if (m.cols <= 1) m.col_stride = 1;
    if (m.rows <= 1 && m.col_stride != 1) m.row_stride = 1;
    require(m.col_stride == 1 || m.row_stride == 1, "matrix must be contiguous along rows or columns");
    return m;
}

template <class T, class I>
Sparse<T, I> sparse(const Vector<T>& data, const Vector<I>& indices, const Vector<I>& indptr, Index cols) {
    require(indptr.size() > 0 && indices.size() == data.size(), "malformed sparse matrix");
    const Index rows = Index(indptr.size()) - 1;
    Index before = 0;
    for (Index i = 0; i <= rows; ++i) {
        require(indptr(i) >= before, "malformed sparse matrix: row pointers must increase");
        before = indptr(i);
    }
    require(before <= Index(data.size()), "malformed sparse matrix: row pointers beyond the data");
    return {data.data(), indices.data(), indptr.data(), rows, cols};
}

Rows rows(const Codes& codes, const Weights& weight, Index classes, Index n) {
    require(Index(codes.size()) == n, "one class code per row");
    require(!weight || Index(weight->size()) == n, "one weight per row");
    require(n < (Index(1) << 31), "at most 2^31 rows at once: pass more in parts");
    require(codes_within(codes.data(), n, classes), "class codes must lie between 0 and the number of classes");
    return {codes.data(), weight ? weight->data() : nullptr, classes};
}

CountRule count_rule(Threshold threshold) { return {threshold.has_value(), threshold.value_or(0.0)}; }

template <class T>
void require_size(const Out<T>& out, Index size) {
    require(Index(out.size()) == size, "output size");
}

template <class T>
void bind_dense(nb::module_& m) {
    m.def(
        "moments",
        [](Dense<T> x, Codes codes, Index classes, Weights weight, Out<double> w, Out<double> mean, Out<double> squares,
           Out<double> rest) {
            Matrix<T> mx = matrix(x);
            for (const auto& out : {w, mean, squares}) require_size(out, classes * mx.cols);
            require_size(rest, 6 * classes * mx.cols);
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            Index overflow;
            const Index infinite = moments(mx, r, w.data(), mean.data(), squares.data(), rest.data(), &overflow);
            return std::pair(infinite, overflow);
        },
        "Add weight, mean and centred squares (classes, columns) to the outputs, and to rest (classes, 6, columns) "
        "what rounding takes. Return the position of an infinite value, and a column whose squares overflow, or -1.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(),
        "out_weight"_a.noconvert(), "out_mean"_a.noconvert(), "out_squares"_a.noconvert(), "out_rest"_a.noconvert());
    m.def(
        "totals",
        [](Dense<T> x, Codes codes, Index classes, Weights weight, Threshold threshold, Out<double> total,
           Out<double> missing, Low low) {
            Matrix<T> mx = matrix(x);
            for (const auto& out : {total, missing}) require_size(out, classes * mx.cols);
            if (low) require_size(*low, 2 * classes * mx.cols);
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            return totals(mx, r, count_rule(threshold), total.data(), missing.data(), low ? low->data() : nullptr);
        },
        "Add Σ w·x and the weight of missing entries (classes, columns) to the outputs, and what rounding takes from "
        "both to `low`.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(), "threshold"_a.none(),
        "out_total"_a.noconvert(), "out_missing"_a.noconvert(), "out_low"_a.noconvert().none());
    m.def(
        "gaussian_log_density",
        [](Dense<T> x, Table mean, Table precision, Out<double> out) {
            Matrix<T> mx = matrix(x);
            const Index classes = Index(mean.shape(0));
            require(Index(mean.shape(1)) == mx.cols && precision.size() == mean.size(), "parameter shapes");
            require_size(out, mx.rows * classes);
            nb::gil_scoped_release release;
            return gaussian_log_density(mx, mean.data(), precision.data(), classes, out.data());
        },
        "Write Σ_j log N(x_ij; mean_cj, 1/precision_cj²) (rows, classes).", "x"_a.noconvert(), "mean"_a.noconvert(),
        "precision"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "gaussian_leave_one_out",
        [](Dense<T> x, Codes codes, Weights weight, double smoothing, Vector<double> floor, Table w, Table mean,
           Table squares, Out<double> out) {
            Matrix<T> mx = matrix(x);
            const Index classes = Index(mean.shape(0));
            for (const auto& table : {w, mean, squares})
                require(Index(table.size()) == classes * mx.cols, "statistic shapes");
            require(Index(floor.size()) == mx.cols, "one floor per column");
            require_size(out, mx.rows * classes);
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            return gaussian_leave_one_out(mx, r, smoothing, floor.data(), w.data(), mean.data(), squares.data(),
                                          out.data());
        },
        "Write the same with row i taken out of the statistics of its class.", "x"_a.noconvert(), "codes"_a.noconvert(),
        "weight"_a.noconvert().none(), "smoothing"_a, "floor"_a.noconvert(), "stat_weight"_a.noconvert(),
        "stat_mean"_a.noconvert(), "stat_squares"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "student_log_density",
        [](Dense<T> x, Table mean, Table precision, Table norm, Table half, Out<double> out) {
            Matrix<T> mx = matrix(x);
            const Index classes = Index(mean.shape(0));
            for (const auto& table : {mean, precision, norm, half})
                require(Index(table.size()) == classes * mx.cols, "parameter shapes");
            require_size(out, mx.rows * classes);
            nb::gil_scoped_release release;
            return student_log_density(mx, mean.data(), precision.data(), norm.data(), half.data(), classes,
                                       out.data());
        },
        "Write Σ_j norm_cj − half_cj log(1 + ((x_ij − mean_cj) precision_cj)²) (rows, classes).", "x"_a.noconvert(),
        "mean"_a.noconvert(), "precision"_a.noconvert(), "norm"_a.noconvert(), "half"_a.noconvert(),
        "out"_a.noconvert());
    m.def(
        "student_leave_one_out",
        [](Dense<T> x, Codes codes, Weights weight, double strength, double shape, Vector<double> origin, Table w,
           Table mean, Table squares, Out<double> out) {
            Matrix<T> mx = matrix(x);
            const Index classes = Index(mean.shape(0));
            for (const auto& table : {w, mean, squares})
                require(Index(table.size()) == classes * mx.cols, "statistic shapes");
            require(Index(origin.size()) == mx.cols, "one origin per column");
            require_size(out, mx.rows * classes);
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            return student_leave_one_out(mx, r, {strength, shape}, origin.data(), w.data(), mean.data(), squares.data(),
                                         out.data());
        },
        "Write the log-densities of Student's t (rows, classes), with row i taken out of the statistics of its class; "
        "means are relative to the origin of their column.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "weight"_a.noconvert().none(), "strength"_a, "shape"_a,
        "origin"_a.noconvert(), "stat_weight"_a.noconvert(), "stat_mean"_a.noconvert(), "stat_squares"_a.noconvert(),
        "out"_a.noconvert());
}

using In = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Rest = std::optional<In>;

Sums sums(const In& value, const Rest& rest) {
    require(!rest || rest->size() == 2 * value.size(), "two numbers beside each");
    return {const_cast<double*>(value.data()), rest ? const_cast<double*>(rest->data()) : nullptr};
}

Moments moments_of(const In& weight, const In& mean, const In& squares, const Rest& rest, Index size) {
    for (const auto& table : {weight, mean, squares}) require(Index(table.size()) == size, "statistic shapes");
    require(!rest || Index(rest->size()) == 6 * size, "six numbers beside each");
    return {const_cast<double*>(weight.data()), const_cast<double*>(mean.data()), const_cast<double*>(squares.data()),
            rest ? const_cast<double*>(rest->data()) : nullptr};
}

void bind_algebra(nb::module_& m) {
    m.def(
        "add_whole",
        [](In a, In b, double sign, Out<double> out) {
            require(a.size() == b.size() && a.size() == out.size(), "output size");
            return add_whole(a.data(), b.data(), Index(a.size()), sign, out.data());
        },
        "Write a + sign·b; return whether all numbers are integers, so that the result is exact.", "a"_a.noconvert(),
        "b"_a.noconvert(), "sign"_a, "out"_a.noconvert());
    m.def(
        "add_sums",
        [](In a, Rest a_rest, In b, Rest b_rest, double sign, Out<double> out, Out<double> rest) {
            require(a.size() == b.size() && a.size() == out.size(), "output size");
            require_size(rest, 2 * Index(a.size()));
            return add_sums(sums(a, a_rest), sums(b, b_rest), Index(a.size()), sign, {out.data(), rest.data()});
        },
        "Write a + sign·b with remainder and doubt; return the position of a number of b that exceeds a, or -1.",
        "a"_a.noconvert(), "a_rest"_a.noconvert().none(), "b"_a.noconvert(), "b_rest"_a.noconvert().none(), "sign"_a,
        "out"_a.noconvert(), "out_rest"_a.noconvert());
    m.def(
        "scale_sums",
        [](In a, Rest a_rest, double factor, Out<double> out, Out<double> rest) {
            require_size(out, Index(a.size()));
            require_size(rest, 2 * Index(a.size()));
            scale_sums(sums(a, a_rest), Index(a.size()), factor, {out.data(), rest.data()});
        },
        "Write factor·a with remainder and doubt.", "a"_a.noconvert(), "a_rest"_a.noconvert().none(), "factor"_a,
        "out"_a.noconvert(), "out_rest"_a.noconvert());
    m.def(
        "sum_segments",
        [](Vector<double> value, std::optional<Vector<double>> low, Vector<Index> start, Out<double> out,
           Out<double> out_low) {
            const Index n = Index(start.size()) - 1;
            require(n >= 0 && (!low || low->size() == value.size()), "one remainder per number");
            for (Index s = 0; s < n; ++s) require(start(s) <= start(s + 1), "segments must ascend");
            require(start(0) >= 0 && start(n) <= Index(value.size()), "segments within the numbers");
            for (const auto& sums : {out, out_low}) require_size(sums, n);
            sum_segments(value.data(), low ? low->data() : nullptr, start.data(), n, out.data(), out_low.data());
        },
        "Write the sum of each segment of numbers and what rounding takes.", "value"_a.noconvert(),
        "low"_a.noconvert().none(), "start"_a.noconvert(), "out"_a.noconvert(), "out_low"_a.noconvert());
    m.def(
        "join_parts",
        [](In value, In low, double error, Out<double> out, Out<double> rest) {
            require(value.size() == low.size() && value.size() == out.size(), "output size");
            require_size(rest, 2 * Index(value.size()));
            return join_parts(value.data(), low.data(), Index(value.size()), error, {out.data(), rest.data()});
        },
        "Write value + low with remainder and doubt, `error` times its size where low is not 0; return whether it is "
        "not 0 anywhere.",
        "value"_a.noconvert(), "low"_a.noconvert(), "error"_a, "out"_a.noconvert(), "out_rest"_a.noconvert());
    m.def(
        "all_whole", [](In value, bool summed) { return all_whole(value.data(), Index(value.size()), summed); },
        "Return whether all numbers are integers, and (`summed`) so small that their sum is exact.",
        "value"_a.noconvert(), "summed"_a = true);
    m.def(
        "merge_scatter",
        [](In aw, In am, In ac, Rest ar, In bw, In bm, In bc, Rest br, double sign, Out<double> w, Out<double> mean,
           Out<double> cross, Out<double> rest) {
            const Index k = Index(aw.size()), d = k ? Index(am.size()) / k : 0, width = 2 + 3 * d + d * d;
            auto table = [&](const In& weight, const In& centre, const In& products, const Rest& lost) {
                require(Index(weight.size()) == k && Index(centre.size()) == k * d &&
                            Index(products.size()) == k * d * d && (!lost || Index(lost->size()) == k * width),
                        "statistic shapes");
                return Scatter{const_cast<double*>(weight.data()), const_cast<double*>(centre.data()),
                               const_cast<double*>(products.data()),
                               lost ? const_cast<double*>(lost->data()) : nullptr};
            };
            require_size(w, k), require_size(mean, k * d), require_size(cross, k * d * d);
            require_size(rest, k * width);
            Index what;
            const Index at = merge_scatter(table(aw, am, ac, ar), table(bw, bm, bc, br), k, d, sign,
                                           {w.data(), mean.data(), cross.data(), rest.data()}, &what);
            return std::pair(at, what);
        },
        "Write the scatter of a and b together, or of a without b; return where and why that cannot be, or -1 and 0.",
        "a_weight"_a.noconvert(), "a_mean"_a.noconvert(), "a_cross"_a.noconvert(), "a_rest"_a.noconvert().none(),
        "b_weight"_a.noconvert(), "b_mean"_a.noconvert(), "b_cross"_a.noconvert(), "b_rest"_a.noconvert().none(),
        "sign"_a, "out_weight"_a.noconvert(), "out_mean"_a.noconvert(), "out_cross"_a.noconvert(),
        "out_rest"_a.noconvert());
    m.def(
        "merge_fourth",
        [](In aw, In am, In ac, Rest ar, In at, In af, Rest ah, In bw, In bm, In bc, Rest br, In bt, In bf, Rest bh,
           In w, In mean, In cross, In rest, double sign, Out<double> third, Out<double> fourth, Out<double> lost) {
            const Index k = Index(aw.size()), d = k ? Index(am.size()) / k : 0, width = 2 + 3 * d + d * d;
            auto table = [&](const In& weight, const In& centre, const In& products, const Rest& left) {
                require(Index(weight.size()) == k && Index(centre.size()) == k * d &&
                            Index(products.size()) == k * d * d && (!left || Index(left->size()) == k * width),
                        "statistic shapes");
                return Scatter{const_cast<double*>(weight.data()), const_cast<double*>(centre.data()),
                               const_cast<double*>(products.data()),
                               left ? const_cast<double*>(left->data()) : nullptr};
            };
            auto higher = [&](const In& cubes, const In& quartics, const Rest& left) {
                require(Index(cubes.size()) == k * d * d && Index(quartics.size()) == k * d * d &&
                            (!left || Index(left->size()) == 3 * k * d * d),
                        "statistic shapes");
                return Fourth{const_cast<double*>(cubes.data()), const_cast<double*>(quartics.data()),
                              left ? const_cast<double*>(left->data()) : nullptr};
            };
            require_size(third, k * d * d), require_size(fourth, k * d * d), require_size(lost, 3 * k * d * d);
            merge_fourth(table(aw, am, ac, ar), higher(at, af, ah), table(bw, bm, bc, br), higher(bt, bf, bh),
                         table(w, mean, cross, rest), k, d, sign, {third.data(), fourth.data(), lost.data()});
        },
        "Write the products of squares of a and b together, or of a without b, whose scatters merge to the third.",
        "a_weight"_a.noconvert(), "a_mean"_a.noconvert(), "a_cross"_a.noconvert(), "a_rest"_a.noconvert().none(),
        "a_third"_a.noconvert(), "a_fourth"_a.noconvert(), "a_higher_rest"_a.noconvert().none(),
        "b_weight"_a.noconvert(), "b_mean"_a.noconvert(), "b_cross"_a.noconvert(), "b_rest"_a.noconvert().none(),
        "b_third"_a.noconvert(), "b_fourth"_a.noconvert(), "b_higher_rest"_a.noconvert().none(), "weight"_a.noconvert(),
        "mean"_a.noconvert(), "cross"_a.noconvert(), "rest"_a.noconvert(), "sign"_a, "out_third"_a.noconvert(),
        "out_fourth"_a.noconvert(), "out_rest"_a.noconvert());
    m.def(
        "merge_moments",
        [](In aw, In am, In as, Rest ar, In bw, In bm, In bs, Rest br, Index cols, double sign, Out<double> w,
           Out<double> mean, Out<double> squares, Out<double> rest) {
            const Index size = Index(aw.size());
            for (const auto& out : {w, mean, squares}) require_size(out, size);
            require_size(rest, 6 * size);
            require(cols > 0 && size % cols == 0, "statistic shapes");
            const Moments a = moments_of(aw, am, as, ar, size), b = moments_of(bw, bm, bs, br, size);
            Index what;
            const Index at = merge_moments(a, b, size / cols, cols, sign,
                                           {w.data(), mean.data(), squares.data(), rest.data()}, &what);
            return std::pair(at, what);
        },
        "Write the moments of a and b together, or of a without b; return where and why that cannot be, or -1 and 0.",
        "a_weight"_a.noconvert(), "a_mean"_a.noconvert(), "a_squares"_a.noconvert(), "a_rest"_a.noconvert().none(),
        "b_weight"_a.noconvert(), "b_mean"_a.noconvert(), "b_squares"_a.noconvert(), "b_rest"_a.noconvert().none(),
        "columns"_a, "sign"_a, "out_weight"_a.noconvert(), "out_mean"_a.noconvert(), "out_squares"_a.noconvert(),
        "out_rest"_a.noconvert());
    m.def(
        "pool_moments",
        [](In aw, In am, In as, Rest ar, Index classes, Index cols, Out<double> w, Out<double> mean,
           Out<double> squares, Out<double> rest) {
            const Index size = Index(aw.size());
            require(cols > 0 && classes > 0 && size % (classes * cols) == 0, "statistic shapes");
            const Index groups = size / (classes * cols);
            for (const auto& out : {w, mean, squares}) require_size(out, groups * cols);
            require_size(rest, 6 * groups * cols);
            return pool_moments(moments_of(aw, am, as, ar, size), groups, classes, cols,
                                {w.data(), mean.data(), squares.data(), rest.data()});
        },
        "Write the moments of all classes together; return a column that overflows, or -1.", "weight"_a.noconvert(),
        "mean"_a.noconvert(), "squares"_a.noconvert(), "rest"_a.noconvert().none(), "classes"_a, "columns"_a,
        "out_weight"_a.noconvert(), "out_mean"_a.noconvert(), "out_squares"_a.noconvert(), "out_rest"_a.noconvert());
}

template <class T>
void bind_multivariate(nb::module_& m) {
    m.def(
        "dense_scores",
        [](Dense<T> x, Table coef, Vector<double> intercept, Out<double> out) {
            Matrix<T> mx = matrix(x);
            const Index stride = Index(coef.shape(1)), classes = Index(intercept.size());
            require(Index(coef.shape(0)) == mx.cols, "one row of weights per column");
            require(stride % 8 == 0 && classes <= stride, "weights must be padded to multiples of 8");
            require_size(out, mx.rows * classes);
            nb::gil_scoped_release release;
            return dense_scores(mx, coef.data(), stride, intercept.data(), classes, out.data());
        },
        "Write intercept + x·coef (rows, classes); return whether every score is finite.", "x"_a.noconvert(),
        "coef"_a.noconvert(), "intercept"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "scatter",
        [](Dense<T> x, Codes codes, Index classes, Weights weight, Out<double> w, Out<double> mean, Out<double> cross,
           Out<double> rest, Out<bool> incomplete) {
            Matrix<T> mx = matrix(x);
            require(mx.col_stride == 1, "rows must be contiguous");
            require_size(w, classes);
            require_size(mean, classes * mx.cols);
            require_size(cross, classes * mx.cols * mx.cols);
            require_size(rest, classes * (2 + 3 * mx.cols + mx.cols * mx.cols));
            require(Index(incomplete.size()) == mx.rows, "output size");
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            return scatter(mx, r, w.data(), mean.data(), cross.data(), rest.data(), incomplete.data());
        },
        "Write weight, mean and centred cross-products of complete rows, and what rounding takes; mark the incomplete.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(),
        "out_weight"_a.noconvert(), "out_mean"_a.noconvert(), "out_cross"_a.noconvert(), "out_rest"_a.noconvert(),
        "out_incomplete"_a.noconvert());
    m.def(
        "fourth",
        [](Dense<T> x, Codes codes, Index classes, Weights weight, In mean, In mean_low, Out<double> third,
           Out<double> fourths, Out<double> rest) {
            Matrix<T> mx = matrix(x);
            require(mx.col_stride == 1, "rows must be contiguous");
            const Index products = classes * mx.cols * mx.cols;
            for (const auto& about : {mean, mean_low})
                require(Index(about.size()) == classes * mx.cols, "one mean per class and column");
            require_size(third, products), require_size(fourths, products), require_size(rest, 3 * products);
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            fourth(mx, r, mean.data(), mean_low.data(), {third.data(), fourths.data(), rest.data()});
        },
        "Write the centred products of squares of complete rows, what rounding takes from them and its doubt.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(), "mean"_a.noconvert(),
        "mean_low"_a.noconvert(), "out_third"_a.noconvert(), "out_fourth"_a.noconvert(), "out_rest"_a.noconvert());
    m.def(
        "multivariate_log_density",
        [](Dense<T> x, Table mean, Cube whitening, Out<double> out, Out<bool> incomplete) {
            Matrix<T> mx = matrix(x);
            const Index classes = Index(mean.shape(0)), matrices = Index(whitening.shape(0));
            require(Index(mean.shape(1)) == mx.cols && Index(whitening.shape(1)) == mx.cols &&
                        Index(whitening.shape(2)) == mx.cols && (matrices == 1 || matrices == classes),
                    "parameter shapes");
            require_size(out, mx.rows * classes);
            require(Index(incomplete.size()) == mx.rows, "output size");
            nb::gil_scoped_release release;
            return multivariate_log_density(mx, mean.data(), whitening.data(), classes, matrices, out.data(),
                                            incomplete.data());
        },
        "Write log N(x_i; mean_c, (WᵀW)⁻¹) (rows, classes); mark incomplete rows.", "x"_a.noconvert(),
        "mean"_a.noconvert(), "whitening"_a.noconvert(), "out"_a.noconvert(), "out_incomplete"_a.noconvert());
}

void bind_incomplete(nb::module_& m) {
    using Maybe = std::optional<Out<double>>;
    m.def(
        "gaussian_incomplete",
        [](Table x, Table mean, Cube covariance, Weights weight, Maybe log_density, Maybe peak, Maybe filled,
           Maybe spread) {
            const Index rows = Index(x.shape(0)), d = Index(x.shape(1)), classes = Index(mean.shape(0));
            require(Index(mean.shape(1)) == d && Index(covariance.size()) == classes * d * d, "parameter shapes");
            require(!weight || Index(weight->size()) == rows, "one weight per row");
            if (log_density) require_size(*log_density, rows * classes);
            if (peak) require_size(*peak, rows * classes);
            if (filled) require_size(*filled, rows * classes * d);
            if (spread) require_size(*spread, classes * d * d);
            nb::gil_scoped_release release;
            gaussian_incomplete(x.data(), rows, d, mean.data(), covariance.data(), classes,
                                weight ? weight->data() : nullptr, log_density ? log_density->data() : nullptr,
                                peak ? peak->data() : nullptr, filled ? filled->data() : nullptr,
                                spread ? spread->data() : nullptr);
        },
        "Compute for incomplete rows what is not None: log-density and its peak, rows filled in, conditional "
        "covariances.",
        "x"_a.noconvert(), "mean"_a.noconvert(), "covariance"_a.noconvert(), "weight"_a.noconvert().none(),
        "log_density"_a.noconvert().none(), "peak"_a.noconvert().none(), "filled"_a.noconvert().none(),
        "spread"_a.noconvert().none());
}

template <class T, class I>
void bind_sparse(nb::module_& m) {
    m.def(
        "sparse_totals",
        [](Vector<T> data, Vector<I> indices, Vector<I> indptr, Index cols, Codes codes, Index classes, Weights weight,
           Threshold threshold, Out<double> total, Low low) {
            Sparse<T, I> x = sparse(data, indices, indptr, cols);
            require_size(total, classes * cols);
            if (low) require_size(*low, classes * cols);
            Rows r = rows(codes, weight, classes, x.rows);
            SparseFindings found;
            Index refused;
            {
                nb::gil_scoped_release release;
                refused = sparse_totals(x, r, count_rule(threshold), total.data(), low ? low->data() : nullptr, &found);
            }
            if (found.malformed) refused = malformed;
            return std::tuple(refused, found.missing, found.duplicate);
        },
        "Add Σ w·x (classes, columns), and what rounding takes to `low`; also return whether NaN and duplicates were "
        "found.",
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "cols"_a, "codes"_a.noconvert(),
        "classes"_a, "weight"_a.noconvert().none(), "threshold"_a.none(), "out_total"_a.noconvert(),
        "out_low"_a.noconvert().none());
    m.def(
        "sparse_scores",
        [](Vector<T> data, Vector<I> indices, Vector<I> indptr, Threshold threshold, Table coef,
           std::optional<Table> absent, Vector<double> intercept, Out<double> out) {
            Sparse<T, I> x = sparse(data, indices, indptr, Index(coef.shape(0)));
            const Index stride = Index(coef.shape(1)), classes = Index(intercept.size());
            require(stride % 8 == 0 && classes <= stride, "weights must be padded to multiples of 8");
            require(!absent || absent->size() == coef.size(), "weight shapes");
            require_size(out, x.rows * classes);
            nb::gil_scoped_release release;
            return sparse_scores(x, count_rule(threshold), coef.data(), absent ? absent->data() : nullptr, stride,
                                 intercept.data(), classes, out.data());
        },
        "Write intercept + x·coef (rows, classes); return the position of a refused value, or -1.",
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "threshold"_a.none(),
        "coef"_a.noconvert(), "absent"_a.noconvert().none(), "intercept"_a.noconvert(), "out"_a.noconvert());
}

template <class T, class I>
void bind_sparse_log_sums(nb::module_& m) {
    m.def(
        "sparse_log_sums",
        [](Vector<T> data, Vector<I> indices, Vector<I> indptr, Codes cls, Vector<double> removed, Table table,
           Out<double> sums, Out<double> lengths) {
            Sparse<T, I> x = sparse(data, indices, indptr, Index(table.shape(1)));
            rows(cls, removed, Index(table.shape(0)), x.rows);  // checks
            for (const auto& out : {sums, lengths}) require_size(out, x.rows);
            nb::gil_scoped_release release;
            return sparse_log_sums(x, cls.data(), removed.data(), table.data(), sums.data(), lengths.data());
        },
        "Write Σ_j x_ij log(table[cls_i, j] - removed_i x_ij) and Σ_j x_ij of each row.", "data"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert(), "cls"_a.noconvert(), "removed"_a.noconvert(),
        "table"_a.noconvert(), "sums"_a.noconvert(), "lengths"_a.noconvert());
}

template <class T>
void bind_categories(nb::module_& m) {
    m.def(
        "category_range",
        [](Dense<T> x, Out<Index> lowest, Out<Index> highest) {
            Matrix<T> mx = matrix(x);
            require(Index(lowest.size()) == mx.cols && Index(highest.size()) == mx.cols, "output size");
            nb::gil_scoped_release release;
            return category_range(mx, lowest.data(), highest.data());
        },
        "Write the lowest and highest code of each column; return the position of an infinite value, or -1.",
        "x"_a.noconvert(), "lowest"_a.noconvert(), "highest"_a.noconvert());
    m.def(
        "category_counts",
        [](Dense<T> x, Codes codes, Index classes, Weights weight, Vector<Index> offsets, Out<double> table, Low low) {
            Matrix<T> mx = matrix(x);
            require(Index(offsets.size()) == mx.cols + 1, "one offset per column and one past the end");
            require_size(table, classes * offsets(mx.cols));
            if (low) require_size(*low, Index(table.size()));
            require(!low || weight, "what rounding takes is of weights");
            Rows r = rows(codes, weight, classes, mx.rows);
            nb::gil_scoped_release release;
            return category_counts(mx, r, offsets.data(), table.data(), low ? low->data() : nullptr);
        },
        "Add the weight of each category (classes, categories), and what rounding takes to `low`; return the position "
        "of a code without a place, or -1.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(), "offsets"_a.noconvert(),
        "table"_a.noconvert(), "out_low"_a.noconvert().none());
    m.def(
        "category_scores",
        [](Dense<T> x, Vector<Index> offsets, Table scores, Index classes, Out<double> out) {
            Matrix<T> mx = matrix(x);
            require(Index(offsets.size()) == mx.cols + 1, "one offset per column and one past the end");
            require(Index(scores.shape(0)) == offsets(mx.cols), "one row of scores per category");
            require(scores.shape(1) % 8 == 0 && classes <= Index(scores.shape(1)),
                    "scores must be padded to multiples of 8");
            require_size(out, mx.rows * classes);
            nb::gil_scoped_release release;
            return category_scores(mx, offsets.data(), scores.data(), Index(scores.shape(1)), classes, out.data());
        },
        "Add the score of each category (rows, classes); return the position of a negative code, or -1.",
        "x"_a.noconvert(), "offsets"_a.noconvert(), "scores"_a.noconvert(), "classes"_a, "out"_a.noconvert());
}

void bind_cosines(nb::module_& m) {
    using Floats = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    using CodeTable = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    auto checked = [](const Floats& x, const CodeTable& codes, const Vector<Index>& at, const Floats& frequency,
                      const Vector<float>& phase, double height) {
        const Cosines of{
            frequency.data(),  phase.data(),          at.data(), Index(frequency.shape(0)), Index(frequency.shape(1)),
            Index(x.shape(1)), Index(codes.shape(1)), height};
        require(codes.shape(0) == x.shape(0), "categories for each row");
        require(Index(at.size()) == of.numbers, "a row of frequencies for each number");
        for (Index j = 0; j < of.numbers; ++j) require(at(j) >= 0 && at(j) < of.features, "rows of frequencies");
        require(Index(phase.size()) == of.cosines && of.cosines % 16 == 0, "cosines must be a multiple of 16");
        return of;
    };
    m.def(
        "cosines",
        [checked](Floats x, CodeTable codes, Vector<Index> at, Floats frequency, Vector<float> phase, double height,
                  Out<float> out) {
            const Cosines of = checked(x, codes, at, frequency, phase, height);
            require_size(out, Index(x.shape(0)) * of.cosines);
            nb::gil_scoped_release release;
            cosines(of, x.data(), codes.data(), Index(x.shape(0)), out.data());
        },
        "Write height cos 2π(phase + x·frequency[at] + Σ frequency[code]) (rows, cosines); codes without a row of "
        "frequencies add nothing.",
        "x"_a.noconvert(), "codes"_a.noconvert(), "at"_a.noconvert(), "frequency"_a.noconvert(), "phase"_a.noconvert(),
        "height"_a, "out"_a.noconvert());
    m.def(
        "cosine_scores",
        [checked](Floats x, CodeTable codes, Vector<Index> at, Floats frequency, Vector<float> phase, double height,
                  Table coef, Vector<double> intercept, Out<double> out) {
            const Cosines of = checked(x, codes, at, frequency, phase, height);
            const Index rows = Index(x.shape(0)), classes = Index(intercept.size());
            require(Index(coef.shape(0)) == classes && Index(coef.shape(1)) == of.cosines,
                    "a weight for each class and cosine");
            require_size(out, rows * classes);
            nb::gil_scoped_release release;
            cosine_scores(of, x.data(), codes.data(), rows, coef.data(), intercept.data(), classes, out.data());
        },
        "Write intercept + the product of the cosines with coef (rows, classes).", "x"_a.noconvert(),
        "codes"_a.noconvert(), "at"_a.noconvert(), "frequency"_a.noconvert(), "phase"_a.noconvert(), "height"_a,
        "coef"_a.noconvert(), "intercept"_a.noconvert(), "out"_a.noconvert());
}

template <class T>
void bind_posterior(nb::module_& m) {
    m.def(
        "posterior",
        [](Out<double> scores, Vector<double> added, Vector<double> fallback, bool as_log, Out<T> out, double mixed) {
            const Index classes = Index(fallback.size()), rows = classes ? Index(scores.size()) / classes : 0;
            require_size(scores, rows * classes);
            require(out.size() == scores.size(), "output size");
            require(added.size() == fallback.size(), "one number for each class");
            require(mixed >= 0 && mixed <= 1 && !(mixed > 0 && as_log), "a part of the prior");
            nb::gil_scoped_release release;
            return posterior(scores.data(), rows, classes, added.data(), fallback.data(), as_log, mixed, out.data());
        },
        "Turn scores + added into p(y | x) or its logarithm; return how many rows got the fallback, or -1 - i if row i "
        "is the first that is not a number. Some of the prior, exp(fallback), may be mixed into p(y | x).",
        "scores"_a.noconvert(), "added"_a.noconvert(), "fallback"_a.noconvert(), "as_log"_a, "out"_a.noconvert(),
        "mixed"_a = 0.0);
}

template <class Offset>
void bind_string_codes(nb::module_& m) {
    m.def(
        "string_codes",
        [](Vector<Offset> offsets, Vector<std::uint8_t> bytes, std::optional<Vector<std::uint8_t>> valid,
           Index first_bit, Out<std::int32_t> codes) {
            const Index rows = Index(codes.size());
            require(Index(offsets.size()) == rows + 1, "one offset more than rows");
            require(rows < (Index(1) << 31), "at most 2^31 rows at once");
            require(!valid || (first_bit >= 0 && first_bit + rows <= 8 * Index(valid->size())), "one bit per row");
            bool ascending = offsets(0) >= 0 && Index(offsets(rows)) <= Index(bytes.size());
            for (Index i = 0; i < rows; ++i) ascending &= offsets.data()[i] <= offsets.data()[i + 1];
            require(ascending, "offsets must ascend within the bytes");
            const StringColumn<Offset> column{offsets.data(), reinterpret_cast<const char*>(bytes.data()),
                                              valid ? valid->data() : nullptr, first_bit, rows};
            std::vector<Index> found;
            {
                nb::gil_scoped_release release;
                found = string_codes(column, codes.data());
            }
            return array(std::move(found));
        },
        "Number the distinct strings in sorted order, -1 being missing; return a row for each of them.",
        "offsets"_a.noconvert(), "bytes"_a.noconvert(), "valid"_a.noconvert().none(), "first_bit"_a,
        "codes"_a.noconvert());
}

template <class T>
void bind_mixture_log_density(nb::module_& m) {
    m.def(
        "mixture_log_density",
        [](Dense<T> x, Table log_norm, Table mean, Table precision, Vector<Index> used, Index classes,
           Out<double> out) {
            Matrix<T> mx = matrix(x);
            require(Index(used.size()) == classes * mx.cols, "one number of components per class and column");
            for (const auto& table : {log_norm, mean, precision})
                require(table.shape(0) == used.size() && table.shape(1) == mean.shape(1), "parameter shapes");
            require_size(out, mx.rows * classes);
            MixtureTables tables{log_norm.data(), mean.data(), precision.data(),
                                 used.data(),     classes,     Index(mean.shape(1))};
            nb::gil_scoped_release release;
            return mixture_log_density(mx, tables, out.data());
        },
        "Write Σ_j log p(x_ij) under the mixture of each class (rows, classes).", "x"_a.noconvert(),
        "log_norm"_a.noconvert(), "mean"_a.noconvert(), "precision"_a.noconvert(), "used"_a.noconvert(), "classes"_a,
        "out"_a.noconvert());
}

void bind_mixture_fit(nb::module_& m) {
    m.def(
        "mixture_fit",
        [](Vector<double> value, Vector<double> weight, Vector<Index> start, Vector<double> point, bool select,
           double tol, Index max_iter, double floor, Table uniform, Out<double> share, Out<double> mean,
           Out<double> variance, Out<Index> used, Out<Index> steps, Out<bool> converged, Out<double> score,
           std::optional<Out<double>> trace) {
            const Index tasks = Index(point.size()), components = Index(uniform.shape(1));
            require(Index(start.size()) == tasks + 1 && components > 0, "one start per task and one past the end");
            require(weight.size() == value.size() && start(tasks) <= Index(value.size()), "one weight per value");
            for (const auto& table : {share, mean, variance}) require_size(table, tasks * components);
            require_size(score, tasks);
            for (const auto& number : {used, steps}) require(Index(number.size()) == tasks, "output size");
            require(Index(converged.size()) == tasks, "output size");
            if (trace) require_size(*trace, tasks * (max_iter + 1));
            MixtureOptions options{components, select, tol, max_iter, floor, Index(uniform.shape(0)), uniform.data()};
            MixtureResult out{share.data(), mean.data(),      variance.data(), used.data(),
                              steps.data(), converged.data(), score.data(),    trace ? trace->data() : nullptr};
            nb::gil_scoped_release release;
            mixture_fit(value.data(), weight.data(), start.data(), tasks, point.data(), options, out);
        },
        "Fit one Gaussian mixture to each task by expectation-maximization.", "value"_a.noconvert(),
        "weight"_a.noconvert(), "start"_a.noconvert(), "point"_a.noconvert(), "select"_a, "tol"_a, "max_iter"_a,
        "floor"_a, "uniform"_a.noconvert(), "share"_a.noconvert(), "mean"_a.noconvert(), "variance"_a.noconvert(),
        "used"_a.noconvert(), "steps"_a.noconvert(), "converged"_a.noconvert(), "score"_a.noconvert(),
        "trace"_a.noconvert().none());
}

Points points(const Vector<double>& at, const Vector<double>& weight, const Vector<Index>& start,
              const Vector<double>& total) {
    const Index classes = Index(start.size()) - 1;
    require(classes >= 0 && Index(total.size()) == classes && at.size() == weight.size(), "point shapes");
    for (Index c = 0; c < classes; ++c) require(start(c) >= 0 && start(c) < start(c + 1), "a class without points");
    require(classes == 0 || start(classes) <= Index(at.size()), "points beyond the data");
    return {at.data(), weight.data(), start.data(), total.data(), classes};
}

Kernel kernel(int number) {
    require(number >= 0 && number <= int(Kernel::cosine), "no such kernel");
    return Kernel(number);
}

void bind_kernel_density(nb::module_& m) {
    m.def(
        "kernel_log_density",
        [](int number, Vector<double> x, Vector<Index> order, Weights removed, Vector<double> at, Vector<double> weight,
           Vector<Index> start, Vector<double> total, Vector<double> bandwidth, Out<double> out) {
            Points p = points(at, weight, start, total);
            const Index n = Index(x.size()), rows = p.classes ? Index(out.size()) / p.classes : 0;
            require(order.size() == x.size() && n <= rows, "one place for each query");
            require(places_within(order.data(), n, rows), "a place beyond the output");
            require(!removed || removed->size() == x.size(), "one removed weight for each query");
            require(Index(bandwidth.size()) == p.classes, "one bandwidth for each class");
            nb::gil_scoped_release release;
            kernel_log_density(kernel(number), x.data(), order.data(), n, removed ? removed->data() : nullptr, p,
                               bandwidth.data(), out.data());
        },
        "Add the log kernel density of ascending x to out (rows, classes), row order[i] for x[i].", "kernel"_a,
        "x"_a.noconvert(), "order"_a.noconvert(), "removed"_a.noconvert().none(), "at"_a.noconvert(),
        "weight"_a.noconvert(), "start"_a.noconvert(), "total"_a.noconvert(), "bandwidth"_a.noconvert(),
        "out"_a.noconvert());
    m.def(
        "kernel_leave_one_out",
        [](int number, Vector<double> x, Vector<double> removed, Vector<double> at, Vector<double> weight,
           Vector<Index> start, Vector<double> total, Vector<double> bandwidth, Out<double> out) {
            Points p = points(at, weight, start, total);
            require(p.classes == 1, "one class at a time");
            for (Index size : {Index(removed.size()), Index(bandwidth.size()), Index(out.size())})
                require(size == Index(x.size()), "one for each query");
            nb::gil_scoped_release release;
            kernel_leave_one_out(kernel(number), x.data(), Index(x.size()), removed.data(), p, bandwidth.data(),
                                 out.data());
        },
        "Write the log kernel density of each x under one class, with a bandwidth and a removed weight of its own.",
        "kernel"_a, "x"_a.noconvert(), "removed"_a.noconvert(), "at"_a.noconvert(), "weight"_a.noconvert(),
        "start"_a.noconvert(), "total"_a.noconvert(), "bandwidth"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // objects may live until Python exits
    m.doc() =
        "The kernels of suffice: private, described in cpp/kernels.hpp and cpp/text.hpp.\n\n"
        "Outputs are arguments. A kernel that may refuse a value returns its position row * columns + column, or -1.";
    m.def("max_threads", &max_threads, "Return how many threads a large call may use.");
    m.def("limit_threads", &limit_threads, "most"_a,
          "Let calls from this thread use at most so many threads, 0 being no limit; return the limit before.");
    m.def("instruction_set", &instruction_set_name, "Return the instruction set whose inner loops are used.");
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_multivariate<double>(m);
    bind_multivariate<float>(m);
    bind_algebra(m);
    bind_incomplete(m);
    bind_texts(m);
    bind_candidates(m);
    bind_cells(m);
    bind_pairs(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
    bind_sparse_log_sums<double, std::int32_t>(m);
    bind_sparse_log_sums<double, std::int64_t>(m);
    bind_sparse_log_sums<float, std::int32_t>(m);
    bind_sparse_log_sums<float, std::int64_t>(m);
    bind_categories<double>(m);
    bind_categories<float>(m);
    bind_categories<std::int32_t>(m);
    bind_categories<std::int64_t>(m);
    m.def(
        "integer_range",
        [](Vector<std::int64_t> values) {
            require(values.size() > 0, "there must be integers");
            nb::gil_scoped_release release;
            return integer_range(values.data(), Index(values.size()));
        },
        "Return the least and the largest of some integers.", "values"_a.noconvert());
    m.def(
        "number_integers",
        [](Vector<std::int64_t> values, std::int64_t low, Out<std::int32_t> codes, Out<bool> seen) {
            require(codes.size() == values.size(), "output size");
            nb::gil_scoped_release release;
            return number_integers(values.data(), Index(values.size()), low, Index(seen.size()), codes.data(),
                                   seen.data());
        },
        "Write values - low as codes and mark those that occur; return whether all values lie in the range.",
        "values"_a.noconvert(), "low"_a, "codes"_a.noconvert(), "seen"_a.noconvert());
    m.def(
        "misplaced_bracket",
        [](Vector<std::uint8_t> text, std::int64_t deepest, Out<std::int64_t> state) {
            require(state.size() == 4, "state of lines, depth, string and escape");
            std::int64_t* s = state.data();
            Nesting nesting{s[0], s[1], s[2], s[3]};
            Index at;
            {
                nb::gil_scoped_release release;
                at = misplaced_bracket(text.data(), Index(text.size()), deepest, nesting);
            }
            s[0] = nesting.lines;
            s[1] = nesting.depth;
            s[2] = nesting.in_string;
            s[3] = nesting.escaped;
            return at;
        },
        "Return where a block of JSON lines is nested deeper than deepest levels, or has something else than objects, "
        "or "
        "-1; state is of the text so far: lines, depth, whether in a string, whether after a backslash.",
        "text"_a.noconvert(), "deepest"_a, "state"_a.noconvert());
    m.def(
        "row_hashes",
        [](std::vector<std::variant<Vector<double>, Vector<std::uint64_t>, std::pair<Codes, Vector<std::uint64_t>>>>
               columns,
           std::uint64_t missing, Out<std::uint64_t> out) {
            std::vector<HashColumn> parts;
            for (const auto& column : columns) {
                if (const auto* number = std::get_if<Vector<double>>(&column)) {
                    require(number->size() == out.size(), "one value per row");
                    parts.push_back({number->data(), nullptr, nullptr, 0});
                } else if (const auto* bits = std::get_if<Vector<std::uint64_t>>(&column)) {
                    require(bits->size() == out.size(), "one value per row");
                    parts.push_back({nullptr, bits->data(), nullptr, 0});
                } else {
                    const auto& [codes, table] = std::get<std::pair<Codes, Vector<std::uint64_t>>>(column);
                    require(codes.size() == out.size() && table.size() > 0, "one code per row, and their bits");
                    const Index last = Index(table.size()) - 1;
                    parts.push_back({nullptr, table.data(), codes.data(), last});
                }
            }
            nb::gil_scoped_release release;
            require(row_hashes(parts.data(), Index(parts.size()), Index(out.size()), missing, out.data()),
                    "codes beyond the table");
        },
        "Write the hash of each row of columns of float64, NaN being `missing`, of uint64, and of codes with a table "
        "of "
        "uint64, the last of which is for negative codes.",
        "columns"_a.noconvert(), "missing"_a, "out"_a.noconvert());
    m.def(
        "least_hashes",
        [](Vector<std::uint64_t> hashes, Weights weight, Index size, std::uint64_t most) {
            require(!weight || weight->size() == hashes.size(), "one weight per row");
            std::vector<Index> found;
            {
                nb::gil_scoped_release release;
                found =
                    least_hashes(hashes.data(), weight ? weight->data() : nullptr, Index(hashes.size()), size, most);
            }
            return array(std::move(found));
        },
        "Return the rows of positive weight whose hash is at most `most`, and among the `size` least distinct ones.",
        "hashes"_a.noconvert(), "weight"_a.noconvert().none(), "size"_a, "most"_a = ~std::uint64_t(0));
    m.def(
        "least_rows",
        [](Vector<std::uint64_t> hashes, Codes codes, Index size, std::uint64_t most) {
            require(codes.size() == hashes.size() && codes.size() < (std::size_t(1) << 31), "one class code per row");
            std::vector<Index> row;
            std::vector<double> count;
            {
                nb::gil_scoped_release release;
                for (const auto& [first, rows] :
                     least_rows(hashes.data(), codes.data(), Index(hashes.size()), size, most)) {
                    row.push_back(first);
                    count.push_back(double(rows));
                }
            }
            return std::pair(array(std::move(row)), array(std::move(count)));
        },
        "Return the first of the rows of each hash and class that `least_hashes` gives, sorted by both, and how many "
        "there are of each.",
        "hashes"_a.noconvert(), "codes"_a.noconvert(), "size"_a, "most"_a = ~std::uint64_t(0));
    bind_string_codes<std::int32_t>(m);
    bind_string_codes<std::int64_t>(m);
    m.def(
        "step_scores",
        [](nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> x, Vector<double> edges, bool exact, Table scores,
           Out<double> out) {
            const Index n = Index(x.size()), m = Index(edges.size());
            require(Index(scores.shape(0)) == m + 1, "one score more than edges");
            require(out.ndim() == 2 && Index(out.shape(0)) == n && out.shape(1) <= scores.shape(1), "output size");
            nb::gil_scoped_release release;
            return step_scores(x.data(), n > 1 ? x.stride(0) : 1, n, edges.data(), m, exact, scores.data(),
                               Index(scores.shape(1)), Index(out.shape(1)), out.data());
        },
        "Add the scores of the bin of each number, or of the value that it is; return the row of an infinite one, or "
        "-1.",
        "x"_a.noconvert(), "edges"_a.noconvert(), "exact"_a, "scores"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "line_scores",
        [](nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> x, Vector<double> breaks, Vector<double> origin,
           Table level, Table slope, Out<double> out) {
            const Index n = Index(x.size()), m = Index(breaks.size());
            require(m > 0 && Index(origin.size()) == m + 2, "an origin for each piece and for NaN");
            require(out.ndim() == 2 && Index(out.shape(0)) == n, "output size");
            for (const Table& each : {level, slope})
                require(Index(each.shape(0)) == m + 2 && each.shape(1) == out.shape(1), "a line for each piece");
            nb::gil_scoped_release release;
            line_scores(x.data(), n > 1 ? x.stride(0) : 1, n, breaks.data(), m,
                        {origin.data(), level.data(), slope.data()}, Index(out.shape(1)), out.data());
        },
        "Add the score of each number, (rows, classes): lines between ascending breaks; the last one is that of NaN.",
        "x"_a.noconvert(), "breaks"_a.noconvert(), "origin"_a.noconvert(), "level"_a.noconvert(), "slope"_a.noconvert(),
        "out"_a.noconvert());
    m.def(
        "step_places",
        [](Dense<double> x, Vector<double> edges, Vector<Index> start, bool exact,
           nb::ndarray<float, nb::ndim<2>, nb::f_contig, nb::device::cpu> out) {
            const Matrix<double> mx = matrix(x);
            require(Index(start.size()) == mx.cols + 1 && start(0) == 0 && start(mx.cols) == Index(edges.size()),
                    "edges of each column");
            for (Index j = 0; j < mx.cols; ++j) require(start(j) <= start(j + 1), "edges of each column");
            require(Index(out.shape(0)) == mx.rows && Index(out.shape(1)) == mx.cols, "output size");
            nb::gil_scoped_release release;
            return step_places(mx, edges.data(), start.data(), exact, out.data());
        },
        "Write the bin of each number, or the number of the value that it is, (rows, columns) in Fortran order; return "
        "the position of an infinite one, or -1. NaN is missing.",
        "x"_a.noconvert(), "edges"_a.noconvert(), "start"_a.noconvert(), "exact"_a, "out"_a.noconvert());
    m.def(
        "sort_segments",
        [](Out<double> values, Vector<Index> start, std::optional<Out<Index>> order) {
            const Index segments = Index(start.size()) - 1;
            require(segments >= 0 && start(0) == 0 && start(segments) == Index(values.size()), "segment bounds");
            for (Index c = 0; c < segments; ++c) require(start(c) <= start(c + 1), "segment bounds");
            require(!order || order->size() == values.size(), "output size");
            nb::gil_scoped_release release;
            sort_segments(values.data(), start.data(), segments, order ? order->data() : nullptr);
        },
        "Sort each segment in place, NaN last; write where each value was to order, unless it is None.",
        "values"_a.noconvert(), "start"_a.noconvert(), "order"_a.noconvert().none());
    m.def(
        "class_weights",
        [](Codes codes, Index classes, Weights weight, Out<double> out, Low low) {
            require_size(out, classes);
            require(low || !weight, "weights may be rounded");
            if (low) require_size(*low, classes);
            Rows r = rows(codes, weight, classes, Index(codes.size()));
            nb::gil_scoped_release release;
            class_weights(r, Index(codes.size()), out.data(), low ? low->data() : nullptr);
        },
        "Add the weight of the rows of each class, and what rounding takes to `low`.", "codes"_a.noconvert(),
        "classes"_a, "weight"_a.noconvert().none(), "out"_a.noconvert(), "out_low"_a.noconvert().none());
    bind_mixture_fit(m);
    bind_mixture_log_density<double>(m);
    bind_mixture_log_density<float>(m);
    bind_kernel_density(m);
    bind_cosines(m);
    bind_posterior<double>(m);
    bind_posterior<float>(m);
    m.def(
        "most_probable",
        [](Table scores, Vector<double> added, Index fallback, Out<Index> out) {
            const Index rows = Index(scores.shape(0)), classes = Index(scores.shape(1));
            require(Index(out.size()) == rows && Index(added.size()) == classes, "output size");
            nb::gil_scoped_release release;
            return most_probable(scores.data(), rows, classes, added.data(), fallback, out.data());
        },
        "Write the class of the largest scores + added of each row, or the fallback where all are -inf; return the "
        "first "
        "row that is not a number, or -1.",
        "scores"_a.noconvert(), "added"_a.noconvert(), "fallback"_a, "out"_a.noconvert());
}

}  // namespace suffice
