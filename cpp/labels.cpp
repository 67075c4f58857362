// Labels that are integers of a small range.
#include "kernels.hpp"

namespace suffice {

bool number_integers(const std::int64_t* values, Index n, std::int64_t low, Index range, std::int32_t* codes,
                     bool* seen) {
    for (Index i = 0; i < n; ++i) {
        const std::uint64_t offset = std::uint64_t(values[i]) - std::uint64_t(low);
        if (offset >= std::uint64_t(range)) return false;
        codes[i] = std::int32_t(offset);
        seen[offset] = true;
    }
    return true;
}

}  // namespace suffice
