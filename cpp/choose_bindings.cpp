// Python bindings of the choice of families for many columns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>

#include "choose.hpp"
#include "numpy_vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace suffice {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

// The points, which stay those of NumPy, and what was chosen.
class ChosenColumns {
public:
    ChosenColumns(Vector<double> at, Vector<double> weight, Vector<Index> start, Index classes, double smoothing,
                  Index bins, Index most_categories, double repeats, double common, double margin, Table left,
                  Vector<std::int32_t> codes, Out evidence)
        : at_(at), weight_(weight), start_(start) {
        require(classes > 0 && start.size() > 0 && (Index(start.size()) - 1) % classes == 0, "bounds of points");
        points_ = {at.data(), weight.data(), start.data(), (Index(start.size()) - 1) / classes, classes};
        const Index ends = Index(start.size()) - 1;
        require(start(0) == 0 && start(ends) == Index(at.size()) && weight.size() == at.size(), "bounds of points");
        for (Index k = 0; k < ends; ++k) require(start(k) <= start(k + 1), "bounds of points");
        for (Index k = 0; k < Index(at.size()); ++k)
            require(std::isfinite(at(k)) && weight(k) >= 1 && std::isfinite(weight(k)), "points of weight 1 or more");
        require(bins > 1 && most_categories > 0 && smoothing >= 0, "rules");
        const Index rows = Index(codes.size());
        require(Index(left.shape(0)) == points_.columns && Index(left.shape(1)) == rows, "rows left out");
        require(codes_within(codes.data(), rows, classes), "class codes must lie between 0 and the number of classes");
        require(Index(evidence.shape(0)) == rows && Index(evidence.shape(1)) == classes, "output size");
        const ChoiceRules rules{smoothing, bins, most_categories, repeats, common, margin};
        nb::gil_scoped_release release;
        known = choose_columns(points_, rules, {left.data(), codes.data(), rows}, chosen_, evidence.data());
    }

    bool known = true;

    template <class T, class Get>
    Numpy<T> each(Get get) const {
        std::vector<T> out;
        out.reserve(chosen_.size());
        for (const ChosenColumn& column : chosen_) out.push_back(T(get(column)));
        return array(std::move(out));
    }

    Index add(std::vector<Column> columns, Out out) const {
        require(Index(columns.size()) == points_.columns && Index(out.shape(1)) == points_.classes, "output size");
        const Index rows = Index(out.shape(0));
        std::vector<const double*> x;
        std::vector<Index> stride;
        for (const Column& column : columns) {
            require(Index(column.size()) == rows, "one value per row");
            x.push_back(column.data());
            stride.push_back(rows > 1 ? column.stride(0) : 1);
        }
        nb::gil_scoped_release release;
        return add_chosen(points_, chosen_, x, stride, rows, out.data());
    }

private:
    Vector<double> at_, weight_;
    Vector<Index> start_;
    ManyPoints points_;
    std::vector<ChosenColumn> chosen_;
};

}  // namespace

void bind_choose(nb::module_& m) {
    nb::class_<ChosenColumns>(m, "ChosenColumns",
                              "The families of many columns, chosen by leave-one-out from their distinct values.")
        .def(nb::init<Vector<double>, Vector<double>, Vector<Index>, Index, double, Index, Index, double, double,
                      double, Table, Vector<std::int32_t>, Out>(),
             "at"_a.noconvert(), "weight"_a.noconvert(), "start"_a.noconvert(), "classes"_a, "smoothing"_a, "bins"_a,
             "most_categories"_a, "repeats"_a, "common"_a, "margin"_a, "left"_a.noconvert(), "codes"_a.noconvert(),
             "evidence"_a.noconvert())
        .def_ro("known", &ChosenColumns::known, "Whether all rows left out were among the points.")
        .def_prop_ro(
            "choice",
            [](const ChosenColumns& self) {
                return self.each<std::int32_t>([](const ChosenColumn& c) { return c.choice; });
            },
            nb::rv_policy::automatic, "0 Student's t, 1 bins, 2 values, 3 kernel, -1 left to the caller.")
        .def_prop_ro(
            "votes",
            [](const ChosenColumns& self) {
                return self.each<std::int32_t>([](const ChosenColumn& c) { return c.votes; });
            },
            nb::rv_policy::automatic, "Whether each column beats the class prior.")
        .def_prop_ro(
            "score",
            [](const ChosenColumns& self) { return self.each<double>([](const ChosenColumn& c) { return c.score; }); },
            nb::rv_policy::automatic, "The mean log p(y | x) of the choice, rows left out.")
        .def_prop_ro(
            "chance",
            [](const ChosenColumns& self) { return self.each<double>([](const ChosenColumn& c) { return c.chance; }); },
            nb::rv_policy::automatic, "The mean log p(y).")
        .def("add", &ChosenColumns::add, "columns"_a, "out"_a.noconvert(),
             "Add the log-densities of rows to `out`, up to a term that all classes share; return the position "
             "row * columns + column of an infinite value, or -1.");
}

}  // namespace suffice
