// Centred products of squares: third_ij = Σ w z_i² z_j and fourth_ij = Σ w z_i² z_j² with z = x − x̄.
//
// Fourth powers differ much more than the values do, so one row far out would take all digits of the others with it when
// it is forgotten. Products are therefore pairs of high and low, of rows about means that are pairs themselves.
#include "merge_moments.hpp"
#include "threads.hpp"

namespace suffice {
namespace {

// Third products, fourth products, and what rounding took from each, (4, cols, cols), of rows of one class.
struct FourthSums {
    Index cols;
    double* data;

    static Index size(Index cols) { return 4 * cols * cols; }
    double* part(Index which, Index i) const { return data + (which * cols + i) * cols; }
};

// high, low += a (b + b_low) for every b.
SUFFICE_INLINE void add_products(const Pair& a, const double* __restrict b, const double* __restrict b_low, Index n,
                                 double* __restrict high, double* __restrict low) {
#pragma omp simd
    for (Index j = 0; j < n; ++j) {
        const double product = a.high * b[j], lost = product_error(a.high, b[j], product);
        const double whole = high[j] + product, part = whole - high[j];
        low[j] += ((high[j] - (whole - part)) + (product - part)) + (lost + (a.low * b[j] + a.high * b_low[j]));
        high[j] = whole;
    }
}

// Add a row of z and z², (4, cols) with what rounding took from each.
void add_row(const double* row, double w, Index cols, double* sums) {
    const FourthSums to{cols, sums};
    const double *z = row, *z_low = z + cols, *square = z_low + cols, *square_low = square + cols;
    for (Index i = 0; i < cols; ++i) {
        const Pair a = scaled(Pair{square[i], square_low[i]}, w);
        add_products(a, z, z_low, cols, to.part(0, i), to.part(1, i));
        add_products(a, square, square_low, cols, to.part(2, i), to.part(3, i));
    }
}

}  // namespace

SUFFICE_DISPATCH(add_fourth, add_row)

#ifndef SUFFICE_ONLY_LOOPS_FOR

template <class T>
void fourth(Matrix<T> x, Rows rows, const double* mean, const double* mean_low, Fourth out) {
    const Index d = x.cols, classes = rows.classes, size = FourthSums::size(d);
    constexpr Index unit_rows = 2048;
    ByClassOrder order;
    order.sort_in_threads(rows, x.rows);
    struct Unit {
        Index cls, lo, hi;
    };
    std::vector<Unit> units;
    for (Index c = 0; c < classes; ++c)
        for (Index lo = order.start[c]; lo < order.start[c + 1]; lo += unit_rows)
            units.push_back({c, lo, std::min(order.start[c + 1], lo + unit_rows)});
    const int threads = threads_for(x.rows * d * (d + 1), Index(units.size()));
    std::vector<double> all(classes * size);
    std::vector<std::vector<double>> scratch(threads, std::vector<double>(size + 4 * d));
    auto work = [&](Index u, int slot) {
        std::fill(scratch[slot].begin(), scratch[slot].end(), 0.0);
        double* row = scratch[slot].data() + size;
        const Index origin = units[u].cls * d;
        for (Index k = units[u].lo; k < units[u].hi; ++k) {
            const Index i = order.row[k];
            for (Index j = 0; j < d; ++j) {
                const double v = x.data[i * x.row_stride + j];
                const Pair z = two_sum(v, -mean[origin + j]) - Pair{mean_low[origin + j], 0}, square = z * z;
                row[j] = z.high, row[d + j] = z.low, row[2 * d + j] = square.high, row[3 * d + j] = square.low;
            }
            fast::add_fourth(row, rows.weight ? rows.weight[i] : 1.0, d, scratch[slot].data());
        }
    };
    auto merge = [&](Index u, int slot) {
        double* to = all.data() + units[u].cls * size;
        const double* from = scratch[slot].data();
        for (Index part = 0; part < 2; ++part, to += 2 * d * d, from += 2 * d * d)
            for (Index k = 0; k < d * d; ++k) {
                add_to(to[k], to[d * d + k], from[k]);
                to[d * d + k] += from[d * d + k];
            }
    };
    for_blocks(Index(units.size()), threads, work, merge);
    for (Index c = 0; c < classes; ++c) {
        const double rounding = pair_error * double(order.start[c + 1] - order.start[c] + 16);
        for (Index k = 0; k < d * d; ++k) {
            const double* own = all.data() + c * size;
            const Pair third = two_sum(own[k], own[d * d + k]);
            const Pair products = two_sum(own[2 * d * d + k], own[3 * d * d + k]);
            double* rest = out.rest + c * 3 * d * d;
            out.third[c * d * d + k] = third.high, rest[k] = third.low;
            out.fourth[c * d * d + k] = products.high, rest[d * d + k] = products.low;
            rest[2 * d * d + k] = rounding * products.high;
        }
    }
}

template void fourth(Matrix<double>, Rows, const double*, const double*, Fourth);
template void fourth(Matrix<float>, Rows, const double*, const double*, Fourth);

namespace {

// One class of a scatter and of its products of squares.
struct OneClass {
    Index d;
    const double *weight, *mean, *cross, *rest;
    const double *third, *fourth, *higher_rest;

    OneClass(const Scatter& s, const Fourth& f, Index c, Index d)
        : d(d),
          weight(s.weight + c),
          mean(s.mean + c * d),
          cross(s.cross + c * d * d),
          rest(s.rest ? s.rest + c * (2 + 3 * d + d * d) : nullptr),
          third(f.third + c * d * d),
          fourth(f.fourth + c * d * d),
          higher_rest(f.rest ? f.rest + c * 3 * d * d : nullptr) {}

