// Choose a family for each of many columns of numbers: Student's t, bins, values as categories or a kernel.
//
// The same as `Automatic.estimate` in families/choose.py, whose docstrings give the formulas; a test holds the two equal.
// A column with a class of too few values for a kernel is left to that.
#include "choose.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "vector_math.hpp"

namespace suffice {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), epsilon = 0x1p-52;
constexpr double least_log = -1e300, least_gain = -1e100;
constexpr double strength = 0.01, shape = 1.5;  // of the default NormalInverseGamma
constexpr Index fewest_values = 3;              // of a class, for which a kernel has a bandwidth without one of them

// ------------------------------------------------------------------------------------------ Student's t

double series(double z) {
    constexpr double stirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                   1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    const double inverse = 1.0 / z, square = inverse * inverse;
    double sum = 0;
    for (int k = 6; k >= 0; --k) sum = sum * square + stirling[k];
    return sum * inverse;
}

// log Γ(a + ½) - log Γ(a), a > 0
double log_half_rise(double a) {
    double product = 1;  // Γ(a + ½) / Γ(a) = Γ(a + 1 + ½) / Γ(a + 1) · a / (a + ½)
    for (; a < 10; a += 1) product *= a / (a + 0.5);
    return (a - 0.5) * std::log1p(0.5 / a) + 0.5 * (std::log(a + 0.5) - 1.0) + (series(a + 0.5) - series(a)) +
           std::log(product);
}

// x[i] = log x[i] of positive numbers
SUFFICE_CLONES void take_logs(double* x, Index n) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) x[i] = vector_log(x[i]);
}

// sum[i] += exp(min(x[i], 700))
SUFFICE_CLONES void add_exps(const double* x, Index n, double* sum) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) sum[i] += vector_exp(x[i] < 700.0 ? x[i] : 700.0);
}

struct ClassMoments {
    double weight = 0, mean = 0, squares = 0;
};

ClassMoments moments_of(const double* at, const double* weight, Index n, Index less) {
    ClassMoments m;
    for (Index i = 0; i < n; ++i) m.weight += weight[i] - (i == less);
    if (!(m.weight > 0)) return {};
    const double first = at[n / 2];
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += (weight[i] - (i == less)) * (at[i] - first);
    m.mean = first + sum / m.weight;
    double off = 0;
    for (Index i = 0; i < n; ++i) off += (weight[i] - (i == less)) * (at[i] - m.mean);
    m.mean += off / m.weight;
    for (Index i = 0; i < n; ++i) m.squares += (weight[i] - (i == less)) * (at[i] - m.mean) * (at[i] - m.mean);
    return m;
}

// The prior's mean and scale, of all classes together, and the least variance.
struct Centre {
    double mean, scale, least;
};

Centre centre_of(const ClassMoments* m, Index classes) {
    double weight = 0, sum = 0, within = 0, size = 0, reference = 0;
    for (Index c = 0; c < classes; ++c)
        if (m[c].weight > 0) reference = m[c].mean;
    for (Index c = 0; c < classes; ++c) {
        weight += m[c].weight;
        sum += m[c].weight * (m[c].mean - reference);
        within += m[c].squares;
        size = std::max(size, std::abs(m[c].mean));
    }
    const double mean = weight > 0 ? reference + sum / weight : 0.0;
    double whole = within;
    for (Index c = 0; c < classes; ++c)
        if (m[c].weight > 0) whole += m[c].weight * (m[c].mean - mean) * (m[c].mean - mean);
    const double least = (epsilon * mean) * (epsilon * mean), n = weight > 0 ? weight : infinity;
    const double variance = within / n > least ? within / n : whole / n > least ? whole / n : 1.0;
    return {mean, 0.5 * variance, weight > 0 ? std::max(size * epsilon * size * epsilon, 1e-300) : 1.0};
}

