// Count the values of columns in cells, at the least level at which no class has more than `limit` cells.
//
// Occupied cells only grow in number with more rows, and cells of a coarser level are unions of finer ones. So a level
// that is too fine for some of the rows is too fine for all of them: the counter starts at a level that the first rows
// show to be needed, and goes one level up whenever a class has too many cells. The level reached is then that of all
// rows, whatever their order. Rows are counted in slices, and the slices of a column are added.
//
// Most values fall into a window of cells, an array for each class. The others are kept in a hash table. At the finest
// level the window holds multiples of a power of two, as integers are.
#include "cells.hpp"

#include <bit>
#include <memory>
#include <type_traits>

#include "double_double.hpp"
#include "threads.hpp"

namespace suffice {

// Where the window lies: the cells base .. base + used - 1, and those of the next class `span` entries further.
struct CellWindow {
    double scale, base, used;  // cells are integers after values are multiplied by `scale`
    std::int32_t span;
};

namespace {

// The place of each value in the window; -1 of one that is not in it, or missing.
template <bool exact>
void window_places(const double* x, const std::int32_t* code, Index n, CellWindow window, std::int32_t* at) {
    for (Index i = 0; i < n; ++i) {
        const double y = x[i] * window.scale, k = std::floor(y), d = k - window.base;
        const bool tiny = exact ? x[i] != 0 : x[i] < 0;  // a product that was rounded to 0 tells nothing
        const bool inside = (d >= 0) & (d < window.used) & !((k == 0) & tiny) & (!exact | (k == y));
        const std::int32_t place = std::int32_t(inside ? d : 0.0) + code[i] * window.span;
        at[i] = inside ? place : -1;
    }
}

}  // namespace

SUFFICE_DISPATCH(window_values, window_places<true>)
SUFFICE_DISPATCH(window_cells, window_places<false>)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

constexpr Index slice_rows = Index(1) << 18, most_first_rows = Index(1) << 16, most_first_values = Index(1) << 14;
constexpr Index most_window = Index(1) << 20;   // entries over all classes
constexpr Index tasks_for_a_thread = 2;         // as they differ in length
constexpr Index most_counted = Index(1) << 31;  // rows whose number 32 bits hold

struct Counted {  // rows of weight 1
    std::uint32_t n = 0;
    bool empty() const { return n == 0; }
    void add(double) { ++n; }
    void add(Counted other) { n += other.n; }
    ValueCell at(double edge) const { return {edge, double(n), 0.0}; }
};

struct Weighed {
    double high = 0, low = 0;
    bool empty() const { return high == 0; }
    void add(double w) { add(Weighed{w, 0.0}); }
    void add(Weighed other) {
        const auto sum = Pair{high, low} + Pair{other.high, other.low};
        high = sum.high;
        low = sum.low;
    }
    ValueCell at(double edge) const { return {edge, high, low}; }
};

// Weights by the edge of their cell.
template <class Count>
class Table {
public:
    Index size() const { return size_; }
    void clear() {
        keys_.clear();
        counts_.clear();
        size_ = 0;
    }
    Count& operator[](double edge) {
        if (2 * (size_ + 1) > Index(keys_.size())) grow();
        const std::size_t at = place(edge);
        if (counts_[at].empty()) {
            keys_[at] = edge;
            ++size_;  // the caller adds a weight
        }
        return counts_[at];
    }
    // The weight of an edge, or null if it has none.
    Count* known(double edge) {
        if (keys_.empty()) return nullptr;
        const std::size_t at = place(edge);
        return counts_[at].empty() ? nullptr : &counts_[at];
    }
    template <class Each>
    void each(Each each) const {
        for (std::size_t i = 0; i < keys_.size(); ++i)
            if (!counts_[i].empty()) each(keys_[i], counts_[i]);
    }

private:
    std::size_t place(double edge) const {
        const std::size_t mask = keys_.size() - 1;
        std::uint64_t hash = std::bit_cast<std::uint64_t>(edge) * 0x9E3779B97F4A7C15ull;
        std::size_t at = std::size_t(hash >> 20) & mask;
        while (!counts_[at].empty() && keys_[at] != edge) at = (at + 1) & mask;
        return at;
    }
    void grow() {
        std::vector<double> keys(std::max<std::size_t>(64, 2 * keys_.size()));
        std::vector<Count> counts(keys.size());
        keys.swap(keys_);
        counts.swap(counts_);
        for (std::size_t i = 0; i < keys.size(); ++i)
            if (!counts[i].empty()) {
                const std::size_t at = place(keys[i]);
                keys_[at] = keys[i];
                counts_[at] = counts[i];
            }
    }
    std::vector<double> keys_;
    std::vector<Count> counts_;
    Index size_ = 0;
};

// The number of cells of ascending values, at most `most` + 1.
Index cells_at(const std::vector<double>& values, int level, Index most) {
    const Grid grid(level);
    Index n = 0;
    double last = std::numeric_limits<double>::quiet_NaN();
    for (const double value : values) {
        const double edge = grid.edge(value);
        if (edge != last && ++n > most) break;
        last = edge;
    }
    return n;
}

// The least level, from `low` on, at which ascending values have at most `limit` cells.
int least_level(const std::vector<double>& values, int low, Index limit) {
    int high = coarsest_level;
    low = std::min(low, high);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (cells_at(values, middle, limit) > limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The exponent of the largest power of two that x is a multiple of.
int granularity(double x) {
    int exponent;
    const double mantissa = std::frexp(std::abs(x), &exponent);
    return exponent - 53 + std::countr_zero(std::uint64_t(std::ldexp(mantissa, 53)));
}

// What the first rows of a column show: a level that is certainly needed, and where and how finely to count.
struct Start {
    int level = finest_level, unit = finest_level;
    double centre = 0;
};

// The granularity of values, as a level; that of integers if there are only zeros.
int unit_of(const std::vector<double>& values) {
    int unit = coarsest_level;
    for (const double value : values)
        if (value != 0) unit = std::min(unit, granularity(value));
    return values.front() == 0 && values.back() == 0 ? 0 : unit;
}

// The same of cells that were counted before: the level of all rows is at least theirs.
bool look_at(const ColumnCells& before, Start& start) {
    const std::vector<ValueCell>* most = nullptr;
    for (const auto& cells : before.of_class)
        if (!most || cells.size() > most->size()) most = &cells;
    if (!most || most->empty()) return false;
    start = {before.level, before.level, (*most)[most->size() / 2].edge};
    if (before.level == finest_level) {
        std::vector<double> values(most->size());
        std::transform(most->begin(), most->end(), values.begin(), [](const ValueCell& cell) { return cell.edge; });
        start.unit = unit_of(values);
    }
    return true;
}

Start look(const StridedColumn& x, Rows rows, Index n, Index limit, int level) {
    n = std::min(n, most_first_rows);
    auto counts = [&](Index i) { return (!rows.weight || rows.weight[i] > 0) && std::isfinite(x[i]); };
    std::vector<Index> seen(rows.classes);
    for (Index i = 0; i < n; ++i) seen[rows.code[i]] += counts(i);
    const Index common = std::max_element(seen.begin(), seen.end()) - seen.begin();
    std::vector<double> values;
    values.reserve(std::min(seen[common], most_first_values));
    for (Index i = 0; i < n && Index(values.size()) < most_first_values; ++i)
        if (rows.code[i] == common && counts(i)) values.push_back(x[i]);
    Start start{level, level, 0.0};
    if (values.empty()) return start;
    const Index ends[] = {0, Index(values.size())};
    sort_segments(values.data(), ends, 1, nullptr);
    start.centre = values[values.size() / 2];
    start.level = cells_at(values, level, limit) > limit ? least_level(values, level + 1, limit) : level;
    start.unit = start.level;
    if (start.level == finest_level) start.unit = unit_of(values);
    return start;
}

constexpr Index piece = 512;  // rows whose places in the window are computed together

template <class Count>
class Counter {
public:
    Counter(Index classes, Index limit) : classes_(classes), limit_(limit), occupied_(classes), tables_(classes) {
        span_ = Index(std::bit_ceil(std::uint64_t(4 * std::min(limit, most_window))));
        while (span_ * classes > most_window) span_ /= 2;
        if (span_ < 64) span_ = 0;
        window_.resize(span_ * classes);
    }

    // Count the rows lo .. hi-1, after those of `before`; returns the row of an infinite value, or -1.
    Index count(const StridedColumn& x, Rows rows, Index lo, Index hi, const Start& start, const ColumnCells* before) {
        clear();
        level_ = start.level;
        infinite_ = -1;
        place(start.unit, start.centre);
        if (before) refill(*before);
        for (Index i = lo; i < hi;) {
            if (rows.weight)
                i = level_ == finest_level ? run<true, true>(x, rows, i, hi) : run<true, false>(x, rows, i, hi);
            else
                i = level_ == finest_level ? run<false, true>(x, rows, i, hi) : run<false, false>(x, rows, i, hi);
            if (too_many_) rise();
        }
        return infinite_;
    }

    ColumnCells found() const {
        ColumnCells out{level_, std::vector<std::vector<ValueCell>>(classes_)};
        for (Index c = 0; c < classes_; ++c) {
            auto& cells = out.of_class[c];
            cells.reserve(occupied_[c]);
            tables_[c].each([&](double edge, const Count& count) { cells.push_back(count.at(edge)); });
            auto less = [](const ValueCell& a, const ValueCell& b) { return a.edge < b.edge; };
            std::sort(cells.begin(), cells.end(), less);
            const std::size_t outside = cells.size();
            const double width = std::ldexp(1.0, grid_.level());
            for (Index k = 0; k < used_; ++k)
                if (const Count& count = window_[c * span_ + k]; !count.empty())
                    cells.push_back(count.at(double(base_ + k) * width));
            std::inplace_merge(cells.begin(), cells.begin() + outside, cells.end(), less);
        }
        return out;
    }

private:
    void clear() {
        std::fill(window_.begin(), window_.end(), Count());
        std::fill(occupied_.begin(), occupied_.end(), 0);
        for (auto& table : tables_) table.clear();
        too_many_ = false;
    }

    // Put the window, of cells of this level, around a value; without one where the cells are too far from 0.
    void place(int unit, double centre) {
        grid_ = Grid(unit);
        const double k = centre * grid_.scale();
        used_ = grid_.simple() && std::abs(k) < 0x1p51 ? span_ : 0;
        base_ = used_ ? Index(std::floor(k)) - span_ / 2 : 0;
    }

    // Count rows from i on, until a class has too many cells; returns the row after the last one that was counted.
    template <bool weighted, bool exact>
    Index run(const StridedColumn& x, Rows rows, Index i, Index hi) {
        double copied[piece];
        std::int32_t at[piece];
        const CellWindow window{grid_.scale(), double(base_), double(used_), std::int32_t(span_)};
        Count* counts = window_.data();
        for (; i < hi; i += piece) {
            const Index n = std::min(piece, hi - i);
            const double* values = x.data + i;
            if (x.stride != 1) {
                for (Index r = 0; r < n; ++r) copied[r] = x[i + r];
                values = copied;
            }
            exact ? fast::window_values(values, rows.code + i, n, window, at)
                  : fast::window_cells(values, rows.code + i, n, window, at);
            for (Index r = 0; r < n; ++r) {
                double w = 1;
                if constexpr (weighted)
                    if ((w = rows.weight[i + r]) == 0) continue;
                if (at[r] >= 0) {
                    Count& own = counts[at[r]];
                    const bool fresh = own.empty();
                    own.add(w);
                    if (fresh && ++occupied_[rows.code[i + r]] > limit_) {
                        too_many_ = true;
                        return i + r + 1;
                    }
                    continue;
                }
                if constexpr (exact)
                    if (Count* own = tables_[rows.code[i + r]].known(values[r])) {  // most often it is
                        own->add(w);
                        continue;
                    }
                if (outside(values[r], rows.code[i + r], w, i + r)) return i + r + 1;
            }
        }
        return hi;
    }

    bool outside(double value, Index c, double w, Index row) {
        if (value != value) return false;
        if (std::isinf(value)) {
            if (infinite_ < 0) infinite_ = row;
            return false;
        }
        Count one;
        one.add(w);
        return too_many_ = put(level_ == finest_level ? value + 0.0 : grid_.edge(value), c, one);
    }

    // Add to the cell of an edge; returns whether there are too many.
    bool put(double edge, Index c, Count count) {
        Count* own = in_window(edge, c);
        if (!own) own = &tables_[c][edge];
        const bool fresh = own->empty();
        own->add(count);
        return fresh && ++occupied_[c] > limit_;
    }

    Count* in_window(double edge, Index c) {
        if (!used_) return nullptr;
        const double y = edge * grid_.scale(), d = y - double(base_);
        if (!(d >= 0 && d < double(used_)) || y != std::floor(y) || (y == 0 && edge != 0)) return nullptr;
        return &window_[c * span_ + Index(d)];
    }

    // Go to the least level at which no class has too many cells.
    void rise() {
        if (level_ == finest_level) leave_finest();
        while (level_ < coarsest_level && *std::max_element(occupied_.begin(), occupied_.end()) > limit_) halve();
        too_many_ = false;
    }

    void leave_finest() {
        const ColumnCells cells = found();
        int level = finest_level;
        double centre = 0;
        for (const auto& own : cells.of_class) {
            if (Index(own.size()) <= limit_) continue;
            std::vector<double> values(own.size());
            std::transform(own.begin(), own.end(), values.begin(), [](const ValueCell& cell) { return cell.edge; });
            level = std::max(level, least_level(values, finest_level + 1, limit_));
            centre = values[values.size() / 2];
        }
        move(cells, level, centre);
    }

    void move(const ColumnCells& cells, int level, double centre) {
        clear();
        level_ = level;
        place(level, centre);
        refill(cells);
    }

    // Put cells of this level, or a finer one.
    void refill(const ColumnCells& cells) {
        const Grid own(level_);  // at the finest level the window has a grid of its own
        for (Index c = 0; c < classes_; ++c)
            for (const ValueCell& cell : cells.of_class[c])
                put(cells.level == level_ ? cell.edge : own.edge(cell.edge), c, counted(cell));
    }

    static Count counted(const ValueCell& cell) {
        if constexpr (std::is_same_v<Count, Counted>)
            return {std::uint32_t(cell.weight)};
        else
            return {cell.weight, cell.low};
    }

    // Go one level up.
    void halve() {
        const Grid next(level_ + 1);
        if (!next.simple() || !used_) {
            const ColumnCells cells = found();
            return move(cells, level_ + 1,
                        used_ ? (double(base_) + 0.5 * double(span_)) * std::ldexp(1.0, level_) : 0.0);
        }
        const Index base = base_ >> 1, shift = base_ & 1;  // >> rounds down
        std::vector<Table<Count>> tables(classes_);
        tables.swap(tables_);
        level_ += 1;
        grid_ = next;
        for (Index c = 0; c < classes_; ++c) {
            Count* own = window_.data() + c * span_;
            Index n = 0;
            for (Index k = 0; 2 * k - shift < span_; ++k) {
                Count both;
                if (const Index first = 2 * k - shift; first >= 0) both = own[first];
                if (const Index second = 2 * k + 1 - shift; second < span_ && !own[second].empty())
                    both.add(own[second]);
                if (k < span_) own[k] = both;
                n += !both.empty();
            }
            std::fill(own + span_ / 2 + shift, own + span_, Count());
            occupied_[c] = n;
        }
        // The half that is free lies on both sides: values may lie on either.
        base_ = base - span_ / 4;
        for (Index c = 0; c < classes_; ++c) {
            Count* own = window_.data() + c * span_;
            std::move_backward(own, own + span_ / 2 + 1, own + span_ / 4 + span_ / 2 + 1);
            std::fill(own, own + span_ / 4, Count());
        }
        for (Index c = 0; c < classes_; ++c)
            tables[c].each([&](double edge, const Count& count) { put(grid_.edge(edge), c, count); });
    }

    Index classes_, limit_, span_ = 0, used_ = 0, base_ = 0, infinite_ = -1;
    int level_ = finest_level;
    bool too_many_ = false;
    Grid grid_{finest_level};
    std::vector<Count> window_;  // (classes, span)
    std::vector<Index> occupied_;
    std::vector<Table<Count>> tables_;
};

// The same for rows that are no more than a class may have cells: sorted.
ColumnCells sorted_cells(const StridedColumn& x, Rows rows, Index n, Index& infinite) {
    ColumnCells out{finest_level, std::vector<std::vector<ValueCell>>(rows.classes)};
    if (!rows.weight) {
        std::vector<Index> start(rows.classes + 1), next;
        for (Index i = 0; i < n; ++i) start[rows.code[i] + 1] += !std::isnan(x[i]);
        for (Index c = 0; c < rows.classes; ++c) start[c + 1] += start[c];
        next = start;
        std::vector<double> values(start.back());
        for (Index i = 0; i < n; ++i) {
            const double value = x[i];
            if (std::isnan(value)) continue;
            if (std::isinf(value) && infinite < 0) infinite = i;
            values[next[rows.code[i]]++] = value + 0.0;
        }
        sort_segments(values.data(), start.data(), rows.classes, nullptr);
        for (Index c = 0; c < rows.classes; ++c) {
            auto& cells = out.of_class[c];
            cells.reserve(start[c + 1] - start[c]);
            for (Index i = start[c]; i < start[c + 1]; ++i)
                if (!cells.empty() && cells.back().edge == values[i])
                    cells.back().weight += 1.0;
                else
                    cells.push_back({values[i], 1.0, 0.0});
        }
        return out;
    }
    for (Index i = 0; i < n; ++i) {
        const double value = x[i], w = rows.weight[i];
        if (value != value || w == 0) continue;
        if (std::isinf(value) && infinite < 0) infinite = i;
        out.of_class[rows.code[i]].push_back({value + 0.0, w, 0.0});
    }
    for (auto& cells : out.of_class) {
        std::stable_sort(cells.begin(), cells.end(),
                         [](const ValueCell& a, const ValueCell& b) { return a.edge < b.edge; });
    }
    coarsen(out, finest_level);
    return out;
}

// Whether the weights of cells are whole, and stay within 32 bits with n more rows.
template <class Count>
bool counts_fit(const ColumnCells& cells, Index n) {
    if (!std::is_same_v<Count, Counted>) return false;  // sums of weights would depend on their order
    for (const auto& own : cells.of_class)
        for (const ValueCell& cell : own)
            if (!(cell.weight >= 1 && cell.weight + double(n) < 0x1p32) || cell.weight != std::floor(cell.weight))
                return false;
    return true;
}

// Into how many slices the rows of every column are cut. Whole counts are the same for any number, and adding slices takes
// time, so there are just enough for all threads. Sums of weights depend on the slices: these are fixed.
template <class Count>
Index slices_of(Index n, Index columns) {
    const Index most = std::max<Index>(1, (n + slice_rows / 2) / slice_rows);
    if (!std::is_same_v<Count, Counted>) return most;
    const Index tasks = tasks_for_a_thread * threads_for(n * columns * 8, most * columns);
    return std::clamp((tasks + columns - 1) / std::max<Index>(columns, 1), 1 + n / most_counted, most);
}

template <class Count>
void count_columns(const std::vector<StridedColumn>& columns, Rows rows, Index n, Index limit, const int* level,
                   std::vector<ColumnCells>& out, std::vector<Index>& infinite) {
    const Index cols = Index(columns.size());
    const Index slices = slices_of<Count>(n, cols), tasks = slices * cols;
    const int threads = threads_for(n * cols * 8, tasks);
    std::vector<ColumnCells> parts(tasks);
    std::vector<Index> bad(tasks, -1);
    std::vector<Start> start(cols);
    const bool few = n <= limit;
    std::vector<char> onto(cols);  // columns whose rows are counted onto the cells that were there
    if (!few)
        for_blocks(cols, threads, [&](Index j, int) {
            if (!look_at(out[j], start[j]))
                start[j] = look(columns[j], rows, n, limit, level[j]);
            else
                onto[j] = slices == 1 && counts_fit<Count>(out[j], n);
        });
    std::vector<std::unique_ptr<Counter<Count>>> counters(threads);
    for_blocks(tasks, threads, [&](Index task, int slot) {
        const Index j = task / slices, s = task % slices;
        if (few) {
            parts[task] = sorted_cells(columns[j], rows, n, bad[task]);
            return;
        }
        if (!counters[slot]) counters[slot] = std::make_unique<Counter<Count>>(rows.classes, limit);
        bad[task] = counters[slot]->count(columns[j], rows, s * n / slices, (s + 1) * n / slices, start[j],
                                          onto[j] ? &out[j] : nullptr);
        parts[task] = counters[slot]->found();
        if (onto[j]) out[j] = std::move(parts[task]);
    });
    for_blocks(cols, std::min<int>(threads, int(std::max<Index>(cols, 1))), [&](Index j, int) {
        for (Index s = 0; s < slices; ++s) {
            if (infinite[j] < 0) infinite[j] = bad[j * slices + s];
            if (!onto[j]) add_cells(out[j], std::move(parts[j * slices + s]), limit);
        }
    });
}

}  // namespace

void coarsen(ColumnCells& column, int level) {
    const Grid grid(level);
    const bool same = level == column.level;
    for (auto& cells : column.of_class) {
        std::size_t n = 0;
        for (const ValueCell& cell : cells) {
            const double edge = same ? cell.edge : grid.edge(cell.edge);
            if (n && cells[n - 1].edge == edge) {
                const auto sum = Pair{cells[n - 1].weight, cells[n - 1].low} + Pair{cell.weight, cell.low};
                cells[n - 1] = {edge, sum.high, sum.low};
            } else {
                cells[n++] = {edge, cell.weight, cell.low};
            }
        }
        cells.resize(n);
    }
    column.level = level;
}

void add_cells(ColumnCells& column, ColumnCells&& other, Index limit) {
    const int level = std::max(column.level, other.level);
    if (column.level < level) coarsen(column, level);
    if (other.level < level) coarsen(other, level);
    if (column.of_class.size() < other.of_class.size()) column.of_class.resize(other.of_class.size());
    bool merged = false;
    for (std::size_t c = 0; c < other.of_class.size(); ++c) {
        auto &mine = column.of_class[c], &theirs = other.of_class[c];
        if (mine.empty()) {
            mine.swap(theirs);
        } else if (!theirs.empty()) {
            const std::size_t n = mine.size();
            mine.insert(mine.end(), theirs.begin(), theirs.end());
            std::inplace_merge(mine.begin(), mine.begin() + n, mine.end(),
                               [](const ValueCell& a, const ValueCell& b) { return a.edge < b.edge; });
            merged = true;
        }
    }
    if (merged) coarsen(column, level);
    auto most = [&] {
        std::size_t n = 0;
        for (const auto& cells : column.of_class) n = std::max(n, cells.size());
        return Index(n);
    };
    if (most() <= limit) return;
    if (column.level == finest_level) {
        int least = finest_level;
        for (const auto& cells : column.of_class) {
            std::vector<double> values(cells.size());
            std::transform(cells.begin(), cells.end(), values.begin(), [](const ValueCell& cell) { return cell.edge; });
            if (Index(values.size()) > limit) least = std::max(least, least_level(values, finest_level, limit));
        }
        coarsen(column, least);
    }
    while (most() > limit && column.level < coarsest_level) coarsen(column, column.level + 1);
}

void count_cells(const std::vector<StridedColumn>& columns, Rows rows, Index n, Index limit, const int* level,
                 std::vector<ColumnCells>& out, std::vector<Index>& infinite) {
    rows.weight ? count_columns<Weighed>(columns, rows, n, limit, level, out, infinite)
                : count_columns<Counted>(columns, rows, n, limit, level, out, infinite);
}

#endif

}  // namespace suffice
