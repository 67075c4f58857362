// Log-densities of Student's t for every row, and the same with that row taken out of the statistics.
#include <cmath>

#include "student.hpp"
#include "threads.hpp"
#include "vector_math.hpp"

namespace suffice {
namespace {

// Add norm − half log(1 + ((x − mean) precision)²) to sums; nothing where x is missing.
void add_log_densities(const double* x, Index n, double mean, double precision, double norm, double half,
                       double* sums) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double off = (x[i] - mean) * precision, z = off * off, sum = 1 + z;
        const double term = norm - half * (vector_log(sum) + (z - (sum - 1)) / sum);
        sums[i] += x[i] == x[i] ? term : 0.0;
    }
}

}  // namespace

SUFFICE_DISPATCH(add_student_densities, add_log_densities)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
Index student_log_density(Matrix<T> x, const double* mean, const double* precision, const double* norm,
                          const double* half, Index classes, double* out) {
    const Index d = x.cols, blocks = (x.rows + student_rows - 1) / student_rows;
    const int threads = threads_for(x.rows * classes * d * 4, blocks);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(classes * student_rows));
    FirstPosition infinite;
    for_blocks(blocks, threads, [&](Index b, int slot) {
        const Index lo = b * student_rows, n = std::min(student_rows, x.rows - lo);
        double* sums = scratch[slot].data();
        std::fill_n(sums, classes * student_rows, 0.0);
        double value[student_rows];
        for (Index j = 0; j < d; ++j) {
            for (Index i = 0; i < n; ++i) {
                value[i] = x.data[(lo + i) * x.row_stride + j * x.col_stride];
                if (std::isinf(value[i])) infinite.report((lo + i) * d + j);
            }
            for (Index c = 0; c < classes; ++c) {
                const Index at = c * d + j;
                fast::add_student_densities(value, n, mean[at], precision[at], norm[at], half[at],
                                            sums + c * student_rows);
            }
        }
        for (Index i = 0; i < n; ++i)
            for (Index c = 0; c < classes; ++c) out[(lo + i) * classes + c] = sums[c * student_rows + i];
    });
    return infinite.get();
}

template Index student_log_density(Matrix<double>, const double*, const double*, const double*, const double*, Index,
                                   double*);
template Index student_log_density(Matrix<float>, const double*, const double*, const double*, const double*, Index,
                                   double*);

template <class T>
Index student_leave_one_out(Matrix<T> x, Rows rows, StudentPrior prior, const double* origin, const double* weight,
                            const double* mean, const double* squares, double* out) {
    const Index d = x.cols, k = rows.classes;
    std::vector<StudentColumn> columns;
    columns.reserve(d);
    for (Index j = 0; j < d; ++j) {
        std::vector<ClassMoments> of(k);
        for (Index c = 0; c < k; ++c) of[c] = {weight[c * d + j], mean[c * d + j], squares[c * d + j]};
        columns.emplace_back(prior, origin[j], std::move(of));
    }
    const Index size = 4096, blocks = (x.rows + size - 1) / size;
    const int threads = threads_for(x.rows * k * d * 8, blocks);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(k * student_rows));
    const Rows every{rows.code, nullptr, k};  // rows of weight 0 are scored too
    FirstPosition infinite;
    for_blocks(blocks, threads, [&](Index b, int slot) {
        const Index lo = b * size, hi = std::min(x.rows, lo + size);
        std::fill(out + lo * k, out + hi * k, 0.0);
        ByClassOrder order;
        order.sort(every, lo, hi);
        StudentRows some;
        Index at[student_rows];
        double* density = scratch[slot].data();
        for (Index j = 0; j < d; ++j)
            for (Index c = 0; c < k; ++c)
                for (Index next = order.start[c]; next < order.start[c + 1];) {
                    for (some.n = 0; next < order.start[c + 1] && some.n < student_rows; ++next) {
                        const Index i = lo + order.row[next];
                        const double value = x.data[i * x.row_stride + j * x.col_stride];
                        if (std::isinf(value)) infinite.report(i * d + j);
                        if (!std::isfinite(value)) continue;
                        at[some.n] = i;
                        some.x[some.n] = value;
                        some.taken[some.n] = rows.weight ? rows.weight[i] : 1.0;
                        ++some.n;
                    }
                    leave_out(columns[j], c, some);
                    log_densities(columns[j], c, some, density);
                    for (Index i = 0; i < some.n; ++i)
                        for (Index o = 0; o < k; ++o) out[at[i] * k + o] += density[o * student_rows + i];
                }
    });
    return infinite.get();
}

template Index student_leave_one_out(Matrix<double>, Rows, StudentPrior, const double*, const double*, const double*,
                                     const double*, double*);
template Index student_leave_one_out(Matrix<float>, Rows, StudentPrior, const double*, const double*, const double*,
                                     const double*, double*);

#endif

}  // namespace suffice
