// CUDA kernels: sums of rows by class, scores of rows, and leave-one-out. CuPy compiles them at run time.
//
// Sums are float64 and are added in an order that depends on the data alone, so that the same rows give the same bits.
// Where the order is left to the card, sums are integers. The tests build this file for the host as well, with the
// definitions of tests/gpu/host_cuda.hpp in place of the card's.
#ifndef SUFFICE_HOST
#define SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]
#define INFINITE_NUMBER __longlong_as_double(0x7ff0000000000000LL)
#define MISSING_NUMBER __longlong_as_double(0x7ff8000000000000LL)
#endif

typedef long long Index;
typedef unsigned int Bits;
typedef unsigned long long Word;

static const Bits ALL = 0xffffffffu;

// ------------------------------------------------------------------------------------------------ labels

// Mark which of the integers from `low` on occur.
template <class T>
__device__ void mark(const T* y, Index n, Index low, unsigned char* found) {
    const Index step = (Index)gridDim.x * blockDim.x;
    for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) found[(Index)y[i] - low] = 1;
}

// Replace every integer by its position among those that occur.
template <class T>
__device__ void number(const T* y, Index n, Index low, const int* position, int* codes) {
    const Index step = (Index)gridDim.x * blockDim.x;
    for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) codes[i] = position[(Index)y[i] - low];
}

extern "C" __global__ void mark_i32(const int* y, Index n, Index low, unsigned char* found) { mark(y, n, low, found); }
extern "C" __global__ void mark_i64(const Index* y, Index n, Index low, unsigned char* found) {
    mark(y, n, low, found);
}
extern "C" __global__ void number_i32(const int* y, Index n, Index low, const int* position, int* codes) {
    number(y, n, low, position, codes);
}
extern "C" __global__ void number_i64(const Index* y, Index n, Index low, const int* position, int* codes) {
    number(y, n, low, position, codes);
}

// --------------------------------------------------------------------------------------- rows by class

// Return which lanes hold the same number of `bits` bits. A few votes take less time than __match_any_sync.
__device__ Bits lanes_alike(Bits number, int bits) {
    Bits alike = ALL;
    for (int b = 0; b < bits; ++b) {
        const bool set = number >> b & 1;
        const Bits votes = __ballot_sync(ALL, set);
        alike &= set ? votes : ~votes;
    }
    return alike;
}

static const int CODES = 4;  // that a lane loads at once

// Sort the rows of each tile by class: a block takes one tile, and keeps the order of rows within a class. Classes are
// those from `first` on, `classes` of them; rows of others are left out. `order` gets the rows, and `starts` of a tile,
// (classes + 1), where each class begins there.
extern "C" __global__ void order_rows(const int* codes, Index n, int tile, int first, int classes, int* order,
                                      int* starts) {
    SHARED_MEMORY(memory);
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32, cells = classes * warps;
    Bits* count = (Bits*)memory;      // (classes, warps)
    Bits* sums = count + cells;       // (warps)
    int bits = 1;                     // of the number of a class, or of `classes` for rows of others
    while (classes >> bits) ++bits;
    const Index begin = (Index)blockIdx.x * tile;
    const int rows = (int)(n - begin < tile ? n - begin : tile);
    for (int k = threadIdx.x; k < cells; k += blockDim.x) count[k] = 0;
    __syncthreads();
    const int each = (tile / warps + 31) / 32 * 32, from = warp * each, to = from + each < rows ? from + each : rows;
    for (int r = from; r < to; r += 32 * CODES) {
        int ahead[CODES];
#pragma unroll
        for (int u = 0; u < CODES; ++u)
            ahead[u] = r + u * 32 + lane < to ? codes[begin + r + u * 32 + lane] - first : -1;
#pragma unroll
        for (int u = 0; u < CODES; ++u) {
            const int c = ahead[u];
            if (c >= 0 && c < classes) atomicAdd(&count[c * warps + warp], 1u);
        }
    }
    __syncthreads();
    // Counts become places: first by threads, of cells that follow each other, then over warps.
    const int share = (cells + blockDim.x - 1) / blockDim.x, low = threadIdx.x * share,
              high = low + share < cells ? low + share : cells;
    Bits own = 0;
    for (int k = low; k < high; ++k) own += count[k];
    Bits before = own;
    for (int step = 1; step < 32; step *= 2) {
        const Bits left = __shfl_up_sync(ALL, before, step);
        if (lane >= step) before += left;
    }
    if (lane == 31) sums[warp] = before;
    __syncthreads();
    Bits place = before - own;
    for (int k = 0; k < warp; ++k) place += sums[k];
    for (int k = low; k < high; ++k) {
        const Bits here = count[k];
        count[k] = place;
        place += here;
    }
    __syncthreads();
    int* starting = starts + (Index)blockIdx.x * (classes + 1);
    for (int c = threadIdx.x; c < classes; c += blockDim.x) starting[c] = (int)count[c * warps];
    if (threadIdx.x == 0) {
        Bits total = 0;
        for (int k = 0; k < warps; ++k) total += sums[k];
        starting[classes] = (int)total;
    }
    __syncthreads();
    for (int r = from; r < to; r += 32 * CODES) {
        int ahead[CODES];
#pragma unroll
        for (int u = 0; u < CODES; ++u)
            ahead[u] = r + u * 32 + lane < to ? codes[begin + r + u * 32 + lane] - first : -1;
#pragma unroll
        for (int u = 0; u < CODES; ++u) {
            const int c = ahead[u];
            const bool in = c >= 0 && c < classes;
            const Bits same = lanes_alike(in ? c : classes, bits);
            const Bits at = in ? count[c * warps + warp] : 0;
            __syncwarp();
            if (in) {
                order[begin + at + __popc(same & ((1u << lane) - 1))] = (int)(begin + r + u * 32 + lane);
                if (lane == __ffs(same) - 1) count[c * warps + warp] = at + __popc(same);
            }
            __syncwarp();
        }
    }
}

