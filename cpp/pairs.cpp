// Tables of pairs of columns: their counts by class, and the scores looked up for them.
#include <vector>

#include "threads.hpp"

namespace suffice {
namespace {

constexpr Index block_rows = 1 << 12;

template <int classes>  // 0: any number
SUFFICE_INLINE void scores_of_rows(const CodedColumns& x, const ColumnPairs& of, const double* scores, Index any,
                                   Index lo, Index hi, double* __restrict out) {
    const Index K = classes ? classes : any;
    for (Index q = 0; q < of.pairs; ++q) {
        const std::uint8_t* a = x.codes + of.first[q] * x.rows;
        const std::uint8_t* b = x.codes + of.second[q] * x.rows;
        const Index rows = x.sizes[of.first[q]], cols = x.sizes[of.second[q]];
        const double* __restrict table = scores + of.offsets[q] * K;
        for (Index i = lo; i < hi; ++i) {
            if (a[i] >= rows || b[i] >= cols) continue;
            const double* __restrict score = table + (a[i] * cols + b[i]) * K;
            for (Index k = 0; k < K; ++k) out[i * K + k] += score[k];
        }
    }
}

}  // namespace

void pair_counts(CodedColumns x, ColumnPairs of, Rows rows, double* table) {
    const Index cells = of.offsets[of.pairs];
    auto count = [&](Index q, int) {
        const std::uint8_t* a = x.codes + of.first[q] * x.rows;
        const std::uint8_t* b = x.codes + of.second[q] * x.rows;
        const Index height = x.sizes[of.first[q]], width = x.sizes[of.second[q]];
        std::vector<std::uint32_t> counts(std::size_t(rows.classes * height * width));
        std::uint32_t* __restrict to = counts.data();
        for (Index i = 0; i < x.rows; ++i)
            if (a[i] < height && b[i] < width) ++to[(rows.code[i] * height + a[i]) * width + b[i]];
        for (Index c = 0; c < rows.classes; ++c)
            for (Index v = 0; v < height * width; ++v)
                table[c * cells + of.offsets[q] + v] += to[c * height * width + v];
    };
    for_blocks(of.pairs, threads_for(x.rows * of.pairs, of.pairs), count);
}

void pair_scores(CodedColumns x, ColumnPairs of, const double* scores, Index classes, double* out) {
    const Index blocks = (x.rows + block_rows - 1) / block_rows;
    auto work = [&](Index block, int) {
        const Index lo = block * block_rows, hi = std::min(x.rows, lo + block_rows);
        switch (classes) {
            case 2: return scores_of_rows<2>(x, of, scores, classes, lo, hi, out);
            case 3: return scores_of_rows<3>(x, of, scores, classes, lo, hi, out);
            case 4: return scores_of_rows<4>(x, of, scores, classes, lo, hi, out);
            default: return scores_of_rows<0>(x, of, scores, classes, lo, hi, out);
        }
    };
    for_blocks(blocks, threads_for(x.rows * of.pairs * classes, blocks), work);
}

void bin_codes(const double* values, Index n, Index stride, const double* edges, Index count, std::uint8_t missing,
               std::uint8_t* out) {
    const Index blocks = (n + block_rows - 1) / block_rows;
    auto work = [&](Index block, int) {
        const Index hi = std::min(n, (block + 1) * block_rows);
        for (Index i = block * block_rows; i < hi; ++i) {
            const double v = values[i * stride];
            // Branchless search for the number of edges below v.
            Index lo = 0;
            for (Index left = count; left > 0;) {
                const Index half = (left + 1) / 2;
                lo += edges[lo + half - 1] < v ? half : 0;
                left -= half;
            }
            out[i] = v == v ? std::uint8_t(lo) : missing;
        }
    };
    for_blocks(blocks, threads_for(8 * n, blocks), work);
}

}  // namespace suffice
