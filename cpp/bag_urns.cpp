// The Dirichlet-multinomial: a word drawn once is likelier to come again.
#include <cmath>

#include "text.hpp"

namespace suffice {
namespace {

// log Γ(a + x) - log Γ(a); for a small integer x as the logarithm of a product.
double log_rising(double a, double x) {
    if (x == 1.0) return std::log(a);
    if (x <= 16.0 && x == std::floor(x)) {
        double product = 1.0;
        for (double k = 0; k < x; ++k) product *= a + k;
        if (std::isfinite(product) && product > 0) return std::log(product);
    }
    return std::lgamma(a + x) - std::lgamma(a);
}

}  // namespace

void bag_urns(Bags x, Rows rows, Entries entries, const double* total, double added, double* out) {
    const Index size = 64, blocks = (x.rows + size - 1) / size;
    for_blocks(blocks, threads_for(x.rows ? 128 * x.start[x.rows] : 0, blocks), [&](Index b, int) {
        for (Index i = b * size; i < std::min(x.rows, (b + 1) * size); ++i) {
            double* score = out + i * rows.classes;
            const double w = rows.weight ? rows.weight[i] : 1.0;
            std::fill_n(score, rows.classes, 0.0);
            for (Index e = x.start[i]; e < x.start[i + 1]; ++e) {
                const double value = x.value[e], none = log_rising(added, value);
                for (Index k = entries.start[x.feature[e]]; k < entries.start[x.feature[e] + 1]; ++k) {
                    double n = total[k];
                    if (rows.code && entries.code[k] == rows.code[i]) {
                        n -= w * value;
                        n = n > residue * total[k] ? n : 0.0;
                    }
                    score[entries.code[k]] += log_rising(n + added, value) - none;
                }
            }
        }
    });
}

}  // namespace suffice