// The mean of the first `few` rows of each class in the first tile, of numbers of the rows' type: the others lie near
// it. A class that comes later has the first row. Equal entries have exactly their value as mean.
template <class T>
__device__ void near_means(const T* x, Index stride, int d, const int* order, const int* starts, int few, double* out) {
    const int c = blockIdx.x, from = starts[c], to = starts[c + 1] < from + few ? starts[c + 1] : from + few;
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        double first = 0, sum = 0;
        int seen = 0;
        for (int p = from; p < to || p == from; ++p) {
            const double value = x[(p < to ? order[p] : 0) * stride + j];
            if (value - value != 0) continue;
            if (!seen) first = value;
            sum += value - first;
            ++seen;
        }
        out[(Index)c * d + j] = (double)(T)(seen ? first + sum / seen : 0.0);
    }
}
extern "C" __global__ void near_means_f32(const float* x, Index stride, int d, const int* order, const int* starts,
                                          int few, double* out) {
    near_means(x, stride, d, order, starts, few, out);
}
extern "C" __global__ void near_means_f64(const double* x, Index stride, int d, const int* order, const int* starts,
                                          int few, double* out) {
    near_means(x, stride, d, order, starts, few, out);
}

static const int AHEAD = 8;  // rows that a lane loads at once

template <class T, int N>
struct __align__(sizeof(T) * N) Pack {
    T v[N];
};

// Sum rows that `order_rows` has sorted: observed weight, Σ w (x − pivot) and Σ w (x − pivot)² of each column. A warp
// takes `chunk` places of a tile. Along the places both the chunk k and the class c only grow, so k + c names each
// piece of one chunk and one class: its sums go there in `parts`, (pieces, 3, d). With `above`, an entry counts as 1 if
// it is above the threshold, else as 0.
template <class T, int N, class Sum, bool WEIGHTED>
__device__ void sum_chunk(const T* x, Index stride, int d, const int* order, const int* starts, int tile, int chunk,
                          int classes, Index chunks, const double* weight, const double* pivot, bool above,
                          double threshold, double* parts) {
    const int lane = threadIdx.x % 32;
    const Index id = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (id >= chunks) return;
    const int per_tile = tile / chunk, k = (int)(id % per_tile);
    const Index which = id / per_tile;
    const int* start = starts + which * (classes + 1);
    const int total = start[classes], from = k * chunk, to = from + chunk < total ? from + chunk : total;
    if (from >= to) return;
    int wide = 1;  // lanes that a row takes
    while (wide < 32 && wide * N < d) wide *= 2;
    const int group = lane / wide, groups = 32 / wide, column = (blockIdx.y * 32 + lane % wide) * N;
    const bool mine = column < d;
    int low = 0, high = classes;  // the class of the first place
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (start[middle] <= from) low = middle; else high = middle;
    }
    const int* place = order + which * tile;
    double* out = parts + (which * (per_tile + classes) + k) * 3 * d;
    for (int c = low, p = from; p < to; ++c) {
        const int end = start[c + 1] < to ? start[c + 1] : to;
        if (end <= p) continue;
        Sum centre[N];
        double sum[N], square[N], seen[N];
        int count[N];
        for (int i = 0; i < N; ++i) {
            centre[i] = mine ? (Sum)pivot[(Index)c * d + column + i] : (Sum)0;
            sum[i] = square[i] = seen[i] = 0.0;
            count[i] = 0;
        }
        int row[AHEAD];  // where the next entries are: these loads are under way while entries are summed
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) row[u] = p + group + u * groups < end ? place[p + group + u * groups] : -1;
        for (int q = p + group; q - group < end; q += AHEAD * groups) {
            Pack<T, N> entry[AHEAD];
            double w[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
                if (mine && row[u] >= 0)
                    entry[u] = *(const Pack<T, N>*)(x + row[u] * stride + column);
                else
                    for (int i = 0; i < N; ++i) entry[u].v[i] = (T)MISSING_NUMBER;
                if (WEIGHTED) w[u] = row[u] >= 0 ? weight[row[u]] : 0.0;
            }
            const int next = q + AHEAD * groups;
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) row[u] = next + u * groups < end ? place[next + u * groups] : -1;
            Sum few[N], few_squares[N];  // of these rows
            for (int i = 0; i < N; ++i) few[i] = few_squares[i] = 0;
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
#pragma unroll
                for (int i = 0; i < N; ++i) {
                    const bool there = entry[u].v[i] == entry[u].v[i];
                    Sum z = entry[u].v[i];
                    if (above) z = z > threshold ? 1 : 0;
                    z = there ? z - centre[i] : (Sum)0;
                    if (WEIGHTED) {
                        seen[i] += there ? w[u] : 0.0;
                        const double wz = w[u] * z;
                        sum[i] += wz;
                        square[i] += wz * z;
                    } else {
                        count[i] += there;
                        few[i] += z;
                        few_squares[i] += z * z;
                    }
                }
            }
            if (!WEIGHTED)
                for (int i = 0; i < N; ++i) {
                    sum[i] += few[i];
                    square[i] += few_squares[i];
                }
        }
        for (int i = 0; i < N; ++i) {
            if (!WEIGHTED) seen[i] = count[i];
            for (int far = 16; far >= wide; far /= 2) {
                seen[i] += __shfl_xor_sync(ALL, seen[i], far);
                sum[i] += __shfl_xor_sync(ALL, sum[i], far);
                square[i] += __shfl_xor_sync(ALL, square[i], far);
            }
        }
        if (group == 0 && mine)
            for (int i = 0; i < N; ++i) {
                double* to_part = out + (Index)c * 3 * d + column + i;
                to_part[0] = seen[i];
                to_part[d] = sum[i];
                to_part[2 * d] = square[i];
            }
        p = end;
    }
}

