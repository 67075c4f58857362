// Python bindings of the kernels that score the families of columns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>

#include "candidates.hpp"
#include "numpy_vectors.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace suffice {
namespace {

template <class T>
using Flat = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
// Cells that begin at edges, end with the last number of each, stand for places, and have weights; starts of classes.
using Cells = std::tuple<Flat<double>, Flat<double>, Flat<double>, Flat<double>, Vector<Index>>;

std::vector<ColumnPoints> points_of(const std::vector<Cells>& columns, Index classes) {
    std::vector<ColumnPoints> out;
    out.reserve(columns.size());
    for (const auto& [edge, last, place, weight, start] : columns) {
        require(classes > 0 && Index(start.size()) == classes + 1 && start(0) == 0, "bounds of classes");
        for (Index c = 0; c < classes; ++c) require(start(c) <= start(c + 1), "bounds of classes");
        const std::size_t n = std::size_t(start(classes));
        require(n < (std::size_t(1) << 31), "at most 2^31 cells");
        for (const auto* each : {&edge, &last, &place, &weight}) require(each->size() == n, "a number for each cell");
        out.push_back({edge.data(), last.data(), place.data(), weight.data(), start.data(), classes});
    }
    return out;
}

Index work_of(const std::vector<ColumnPoints>& columns) {
    Index out = 0;
    for (const auto& column : columns) out += column.points();
    return out;
}

}  // namespace