// Location, νs² and ½ (ν + 1) of Student's t. The log-density is  rise - ½ log πνs² - ½ (ν + 1) log(1 + (x - m)²/νs²)
// with rise = log Γ((ν + 1)/2) - log Γ(ν/2).
struct Student {
    double mean, width, power;
    SUFFICE_INLINE Student(const ClassMoments& m, const Centre& prior) {
        const double total = strength + m.weight, pull = m.weight / total, rest = strength / total;
        const double off = m.mean - prior.mean;
        const double a = shape + 0.5 * m.weight;
        const double scale = prior.scale + 0.5 * (m.squares + strength * pull * off * off);
        width = 2.0 * a * std::max(scale / a * (1.0 + 1.0 / total), prior.least);
        mean = pull > rest ? m.mean - rest * off : prior.mean + pull * off;
        power = a + 0.5;
    }
    // (x - m)²/νs², at most the largest number whose square is finite, so that its logarithm is
    SUFFICE_INLINE double square(double x) const {
        const double z = (x - mean) / std::sqrt(width);
        return std::min(z * z, 1e300);
    }
};

// ------------------------------------------------------------------------------------------ one column

class Column {
public:
    Column(ManyPoints points, ChoiceRules rules) : all_(points), rules_(rules), classes_(points.classes) {}

    // Choose; `evidence` gets the rows left out.
    bool choose(Index j, LeftOut left, ChosenColumn& out, double* evidence) {
        start_ = all_.start + j * classes_;
        first_ = start_[0];
        n_ = start_[classes_] - first_;
        at_ = all_.at + first_;
        weight_ = all_.weight + first_;
        out = ChosenColumn();
        if (!n_) return true;
        describe();
        if (has_kernel() && !kernel_widths()) return true;
        best_ = general;
        best_score_ = -infinity;
        consider(student, [&] { student_table(); });
        if (Index(value_.size()) > 2) {
            quantile_edges();
            number_bins();
            consider(bins, [&] { category_table(); });
        }
        if (double(value_.size()) <= std::min(double(rules_.most_categories), total_ / rules_.repeats)) {
            number_values();
            consider(values, [&] { category_table(); });
        }
        if (has_kernel()) consider(kernel, [&] { kernel_table(); });
        out.choice = best_;
        out.score = best_score_;
        out.chance = chance_;
        out.votes = !(rules_.margin >= 0 && best_score_ - chance_ <= rules_.margin * best_error_);
        if (!out.votes) return true;
        keep(out);
        return leave_out(j, left, evidence);
    }

private:
    Index size(Index c) const { return start_[c + 1] - start_[c]; }
    Index begin(Index c) const { return start_[c] - first_; }

    // Classes, weights, the distinct values of all classes, and the class prior without a row of each class.
    void describe() {
        code_.resize(n_);
        class_weight_.assign(classes_, 0.0);
        for (Index c = 0; c < classes_; ++c)
            for (Index i = begin(c); i < begin(c) + size(c); ++i) {
                code_[i] = std::int32_t(c);
                class_weight_[c] += weight_[i];
            }
        order_.resize(n_);
        for (Index i = 0; i < n_; ++i) order_[i] = i;
        auto less = [&](Index a, Index b) { return at_[a] < at_[b]; };
        for (Index c = 1; c < classes_; ++c)
            if (size(c))
                std::inplace_merge(order_.begin(), order_.begin() + begin(c), order_.begin() + begin(c) + size(c),
                                   less);
        value_.clear();
        value_weight_.clear();
        number_.resize(n_);
        for (const Index i : order_) {
            if (value_.empty() || value_.back() != at_[i]) {
                value_.push_back(at_[i]);
                value_weight_.push_back(0.0);
            }
            value_weight_.back() += weight_[i];
            number_[i] = std::int32_t(value_.size()) - 1;
        }
        total_ = 0;
        for (const double w : value_weight_) total_ += w;
        prior_.resize(classes_ * classes_);
        chance_ = 0;
        for (Index c = 0; c < classes_; ++c) {
            for (Index k = 0; k < classes_; ++k)
                prior_[c * classes_ + k] =
                    std::log((std::max(class_weight_[k] - (k == c), 0.0) + 1.0) / (total_ - 1.0 + double(classes_)));
            chance_ += class_weight_[c] * prior_[c * classes_ + c];
        }
        chance_ /= total_;
    }