#define SUM_CHUNKS(name, T, N, Sum, WEIGHTED)                                                                         \
    extern "C" __global__ void __launch_bounds__(128)                                                                 \
        name(const T* x, Index stride, int d, const int* order, const int* starts, int tile, int chunk, int classes,  \
             Index chunks, const double* weight, const double* pivot, int above, double threshold, double* parts) {   \
        sum_chunk<T, N, Sum, WEIGHTED>(x, stride, d, order, starts, tile, chunk, classes, chunks, weight, pivot,      \
                                       above, threshold, parts);                                                      \
    }
SUM_CHUNKS(sum_f32_1, float, 1, double, false)
SUM_CHUNKS(sum_f32_4, float, 4, double, false)
SUM_CHUNKS(sum_f64_1, double, 1, double, false)
SUM_CHUNKS(sum_f64_2, double, 2, double, false)
SUM_CHUNKS(weigh_f32_1, float, 1, double, true)
SUM_CHUNKS(weigh_f32_4, float, 4, double, true)
SUM_CHUNKS(weigh_f64_1, double, 1, double, true)
SUM_CHUNKS(weigh_f64_2, double, 2, double, true)
// Eight rows at a time in float32, for float32 less a pivot that is float32 too.
SUM_CHUNKS(few_f32_1, float, 1, float, false)
SUM_CHUNKS(few_f32_4, float, 4, float, false)

// Add the pieces of `group` tiles for each class: (groups, classes, 3, d), in the order of the rows. A block of threads
// takes columns of one class.
extern "C" __global__ void add_pieces(const double* parts, const int* starts, int tiles, int tile, int chunk,
                                      int classes, int d, int group, double* out) {
    const int c = blockIdx.y, per_tile = tile / chunk;
    const int first = blockIdx.x * group, last = first + group < tiles ? first + group : tiles;
    for (int j = threadIdx.x; j < 3 * d; j += blockDim.x) {
        double sum = 0;
        for (int t = first; t < last; ++t) {
            const int* start = starts + (Index)t * (classes + 1);
            const int from = start[c], to = start[c + 1];
            if (from >= to) continue;
            const double* part = parts + ((Index)t * (per_tile + classes) + c) * 3 * d + j;
            for (int k = from / chunk; k <= (to - 1) / chunk; ++k) sum += part[(Index)k * 3 * d];
        }
        out[((Index)blockIdx.x * classes + c) * 3 * d + j] = sum;
    }
}

// Add groups, one after the other, to the sums so far: (cells,).
extern "C" __global__ void add_groups(const double* groups, int number, Index cells, double* out) {
    const Index at = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cells) return;
    double sum = out[at];
    for (int g = 0; g < number; ++g) sum += groups[g * cells + at];
    out[at] = sum;
}

