// Random cosines of rows of numbers and categories, and linear scores of them.
//
// A category adds one row of frequencies, so indicators are never multiplied out. Angles are float32, in turns: their
// digits are enough for cosines whose frequencies are random. Sums of scores are float64.
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace suffice {
namespace {

constexpr Index lanes = 16;

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
SUFFICE_INLINE void add_frequencies(const Cosines& of, const float* x, const std::int32_t* code, Index d, float* out) {
    Sixteen angle[n];
    for (int v = 0; v < n; ++v) angle[v] = load<Sixteen>(of.phase + d + v * lanes);
    for (Index j = 0; j < of.numbers; ++j) {
        const float* row = of.frequency + of.at[j] * of.cosines + d;
        SUFFICE_UNROLL(4)
        for (int v = 0; v < n; ++v) angle[v] += x[j] * load<Sixteen>(row + v * lanes);
    }
    for (Index j = 0; j < of.categories; ++j) {
        if (code[j] < 0 || code[j] >= of.features) continue;
        const float* row = of.frequency + code[j] * of.cosines + d;
        SUFFICE_UNROLL(4)
        for (int v = 0; v < n; ++v) angle[v] += load<Sixteen>(row + v * lanes);
    }
    for (int v = 0; v < n; ++v) {
        const Sixteen cosine = cosine_of_turns(angle[v]);
        std::memcpy(out + d + v * lanes, &cosine, sizeof cosine);
    }
}

SUFFICE_INLINE Eight as_double(const float* from) { return to_double(load<HalfSixteen>(from)); }

SUFFICE_INLINE void cosines_of_row(const Cosines& of, const float* x, const std::int32_t* code, float* out) {
    Index d = 0;
    for (; d + 4 * lanes <= of.cosines; d += 4 * lanes) add_frequencies<4>(of, x, code, d, out);
    for (; d < of.cosines; d += lanes) add_frequencies<1>(of, x, code, d, out);
}

void block_cosines(const Cosines& of, const float* x, const std::int32_t* code, Index rows, float* out) {
    const float height = float(of.height);
    for (Index i = 0; i < rows; ++i, x += of.numbers, code += of.categories, out += of.cosines) {
        cosines_of_row(of, x, code, out);
        for (Index d = 0; d < of.cosines; ++d) out[d] *= height;
    }
}

void block_scores(const Cosines& of, const float* x, const std::int32_t* code, Index rows, const double* coef,
                  const double* intercept, Index classes, float* cosine, double* out) {
    for (Index i = 0; i < rows; ++i, x += of.numbers, code += of.categories) {
        cosines_of_row(of, x, code, cosine);
        for (Index c = 0; c < classes; ++c) {
            const double* row = coef + c * of.cosines;
            Eight a = {}, b = {};
            for (Index d = 0; d < of.cosines; d += lanes) {
                a += as_double(cosine + d) * load<Eight>(row + d);
                b += as_double(cosine + d + 8) * load<Eight>(row + d + 8);
            }
            a += b;
            double sum = 0;
            for (int v = 0; v < 8; ++v) sum += a[v];
            out[i * classes + c] = intercept[c] + of.height * sum;
        }
    }
}

}  // namespace

SUFFICE_DISPATCH(cosine_block, block_cosines)
SUFFICE_DISPATCH(cosine_score_block, block_scores)

#ifndef SUFFICE_ONLY_LOOPS_FOR

namespace {

template <class Work>
void for_rows(const Cosines& of, const float* x, const std::int32_t* code, Index rows, Work work) {
    constexpr Index block_rows = 256;
    const Index blocks = (rows + block_rows - 1) / block_rows;
    const int threads = threads_for(rows * of.cosines / lanes * (of.numbers + of.categories + 8), blocks);
    std::vector<Buffer> scratch;
    for (int t = 0; t < threads; ++t) scratch.emplace_back(of.cosines);
    for_blocks(blocks, threads, [&](Index b, int slot) {
        const Index lo = b * block_rows;
        work(lo, x + lo * of.numbers, code + lo * of.categories, std::min(block_rows, rows - lo),
             reinterpret_cast<float*>(scratch[slot].data()));
    });
}

}  // namespace

void cosines(const Cosines& of, const float* x, const std::int32_t* code, Index rows, float* out) {
    for_rows(of, x, code, rows, [&](Index lo, const float* numbers, const std::int32_t* codes, Index n, float*) {
        fast::cosine_block(of, numbers, codes, n, out + lo * of.cosines);
    });
}

void cosine_scores(const Cosines& of, const float* x, const std::int32_t* code, Index rows, const double* coef,
                   const double* intercept, Index classes, double* out) {
    for_rows(of, x, code, rows, [&](Index lo, const float* numbers, const std::int32_t* codes, Index n, float* cosine) {
        fast::cosine_score_block(of, numbers, codes, n, coef, intercept, classes, cosine, out + lo * classes);
    });
}

#endif

}  // namespace suffice