    Pair w() const { return {weight[0], rest ? rest[0] : 0.0}; }
    double weight_doubt() const { return rest ? rest[1] : outside_doubt(weight[0]); }
    Pair centre(Index j) const { return {mean[j], rest ? rest[2 + j] : 0.0}; }
    double centre_doubt(Index j) const { return rest ? rest[2 + d + j] : outside_error * std::fabs(mean[j]); }
    Pair product(Index i, Index j) const { return {cross[i * d + j], rest ? rest[2 + 3 * d + i * d + j] : 0.0}; }
    double square_doubt(Index j) const {
        return rest ? rest[2 + 2 * d + j] : outside_error * std::fabs(cross[j * d + j]);
    }
    Pair cube(Index i, Index j) const { return {third[i * d + j], higher_rest ? higher_rest[i * d + j] : 0.0}; }
    Sum quartic(Index i, Index j) const {
        const Index at = i * d + j;
        if (!higher_rest) return {{fourth[at], 0}, outside_error * std::fabs(fourth[at])};
        return {{fourth[at], higher_rest[d * d + at]}, higher_rest[2 * d * d + at]};
    }
};

// The products about a mean that is lower by `step`, and a bound on what rounding took from the fourth.
struct Moved {
    Pair third;
    Sum fourth;
};

Moved moved(const OneClass& of, const Pair* step, const double* step_doubt, Index i, Index j) {
    const Pair a = step[i], b = step[j], w = of.w(), va = of.product(i, i), vb = of.product(j, j);
    const Pair cross = of.product(i, j), cube = of.cube(i, j), turned = of.cube(j, i), ab = a * b;
    const Pair third = cube + b * va + scaled(a * cross, 2.0) + w * a * ab;
    const Pair terms[] = {
        of.quartic(i, j).value,  scaled(b * cube, 2.0), scaled(a * turned, 2.0), b * b * va, a * a * vb,
        scaled(ab * cross, 4.0), w * (ab * ab)};
    Pair sum = {};
    double size = 0;
    for (const Pair& term : terms) sum = sum + term, size += std::fabs(term.high);
    // By first-order error analysis: the derivatives by the steps, the variances and the weight.
    auto along = [&](const Pair& to, const Pair& other, const Pair& own_cube, const Pair& variance) {
        return 2 * std::fabs(own_cube.high) + 2 * std::fabs(to.high) * variance.high +
               4 * std::fabs(other.high * cross.high) + 2 * w.high * other.high * other.high * std::fabs(to.high);
    };
    const double di = of.square_doubt(i), dj = of.square_doubt(j);
    const double doubt = of.quartic(i, j).doubt + step_doubt[j] * along(b, a, cube, va) +
                         step_doubt[i] * along(a, b, turned, vb) + b.high * b.high * di + a.high * a.high * dj +
                         4 * std::fabs(ab.high) * std::sqrt(di * dj) + of.weight_doubt() * ab.high * ab.high +
                         16 * pair_error * size;
    return {third, {sum, doubt}};
}

}  // namespace

void merge_fourth(Scatter all_a, Fourth of_a, Scatter all_b, Fourth of_b, Scatter merged, Index classes, Index cols,
                  double sign, Fourth out) {
    const Index d = cols;
    std::vector<Pair> step_a(d), step_b(d);
    std::vector<double> doubt_a(d), doubt_b(d);
    for (Index c = 0; c < classes; ++c) {
        const OneClass a(all_a, of_a, c, d), b(all_b, of_b, c, d), both(merged, out, c, d);
        double *third = out.third + c * d * d, *fourth = out.fourth + c * d * d, *rest = out.rest + c * 3 * d * d;
        const bool no_a = !(a.weight[0] > 0), no_b = !(b.weight[0] > 0), none = !(both.weight[0] > 0);
        for (Index j = 0; j < d; ++j) {
            step_a[j] = no_b ? Pair{} : a.centre(j) - both.centre(j);
            step_b[j] = no_a ? Pair{} : b.centre(j) - both.centre(j);
            doubt_a[j] = no_b ? 0.0 : a.centre_doubt(j);
            doubt_b[j] = no_a ? 0.0 : b.centre_doubt(j);
        }
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j) {
                const Index at = i * d + j;
                Moved sum = {};
                if (!none && both.product(i, i).high > 0 && both.product(j, j).high > 0) {
                    if (!no_a) sum = moved(a, step_a.data(), doubt_a.data(), i, j);
                    if (!no_b) {
                        const Moved other = moved(b, step_b.data(), doubt_b.data(), i, j);
                        sum.third = sign > 0 ? sum.third + other.third : sum.third - other.third;
                        sum.fourth.value =
                            sign > 0 ? sum.fourth.value + other.fourth.value : sum.fourth.value - other.fourth.value;
                        sum.fourth.doubt += other.fourth.doubt;
                    }
                    if (!(sum.fourth.value.high > 0)) sum.fourth.value = {};  // squares, but for rounding
                }
                third[at] = sum.third.high, rest[at] = sum.third.low;
                fourth[at] = sum.fourth.value.high, rest[d * d + at] = sum.fourth.value.low;
                rest[2 * d * d + at] = sum.fourth.doubt;
            }
        if (none || no_a || no_b) continue;
        // Both are moved to one mean: if that is wrong, then by the derivatives of the products of all rows together,
        // which are small where a heavy row was taken away.
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j) {
                const double di = both.centre_doubt(i), dj = both.centre_doubt(j);
                rest[2 * d * d + i * d + j] +=
                    2 * (dj * std::fabs(third[i * d + j]) + di * std::fabs(third[j * d + i])) +
                    dj * dj * both.product(i, i).high + di * di * both.product(j, j).high +
                    4 * di * dj * std::fabs(both.product(i, j).high);
            }
    }
}

#endif

}  // namespace suffice