// Copy rows of one class less a pivot, times the root of their weight, as float64: what products of columns are taken
// of. Rows are padded to `wide` columns with 0. `kept` gets the root; a row with a missing entry is 0, and `kept` −1.
template <class T>
__device__ void centre(const T* x, Index stride, int d, const int* rows, int n, const double* weight,
                       const double* pivot, double* out, int wide, double* kept) {
    const int lane = threadIdx.x % 32;
    const Index row = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    const T* from = x + (Index)rows[row] * stride;
    double* to = out + row * wide;
    bool whole = true;
    for (int j = lane; j < d; j += 32) whole &= from[j] == from[j];
    whole = __ballot_sync(ALL, whole) == ALL;
    const double root = !whole ? 0.0 : weight ? sqrt(weight[rows[row]]) : 1.0;
    for (int j = lane; j < wide; j += 32) to[j] = whole && j < d ? root * ((double)from[j] - pivot[j]) : 0.0;
    if (lane == 0) kept[row] = whole ? root : -1.0;
}
extern "C" __global__ void centre_f32(const float* x, Index stride, int d, const int* rows, int n,
                                      const double* weight, const double* pivot, double* out, int wide, double* kept) {
    centre(x, stride, d, rows, n, weight, pivot, out, wide, kept);
}
extern "C" __global__ void centre_f64(const double* x, Index stride, int d, const int* rows, int n,
                                      const double* weight, const double* pivot, double* out, int wide, double* kept) {
    centre(x, stride, d, rows, n, weight, pivot, out, wide, kept);
}

// ---------------------------------------------------------------------------------------------- answers

// What is asked of the scores of a row.
enum { SCORES, LOG_JOINT, LOG_POSTERIOR, POSTERIOR, MOST_PROBABLE, LOG_DENSITY };

// What rows showed: the first infinite entry, how many rows no class can have given, the first row whose scores are
// not numbers.
enum { INFINITE, LOST, ODD };

// Turn the scores of one row, `step` apart, into the answer; return the class for MOST_PROBABLE.
__device__ int finish(double* score, int step, int classes, const double* log_prior, const double* fallback, int asked,
                      Index row, Word* status) {
    if (asked == SCORES) return 0;
    double top = -INFINITE_NUMBER;
    int best = -1;
    bool numbers = true;
    for (int c = 0; c < classes; ++c) {
        const double s = score[c * step] += log_prior[c];
        numbers &= s < INFINITE_NUMBER;
        if (s > top) top = s, best = c;
    }
    if (!numbers) atomicMin(&status[ODD], (Word)row);
    if (asked == LOG_JOINT) return best;
    if (asked == LOG_DENSITY) {
        double sum = 0;
        for (int c = 0; c < classes; ++c) sum += exp(score[c * step] - (best < 0 ? 0.0 : top));
        score[0] = best < 0 ? -INFINITE_NUMBER : top + log(sum);
        return best;
    }
    if (best < 0) {  // no class can have given the row: the prior is the answer
        for (int c = 0; c < classes; ++c) {
            score[c * step] = fallback[c];
            if (fallback[c] > top) top = fallback[c], best = c;
        }
        if (asked != MOST_PROBABLE && numbers) atomicAdd(&status[LOST], (Word)1);
    }
    if (asked == MOST_PROBABLE) return best;
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += exp(score[c * step] - top);
    const double norm = log(sum), share = 1 / sum;
    for (int c = 0; c < classes; ++c)
        score[c * step] = asked == POSTERIOR ? exp(score[c * step] - top) * share : score[c * step] - top - norm;
    return best;
}

__device__ void put(void* out, Index at, double value, int single) {
    if (single)
        ((float*)out)[at] = (float)value;
    else
        ((double*)out)[at] = value;
}

// Answers from scores that were computed elsewhere, (n, classes), which are overwritten. With `staged`, a block copies
// the scores of its rows to shared memory first: rows lie in memory one after the other, and each thread has its own.
extern "C" __global__ void finish_rows(double* scores, Index n, int classes, const double* log_prior,
                                       const double* fallback, int asked, Index first, int staged, void* out,
                                       int single, Word* status) {
    SHARED_MEMORY(answers);
    const Index begin = (Index)blockIdx.x * blockDim.x, row = begin + threadIdx.x;
    const int rows = (int)(n - begin < blockDim.x ? n - begin : blockDim.x), apart = classes | 1;
    double* held = (double*)answers;  // (rows, apart)
    if (staged) {
        for (int k = threadIdx.x; k < rows * classes; k += blockDim.x)
            held[k / classes * apart + k % classes] = scores[begin * classes + k];
        __syncthreads();
    }
    double* score = staged ? held + threadIdx.x * apart : scores + row * classes;
    if (row < n) {
        const int best = finish(score, 1, classes, log_prior, fallback, asked, first + row, status);
        if (asked == MOST_PROBABLE) ((Index*)out)[row] = best;
        if (asked == LOG_DENSITY) put(out, row, score[0], single);
        if (asked != MOST_PROBABLE && asked != LOG_DENSITY && !staged)
            for (int c = 0; c < classes; ++c) put(out, row * classes + c, score[c], single);
    }
    if (!staged || asked == MOST_PROBABLE || asked == LOG_DENSITY) return;
    __syncthreads();
    for (int k = threadIdx.x; k < rows * classes; k += blockDim.x)
        put(out, begin * classes + k, held[k / classes * apart + k % classes], single);
}

