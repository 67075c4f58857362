// Scores of numbers by the bin they fall into, or by the value that they are.
#include <cmath>
#include <limits>

#include "search.hpp"

namespace suffice {

namespace {

// Add the scores of groups of rows; a number that is not finite adds zeros.
template <int known>  // classes; 0: any number
void add_groups(const double* value, const std::int32_t* group, Index rows, const double* scores, Index width,
                const double* zeros, Index any, double* __restrict out) {
    const Index classes = known ? known : any;
    for (Index i = 0; i < rows; ++i) {
        const double* __restrict score = std::isfinite(value[i]) ? scores + group[i] * width : zeros;
        for (Index c = 0; c < classes; ++c) out[i * classes + c] += score[c];
    }
}

}  // namespace

Index step_scores(const double* x, Index stride, Index n, const double* edges, Index m, bool exact,
                  const double* scores, Index width, Index classes, double* out) {
    FirstPosition infinite;
    const std::vector<double> zeros(classes);
    for_searched(x, stride, n, edges, m, [&](Index lo, Index rows, const double* value, std::int32_t* below) {
        bool odd = false;
        for (Index i = 0; i < rows; ++i) odd |= std::isinf(value[i]);
        for (Index i = 0; odd && i < rows; ++i)
            if (std::isinf(value[i])) infinite.report(lo + i);
        for (Index i = 0; exact && i < rows; ++i)
            if (below[i] == m || edges[below[i]] != value[i]) below[i] = std::int32_t(m);
        const auto add = classes == 2 ? add_groups<2> : add_groups<0>;
        add(value, below, rows, scores, width, zeros.data(), classes, out + lo * classes);
    });
    return infinite.get();
}

Index step_places(const Matrix<double>& x, const double* edges, const Index* start, bool exact, float* out) {
    FirstPosition infinite;
    const Index parts = (x.rows + searched_rows - 1) / searched_rows, blocks = parts * x.cols;
    for_blocks(blocks, threads_for(8 * x.rows * x.cols, blocks), [&](Index block, int) {
        const Index j = block / parts, lo = block % parts * searched_rows, rows = std::min(searched_rows, x.rows - lo);
        const double* own = edges + start[j];
        const Index m = start[j + 1] - start[j];
        double value[searched_rows] = {};  // GCC 13 does not see that there is at least one row
        std::int32_t below[searched_rows];
        for (Index i = 0; i < rows; ++i) value[i] = x.data[(lo + i) * x.row_stride + j * x.col_stride];
        count_below(value, rows, own, m, below);
        for (Index i = 0; i < rows; ++i) {
            Index group = below[i];
            if (exact && (group == m || own[group] != value[i])) group = m;
            if (std::isinf(value[i])) infinite.report((lo + i) * x.cols + j);
            out[j * x.rows + lo + i] = std::isnan(value[i]) ? std::numeric_limits<float>::quiet_NaN() : float(group);
        }
    });
    return infinite.get();
}

}  // namespace suffice
