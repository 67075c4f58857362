// What a feature counts for, by how often it occurs in a document.
#include <algorithm>
#include <cmath>

#include "dispatch.hpp"
#include "features.hpp"

namespace suffice {
namespace {

void values_of(TermWeight term, const std::uint32_t* __restrict count, Index n, double* __restrict value) {
    switch (term) {
        case TermWeight::count:
            for (Index e = 0; e < n; ++e) value[e] = double(count[e]);
            return;
        case TermWeight::binary: std::fill_n(value, n, 1.0); return;
        case TermWeight::sqrt:
            for (Index e = 0; e < n; ++e) value[e] = std::sqrt(double(count[e]));
            return;
        case TermWeight::log:
            for (Index e = 0; e < n; ++e) value[e] = 1.0 + std::log(double(count[e]));
            return;
    }
}

}  // namespace

SUFFICE_DISPATCH(term_values, values_of)

#ifndef SUFFICE_ONLY_LOOPS_FOR

void term_values(TermWeight term, const std::uint32_t* count, Index n, double* value) {
    fast::term_values(term, count, n, value);
}

#endif

}  // namespace suffice