void bind_candidates(nb::module_& m) {
    m.def(
        "column_shapes",
        [](std::vector<Cells> columns, Index classes) {
            const std::vector<ColumnPoints> points = points_of(columns, classes);
            const Index n = Index(points.size());
            std::vector<Index> distinct(n);
            std::vector<double> total(n), largest(n);
            {
                nb::gil_scoped_release release;
                for_blocks(n, threads_for(32 * work_of(points), n), [&](Index j, int) {
                    const ColumnShape shape = shape_of(points[j]);
                    distinct[j] = shape.distinct, total[j] = shape.total, largest[j] = shape.largest;
                });
            }
            return std::tuple(array(std::move(distinct)), array(std::move(total)), array(std::move(largest)));
        },
        "Return how many distinct cells all classes of each column have, their weight, and the largest weight of one.",
        "columns"_a, "classes"_a);
    m.def(
        "column_tables",
        [](std::vector<Cells> columns, Index classes, Vector<Index> bins) {
            const std::vector<ColumnPoints> points = points_of(columns, classes);
            const Index n = Index(points.size());
            require(Index(bins.size()) == n, "a number of bins for each column");
            for (Index j = 0; j < n; ++j) require(bins(j) >= 0, "a number of bins for each column");
            std::vector<ColumnTable> tables(n);
            std::vector<Index> edge(n + 1), size(n + 1);
            std::vector<double> edges, weight;
            {
                nb::gil_scoped_release release;
                for_blocks(n, threads_for(32 * work_of(points), n),
                           [&](Index j, int) { tables[j] = table_of(points[j], bins(j)); });
                for (Index j = 0; j < n; ++j) {
                    edge[j + 1] = edge[j] + Index(tables[j].edges.size());
                    size[j + 1] = size[j] + tables[j].size;
                }
                edges.resize(edge[n]);
                weight.resize(classes * size[n]);
                for (Index j = 0; j < n; ++j) {
                    std::copy(tables[j].edges.begin(), tables[j].edges.end(), edges.begin() + edge[j]);
                    for (Index c = 0; c < classes; ++c)
                        std::copy_n(tables[j].weight.begin() + c * tables[j].size, tables[j].size,
                                    weight.begin() + c * size[n] + size[j]);
                }
            }
            return std::tuple(array(std::move(edges)), array(std::move(edge)), array(std::move(weight)),
                              array(std::move(size)));
        },
        "Return the edges of bins of each column one after the other, where those of each start, the weight of each "
        "class in each bin, and where the bins of each column start. With 0 bins, the edges are the distinct values, "
        "and these are counted.",
        "columns"_a, "classes"_a, "bins"_a.noconvert());
    m.def(
        "score_candidates",
        [](std::vector<Cells> columns, Index classes, std::vector<std::optional<Vector<Index>>> some,
           Vector<Index> starts, Vector<std::int32_t> kinds, Vector<double> amounts, Vector<Index> bins,
           double strength, double shape) {
            const std::vector<ColumnPoints> points = points_of(columns, classes);
            const Index n = Index(points.size()), candidates = Index(kinds.size());
            require(Index(some.size()) == n && Index(starts.size()) == n + 1 && starts(0) == 0 &&
                        starts(n) == candidates && Index(amounts.size()) == candidates &&
                        Index(bins.size()) == candidates,
                    "candidates of each column");
            for (Index j = 0; j < n; ++j) {
                require(starts(j) <= starts(j + 1), "candidates of each column");
                Index before = -1;
                for (std::size_t i = 0; some[j] && i < some[j]->size(); ++i) {
                    require((*some[j])(i) > before && (*some[j])(i) < points[j].points(), "points that are scored");
                    before = (*some[j])(i);
                }
            }
            for (Index i = 0; i < candidates; ++i)
                require(kinds(i) >= 0 && kinds(i) <= 2 && bins(i) >= 0, "kinds of candidates");
            std::vector<double> out(3 * candidates);
            FirstPosition overflow;
            {
                nb::gil_scoped_release release;
                for_blocks(n, threads_for(128 * work_of(points), n), [&](Index j, int) {
                    std::vector<Candidate> own;
                    for (Index i = starts(j); i < starts(j + 1); ++i)
                        own.push_back({CandidateKind(kinds(i)), amounts(i), bins(i)});
                    std::vector<Score> scores(own.size());
                    const Index* at = some[j] ? some[j]->data() : nullptr;
                    const Index scored = some[j] ? Index(some[j]->size()) : 0;
                    if (!score_candidates(points[j], at, scored, {strength, shape}, own, scores.data()))
                        overflow.report(j);
                    double* to = out.data() + 3 * starts(j);
                    for (const Score& score : scores) *to++ = score.mean, *to++ = score.chance, *to++ = score.error;
                });
            }
            return std::tuple(array(std::move(out)), overflow.get());
        },
        "Return the mean log p(y | x), the mean log p(y) and the error of their difference for each candidate, and the "
        "first column whose squares overflow, or -1. Kinds are Student's t (0), bins (1) and values (2).",
        "columns"_a, "classes"_a, "some"_a, "starts"_a.noconvert(), "kinds"_a.noconvert(), "amounts"_a.noconvert(),
        "bins"_a.noconvert(), "strength"_a, "shape"_a);
    m.def(
        "score_log_densities",
        [](nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> log_density,
           Vector<std::int32_t> codes, Vector<double> weight) {
            const Index n = Index(log_density.shape(0)), classes = Index(log_density.shape(1));
            require(Index(codes.size()) == n && Index(weight.size()) == n, "a class and a weight per row");
            require(codes_within(codes.data(), n, classes), "class codes must lie between 0 and the number of classes");
            nb::gil_scoped_release release;
            const Score score = score_log_densities(log_density.data(), {codes.data(), weight.data(), classes}, n);
            return std::tuple(score.mean, score.chance, score.error);
        },
        "Return the score of log p(x | y) of rows that were left out, (rows, classes).", "log_density"_a.noconvert(),
        "codes"_a.noconvert(), "weight"_a.noconvert());
    m.def(
        "tie_edges",
        [](Vector<double> values, Vector<double> end, Vector<double> weight, Index bins) {
            const Index n = Index(values.size());
            require(Index(end.size()) == n && Index(weight.size()) == n && bins > 0, "an end and a weight per value");
            std::vector<char> cut;
            cut_with_ties(weight.data(), n, bins, cut);
            std::vector<double> out;
            for (Index v = 0; v + 1 < n; ++v)
                if (cut[v]) out.push_back(between(end(v), values(v + 1)));
            return array(std::move(out));
        },
        "Return the edges of bins of sorted values; a value with more than 1/bins of the weight is a bin of its own.",
        "values"_a.noconvert(), "end"_a.noconvert(), "weight"_a.noconvert(), "bins"_a);
}

}  // namespace suffice