    template <class Fill>
    void consider(Candidate candidate, Fill fill) {
        table_.assign(n_ * classes_, 0.0);
        fill();
        // log p(y | x) = -log Σ_c exp(joint_c - joint_y)
        double mean = 0, gains = 0, squares = 0;
        gain_.assign(n_, 1.0);
        difference_.resize(n_);
        for (Index step = 1; step < classes_; ++step) {  // of each point, the class `step` after its own
            for (Index i = 0; i < n_; ++i) {
                const Index own = code_[i], c = own + step < classes_ ? own + step : own + step - classes_;
                const double *row = table_.data() + i * classes_, *prior = prior_.data() + own * classes_;
                difference_[i] = std::max(row[c], least_log) + prior[c] - std::max(row[own], least_log) - prior[own];
            }
            add_exps(difference_.data(), n_, gain_.data());
        }
        take_logs(gain_.data(), n_);
        for (Index i = 0; i < n_; ++i) {
            const double *row = table_.data() + i * classes_, *prior = prior_.data() + code_[i] * classes_;
            double log_posterior = -gain_[i];
            if (gain_[i] > 600) {  // beyond the range of exp
                const double own = std::max(row[code_[i]], least_log) + prior[code_[i]];
                double top = -infinity, sum = 0;
                for (Index c = 0; c < classes_; ++c) top = std::max(top, std::max(row[c], least_log) + prior[c]);
                for (Index c = 0; c < classes_; ++c) sum += std::exp(std::max(row[c], least_log) + prior[c] - top);
                log_posterior = own - (top + std::log(sum));
            }
            gain_[i] = std::max(log_posterior - prior[code_[i]], least_gain);
            mean += weight_[i] * log_posterior;
            gains += weight_[i] * gain_[i];
        }
        mean /= total_;
        gains /= total_;
        for (Index i = 0; i < n_; ++i) squares += weight_[i] * (gain_[i] - gains) * (gain_[i] - gains);
        if (best_ != general && !(mean > best_score_ + 1e-12)) return;
        best_ = candidate;
        best_score_ = mean;
        best_error_ = std::sqrt(squares / total_ / total_);
        best_table_.swap(table_);
        best_groups_.swap(groups_);
        best_group_.swap(group_);
    }

    // ---- Student's t

    void student_table() {
        moments_.resize(classes_);
        rise_.resize(classes_);
        for (Index c = 0; c < classes_; ++c) {
            moments_[c] = moments_of(at_ + begin(c), weight_ + begin(c), size(c), -1);
            rise_[c] = log_half_rise(shape + 0.5 * moments_[c].weight);
        }
        for (Index c = 0; c < classes_; ++c) {
            const ClassMoments whole = moments_[c];
            const double rise = rise_[c], left = whole.weight - 1.0;
            rise_[c] = log_half_rise(shape + 0.5 * std::max(left, 0.0));
            const Index n = size(c);
            width_of_.resize(n * classes_);
            square_.resize(n * classes_);
            for (Index k = 0; k < n; ++k) {
                const double x = at_[begin(c) + k], off = x - whole.mean;
                ClassMoments rest;
                if (left > 0) {
                    rest = {left, whole.mean - off / left, whole.squares - off * off * whole.weight / left};
                    if (!(rest.squares > 1e-5 * whole.squares))  // too few digits are left
                        rest = moments_of(at_ + begin(c), weight_ + begin(c), n, k);
                }
                moments_[c] = rest;
                const Centre centre = centre_of(moments_.data(), classes_);
                for (Index d = 0; d < classes_; ++d) {
                    const Student student(moments_[d], centre);
                    width_of_[d * n + k] = std::numbers::pi * student.width;
                    square_[d * n + k] = 1.0 + student.square(x);
                }
            }
            take_logs(width_of_.data(), n * classes_);
            take_logs(square_.data(), n * classes_);
            for (Index d = 0; d < classes_; ++d) {
                const double power = shape + 0.5 * (d == c ? std::max(left, 0.0) : moments_[d].weight) + 0.5;
                for (Index k = 0; k < n; ++k)
                    table_[(begin(c) + k) * classes_ + d] =
                        rise_[d] - 0.5 * width_of_[d * n + k] - power * square_[d * n + k];
            }
            moments_[c] = whole;
            rise_[c] = rise;
        }
    }