// How an entry adds to the score of a class.
enum { NEAR, EXACT, LINEAR };

static const int HOLDERS = 128;             // threads of a block
static const int EACH = 4;                  // rows of a thread
static const int HELD = HOLDERS * EACH;
static const int APART = HELD + 1;          // so that neighbours lie in different banks

// What an entry adds to the score of a class, less the constant of the class.
template <int KIND>
__device__ double term(double x, double2 of_class) {
    if (KIND == LINEAR) return x * of_class.x;
    const double z = KIND == NEAR ? x * of_class.y + of_class.x : (x - of_class.x) * of_class.y;
    return z * z;
}

// Scores of CLASSES classes from `first` on, of `all`, of HELD rows. Σ_j −½ ((x_j − mean) · inverse)², with `a` the mean
// and `b` the inverse deviation (EXACT); the same as Σ_j −½ ((x_j − origin_j) · b + a)² where the means lie near the
// origin (NEAR); or Σ_j x_j · a (LINEAR). `base` is added, and `absent` taken off for a missing entry. `a`, `b` and
// `absent` are (d, all). The threads of a block load WIDE columns of all rows together, then each reads its own rows.
// Unless there are more classes, the scores become answers here.
template <int KIND, class T, int CLASSES, int WIDE>
__device__ void score_tile(const T* x, Index stride, int aligned, Index n, int d, const double* origin,
                           const double* a, const double* b, const double* absent, const double* base, int above,
                           double threshold, int all, int first, const double* log_prior, const double* fallback,
                           int asked, Index before, void* out, int single, Word* status) {
    SHARED_MEMORY(tiles);
    double2* table = (double2*)tiles;               // (WIDE, CLASSES)
    double* from = (double*)(table + WIDE * CLASSES);  // (WIDE)
    T* tile = (T*)(from + WIDE);                    // (HELD, WIDE + 1)
    double* score = (double*)tiles;                 // (CLASSES, APART), once all columns are done
    const int me = threadIdx.x, pack = 16 / (int)sizeof(T), across = WIDE / pack;
    const int classes = all - first < CLASSES ? all - first : CLASSES;
    const Index begin = (Index)blockIdx.x * HELD;
    const int rows = (int)(n - begin < HELD ? n - begin : HELD);
    double sum[EACH][CLASSES];
#pragma unroll
    for (int r = 0; r < EACH; ++r)
#pragma unroll
        for (int i = 0; i < CLASSES; ++i) sum[r][i] = 0.0;
    for (int low = 0; low < d; low += WIDE) {
        const int wide = d - low < WIDE ? d - low : WIDE;
        bool gaps = false;
        __syncthreads();
        if (aligned && wide == WIDE) {
            for (int part = 0; part < HELD * across; part += HOLDERS * 8) {
                Pack<T, 16 / sizeof(T)> entry[8];
#pragma unroll
                for (int u = 0; u < 8; ++u) {
                    const int k = part + u * HOLDERS + me, r = k / across, j = k % across * pack;
                    if (r < rows) entry[u] = *(const Pack<T, 16 / sizeof(T)>*)(x + (begin + r) * stride + low + j);
                }
#pragma unroll
                for (int u = 0; u < 8; ++u) {
                    const int k = part + u * HOLDERS + me, r = k / across, j = k % across * pack;
                    for (int i = 0; i < pack; ++i) {
                        const T value = r < rows ? entry[u].v[i] : (T)0;
                        tile[r * (WIDE + 1) + j + i] = value;
                        gaps |= !(value - value == 0);
                    }
                }
            }
        } else {
            for (int k = me; k < HELD * WIDE; k += HOLDERS) {
                const int r = k / WIDE, j = k % WIDE;
                const T value = r < rows && j < wide ? x[(begin + r) * stride + low + j] : (T)0;
                tile[r * (WIDE + 1) + j] = value;
                gaps |= !(value - value == 0);
            }
        }
        for (int k = me; k < wide * CLASSES; k += HOLDERS) {
            const int j = k / CLASSES, c = k % CLASSES;
            const Index at = (Index)(low + j) * all + first + c;
            double2 both;
            both.x = c < classes ? a[at] : 0.0;
            both.y = c < classes && b ? b[at] : 0.0;
            table[k] = both;
        }
        if (me < wide) from[me] = KIND == NEAR ? origin[low + me] : 0.0;
        const bool odd = __syncthreads_or(gaps);
        const T* own = tile + me * (WIDE + 1);
        if (!odd && !above) {
            for (int j = 0; j < wide; ++j) {
                double value[EACH];
#pragma unroll
                for (int r = 0; r < EACH; ++r) {
                    value[r] = own[r * HOLDERS * (WIDE + 1) + j];
                    if (KIND == NEAR) value[r] -= from[j];
                }
#pragma unroll
                for (int i = 0; i < CLASSES; ++i) {
                    const double2 of_class = table[j * CLASSES + i];
#pragma unroll
                    for (int r = 0; r < EACH; ++r) sum[r][i] += term<KIND>(value[r], of_class);
                }
            }
        } else {
            for (int j = 0; j < wide; ++j) {
                double value[EACH];
                int state[EACH];  // 0: a number, 1: missing
#pragma unroll
                for (int r = 0; r < EACH; ++r) {
                    double found = own[r * HOLDERS * (WIDE + 1) + j];
                    if (found == INFINITE_NUMBER || found == -INFINITE_NUMBER) {
                        atomicMin(&status[INFINITE], (Word)((before + begin + me + r * HOLDERS) * d + low + j));
                        found = 0.0;
                    }
                    state[r] = !(found == found);
                    value[r] = above ? (found > threshold ? 1.0 : 0.0) : state[r] ? 0.0 : found - from[j];
                }
#pragma unroll
                for (int i = 0; i < CLASSES; ++i) {
                    const double2 of_class = table[j * CLASSES + i];
                    const double lost = absent && i < classes ? absent[(Index)(low + j) * all + first + i] : 0.0;
#pragma unroll
                    for (int r = 0; r < EACH; ++r)
                        sum[r][i] += !state[r] ? term<KIND>(value[r], of_class) : KIND == LINEAR ? -lost : 2 * lost;
                }
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < EACH; ++r)
#pragma unroll
        for (int i = 0; i < CLASSES; ++i) {
            const double start = base && i < classes ? base[first + i] : 0.0;
            score[i * APART + me + r * HOLDERS] = start + (KIND == LINEAR ? sum[r][i] : -0.5 * sum[r][i]);
        }
    for (int r = me; r < rows; r += HOLDERS) {
        const int best = finish(score + r, APART, classes, log_prior, fallback, asked, before + begin + r, status);
        if (asked == MOST_PROBABLE) ((Index*)out)[begin + r] = best;
        if (asked == LOG_DENSITY) put(out, begin + r, score[r], single);
    }
    if (asked == MOST_PROBABLE || asked == LOG_DENSITY) return;
    __syncthreads();
    for (int k = me; k < rows * classes; k += HOLDERS) {
        const int r = k / classes, c = k % classes;
        put(out, (begin + r) * all + first + c, score[c * APART + r], single);
    }
}

#define SCORE_TILES(name, KIND, T, CLASSES, WIDE)                                                                     \
    extern "C" __global__ void __launch_bounds__(128, CLASSES > 4 ? 2 : 4)                                               \
        name(const T* x, Index stride, int aligned, Index n, int d, const double* origin, const double* a,            \
             const double* b, const double* absent, const double* base, int above, double threshold, int all,         \
             int first, const double* log_prior, const double* fallback, int asked, Index before, void* out,          \
             int single, Word* status) {                                                                              \
        score_tile<KIND, T, CLASSES, WIDE>(x, stride, aligned, n, d, origin, a, b, absent, base, above, threshold,    \
                                           all, first, log_prior, fallback, asked, before, out, single, status);      \
    }
SCORE_TILES(near_f32_2, NEAR, float, 2, 16)
SCORE_TILES(near_f32_4, NEAR, float, 4, 16)
SCORE_TILES(near_f32_10, NEAR, float, 10, 16)
SCORE_TILES(near_f64_2, NEAR, double, 2, 8)
SCORE_TILES(near_f64_4, NEAR, double, 4, 8)
SCORE_TILES(near_f64_10, NEAR, double, 10, 8)
SCORE_TILES(exact_f32_2, EXACT, float, 2, 16)
SCORE_TILES(exact_f32_4, EXACT, float, 4, 16)
SCORE_TILES(exact_f32_10, EXACT, float, 10, 16)
SCORE_TILES(exact_f64_2, EXACT, double, 2, 8)
SCORE_TILES(exact_f64_4, EXACT, double, 4, 8)
SCORE_TILES(exact_f64_10, EXACT, double, 10, 8)
SCORE_TILES(linear_f32_2, LINEAR, float, 2, 16)
SCORE_TILES(linear_f32_4, LINEAR, float, 4, 16)
SCORE_TILES(linear_f32_10, LINEAR, float, 10, 16)
SCORE_TILES(linear_f64_2, LINEAR, double, 2, 8)
SCORE_TILES(linear_f64_4, LINEAR, double, 4, 8)
SCORE_TILES(linear_f64_10, LINEAR, double, 10, 8)

// --------------------------------------------------------------------------------------- leave-one-out

static const double RESIDUE = 5.684341886080802e-14;  // 2⁻⁴⁴, as on the host: less of a weight is rounding

struct Without {
    double mean, variance;
    bool any;
};

// Mean and variance of a column once an entry of weight w at x is taken out; as on the host.
__device__ Without without(double x, double w, double weight, double mean, double squares) {
    const double left = weight - w, off = x - mean;
    const bool any = left > RESIDUE * weight;
    const double inverse = 1 / (any ? left : 1.0), share = w * inverse;
    double rest = squares - off * off * share * weight;
    rest = rest > 3.6e-15 * squares ? rest : 0.0;
    Without out;
    out.mean = any ? mean - off * share : 0.0;
    out.variance = any ? rest * inverse : 0.0;
    out.any = any;
    return out;
}

__device__ double total_of_warp(double value) {
    for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(ALL, value, far);
    return value;
}

// Gaussian log-densities of each row under the statistics without it, (n, classes): a warp takes a row. `lossy` marks
// rows that outweigh all others, of which float64 keeps few digits.
template <class T>
__device__ void leave_out(const T* x, Index stride, Index n, int d, const int* codes, const double* weights,
                          double smoothing, const double* floor, int classes, const double* weight,
                          const double* mean, const double* squares, const double* pooled, double whole_extra,
                          double largest_inverse, const double* inverse, const double* log_variance, double* out,
                          unsigned char* lossy, Index before, Word* status) {
    const int lane = threadIdx.x % 32;
    const Index row = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    const T* from = x + row * stride;
    const int own = codes[row];
    const double w = weights ? weights[row] : 1.0;
    double largest = 0;
    bool heavy = false;
    for (int j = lane; j < d; j += 32) {
        const double value = from[j];
        if (value - value != 0 && value == value) atomicMin(&status[INFINITE], (Word)((before + row) * d + j));
        const bool seen = value == value;
        const double wj = seen ? w : 0.0, xj = seen ? value : 0.0;
        const Without all = without(xj, wj, pooled[j], pooled[d + j], pooled[2 * d + j]);
        largest = all.variance > largest ? all.variance : largest;
        for (int which = 0; which < 2; ++which) {
            const Index at = (Index)own * d + j;
            const double many = which ? pooled[j] : weight[at], spread = which ? pooled[2 * d + j] : squares[at];
            const double off = xj - (which ? pooled[d + j] : mean[at]), left = many - w;
            const double gone = off * off * (w * many / left);
            heavy |= seen && spread > 0 && (left < 1e-4 * many || !(spread - gone > 1e-4 * spread));
        }
    }
    for (int far = 16; far > 0; far /= 2) {
        const double other = __shfl_xor_sync(ALL, largest, far);
        largest = other > largest ? other : largest;
    }
    heavy = __ballot_sync(ALL, heavy) != 0;
    if (lane == 0) lossy[row] = heavy;
    const double extra = smoothing * largest, change = extra - whole_extra;
    const bool nearby = fabs(change) * largest_inverse < 1e-9;
    const double log_2pi = 1.8378770664093454836;
    for (int c = 0; c < classes; ++c) {
        double sum = 0, slope = 0;
        for (int j = lane; j < d; j += 32) {
            const double value = from[j];
            const bool seen = value == value;
            const Index at = (Index)c * d + j;
            if (c != own && nearby) {
                const double off = value - mean[at], z = off * off * inverse[at];
                sum += seen ? z + log_variance[at] : 0.0;
                slope += seen ? inverse[at] - z * inverse[at] : 0.0;
                continue;
            }
            double centre = mean[at], variance = weight[at] > 0 ? squares[at] / weight[at] : 0.0;
            if (c == own) {
                const double wj = seen ? w : 0.0, xj = seen ? value : 0.0;
                const Without here = without(xj, wj, weight[at], mean[at], squares[at]);
                const Without all = without(xj, wj, pooled[j], pooled[d + j], pooled[2 * d + j]);
                centre = here.any ? here.mean : all.mean;
                variance = here.any ? here.variance : all.variance;
            }
            double v = variance + extra;
            v = v > floor[j] ? v : floor[j];
            const double off = value - centre;
            sum += seen ? off * off / v + log(v) + log_2pi : 0.0;
        }
        sum = total_of_warp(sum);
        slope = total_of_warp(slope);
        if (lane == 0) out[row * classes + c] = -0.5 * (sum + (c != own && nearby ? change * slope : 0.0));
    }
}

#define LEAVE_OUT(name, T)                                                                                            \
    extern "C" __global__ void name(                                                                                  \
        const T* x, Index stride, Index n, int d, const int* codes, const double* weights, double smoothing,          \
        const double* floor, int classes, const double* weight, const double* mean, const double* squares,            \
        const double* pooled, double whole_extra, double largest_inverse, const double* inverse,                      \
        const double* log_variance, double* out, unsigned char* lossy, Index before, Word* status) {                  \
        leave_out(x, stride, n, d, codes, weights, smoothing, floor, classes, weight, mean, squares, pooled,          \
                  whole_extra, largest_inverse, inverse, log_variance, out, lossy, before, status);                   \
    }
LEAVE_OUT(leave_out_f32, float)
LEAVE_OUT(leave_out_f64, double)

// -------------------------------------------------------------------------- sparse rows, and categories

// Add w · value to a sum that is kept as two integers: value · scale rounded, and the rest of it in finer units.
// Integers add up to the same in any order.
__device__ void add_exactly(Word* high, Word* low, Index at, double value, double scale, double finer) {
    const Index whole = (Index)rint(value * scale);
    const Index rest = (Index)rint((value - (double)whole / scale) * finer);
    if (whole) atomicAdd(&high[at], (Word)whole);
    if (rest) atomicAdd(&low[at], (Word)rest);
}

// Total of each class and column of a CSR matrix, and the weight of entries that are stored as NaN. A warp takes a row.
template <class T, class I>
__device__ void sparse_totals(const T* data, const I* indices, const I* starts, Index n, int d, int classes,
                              const int* codes, const double* weight, int above, double threshold, double scale, double finer,
                              Word* high, Word* low, Word* missing, Word* status) {
    const int lane = threadIdx.x % 32;
    const Index warps = (Index)gridDim.x * (blockDim.x / 32);
    for (Index row = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < n; row += warps) {
        const double w = weight ? weight[row] : 1.0;
        const Index own = (Index)codes[row] * d;
        if (w == 0 || codes[row] < 0) continue;
        for (Index k = (Index)starts[row] + lane; k < (Index)starts[row + 1]; k += 32) {
            double value = data[k];
            const Index column = indices[k];
            if (column < 0 || column >= d) {
                atomicMin(&status[ODD], (Word)row);
                continue;
            }
            if (!(value == value)) {
                add_exactly(missing, missing + (Index)classes * d, own + column, w, scale, finer);
                atomicAdd(&status[LOST], (Word)1);
                continue;
            }
            if (value - value != 0 || (!above && value < 0)) {
                atomicMin(&status[INFINITE], (Word)(row * d + column));
                continue;
            }
            if (above) value = value > threshold ? 1.0 : 0.0;
            add_exactly(high, low, own + column, w * value, scale, finer);
        }
    }
}

#define SPARSE_TOTALS(name, T, I)                                                                                     \
    extern "C" __global__ void name(const T* data, const I* indices, const I* starts, Index n, int d,                 \
                                    int classes, const int* codes, const double* weight, int above, double threshold,              \
                                    double scale, double finer, Word* high, Word* low, Word* missing, Word* status) { \
        sparse_totals(data, indices, starts, n, d, classes, codes, weight, above, threshold, scale, finer, high, low, \
                      missing, status);                                                                                        \
    }
SPARSE_TOTALS(sparse_totals_f32_i32, float, int)
SPARSE_TOTALS(sparse_totals_f64_i32, double, int)
SPARSE_TOTALS(sparse_totals_f32_i64, float, Index)
SPARSE_TOTALS(sparse_totals_f64_i64, double, Index)

// Scores base + Σ stored x_j · coef_j of a CSR matrix, (n, classes); `coef` and `absent` are (d, classes). A warp takes
// a row, and a lane a class.
template <class T, class I>
__device__ void sparse_scores(const T* data, const I* indices, const I* starts, Index n, int d, int classes,
                              const double* coef, const double* absent, const double* base, int above,
                              double threshold, Index before, double* out, Word* status) {
    const int lane = threadIdx.x % 32;
    const Index row = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    const Index from = starts[row], to = starts[row + 1];
    for (int c = lane; c < (classes + 31) / 32 * 32; c += 32) {
        double sum = c < classes ? base[c] : 0.0;
        for (Index k = from; k < to; k += 32) {
            double mine = k + lane < to ? (double)data[k + lane] : 0.0;
            Index at = k + lane < to ? (Index)indices[k + lane] : 0;
            if (at < 0 || at >= d) {
                atomicMin(&status[ODD], (Word)(before + row));
                at = 0, mine = 0;
            }
            if (mine == mine && mine - mine != 0) atomicMin(&status[INFINITE], (Word)((before + row) * d + at));
            if (above && mine == mine) mine = mine > threshold ? 1.0 : 0.0;
            const int many = to - k < 32 ? (int)(to - k) : 32;
            for (int i = 0; i < many; ++i) {
                const double value = __shfl_sync(ALL, mine, i);
                const Index column = __shfl_sync(ALL, at, i);
                if (c < classes) {
                    if (value == value)
                        sum += value * coef[column * classes + c];
                    else if (absent)
                        sum -= absent[column * classes + c];
                }
            }
        }
        if (c < classes) out[row * classes + c] = sum;
    }
}

#define SPARSE_SCORES(name, T, I)                                                                                     \
    extern "C" __global__ void name(const T* data, const I* indices, const I* starts, Index n, int d, int classes,    \
                                    const double* coef, const double* absent, const double* base, int above,          \
                                    double threshold, Index before, double* out, Word* status) {                      \
        sparse_scores(data, indices, starts, n, d, classes, coef, absent, base, above, threshold, before, out,        \
                      status);                                                                                        \
    }
SPARSE_SCORES(sparse_scores_f32_i32, float, int)
SPARSE_SCORES(sparse_scores_f64_i32, double, int)
SPARSE_SCORES(sparse_scores_f32_i64, float, Index)
SPARSE_SCORES(sparse_scores_f64_i64, double, Index)
