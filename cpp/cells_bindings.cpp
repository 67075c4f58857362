// Python bindings of the kernels on columns that are not in one matrix: cells and moments.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "cells.hpp"
#include "numpy_vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace suffice {
namespace {

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Weights = std::optional<Vector<double>>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// Cells of columns in arrays: the level of each column, and edges, weights, what rounding took from those, and where the
// cells of every column and class start.
using Arrays = std::tuple<Numpy<std::int32_t>, Numpy<double>, Numpy<double>, Numpy<double>, Numpy<Index>>;

Arrays flat(const std::vector<ColumnCells>& columns, Index classes, bool weighted) {
    const Index cols = Index(columns.size());
    std::vector<std::int32_t> level(cols);
    std::vector<Index> start(cols * classes + 1);
    for (Index at = 0; at < cols * classes; ++at)
        start[at + 1] = start[at] + Index(columns[at / classes].of_class[at % classes].size());
    const Index cells = start.back();
    std::vector<double> edge(cells), weight(cells), low(weighted ? cells : 0);  // counts lose nothing
    for (Index j = 0; j < cols; ++j) {
        level[j] = columns[j].level;
        for (Index c = 0, at = classes ? start[j * classes] : 0; c < classes; ++c)
            for (const ValueCell& cell : columns[j].of_class[c]) {
                edge[at] = cell.edge;
                weight[at] = cell.weight;
                if (weighted) low[at] = cell.low;
                ++at;
            }
    }
    return {array(std::move(level)), array(std::move(edge)), array(std::move(weight)), array(std::move(low)),
            array(std::move(start))};
}

// Cells of columns from such arrays; all weights must be exact.
void fill(std::vector<ColumnCells>& columns, const Vector<std::int32_t>& level, const Vector<double>& edge,
          const Vector<double>& weight, const Vector<Index>& start, Index classes) {
    require(Index(start.size()) == Index(columns.size()) * classes + 1 && start(0) == 0 &&
                start(start.size() - 1) == Index(edge.size()) && weight.size() == edge.size(),
            "bounds of cells");
    const double *edges = edge.data(), *weights = weight.data();
    const Index* starts = start.data();
    for (std::size_t j = 0; j < columns.size(); ++j) {
        columns[j].level = level(j);
        for (Index c = 0; c < classes; ++c, ++starts) {
            require(starts[0] <= starts[1], "bounds of cells");
            auto& own = columns[j].of_class[c];
            own.resize(starts[1] - starts[0]);
            for (Index i = starts[0]; i < starts[1]; ++i) own[i - starts[0]] = {edges[i], weights[i], 0.0};
        }
    }
}

std::vector<StridedColumn> strided(const std::vector<Column>& columns, Index n) {
    std::vector<StridedColumn> out;
    for (const Column& column : columns) {
        require(Index(column.size()) == n, "one value per row");
        out.push_back({column.data(), n > 1 ? column.stride(0) : 1});
    }
    return out;
}

Rows rows_of(const Vector<std::int32_t>& codes, const Weights& weight, Index classes) {
    const Index n = Index(codes.size());
    require(n < (Index(1) << 31), "at most 2^31 rows at once: pass more in parts");
    require(!weight || Index(weight->size()) == n, "one weight per row");
    require(codes_within(codes.data(), n, classes), "class codes must lie between 0 and the number of classes");
    return {codes.data(), weight ? weight->data() : nullptr, classes};
}

}  // namespace

void bind_cells(nb::module_& m) {
    m.def(
        "count_cells",
        [](std::vector<Column> columns, Vector<std::int32_t> codes, Index classes, Weights weight, Index limit,
           Vector<std::int32_t> level, std::optional<std::tuple<Vector<double>, Vector<double>, Vector<Index>>> onto) {
            const Index n = Index(codes.size());
            const Rows rows = rows_of(codes, weight, classes);
            require(limit > 0 && level.size() == columns.size(), "a limit, and one level per column");
            const std::vector<StridedColumn> values = strided(columns, n);
            for (std::size_t j = 0; j < level.size(); ++j)
                require(level(j) >= finest_level && level(j) <= coarsest_level, "levels of cells");
            std::vector<ColumnCells> out(values.size());
            for (auto& column : out) column.of_class.resize(classes);
            if (onto) fill(out, level, std::get<0>(*onto), std::get<1>(*onto), std::get<2>(*onto), classes);
            std::vector<Index> infinite(values.size(), -1);
            {
                nb::gil_scoped_release release;
                count_cells(values, rows, n, limit, level.data(), out, infinite);
            }
            return std::tuple(flat(out, classes, weight.has_value()), array(std::move(infinite)));
        },
        "Return the cells of columns (level, edges, weights, what rounding took, starts), and the row of an infinite "
        "value in each column, or -1. The level is at least `level`; cells `onto` of these levels are added.",
        "columns"_a, "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(), "limit"_a,
        "level"_a.noconvert(), "onto"_a.noconvert().none());
    m.def(
        "moments_of_columns",
        [](std::vector<Column> columns, Vector<std::int32_t> codes, Index classes, Weights weight, Output w,
           Output mean, Output squares, Output rest) {
            const Index n = Index(codes.size()), size = classes * Index(columns.size());
            for (const auto& out : {w, mean, squares}) require(Index(out.size()) == size, "output size");
            require(Index(rest.size()) == 6 * size, "output size");
            const Rows rows = rows_of(codes, weight, classes);
            const std::vector<StridedColumn> values = strided(columns, n);
            nb::gil_scoped_release release;
            Index overflow;
            const Index infinite =
                moments(values, rows, n, w.data(), mean.data(), squares.data(), rest.data(), &overflow);
            return std::pair(infinite, overflow);
        },
        "Do what `moments` does, of columns that are not in one matrix.", "columns"_a, "codes"_a.noconvert(),
        "classes"_a, "weight"_a.noconvert().none(), "out_weight"_a.noconvert(), "out_mean"_a.noconvert(),
        "out_squares"_a.noconvert(), "out_rest"_a.noconvert());
}

}  // namespace suffice