    // ---- bins and values

    void quantile_edges() {
        groups_.clear();
        const double slack = 1e-10 * total_;
        double reached = 0;
        std::size_t at = 0;
        reached = value_weight_[0];
        for (Index k = 1; k < rules_.bins; ++k) {
            const double wanted = double(k) * total_ / double(rules_.bins);
            while (at + 1 < value_.size() && reached < wanted - slack) reached += value_weight_[++at];
            double edge = value_[at];
            if (std::abs(reached - wanted) <= slack) {
                const double after = value_[std::min(at + 1, value_.size() - 1)], middle = 0.5 * edge + 0.5 * after;
                if (middle >= edge && middle < after) edge = middle;
            }
            if (edge < value_.back() && (groups_.empty() || edge > groups_.back())) groups_.push_back(edge);
        }
    }

    void number_bins() {
        group_.resize(n_);
        for (Index i = 0; i < n_; ++i)
            group_[i] = std::int32_t(std::lower_bound(groups_.begin(), groups_.end(), at_[i]) - groups_.begin());
        n_groups_ = Index(groups_.size()) + 1;
    }

    void number_values() {
        groups_ = value_;
        group_.assign(number_.begin(), number_.end());
        n_groups_ = Index(groups_.size());
    }

    void count_groups() {
        count_.assign(n_groups_ * classes_, 0.0);
        for (Index i = 0; i < n_; ++i) count_[group_[i] * classes_ + code_[i]] += weight_[i];
    }

    void category_table() {
        if (n_groups_ == 1) return;  // a single bin has probability 1
        count_groups();
        const double alpha = rules_.smoothing, m = double(n_groups_);
        const Index cells = n_groups_ * classes_;
        log_.resize(2 * cells);  // with all rows, and without one
        for (Index at = 0; at < cells; ++at)
            for (Index less = 0; less < 2; ++less) {
                const double entry = count_[at] + alpha - double(less);
                const double norm = class_weight_[at % classes_] + alpha * m - double(less);
                log_[less * cells + at] = norm > 0 && entry > 0 ? std::log(entry / norm) : -infinity;
            }
        for (Index i = 0; i < n_; ++i)
            for (Index c = 0; c < classes_; ++c)
                table_[i * classes_ + c] = log_[(c == code_[i] ? cells : 0) + group_[i] * classes_ + c];
    }

    // ---- kernel

    bool has_kernel() const {
        return Index(value_.size()) > rules_.most_categories &&
               *std::max_element(value_weight_.begin(), value_weight_.end()) <= rules_.common * total_;
    }

    // Silverman's bandwidths of each class, and of each class without each of its points; false if some are not above 0.
    bool kernel_widths() {
        width_.assign(classes_, 0.0);
        own_width_.resize(n_);
        double largest = 0, least = infinity;
        for (const double v : value_) largest = std::max(largest, std::abs(v));
        const double resolution = std::max(largest * epsilon, 1e-150);
        for (Index c = 0; c < classes_; ++c) {
            if (size(c) < fewest_values) return false;
            class_widths(c);
            width_[c] = std::max(width_[c], resolution);
            least = std::min(least, width_[c]);
            for (Index i = begin(c); i < begin(c) + size(c); ++i)
                if (!(own_width_[i] > 0)) return false;
        }
        return least > 2.0 * resolution;
    }

