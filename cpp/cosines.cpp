// Random cosines of rows of numbers and categories, and linear scores of them.
//
// A category adds one row of frequencies, so indicators are never multiplied out. Angles are float32, in turns: their
// digits are enough for cosines whose frequencies are random. Sums of scores are float64, but for a few products each.
#include <algorithm>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index lanes = 16;
// Of the sums of a block of rows, which stay in the first cache.
[[maybe_unused]] constexpr Index most_numbers = 1 << 11;

// cos 2πt = sin 2π(¼ − |t − round t|), by the series of the sine, which is within 6e-8 for a quarter of a turn.
SUFFICE_INLINE Sixteen cosine_of_turns(Sixteen t) {
    constexpr float whole = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer
    t -= (t + whole) - whole;
    t = 0.25f - select(t < 0, Sixteen(-t), t);
    const Sixteen s = t * t;
    Sixteen sum = s * -15.0946426f + 42.0586940f;
    sum = sum * s - 76.7058598f;
    sum = sum * s + 81.6052493f;
    sum = sum * s - 41.3417022f;
    sum = sum * s + 6.28318531f;
    return sum * t;
}

// The cosines d .. d + 16 n - 1 of one row.
template <int n>
SUFFICE_INLINE void cosines_of_row(const Cosines& of, const float* x, const std::int32_t* code, Index d, Sixteen* out) {
    for (int v = 0; v < n; ++v) out[v] = load<Sixteen>(of.phase + d + v * lanes);
    for (Index j = 0; j < of.numbers; ++j) {
        const float* row = of.frequency + of.at[j] * of.cosines + d;
        SUFFICE_UNROLL(8)
        for (int v = 0; v < n; ++v) out[v] += x[j] * load<Sixteen>(row + v * lanes);
    }
    for (Index j = 0; j < of.categories; ++j) {
        if (code[j] < 0 || code[j] >= of.features) continue;
        const float* row = of.frequency + code[j] * of.cosines + d;
        SUFFICE_UNROLL(8)
        for (int v = 0; v < n; ++v) out[v] += load<Sixteen>(row + v * lanes);
    }
    for (int v = 0; v < n; ++v) out[v] = cosine_of_turns(out[v]);
}

// Call body(i, d, cosine) for n · 16 cosines of every row, and then for the next ones: so few rows of frequencies stay in
// the first cache.
template <int n, class Body>
SUFFICE_INLINE Index for_cosines(const Cosines& of, const float* x, const std::int32_t* code, Index rows, Index d,
                                 Body body) {
    for (; d + n * lanes <= of.cosines; d += n * lanes)
        for (Index i = 0; i < rows; ++i) {
            Sixteen cosine[n];
            cosines_of_row<n>(of, x + i * of.numbers, code + i * of.categories, d, cosine);
            body(i, d, cosine);
        }
    return d;
}

void block_cosines(const Cosines& of, const float* x, const std::int32_t* code, Index rows, float* out) {
    const float height = float(of.height);
    auto write = [&](int n) {
        return [=, &of](Index i, Index d, Sixteen* cosine) {
            for (int v = 0; v < n; ++v) {
                cosine[v] *= height;
                store(cosine[v], out + i * of.cosines + d + v * lanes);
            }
        };
    };
    const Index done = for_cosines<4>(of, x, code, rows, 0, write(4));
    for_cosines<1>(of, x, code, rows, done, write(1));
}

// Products of eight cosines are summed in float32, and their sums in float64. `sum` has eight numbers for each row and class.
void block_scores(const Cosines& of, const float* x, const std::int32_t* code, Index rows, const float* coef,
                  const double* intercept, Index classes, double* sum, double* out) {
    std::fill_n(sum, rows * classes * 8, 0.0);
    auto add = [&](int n) {
        return [=, &of](Index i, Index d, const Sixteen* cosine) {
            for (Index c = 0; c < classes; ++c) {
                const float* own = coef + c * of.cosines + d;
                Sixteen part = cosine[0] * load<Sixteen>(own);
                for (int v = 1; v < n; ++v) part += cosine[v] * load<Sixteen>(own + v * lanes);
                double* to = sum + (i * classes + c) * 8;
                float half[lanes];
                store(part, half);
                store(Eight(load<Eight>(to) + (load_eight(half) + load_eight(half + 8))), to);
            }
        };
    };
    constexpr int most = register_bytes / 8;  // whose sums fit into registers
    const Index done = for_cosines<most>(of, x, code, rows, 0, add(most));
    for_cosines<1>(of, x, code, rows, done, add(1));
    for (Index i = 0; i < rows; ++i)
        for (Index c = 0; c < classes; ++c) {
            const double* from = sum + (i * classes + c) * 8;
            double total = 0;
            for (int v = 0; v < 8; ++v) total += from[v];
            out[i * classes + c] = intercept[c] + of.height * total;
        }
}

}  // namespace

SUFFICE_DISPATCH(cosine_block, block_cosines)
SUFFICE_DISPATCH(cosine_score_block, block_scores)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

// Call work(lo, x, code, rows, sum) for blocks of rows, with room for `numbers` doubles of each row at `sum`.
template <class Work>
void for_rows(const Cosines& of, const float* x, const std::int32_t* code, Index rows, Index numbers, Work work) {
    const Index block_rows = std::clamp<Index>(most_numbers / std::max<Index>(numbers, 1), 8, 256);
    const Index blocks = (rows + block_rows - 1) / block_rows;
    const int threads = threads_for(rows * of.cosines / lanes * (of.numbers + of.categories + 8), blocks);
    std::vector<Buffer> scratch;
    for (int t = 0; t < threads; ++t) scratch.emplace_back(block_rows * numbers);
    for_blocks(blocks, threads, [&](Index b, int slot) {
        const Index lo = b * block_rows;
        work(lo, x + lo * of.numbers, code + lo * of.categories, std::min(block_rows, rows - lo), scratch[slot].data());
    });
}

}  // namespace

void cosines(const Cosines& of, const float* x, const std::int32_t* code, Index rows, float* out) {
    for_rows(of, x, code, rows, 0, [&](Index lo, const float* numbers, const std::int32_t* codes, Index n, double*) {
        fast::cosine_block(of, numbers, codes, n, out + lo * of.cosines);
    });
}

void cosine_scores(const Cosines& of, const float* x, const std::int32_t* code, Index rows, const double* coef,
                   const double* intercept, Index classes, double* out) {
    const std::vector<float> own(coef, coef + classes * of.cosines);
    for_rows(of, x, code, rows, 8 * classes,
             [&](Index lo, const float* numbers, const std::int32_t* codes, Index n, double* sum) {
                 fast::cosine_score_block(of, numbers, codes, n, own.data(), intercept, classes, sum,
                                          out + lo * classes);
             });
}

#endif

}  // namespace suffice
