// Python bindings of the kernels on pairs of columns, on columns that become others, and on exponents of evidence.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernels.hpp"
#include "numpy_vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace suffice {
namespace {

template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using CodeTable = Table<const std::uint8_t>;
using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

CodedColumns columns_of(const CodeTable& codes, const Vector<Index>& sizes) {
    require(codes.shape(0) == sizes.size(), "a size for each column");
    for (std::size_t j = 0; j < sizes.size(); ++j) require(sizes(j) >= 0 && sizes(j) <= 255, "codes below 255");
    return {codes.data(), Index(codes.shape(1)), sizes.data()};
}

ColumnPairs pairs_of(const Table<const std::int32_t>& pairs, const Vector<Index>& offsets, const Vector<Index>& sizes) {
    require(pairs.shape(0) == 2 && offsets.size() == pairs.shape(1) + 1 && offsets(0) == 0, "bounds of pairs");
    for (std::size_t q = 0; q < pairs.shape(1); ++q) {
        for (int side = 0; side < 2; ++side)
            require(pairs(side, q) >= 0 && std::size_t(pairs(side, q)) < sizes.size(), "columns of pairs");
        require(offsets(q + 1) - offsets(q) == sizes(pairs(0, q)) * sizes(pairs(1, q)), "cells of pairs");
    }
    return {pairs.data(), pairs.data() + pairs.shape(1), Index(pairs.shape(1)), offsets.data()};
}

template <class T>
void bind_left_out(nb::module_& m) {
    m.def(
        "pair_left_out",
        [](CodeTable codes, Vector<Index> sizes, Table<const std::int32_t> pairs, Vector<Index> offsets,
           Vector<std::int32_t> classes_of, Vector<double> weight, Table<const double> counts,
           Table<const double> ratios, Vector<double> exponents, Table<const std::int32_t> to,
           nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
            const CodedColumns x = columns_of(codes, sizes);
            const ColumnPairs of = pairs_of(pairs, offsets, sizes);
            const Index classes = Index(counts.shape(0)), cells = of.offsets[of.pairs];
            require(Index(classes_of.size()) == x.rows && Index(weight.size()) == x.rows, "a class and a weight each");
            require(classes > 0, "a class");
            for (const Table<const double>& each : {counts, ratios})
                require(Index(each.shape(0)) == classes && Index(each.shape(1)) == cells, "counts and ratios of cells");
            require(Index(exponents.size()) == of.pairs && to.shape(0) == 2 && Index(to.shape(1)) == of.pairs,
                    "an exponent and two places for each pair");
            require(Index(out.shape(0)) == classes - 1 && Index(out.shape(1)) == x.rows, "output size");
            for (Index q = 0; q < of.pairs; ++q)
                for (int side = 0; side < 2; ++side)
                    require(to(side, q) >= 0 && std::size_t(to(side, q)) < out.shape(2), "places of pairs");
            const std::int32_t* code = classes_of.data();
            nb::gil_scoped_release release;
            for (Index i = 0; i < x.rows; ++i) require(code[i] >= 0 && code[i] < classes, "class of a row");
            pair_left_out(x, of, {code, weight.data(), classes}, counts.data(), ratios.data(), exponents.data(),
                          to.data(), Index(out.shape(2)), out.data());
        },
        "Add what pairs say about rows that are left out of the counts of their class to out.\n\n"
        "It is relative to the first class: out is (classes - 1, rows, places), and pair q is added to the places "
        "to[0, q] and to[1, q], once if they are the same. `ratios` are those of the counts.",
        "codes"_a.noconvert(), "sizes"_a.noconvert(), "pairs"_a.noconvert(), "offsets"_a.noconvert(),
        "classes_of"_a.noconvert(), "weight"_a.noconvert(), "counts"_a.noconvert(), "ratios"_a.noconvert(),
        "exponents"_a.noconvert(), "to"_a.noconvert(), "out"_a.noconvert());
}

template <class T>
void bind_loss(nb::module_& m) {
    m.def(
        "log_linear_loss",
        [](nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu> values, Table<const double> offset,
           Vector<std::int32_t> codes, Vector<double> weight, Vector<T> exponents, Vector<Index> bounds,
           nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> loss, Table<double> slope, Table<double> p) {
            const Index others = Index(values.shape(0)), rows = Index(values.shape(1)), parts = Index(values.shape(2));
            for (const auto& each : {std::pair(offset.shape(0), offset.shape(1)), std::pair(p.shape(0), p.shape(1))})
                require(Index(each.first) == others && Index(each.second) == rows, "a number for each class and row");
            require(Index(codes.size()) == rows && Index(weight.size()) == rows, "a class and a weight each");
            require(Index(exponents.size()) == parts, "an exponent for each part");
            require(bounds.size() == loss.size() + 1 && slope.shape(0) == loss.size(), "bounds of blocks");
            require(Index(slope.shape(1)) == parts, "a slope for each part");
            require(bounds(0) == 0 && bounds(loss.size()) == rows, "bounds of all rows");
            for (std::size_t b = 0; b < loss.size(); ++b) require(bounds(b) <= bounds(b + 1), "ascending bounds");
            for (Index i = 0; i < rows; ++i) require(codes(i) >= 0 && codes(i) <= others, "class of a row");
            const Evidence<T> of{values.data(), offset.data(), codes.data(), weight.data(), others, rows, parts};
            nb::gil_scoped_release release;
            log_linear_loss(of, exponents.data(), bounds.data(), Index(loss.size()), loss.data(), slope.data(),
                            p.data());
        },
        "Write the log-loss of blocks of rows with exponents, their gradients, and the probabilities of all classes "
        "but the first.\n\n"
        "Values are (classes - 1, rows, parts), relative to the first class; offset and p are (classes - 1, rows), and "
        "slope is (blocks, parts).",
        "values"_a.noconvert(), "offset"_a.noconvert(), "codes"_a.noconvert(), "weight"_a.noconvert(),
        "exponents"_a.noconvert(), "bounds"_a.noconvert(), "loss"_a.noconvert(), "slope"_a.noconvert(),
        "p"_a.noconvert());
    m.def(
        "log_linear_hessians",
        [](nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu> values, Vector<double> weight,
           Table<const double> p, Vector<Index> bounds, Vector<Index> folds,
           nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
            const Index others = Index(values.shape(0)), rows = Index(values.shape(1)), parts = Index(values.shape(2));
            require(Index(p.shape(0)) == others && Index(p.shape(1)) == rows, "a number for each class and row");
            require(Index(weight.size()) == rows && others > 0, "a weight each, and two classes");
            require(bounds.size() == folds.size() + 1 && bounds(0) >= 0, "bounds of blocks");
            require(bounds(folds.size()) <= rows, "bounds of rows");
            require(Index(out.shape(1)) == parts && Index(out.shape(2)) == parts, "output size");
            for (std::size_t b = 0; b < folds.size(); ++b)
                require(
                    bounds(b) <= bounds(b + 1) && folds(b) >= (b ? folds(b - 1) : 0) && folds(b) < Index(out.shape(0)),
                    "ascending bounds and folds");
            const Evidence<T> of{values.data(), nullptr, nullptr, weight.data(), others, rows, parts};
            nb::gil_scoped_release release;
            log_linear_hessians(of, p.data(), bounds.data(), folds.data(), Index(folds.size()), out.data());
        },
        "Add the second derivatives of the log-loss of blocks of rows to those of their folds, (folds, parts, parts).",
        "values"_a.noconvert(), "weight"_a.noconvert(), "p"_a.noconvert(), "bounds"_a.noconvert(),
        "folds"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def(
        "pair_counts",
        [](CodeTable codes, Vector<Index> sizes, Table<const std::int32_t> pairs, Vector<Index> offsets,
           Vector<std::int32_t> classes_of, Index classes, Table<double> out) {
            const CodedColumns x = columns_of(codes, sizes);
            const ColumnPairs of = pairs_of(pairs, offsets, sizes);
            require(Index(classes_of.size()) == x.rows, "a class for each row");
            require(Index(out.shape(0)) == classes && Index(out.shape(1)) == of.offsets[of.pairs], "output size");
            const std::int32_t* code = classes_of.data();
            nb::gil_scoped_release release;
            for (Index i = 0; i < x.rows; ++i) require(code[i] >= 0 && code[i] < classes, "class of a row");
            pair_counts(x, of, {code, nullptr, classes}, out.data());
        },
        "Add the number of rows of each class in every cell of pairs of columns to out (classes, cells).",
        "codes"_a.noconvert(), "sizes"_a.noconvert(), "pairs"_a.noconvert(), "offsets"_a.noconvert(),
        "classes_of"_a.noconvert(), "classes"_a, "out"_a.noconvert());
    m.def(
        "pair_scores",
        [](CodeTable codes, Vector<Index> sizes, Table<const std::int32_t> pairs, Vector<Index> offsets,
           Table<const double> scores, Table<double> out) {
            const CodedColumns x = columns_of(codes, sizes);
            const ColumnPairs of = pairs_of(pairs, offsets, sizes);
            Index cells = 0;
            for (Index q = 0; q < of.pairs; ++q) cells += (sizes(of.first[q]) + 1) * (sizes(of.second[q]) + 1);
            require(Index(scores.shape(0)) == cells && scores.shape(1) + 1 == out.shape(1), "scores");
            require(Index(out.shape(0)) == x.rows, "output size");
            nb::gil_scoped_release release;
            pair_scores(x, Index(sizes.size()), of, scores.data(), Index(scores.shape(1)), out.data());
        },
        "Add the scores of the cells of each row to out (rows, classes), for each class but the first.\n\n"
        "The scores of a pair are (codes of the first + 1, codes of the second + 1, classes - 1); those of all pairs "
        "are one after the other, and the last ones of each are of missing values.",
        "codes"_a.noconvert(), "sizes"_a.noconvert(), "pairs"_a.noconvert(), "offsets"_a.noconvert(),
        "scores"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "pair_ratios",
        [](Vector<Index> sizes, Table<const std::int32_t> pairs, Vector<Index> offsets, Table<const double> counts,
           Table<double> out) {
            const ColumnPairs of = pairs_of(pairs, offsets, sizes);
            require(Index(counts.shape(1)) == of.offsets[of.pairs], "counts of cells");
            require(out.shape(0) == counts.shape(0) && out.shape(1) == counts.shape(1), "output size");
            nb::gil_scoped_release release;
            pair_ratios(sizes.data(), of, Index(counts.shape(0)), counts.data(), out.data());
        },
        "Write what pairs say beyond their columns for every class and cell.", "sizes"_a.noconvert(),
        "pairs"_a.noconvert(), "offsets"_a.noconvert(), "counts"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "spread_without",
        [](Vector<double> values, Vector<double> weight, Vector<Index> place, Vector<double> removed, double divisor,
           double residue, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
            require(values.size() == weight.size() && place.size() == removed.size(), "a weight each");
            require(out.size() == place.size(), "output size");
            for (std::size_t i = 0; i < place.size(); ++i)
                require(place(i) >= 0 && std::size_t(place(i)) < values.size(), "places of values");
            nb::gil_scoped_release release;
            spread_without(values.data(), weight.data(), Index(values.size()), place.data(), removed.data(),
                           Index(place.size()), divisor, residue, out.data());
        },
        "Write the spread min(sigma, IQR / divisor) of weighted ascending values without some weight of one of them.",
        "values"_a.noconvert(), "weight"_a.noconvert(), "place"_a.noconvert(), "removed"_a.noconvert(), "divisor"_a,
        "residue"_a, "out"_a.noconvert());
    bind_loss<double>(m);
    bind_loss<float>(m);
    bind_left_out<double>(m);
    bind_left_out<float>(m);
    m.def(
        "combinations_tell",
        [](Table<const double> columns, Vector<std::int32_t> first, Vector<std::int32_t> second,
           Vector<std::int32_t> how, Table<const double> scales, Vector<std::int32_t> classes_of, Vector<double> weight,
           Index classes, Vector<Index> bins, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
            const Index n = Index(columns.shape(1)), count = Index(out.size());
            require(Index(classes_of.size()) == n && Index(weight.size()) == n, "a class and a weight for each row");
            require(Index(first.size()) == count && Index(second.size()) == count && Index(how.size()) == count &&
                        Index(scales.shape(0)) == count && scales.shape(1) == 2,
                    "two columns and two scales for each combination");
            for (Index q = 0; q < count; ++q) {
                require(first(q) >= 0 && std::size_t(first(q)) < columns.shape(0), "columns of combinations");
                require(second(q) >= 0 && std::size_t(second(q)) < columns.shape(0), "columns of combinations");
                require(how(q) >= 0 && how(q) <= std::int32_t(Combination::sum), "kinds of combinations");
            }
            for (std::size_t k = 0; k < bins.size(); ++k) require(bins(k) > 0, "numbers of bins");
            for (Index i = 0; i < n; ++i) require(classes_of(i) >= 0 && classes_of(i) < classes, "class of a row");
            nb::gil_scoped_release release;
            combinations_tell(columns.data(), {first.data(), second.data(), how.data(), scales.data(), count},
                              {classes_of.data(), weight.data(), classes}, n, bins.data(), Index(bins.size()),
                              out.data());
        },
        "Write the mean log p(y | x) of rows, each left out of the bins of a combination of two columns.\n\n"
        "`how` is 0 for the first column alone, 1 for the ratio, 2 for the difference and 3 for the sum of both.",
        "columns"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(), "how"_a.noconvert(),
        "scales"_a.noconvert(), "classes_of"_a.noconvert(), "weight"_a.noconvert(), "classes"_a, "bins"_a.noconvert(),
        "out"_a.noconvert());
    m.def(
        "combine_columns",
        [](Column first, Column second, std::int32_t how, double scale, double other,
           nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
            require(first.size() == out.size() && second.size() == out.size(), "output size");
            require(how >= 0 && how <= std::int32_t(Combination::sum), "kinds of combinations");
            const double scales[] = {scale, other};
            nb::gil_scoped_release release;
            combine_columns(Combination(how), first.data(), first.stride(0), second.data(), second.stride(0), scales,
                            Index(out.size()), out.data());
        },
        "Write the ratio (1), difference (2) or sum (3) of two columns; NaN where it is missing or not finite.",
        "first"_a.noconvert(), "second"_a.noconvert(), "how"_a, "scale"_a, "other"_a, "out"_a.noconvert());
    m.def(
        "interpolate",
        [](Column x, Vector<double> knots, Vector<double> values,
           nb::ndarray<float, nb::ndim<1>, nb::device::cpu> out) {
            require(knots.size() > 0 && knots.size() == values.size(), "a value for each knot");
            require(knots.size() < (std::size_t(1) << 31), "fewer than 2^31 knots");
            require(out.size() == x.size(), "output size");
            nb::gil_scoped_release release;
            interpolate(x.data(), x.stride(0), Index(x.size()), knots.data(), values.data(), Index(knots.size()),
                        out.data(), out.stride(0));
        },
        "Write values between ascending knots, linearly, and those of the ends beyond; 0 for NaN.", "x"_a.noconvert(),
        "knots"_a.noconvert(), "values"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "bin_codes",
        [](Column values, Vector<double> edges,
           nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
            require(edges.size() < 255, "codes below 255");
            require(out.size() == values.size(), "output size");
            nb::gil_scoped_release release;
            bin_codes(values.data(), Index(values.size()), values.stride(0), edges.data(), Index(edges.size()), 255,
                      out.data());
        },
        "Write the number of edges below each value, 255 for NaN.", "values"_a.noconvert(), "edges"_a.noconvert(),
        "out"_a.noconvert());
    m.def(
        "category_codes",
        [](nb::ndarray<const std::int32_t, nb::ndim<1>, nb::device::cpu> values, Vector<std::uint8_t> code,
           nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
            require(out.size() == values.size(), "output size");
            nb::gil_scoped_release release;
            category_codes(values.data(), Index(values.size()), values.stride(0), code.data(), Index(code.size()), 255,
                           out.data());
        },
        "Write the code of each category, 255 for those that have none.", "values"_a.noconvert(), "code"_a.noconvert(),
        "out"_a.noconvert());
}

}  // namespace suffice