    void class_widths(Index c) {
        const double *at = at_ + begin(c), *weight = weight_ + begin(c);
        const Index n = size(c);
        const double half = 0.5 * at[n - 1] - 0.5 * at[0];
        unit_.resize(n);
        cumulative_.resize(n);
        double total = 0, mean = 0, squares = 0;
        for (Index i = 0; i < n; ++i) {
            unit_[i] = (0.5 * at[i] - 0.5 * at[0]) / half;
            cumulative_[i] = total += weight[i];
            mean += weight[i] * unit_[i];
        }
        mean /= total;
        for (Index i = 0; i < n; ++i) squares += weight[i] * (unit_[i] - mean) * (unit_[i] - mean);
        auto after = [&](double rank) {
            return std::upper_bound(cumulative_.begin(), cumulative_.end(), rank) - cumulative_.begin();
        };
        for (const double less : {0.0, 1.0}) {
            const double left = total - less, power = std::pow(left, -0.2);
            struct {
                double part;
                Index at[2], beyond[2];
            } quartile[2];
            for (int q = 0; q < 2; ++q) {
                const double rank = std::max((q ? 0.75 : 0.25) * (left - 1.0), 0.0), low = std::floor(rank);
                quartile[q].part = rank - low;
                for (int e = 0; e < 2; ++e) {
                    const double r = e ? std::ceil(rank) : low;
                    quartile[q].at[e] = after(r);
                    quartile[q].beyond[e] = after(r + less);
                }
            }
            for (Index k = 0; k < (less > 0 ? n : 1); ++k) {
                const bool gone = less > 0 && weight[k] <= 1.0;
                const Index last = gone && k == n - 1 ? n - 2 : n - 1;
                const double off = unit_[k] - mean;
                double rest = squares - off * off * less * total / left;
                if (rest < 1e-5 * squares) {  // too few digits are left
                    const ClassMoments m = moments_of(unit_.data(), weight, n, less > 0 ? k : -1);
                    rest = m.squares;
                }
                const double deviation = std::sqrt(std::max(rest, 0.0) / left);
                double value[2];
                for (int q = 0; q < 2; ++q) {
                    double ends[2];
                    for (int e = 0; e < 2; ++e) {
                        const Index at_rank = quartile[q].at[e];
                        ends[e] = unit_[std::min(at_rank < k ? at_rank : std::max(k, quartile[q].beyond[e]), last)];
                    }
                    value[q] = ends[0] + quartile[q].part * (ends[1] - ends[0]);
                }
                const double between = (value[1] - value[0]) / 1.349;
                const double spread = between > 0 ? std::min(deviation, between) : deviation;
                (less > 0 ? own_width_[begin(c) + k] : width_[c]) = 0.9 * half * (2.0 * spread) * power;
            }
        }
    }

    Points points_of(Index c, const Index* ends, const double* weight) const {
        return {at_ + begin(c), weight_ + begin(c), ends, weight, 1};
    }

    void kernel_table() {
        sorted_.resize(n_);
        for (Index i = 0; i < n_; ++i) sorted_[i] = at_[order_[i]];
        ends_.resize(classes_ + 1);
        for (Index c = 0; c <= classes_; ++c) ends_[c] = start_[c] - first_;
        kernel_log_density(Kernel::gaussian, sorted_.data(), order_.data(), n_, nullptr,
                           {at_, weight_, ends_.data(), class_weight_.data(), classes_}, width_.data(), table_.data());
        ones_.assign(n_, 1.0);
        own_.resize(n_);
        for (Index c = 0; c < classes_; ++c) {
            const Index ends[2] = {0, size(c)};
            kernel_leave_one_out(Kernel::gaussian, at_ + begin(c), size(c), ones_.data(),
                                 points_of(c, ends, &class_weight_[c]), own_width_.data() + begin(c), own_.data());
            for (Index k = 0; k < size(c); ++k) table_[(begin(c) + k) * classes_ + c] = own_[k];
        }
    }

