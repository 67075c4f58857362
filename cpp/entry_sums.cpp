// Sums over the classes of each feature, and over the features of each class.
#include "text.hpp"

namespace suffice {

void entry_sums(Entries entries, const double* value, const std::uint8_t* block, Index blocks, Index classes,
                double* by_feature, double* by_class) {
    const Index width = 1 << 16, parts = (entries.features + width - 1) / width, size = blocks * classes;
    const int threads = threads_for(4 * (entries.features ? entries.start[entries.features] : 0), parts);
    std::vector<std::vector<double>> sums(threads, std::vector<double>(size));
    std::fill_n(by_class, size, 0.0);
    for_blocks(
        parts, threads,
        [&](Index p, int slot) {
            std::vector<double>& own = sums[slot];
            std::fill(own.begin(), own.end(), 0.0);
            for (Index j = p * width; j < std::min(entries.features, (p + 1) * width); ++j) {
                double* to = own.data() + block[j] * classes;
                double sum = 0;
                for (Index e = entries.start[j]; e < entries.start[j + 1]; ++e) {
                    to[entries.code[e]] += value[e];
                    sum += value[e];
                }
                by_feature[j] = sum;
            }
        },
        [&](Index, int slot) {
            for (Index s = 0; s < size; ++s) by_class[s] += sums[slot][s];
        });
}

}  // namespace suffice