    // ---- what is kept

    void keep(ChosenColumn& out) {
        if (out.choice == kernel) out.place = width_;
        if (out.choice == student) {
            out.scale.resize(3 * classes_);
            const Centre centre = centre_of(moments_.data(), classes_);
            for (Index c = 0; c < classes_; ++c) {
                const Student s(moments_[c], centre);
                out.place.push_back(s.mean);
                out.scale[c] = 1.0 / std::sqrt(s.width);
                out.scale[classes_ + c] = s.power;
                out.scale[2 * classes_ + c] = rise_[c] - 0.5 * std::log(std::numbers::pi * s.width);
            }
        }
        if (out.choice == bins || out.choice == values) {
            groups_.swap(best_groups_);
            group_.swap(best_group_);
            n_groups_ = Index(groups_.size()) + (out.choice == bins);
            count_groups();
            out.place = groups_;
            const double alpha = rules_.smoothing, m = double(n_groups_);
            out.table.assign((n_groups_ + 1) * classes_, 0.0);
            for (Index g = 0; g <= n_groups_; ++g)
                for (Index c = 0; c < classes_; ++c) {
                    const double entry = (g < n_groups_ ? count_[g * classes_ + c] : 0.0) + alpha;
                    const double norm = class_weight_[c] + alpha * (g < n_groups_ ? m : m + 1.0);
                    double& cell = out.table[g * classes_ + c];
                    cell = norm > 0 && entry > 0 ? std::log(entry / norm) : -infinity;
                    if (out.choice == bins && n_groups_ == 1) cell = 0.0;
                }
        }
    }

    bool leave_out(Index j, LeftOut left, double* evidence) const {
        for (Index r = 0; r < left.rows; ++r) {
            const double x = left.x[j * left.rows + r];
            if (x != x) continue;
            const Index c = left.code[r];
            const double *lo = at_ + begin(c), *hi = lo + size(c), *found = std::lower_bound(lo, hi, x);
            if (found == hi || *found != x) return false;
            const double* row = best_table_.data() + (found - at_) * classes_;
            for (Index k = 0; k < classes_; ++k) evidence[r * classes_ + k] += row[k];
        }
        return true;
    }

    ManyPoints all_;
    ChoiceRules rules_;
    Index classes_, first_ = 0, n_ = 0, n_groups_ = 0;
    const Index* start_ = nullptr;
    const double *at_ = nullptr, *weight_ = nullptr;
    double total_ = 0, chance_ = 0, best_score_ = 0, best_error_ = 0;
    int best_ = general;
    std::vector<std::int32_t> code_, number_, group_, best_group_;
    std::vector<double> class_weight_, value_, value_weight_, prior_, table_, best_table_, gain_, rise_, groups_,
        best_groups_, count_, log_, difference_, width_of_, square_, width_, own_width_, unit_, cumulative_, sorted_,
        ones_, own_;
    std::vector<Index> order_, ends_;
    std::vector<ClassMoments> moments_;
};

}  // namespace

bool choose_columns(ManyPoints points, ChoiceRules rules, LeftOut left, std::vector<ChosenColumn>& out,
                    double* evidence) {
    out.assign(points.columns, {});
    // Blocks of columns are fixed, and their evidence is added in order.
    const Index size = std::max<Index>(16, (points.columns + 63) / 64), blocks = (points.columns + size - 1) / size;
    const Index cells = left.rows * points.classes;
    const Index work = (points.start[points.columns * points.classes] * points.classes + points.columns) * 64;
    const int threads = threads_for(work, blocks);
    std::vector<std::vector<double>> sums(threads, std::vector<double>(cells));
    std::vector<Column> columns(threads, Column(points, rules));
    std::atomic<bool> known{true};
    for_blocks(
        blocks, threads,
        [&](Index b, int slot) {
            std::fill(sums[slot].begin(), sums[slot].end(), 0.0);
            for (Index j = b * size; j < std::min(points.columns, (b + 1) * size); ++j)
                if (!columns[slot].choose(j, left, out[j], sums[slot].data())) known = false;
        },
        [&](Index, int slot) {
            for (Index k = 0; k < cells; ++k) evidence[k] += sums[slot][k];
        });
    return known;
}

Index add_chosen(ManyPoints points, const std::vector<ChosenColumn>& chosen, const std::vector<const double*>& x,
                 const std::vector<Index>& stride, Index rows, double* out) {
    const Index classes = points.classes, columns = points.columns;
    const Index size = std::max<Index>(16, (columns + 63) / 64), blocks = (columns + size - 1) / size;
    const int threads = threads_for(columns * rows * classes * 8, blocks);
    std::vector<std::vector<double>> sums(threads, std::vector<double>(rows * classes));
    FirstPosition infinite;
    auto work = [&](Index b, int slot) {
        double* sum = sums[slot].data();
        std::fill_n(sum, rows * classes, 0.0);
        std::vector<double> value;
        std::vector<Index> order, ends(classes + 1);
        std::vector<double> total(classes);
        for (Index j = b * size; j < std::min(columns, (b + 1) * size); ++j) {
            const ChosenColumn& own = chosen[j];
            for (Index i = 0; i < rows; ++i)
                if (std::isinf(x[j][i * stride[j]])) infinite.report(i * columns + j);
            if (!own.votes || own.choice == general) continue;
            if (own.choice == kernel) {
                order.clear();
                for (Index i = 0; i < rows; ++i)
                    if (const double v = x[j][i * stride[j]]; std::isfinite(v)) order.push_back(i);
                std::stable_sort(order.begin(), order.end(),
                                 [&](Index a, Index c) { return x[j][a * stride[j]] < x[j][c * stride[j]]; });
                value.clear();
                for (const Index i : order) value.push_back(x[j][i * stride[j]]);
                const Index* start = points.start + j * classes;
                for (Index c = 0; c <= classes; ++c) ends[c] = start[c] - start[0];
                for (Index c = 0; c < classes; ++c) {
                    total[c] = 0;
                    for (Index k = start[c]; k < start[c + 1]; ++k) total[c] += points.weight[k];
                }
                kernel_log_density(Kernel::gaussian, value.data(), order.data(), Index(order.size()), nullptr,
                                   {points.at + start[0], points.weight + start[0], ends.data(), total.data(), classes},
                                   own.place.data(), sum);
                continue;
            }
            for (Index i = 0; i < rows; ++i) {
                const double v = x[j][i * stride[j]];
                if (v != v) continue;
                double* row = sum + i * classes;
                if (own.choice == student) {
                    for (Index c = 0; c < classes; ++c) {
                        const double z = (v - own.place[c]) * own.scale[c];
                        row[c] += own.scale[2 * classes + c] - own.scale[classes + c] * std::log1p(z * z);
                    }
                    continue;
                }
                const auto found = std::lower_bound(own.place.begin(), own.place.end(), v);
                Index g = found - own.place.begin();
                if (own.choice == values && (found == own.place.end() || *found != v)) g = Index(own.place.size());
                for (Index c = 0; c < classes; ++c) row[c] += own.table[g * classes + c];
            }
        }
    };
    for_blocks(blocks, threads, work, [&](Index, int slot) {
        for (Index k = 0; k < rows * classes; ++k) out[k] += sums[slot][k];
    });
    return infinite.get();
}

}  // namespace suffice
