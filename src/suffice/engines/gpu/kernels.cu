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

// The bits of the number of a class, or of `classes` for rows of others.
__device__ int bits_of(int classes) {
    int bits = 1;
    while (classes >> bits) ++bits;
    return bits;
}

// Turn counts into places: each cell gets the sum of those before it, and the sum of all is returned. `sums` has a cell
// for each warp.
__device__ Bits counts_to_places(Bits* count, int cells, Bits* sums) {
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
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
    Bits place = before - own, total = 0;
    for (int k = 0; k < warps; ++k) {
        place += k < warp ? sums[k] : 0;
        total += sums[k];
    }
    for (int k = low; k < high; ++k) {
        const Bits here = count[k];
        count[k] = place;
        place += here;
    }
    __syncthreads();
    return total;
}

static const int CODES = 4;  // that a lane loads at once

// Load CODES codes of each lane, less `first`; −1 beyond the end and for classes that are not asked for.
__device__ void load_codes(const int* codes, int at, int to, int first, int classes, int (&ahead)[CODES]) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int u = 0; u < CODES; ++u) {
        const int c = at + u * 32 + lane < to ? codes[at + u * 32 + lane] - first : -1;
        ahead[u] = c < classes ? c : -1;
    }
}

// Add the lanes of each class to the cell of their class and warp, (classes, warps). Return what the cell held, and how many
// lanes of the class are before this one. What a lane of no class, −1, gets has no meaning.
__device__ Bits count_lanes(Bits* count, int c, int classes, int warps, int bits) {
    const int lane = threadIdx.x % 32, cell = c * warps + (int)threadIdx.x / 32;
    const Bits same = lanes_alike(c >= 0 ? c : classes, bits);
    const Bits before = c >= 0 ? count[cell] : 0;
    __syncwarp();
    if (c >= 0 && lane == __ffs(same) - 1) count[cell] = before + __popc(same);
    __syncwarp();
    return before + __popc(same & ((1u << lane) - 1));
}

// Count rows of each class: integers, which add up to the same in any order.
extern "C" __global__ void count_classes(const int* codes, Index n, int classes, int shared, Word* out) {
    SHARED_MEMORY(memory);
    Bits* count = (Bits*)memory;
    if (shared) {
        for (int c = threadIdx.x; c < classes; c += blockDim.x) count[c] = 0;
        __syncthreads();
    }
    const Index step = (Index)gridDim.x * blockDim.x;
    for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const int c = codes[i];
        if (c < 0 || c >= classes) continue;
        if (shared)
            atomicAdd(&count[c], 1u);
        else
            atomicAdd(&out[c], (Word)1);
    }
    if (!shared) return;
    __syncthreads();
    for (int c = threadIdx.x; c < classes; c += blockDim.x)
        if (count[c]) atomicAdd(&out[c], (Word)count[c]);
}

// Sort the rows of each tile by class: a block takes one tile, and keeps the order of rows within a class. Classes are
// those from `first` on, `classes` of them; rows of others are left out. `order` gets the rows, and `starts` of a tile,
// (classes + 1), where each class begins there.
extern "C" __global__ void order_rows(const int* codes, Index n, int tile, int first, int classes, int* order,
                                      int* starts) {
    SHARED_MEMORY(memory);
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32, cells = classes * warps;
    Bits* count = (Bits*)memory;      // (classes, warps)
    Bits* sums = count + cells;       // (warps)
    const int bits = bits_of(classes);
    const Index begin = (Index)blockIdx.x * tile;
    const int rows = (int)(n - begin < tile ? n - begin : tile);
    for (int k = threadIdx.x; k < cells; k += blockDim.x) count[k] = 0;
    __syncthreads();
    const int each = (tile / warps + 31) / 32 * 32, from = warp * each, to = from + each < rows ? from + each : rows;
    int ahead[CODES];
    for (int r = from; r < to; r += 32 * CODES) {
        load_codes(codes + begin, r, to, first, classes, ahead);
#pragma unroll
        for (int u = 0; u < CODES; ++u)
            if (ahead[u] >= 0) atomicAdd(&count[ahead[u] * warps + warp], 1u);
    }
    __syncthreads();
    const Bits total = counts_to_places(count, cells, sums);
    int* starting = starts + (Index)blockIdx.x * (classes + 1);
    for (int c = threadIdx.x; c < classes; c += blockDim.x) starting[c] = (int)count[c * warps];
    if (threadIdx.x == 0) starting[classes] = (int)total;
    __syncthreads();
    for (int r = from; r < to; r += 32 * CODES) {
        load_codes(codes + begin, r, to, first, classes, ahead);
#pragma unroll
        for (int u = 0; u < CODES; ++u) {
            const Bits at = count_lanes(count, ahead[u], classes, warps, bits);
            if (ahead[u] >= 0) order[begin + at] = (int)(begin + r + u * 32 + lane);
        }
    }
}

static const int NEAREST = 16;  // rows of a class whose mean is near the others

// The mean of the first NEAREST rows of each class among the first `n` rows, as a number of the rows' type: the others
// lie near it. A class that comes later has the first row. Equal entries have exactly their value as mean. A warp takes
// a class.
template <class T>
__device__ void near_means(const T* x, Index stride, int d, const int* codes, int n, double* out) {
    SHARED_MEMORY(memory);
    int* rows = (int*)memory;  // (NEAREST)
    const int lane = threadIdx.x % 32, c = blockIdx.x;
    int many = 0;
    int ahead[CODES];
    for (int r = 0; r < n && many < NEAREST; r += 32 * CODES) {
        load_codes(codes, r, n, c, 1, ahead);
#pragma unroll
        for (int u = 0; u < CODES; ++u) {
            const Bits own = __ballot_sync(ALL, ahead[u] == 0);
            const int place = many + __popc(own & ((1u << lane) - 1));
            if (ahead[u] == 0 && place < NEAREST) rows[place] = r + u * 32 + lane;
            many += __popc(own);
        }
    }
    __syncwarp();
    if (many == 0 && lane == 0) rows[0] = 0;
    __syncwarp();
    many = many < 1 ? 1 : many < NEAREST ? many : NEAREST;
    for (int j = lane; j < d; j += 32) {
        double value[NEAREST], first = 0, sum = 0;
        int seen = 0;
#pragma unroll
        for (int p = 0; p < NEAREST; ++p) value[p] = p < many ? (double)x[rows[p] * stride + j] : MISSING_NUMBER;
#pragma unroll
        for (int p = 0; p < NEAREST; ++p) {
            const bool fits = value[p] - value[p] == 0;
            if (fits && !seen) first = value[p];
            sum += fits ? value[p] - first : 0.0;
            seen += fits;
        }
        out[(Index)c * d + j] = (double)(T)(seen ? first + sum / seen : 0.0);
    }
}
extern "C" __global__ void near_means_f32(const float* x, Index stride, int d, const int* codes, int n, double* out) {
    near_means(x, stride, d, codes, n, out);
}
extern "C" __global__ void near_means_f64(const double* x, Index stride, int d, const int* codes, int n, double* out) {
    near_means(x, stride, d, codes, n, out);
}

static const int AHEAD = 8;  // rows that a lane loads at once

template <class T, int N>
struct __align__(sizeof(T) * N) Pack {
    T v[N];
};

// Sums of N columns over rows of one class: Σ w (x − pivot), Σ w (x − pivot)², and what is missing: how many entries,
// or their weight.
template <bool WEIGHTED>
struct Amount {
    typedef int Type;
};
template <>
struct Amount<true> {
    typedef double Type;
};
template <int N, bool WEIGHTED>
struct Running {
    typedef typename Amount<WEIGHTED>::Type Weight;
    double sum[N], square[N];
    Weight lost[N], rows;
};

// Add AHEAD rows. They are summed without a look at gaps first: a missing entry shows in the sum of squares, and then
// the rows, which are still there, are summed again with care. Entries of `Sum` float32 are summed as such, by eight.
template <class T, int N, class Sum, bool WEIGHTED>
__device__ void add_rows(Running<N, WEIGHTED>& all, const Pack<T, N> (&entry)[AHEAD], const double (&w)[AHEAD],
                         const Pack<T, N>& centre) {
    if (!WEIGHTED) {
        Sum few[N], squares[N], any = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            few[i] = squares[i] = 0;
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
                const Sum z = (Sum)entry[u].v[i] - (Sum)centre.v[i];
                few[i] += z;
                squares[i] += z * z;
            }
            any += squares[i];
        }
        if (any - any == 0) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                all.sum[i] += few[i];
                all.square[i] += squares[i];
            }
            return;
        }
    }
#pragma unroll
    for (int u = 0; u < AHEAD; ++u)
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const bool there = entry[u].v[i] == entry[u].v[i];
            const double z = there ? (double)entry[u].v[i] - (double)centre.v[i] : 0.0;
            const double wz = WEIGHTED ? w[u] * z : z;
            all.sum[i] += wz;
            all.square[i] += wz * z;
            if (!there) all.lost[i] += WEIGHTED ? w[u] : 1;
        }
}

// Load AHEAD rows for a lane; a row that is not there is the pivot itself, with weight 0, and adds nothing. With
// `above`, an entry is 1 if it is above the threshold, else 0.
template <class T, int N, bool WEIGHTED>
__device__ void load_rows(const T* x, Index stride, const double* weight, const int (&row)[AHEAD], bool above,
                          double threshold, const Pack<T, N>& centre, Pack<T, N> (&entry)[AHEAD], double (&w)[AHEAD]) {
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
        entry[u] = row[u] >= 0 ? *(const Pack<T, N>*)(x + row[u] * stride) : centre;
        w[u] = !WEIGHTED ? 1.0 : row[u] >= 0 ? weight[row[u]] : 0.0;
    }
    if (above)
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            for (int i = 0; i < N; ++i)
                if (row[u] >= 0 && entry[u].v[i] == entry[u].v[i]) entry[u].v[i] = entry[u].v[i] > threshold ? 1 : 0;
}

// Sum the rows that `place` numbers, from `p` to `end`, which are of one class. `x` is at the columns of the lane.
template <class T, int N, class Sum, bool WEIGHTED, class Place>
__device__ void sum_places(const T* x, Index stride, bool mine, const Place* place, int p, int end, int step,
                           const double* weight, bool above, double threshold, const Pack<T, N>& centre,
                           Running<N, WEIGHTED>& all) {
    for (int q = p; q < end; q += AHEAD * step) {
        int row[AHEAD];
        Pack<T, N> entry[AHEAD];
        double w[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) row[u] = mine && q + u * step < end ? (int)place[q + u * step] : -1;
        load_rows<T, N, WEIGHTED>(x, stride, weight, row, above, threshold, centre, entry, w);
        add_rows<T, N, Sum, WEIGHTED>(all, entry, w, centre);
        if (WEIGHTED)
            for (int u = 0; u < AHEAD; ++u) all.rows += w[u];
    }
}

// The class of a place: the last that starts at or before it. `starts` are `apart` from each other.
template <class Start>
__device__ int class_at(const Start* start, int apart, int classes, int place) {
    int low = 0, high = classes;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if ((int)start[middle * apart] <= place) low = middle; else high = middle;
    }
    return low;
}

static const int SORTED = 4096;   // rows that a block sorts by class, and sums, at a time
static const int SUMMERS = 512;   // threads of such a block
static const int WARPS = SUMMERS / 32;
static const int PER_LANE = SORTED / SUMMERS;

// Sum rows by class where the sums of all classes fit into shared memory: observed weight, Σ w (x − pivot) and
// Σ w (x − pivot)² of each column, (blocks, classes, 3, d). A block takes `span` rows, SORTED at a time: it numbers them in
// the order of their classes, and L lanes with N columns each walk along a share of them. Only the walker at whose
// places a class starts adds to its sums; the others hand over what they found of the class that they began in, and it
// is added in their order. So the order of all additions depends on the rows alone.
template <class T, int N, int L, class Sum, bool WEIGHTED>
__device__ void sum_block(const T* x, Index stride, Index n, int d, const int* codes, Index span, int first,
                          int classes, const double* weight, const double* pivot, bool above, double threshold,
                          double* out) {
    SHARED_MEMORY(memory);
    const int WALKERS = SUMMERS / L, WIDE = L * N;
    double* sums = (double*)memory;                         // (classes, 2, WIDE)
    double* lost = sums + classes * 2 * WIDE;               // (classes, WIDE)
    double* seen = lost + classes * WIDE;                   // (classes): weight of rows
    double* handed = seen + classes;                        // (WALKERS, 3 WIDE + 1)
    T* centres = (T*)(handed + WALKERS * (3 * WIDE + 1) + (WALKERS + classes) % 2);  // (classes, WIDE)
    Bits* count = (Bits*)(centres + classes * WIDE);        // (classes, WARPS), and one more
    Bits* partial = count + classes * WARPS + 1;            // (WARPS)
    int* of = (int*)(partial + WARPS);                      // (WALKERS): the class that was handed over, or −1
    unsigned short* place = (unsigned short*)(of + WALKERS);  // (SORTED)
    const int me = threadIdx.x, lane = me % 32, warp = me / 32, cells = classes * WARPS;
    const int walker = me / L, left = blockIdx.y * WIDE, column = left + me % L * N;
    const bool mine = column < d;
    const int bits = bits_of(classes);
    for (int k = me; k < classes * (3 * WIDE + 1); k += SUMMERS) sums[k] = 0.0;
    for (int k = me; k < classes * WIDE; k += SUMMERS)
        centres[k] = left + k % WIDE < d ? (T)pivot[(Index)(k / WIDE) * d + left + k % WIDE] : (T)0;
    const Index stop = ((Index)blockIdx.x + 1) * span < n ? ((Index)blockIdx.x + 1) * span : n;
    for (Index begin = (Index)blockIdx.x * span; begin < stop; begin += SORTED) {
        const int rows = (int)(stop - begin < SORTED ? stop - begin : SORTED);
        for (int k = me; k < cells; k += SUMMERS) count[k] = 0;
        int code[PER_LANE], rank[PER_LANE];
#pragma unroll
        for (int u = 0; u < PER_LANE; ++u) {
            const int r = (warp * PER_LANE + u) * 32 + lane;
            const int c = r < rows ? codes[begin + r] - first : -1;
            code[u] = c < classes ? c : -1;
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < PER_LANE; ++u) rank[u] = count_lanes(count, code[u], classes, WARPS, bits);
        __syncthreads();
        const int total = (int)counts_to_places(count, cells, partial);
        if (me == 0) count[cells] = total;
#pragma unroll
        for (int u = 0; u < PER_LANE; ++u)
            if (code[u] >= 0)
                place[count[code[u] * WARPS + warp] + rank[u]] = (unsigned short)((warp * PER_LANE + u) * 32 + lane);
        __syncthreads();
        const int share = (total + WALKERS - 1) / WALKERS, from = walker * share,
                  to = from + share < total ? from + share : total;
        if (me % L == 0) of[walker] = -1;
        for (int c = from < to ? class_at(count, WARPS, classes, from) : 0, p = from; p < to; ++c) {
            const int start = (int)count[c * WARPS], after = (int)count[(c + 1) * WARPS];
            const int end = after < to ? after : to;
            if (end <= p) continue;
            Running<N, WEIGHTED> all;
            for (int i = 0; i < N; ++i) all.sum[i] = all.square[i] = all.lost[i] = 0;
            all.rows = 0;
            const Pack<T, N> centre = *(const Pack<T, N>*)(centres + c * WIDE + me % L * N);
            sum_places<T, N, Sum, WEIGHTED>(x + begin * stride + column, stride, mine, place, p, end, 1,
                                            weight ? weight + begin : weight, above, threshold, centre, all);
            const bool own = start >= from;
            double* to_sum = own ? sums + c * 2 * WIDE : handed + walker * (3 * WIDE + 1);
            double* to_lost = own ? lost + c * WIDE : to_sum + 2 * WIDE;
            double* to_seen = own ? seen + c : to_lost + WIDE;
            const double many = WEIGHTED ? all.rows : (double)(end - p);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                const int at = me % L * N + i;
                to_sum[at] = all.sum[i] + (own ? to_sum[at] : 0.0);
                to_sum[WIDE + at] = all.square[i] + (own ? to_sum[WIDE + at] : 0.0);
                if (!own || all.lost[i] != 0) to_lost[at] = all.lost[i] + (own ? to_lost[at] : 0.0);
            }
            if (me % L == 0) {
                *to_seen = many + (own ? *to_seen : 0.0);
                if (!own) of[walker] = c;
            }
            p = end;
        }
        __syncthreads();
        for (int k = me; k < 3 * WIDE + 1; k += SUMMERS) {
            double* to_class = k < 2 * WIDE ? sums + k : k < 3 * WIDE ? lost + k - 2 * WIDE : seen;
            const int apart = k < 2 * WIDE ? 2 * WIDE : k < 3 * WIDE ? WIDE : 1;
            for (int w = 1; w < WALKERS; ++w)
                if (of[w] >= 0) to_class[of[w] * apart] += handed[w * (3 * WIDE + 1) + k];
        }
        __syncthreads();
    }
    __syncthreads();
    for (int k = me; k < classes * WIDE; k += SUMMERS) {
        const int c = k / WIDE, j = k % WIDE;
        if (left + j >= d) continue;
        double* to_out = out + ((Index)blockIdx.x * classes + c) * 3 * d + left + j;
        to_out[0] = seen[c] - lost[k];
        to_out[d] = sums[c * 2 * WIDE + j];
        to_out[2 * d] = sums[c * 2 * WIDE + WIDE + j];
    }
}

#define SUM_BLOCKS(name, T, N, L, Sum, WEIGHTED)                                                                      \
    extern "C" __global__ void __launch_bounds__(SUMMERS, sizeof(Sum) == 4 ? 2 : 1)                                              \
        name(const T* x, Index stride, Index n, int d, const int* codes, Index span, int first, int classes,          \
             const double* weight, const double* pivot, int above, double threshold, double* out) {                   \
        sum_block<T, N, L, Sum, WEIGHTED>(x, stride, n, d, codes, span, first, classes, weight, pivot, above,         \
                                          threshold, out);                                                            \
    }
// By the type of entries, the columns of a lane, the lanes of a row. `few` are float32 less a pivot that is float32 too,
// eight rows at a time.
SUM_BLOCKS(few_f32_2_32, float, 2, 32, float, false)
SUM_BLOCKS(few_f32_1_32, float, 1, 32, float, false)
SUM_BLOCKS(few_f32_1_8, float, 1, 8, float, false)
SUM_BLOCKS(sum_f32_2_32, float, 2, 32, double, false)
SUM_BLOCKS(sum_f32_1_32, float, 1, 32, double, false)
SUM_BLOCKS(sum_f32_1_8, float, 1, 8, double, false)
SUM_BLOCKS(sum_f64_2_32, double, 2, 32, double, false)
SUM_BLOCKS(sum_f64_1_32, double, 1, 32, double, false)
SUM_BLOCKS(sum_f64_1_8, double, 1, 8, double, false)
SUM_BLOCKS(weigh_f32_1_32, float, 1, 32, double, true)
SUM_BLOCKS(weigh_f32_1_8, float, 1, 8, double, true)
SUM_BLOCKS(weigh_f64_1_32, double, 1, 32, double, true)
SUM_BLOCKS(weigh_f64_1_8, double, 1, 8, double, true)

// Add the sums of blocks for each cell, in an order that depends on their number alone, to the sums so far. A block
// takes 32 cells; its other threads share the blocks.
extern "C" __global__ void add_blocks(const double* parts, int number, Index cells, double* out) {
    SHARED_MEMORY(memory);
    double* found = (double*)memory;  // (shares, 32)
    const int lane = threadIdx.x % 32, share = threadIdx.x / 32, shares = blockDim.x / 32;
    const Index at = (Index)blockIdx.x * 32 + lane;
    double sum = 0;
    if (at < cells)
        for (int b = share; b < number; b += shares) sum += parts[b * cells + at];
    found[threadIdx.x] = sum;
    __syncthreads();
    if (share || at >= cells) return;
    for (int k = 1; k < shares; ++k) sum += found[k * 32 + lane];
    out[at] += sum;
}

// Sum rows that `order_rows` has sorted, for more classes than shared memory has room for. A warp takes `chunk` places of a
// tile. Along the places both the chunk k and the class c only grow, so k + c names each piece of one chunk and one
// class: its sums go there in `parts`, (pieces, 3, d).
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
    const int* place = order + which * tile;
    double* out = parts + (which * (per_tile + classes) + k) * 3 * d;
    for (int c = class_at(start, 1, classes, from), p = from; p < to; ++c) {
        const int end = start[c + 1] < to ? start[c + 1] : to;
        if (end <= p) continue;
        Pack<T, N> centre;
        for (int i = 0; i < N; ++i) centre.v[i] = mine ? (T)pivot[(Index)c * d + column + i] : (T)0;
        Running<N, WEIGHTED> all;
        for (int i = 0; i < N; ++i) all.sum[i] = all.square[i] = all.lost[i] = 0;
        all.rows = 0;
        sum_places<T, N, Sum, WEIGHTED>(x + column, stride, mine, place, p + group, end, groups, weight, above,
                                        threshold, centre, all);
        if (!WEIGHTED) all.rows = group == 0 ? end - p : 0;
        __syncwarp();
        for (int far = 16; far >= wide; far /= 2) {
            all.rows += __shfl_xor_sync(ALL, all.rows, far);
            for (int i = 0; i < N; ++i) {
                all.lost[i] += __shfl_xor_sync(ALL, all.lost[i], far);
                all.sum[i] += __shfl_xor_sync(ALL, all.sum[i], far);
                all.square[i] += __shfl_xor_sync(ALL, all.square[i], far);
            }
        }
        if (group == 0 && mine)
            for (int i = 0; i < N; ++i) {
                double* to_part = out + (Index)c * 3 * d + column + i;
                to_part[0] = all.rows - all.lost[i];
                to_part[d] = all.sum[i];
                to_part[2 * d] = all.square[i];
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
SUM_CHUNKS(few_f32_4, float, 4, float, false)
SUM_CHUNKS(few_f32_1, float, 1, float, false)
SUM_CHUNKS(sum_f32_1, float, 1, double, false)
SUM_CHUNKS(sum_f64_2, double, 2, double, false)
SUM_CHUNKS(sum_f64_1, double, 1, double, false)
SUM_CHUNKS(weigh_f32_1, float, 1, double, true)
SUM_CHUNKS(weigh_f64_1, double, 1, double, true)

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

// What float64 sums about a pivot show: sums or squares that are no numbers, squares below `small` of a variance, and a
// mean so far from the pivot that squares lose digits.
enum { NO_NUMBER, VANISHED, FAR };

// Turn sums about a pivot, (classes, 3, d), into weights, means and centred squares, (3, classes, d).
extern "C" __global__ void finish_moments(const double* sums, const double* pivot, int classes, int d, double small,
                                          double lost_digits, double* out, Word* status) {
    const Index at = (Index)blockIdx.x * blockDim.x + threadIdx.x, cells = (Index)classes * d;
    if (at >= cells) return;
    const double* own = sums + at / d * 3 * d + at % d;
    const double weight = own[0], sum = own[d], off = weight > 0 ? sum / weight : 0.0;
    const double rest = own[2 * d] - off * sum, squares = rest > 0 ? rest : rest == rest ? 0.0 : rest;
    const double mean = pivot[at] + off;
    out[at] = weight;
    out[cells + at] = weight > 0 ? mean : 0.0;
    out[2 * cells + at] = squares;
    if (mean - mean != 0 || squares - squares != 0 || sum - sum != 0) atomicMin(&status[NO_NUMBER], (Word)at);
    if (squares < small * weight && off != 0) atomicMin(&status[VANISHED], (Word)at);
    if (weight > 0 && weight * off * off > lost_digits * squares) atomicMin(&status[FAR], (Word)at);
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

// Copies of 16 bytes to shared memory that go on while a warp computes.
#ifndef SUFFICE_HOST
#if __CUDA_ARCH__ >= 800
__device__ void copy_ahead(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}
__device__ void end_copies() { asm volatile("cp.async.commit_group;"); }
template <int LEFT>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
#else
__device__ void copy_ahead(void* to, const void* from) { *(double2*)to = *(const double2*)from; }
__device__ void end_copies() {}
template <int LEFT>
__device__ void wait_for_copies() {}
#endif
#endif

// c += a · b for matrices of bfloat16, 16 × 16 and 16 × 8, that a warp holds with sums in float32: lane 4 g + t has, of a,
// columns 2 t and 2 t + 1 of rows g and g + 8, and 8 columns on; of b, the same rows of column g; of c, as above.
// `load_turned` reads four matrices of 8 × 8 that lie in shared memory with rows as columns: lane 8 q + i gives the
// address of row i of matrix q.
#ifndef SUFFICE_HOST
__device__ void multiply_add(float (&c)[4], const Bits (&a)[4], Bits b0, Bits b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}
__device__ void load_turned(Bits (&out)[4], const unsigned short* at) {
#if __CUDA_ARCH__ >= 800
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"((unsigned)__cvta_generic_to_shared(at))
                 : "memory");
#endif
}
#endif

static const int CROSSED = 256;      // columns of a row, filled up with 0
static const int CROSSERS = 256;     // threads of a block
static const int DEEP = 32;          // rows that are multiplied at a time
static const int APART = CROSSED + 8;  // numbers from row to row of a part, which keep banks apart
static const int CORNERS = 40;         // of 32 × 32 products that the warps of a block hold: five each, or four

// Where a corner begins, in units of 32 rows and columns: on the diagonal of 8 × 8 corners or above it; −1 if there is none.
// Warps that share a quarter of the card's processor hold nine together.
__device__ int corner_row(int corner) { return "3333300000111112222200020444401166055570"[corner] - '0'; }
__device__ int corner_column(int corner) { return "345670123412345234565677/4567/6767/5677/"[corner] - '0'; }

// Take a number apart into three of bfloat16, which add up to it.
__device__ void take_apart(float z, Bits (&part)[3]) {
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        part[p] = __float_as_uint(z) + 0x8000u & 0xffff0000u;
        z -= __uint_as_float(part[p]);
    }
}

// Copy DEEP rows less their class's centre, in three parts of bfloat16, from where they were copied to.
__device__ void split_rows(const float* raw, const float* centre, unsigned short* parts) {
    for (int k = threadIdx.x; k < DEEP * CROSSED / 4; k += CROSSERS) {
        const int r = k / (CROSSED / 4), j = k % (CROSSED / 4) * 4;
        const Pack<float, 4> x = *(const Pack<float, 4>*)(raw + r * CROSSED + j);
        const Pack<float, 4> from = *(const Pack<float, 4>*)(centre + j);
        Bits part[4][3];
#pragma unroll
        for (int i = 0; i < 4; ++i) take_apart(x.v[i] - from.v[i], part[i]);
#pragma unroll
        for (int p = 0; p < 3; ++p) {
            Pack<Bits, 2> two;
            two.v[0] = part[0][p] >> 16 | part[1][p];
            two.v[1] = part[2][p] >> 16 | part[3][p];
            *(Pack<Bits, 2>*)(parts + (p * DEEP + r) * APART + j) = two;
        }
    }
}

// Cross-products about a centre of rows of one class, in float32: a block takes the rows that a piece numbers, (class,
// begin, rows), and writes (pieces, CORNERS, 32, 32). Six products of parts make those of the entries but for their last
// bits. They are summed from 0 for 16 rows, as the card cuts such sums off, and added to the sums so far, which rounds.
extern "C" __global__ void __launch_bounds__(CROSSERS, 1)
    cross_rows(const float* x, Index stride, int aligned, int d, const int* order, const int* pieces,
               const float* centres, float* out) {
    SHARED_MEMORY(memory);
    float* raw = (float*)memory;                                          // two of (DEEP, CROSSED)
    unsigned short* parts = (unsigned short*)(raw + 2 * DEEP * CROSSED);  // two of (3, DEEP, APART)
    float* centre = (float*)(parts + 2 * 3 * DEEP * APART);               // (CROSSED)
    int* place = (int*)(centre + CROSSED);                                // (rows)
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane / 8;
    const int* piece = pieces + (Index)blockIdx.x * 3;
    const int c = piece[0], begin = piece[1], rows = piece[2], chunks = (rows + DEEP - 1) / DEEP;
    for (int j = threadIdx.x; j < CROSSED; j += CROSSERS) centre[j] = j < d ? centres[(Index)c * d + j] : 0.0f;
    for (int r = threadIdx.x; r < rows; r += CROSSERS) place[r] = order[begin + r];
    __syncthreads();
    const auto fetch = [&](int chunk) {
        float* to = raw + chunk % 2 * DEEP * CROSSED;
        for (int k = threadIdx.x; k < DEEP * CROSSED / 4; k += CROSSERS) {
            const int r = chunk * DEEP + k / (CROSSED / 4), j = k % (CROSSED / 4) * 4;
            const float* from = x + (r < rows ? place[r] : 0) * stride + j;
            if (r < rows && aligned && j + 4 <= d)
                copy_ahead(to + 4 * k, from);
            else
                for (int i = 0; i < 4; ++i) to[4 * k + i] = r < rows && j + i < d ? from[i] : centre[j + i];
        }
        end_copies();
    };
    fetch(0);
    fetch(1);
    wait_for_copies<1>();
    __syncthreads();
    split_rows(raw, centre, parts);
    float sum[5][2][4][4];
    int left[5], right[5];  // where lanes read, for corners of this warp
#pragma unroll
    for (int u = 0; u < 5; ++u) {
        left[u] = (q / 2 * 8 + lane % 8) * APART + corner_row(warp * 5 + u) * 32 + q % 2 * 8;
        right[u] = (q % 2 * 8 + lane % 8) * APART + corner_column(warp * 5 + u) * 32 + q / 2 * 8;
#pragma unroll
        for (int k = 0; k < 32; ++k) sum[u][k / 16][k / 4 % 4][k % 4] = 0;
    }
    const bool fifth = corner_column(warp * 5 + 4) >= 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        wait_for_copies<0>();
        __syncthreads();  // the next rows are there, and all have multiplied those before
        if (chunk + 2 < chunks) fetch(chunk + 2);
        if (chunk + 1 < chunks)
            split_rows(raw + (chunk + 1) % 2 * DEEP * CROSSED, centre, parts + (chunk + 1) % 2 * 3 * DEEP * APART);
        const unsigned short* own = parts + chunk % 2 * 3 * DEEP * APART;
#pragma unroll 1
        for (int k = 0; k < DEEP; k += 16, own += 16 * APART)
#pragma unroll
            for (int u = 0; u < 5; ++u) {
                if (u == 4 && !fifth) continue;
                Bits a[2][3][4];
#pragma unroll
                for (int m = 0; m < 2; ++m)
#pragma unroll
                    for (int p = 0; p < 3; ++p) load_turned(a[m][p], own + p * DEEP * APART + left[u] + m * 16);
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    Bits b[3][4];
#pragma unroll
                    for (int p = 0; p < 3; ++p) load_turned(b[p], own + p * DEEP * APART + right[u] + n * 16);
                    float some[2][2][4] = {};
#pragma unroll
                    for (int product = 0; product < 6; ++product) {  // small ones first
                        const int of_a = product == 0 ? 2 : product == 2 || product == 3;
                        const int of_b = product == 1 ? 2 : product == 2 || product == 4;
#pragma unroll
                        for (int m = 0; m < 2; ++m)
#pragma unroll
                            for (int half = 0; half < 2; ++half)
                                multiply_add(some[m][half], a[m][of_a], b[of_b][2 * half], b[of_b][2 * half + 1]);
                    }
#pragma unroll
                    for (int m = 0; m < 2; ++m)
#pragma unroll
                        for (int half = 0; half < 2; ++half)
#pragma unroll
                            for (int i = 0; i < 4; ++i) sum[u][m][n * 2 + half][i] += some[m][half][i];
                }
            }
    }
#pragma unroll
    for (int u = 0; u < 5; ++u) {
        float* to = out + ((Index)blockIdx.x * CORNERS + warp * 5 + u) * 32 * 32;
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const int m = k / 8, n = k / 2 % 4, half = k % 2;
            Pack<float, 2> two;
            two.v[0] = sum[u][m][n][2 * half], two.v[1] = sum[u][m][n][2 * half + 1];
            *(Pack<float, 2>*)(to + (m * 16 + half * 8 + lane / 4) * 32 + n * 8 + lane % 4 * 2) = two;
        }
    }
}

// Add the products of the pieces of each class, which follow each other from first[class] on, to matrices (classes, d, d).
extern "C" __global__ void add_crossed(const float* parts, const int* first, int d, double* out) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y, corner = at / 1024;
    if (corner >= CORNERS || corner_column(corner) < 0) return;
    const int i = corner_row(corner) * 32 + at / 32 % 32, j = corner_column(corner) * 32 + at % 32;
    if (i > j || j >= d) return;
    double sum = 0;
    for (int p = first[c]; p < first[c + 1]; ++p) sum += parts[(Index)p * CORNERS * 1024 + at];
    double* to = out + (Index)c * d * d;
    sum += to[(Index)i * d + j];
    to[(Index)i * d + j] = to[(Index)j * d + i] = sum;
}

// ---------------------------------------------------------------------------------------------- answers

// What is asked of the scores of a row.
enum { SCORES, LOG_JOINT, LOG_POSTERIOR, POSTERIOR, MOST_PROBABLE, LOG_DENSITY };

// What rows showed: the first infinite entry, how many rows no class can have given, the first row whose scores are
// not numbers.
enum { INFINITE, LOST, ODD };

// Return the likeliest class of a row, whose scores are `step` apart, and its score as `top`. If no class can have given the
// row, its scores become those of the prior where probabilities are asked for; else −1 is returned.
__device__ int likeliest(double* score, int step, int classes, const double* log_prior, const double* fallback,
                         int asked, Index row, Word* status, double& top) {
    top = -INFINITE_NUMBER;
    int best = -1;
    bool numbers = true;
    for (int c = 0; c < classes; ++c) {
        const double s = log_prior ? score[c * step] += log_prior[c] : score[c * step];
        numbers &= s < INFINITE_NUMBER;
        if (s > top) top = s, best = c;
    }
    if (!numbers) atomicMin(&status[ODD], (Word)row);
    if (best >= 0 || asked == LOG_JOINT || asked == LOG_DENSITY) return best;
    for (int c = 0; c < classes; ++c) {
        score[c * step] = fallback[c];
        if (fallback[c] > top) top = fallback[c], best = c;
    }
    if (asked != MOST_PROBABLE && numbers) atomicAdd(&status[LOST], (Word)1);
    return best;
}

// Turn the scores of one row, `step` apart, into the answer; return the class for MOST_PROBABLE. The share of the other
// classes is summed without the likeliest: a probability near 1 keeps the digits of what it lacks.
__device__ int finish(double* score, int step, int classes, const double* log_prior, const double* fallback, int asked,
                      Index row, Word* status) {
    if (asked == SCORES) return 0;
    double top, others = 0;
    const int best = likeliest(score, step, classes, log_prior, fallback, asked, row, status, top);
    if (asked == LOG_JOINT || asked == MOST_PROBABLE) return best;
    for (int c = 0; c < classes; ++c)
        if (c != best) others += exp(score[c * step] - (best < 0 ? 0.0 : top));
    const double norm = log1p(others);
    if (asked == LOG_DENSITY) {
        score[0] = best < 0 ? -INFINITE_NUMBER : top + norm;
        return best;
    }
    for (int c = 0; c < classes; ++c) {
        const double log_share = score[c * step] - top - norm;
        score[c * step] = asked == POSTERIOR ? exp(log_share) : log_share;
    }
    return best;
}

// The same for probabilities in float32. They replace the scores, of which each takes the place of two.
__device__ void finish_small(double* score, int classes, const double* fallback, int asked, Index row, Word* status) {
    double top;
    const int best = likeliest(score, 1, classes, 0, fallback, asked, row, status, top);
    float* answer = (float*)score;
    float others = 0;
    for (int c = 0; c < classes; ++c) {
        const float off = (float)(score[c] - top);
        answer[2 * c] = off;
        others += c == best ? 0.0f : expf(off);
    }
    const float norm = log1pf(others);
    for (int c = 0; c < classes; ++c) {
        const float log_share = answer[2 * c] - norm;
        answer[2 * c] = asked == POSTERIOR ? expf(log_share) : log_share;
    }
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

// c += a · b for matrices of 16 × 16 and 16 × 8 that a warp holds: lane 4 g + t has, of a, rows g and g + 8 of column
// 4 k + t at 2 k and 2 k + 1; of b, row 4 k + t of column g at k; of c, columns 2 t and 2 t + 1 of rows g and g + 8.
#ifndef SUFFICE_HOST
__device__ void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
        "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
          "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#if __CUDA_ARCH__ >= 800
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                : "d"(a[2 * k + half]), "d"(b[k]));
#else
            const int lane = threadIdx.x % 32;
            for (int i = 0; i < 4; ++i) {
                const double of_row = __shfl_sync(ALL, a[2 * k + half], lane / 4 * 4 + i);
                c[2 * half] += of_row * __shfl_sync(ALL, b[k], lane % 4 * 8 + i);
                c[2 * half + 1] += of_row * __shfl_sync(ALL, b[k], lane % 4 * 8 + 4 + i);
            }
#endif
        }
#endif
}
#endif

static const int SCORERS = 128;                 // threads of a block
static const int ROWS = 32;                     // that a warp scores at a time
static const int ALONG = 128, ROW_BYTES = 192;  // bytes of a row that are copied at a time; with what keeps banks apart
static const int FETCHED = ROWS * ROW_BYTES;

// Copy ALONG bytes of each of 32 rows to shared memory. Rows and columns that are not there are 0. With `aligned`, 16
// bytes are copied at once.
template <class T>
__device__ void fetch_rows(const T* x, Index stride, int aligned, Index begin, Index n, int low, int d,
                           unsigned char* to) {
    const int PACK = 16 / (int)sizeof(T), lane = threadIdx.x % 32, r = lane / 8, j = low + lane % 8 * PACK;
    unsigned char* place = to + r * ROW_BYTES + lane % 8 * 16;
    const T* from = x + (begin + r) * stride + j;
    const bool whole = aligned && begin + ROWS <= n && low + ALONG / (int)sizeof(T) <= d;
    if (whole) {
#pragma unroll
        for (int k = 0; k < ROWS; k += 4) copy_ahead(place + k * ROW_BYTES, from + k * stride);
    } else {
        for (int k = 0; k < ROWS; k += 4)
            for (int i = 0; i < PACK; ++i)
                ((T*)(place + k * ROW_BYTES))[i] = begin + r + k < n && j + i < d ? from[k * stride + i] : (T)0;
    }
    end_copies();
}

// Scores of rows as products of matrices: start + Σ_j (z_j² A_j + z_j B_j), with z = x − origin; a missing entry adds
// M_j instead. `tables` holds B, M and A as lanes read them: of 16 columns, 8 classes and two of four numbers at a time.
// The origin and the tables of A and B are copied to shared memory if `staged`. A warp takes 32 rows at a time, of which more is
// copied to shared memory while some is multiplied, and TILES tiles of 8 classes, from `first` on of `all`; unless there
// are more, the scores become answers here.
template <class T, int TILES, bool SQUARES>
__device__ void score_rows(const T* x, Index stride, int aligned, Index n, int d, const double2* origin,
                           const double2* tables, int staged, const double* start, int above, double threshold,
                           int all, int first, const double* fallback, int asked, Index before, void* out, int single,
                           Word* status) {
    SHARED_MEMORY(memory);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int ACROSS = ALONG / (int)sizeof(T), GROUPS = ACROSS / 16, PACK = 16 / (int)sizeof(T);
    const int groups = (d + 15) / 16, blocks = (groups + GROUPS - 1) / GROUPS, size = groups * TILES * 64;
    const int classes = all - first < TILES * 8 ? all - first : TILES * 8, apart = TILES * 8 + 1;
    const bool roomy = ROWS * apart * 8 <= FETCHED;  // scores fit beside rows that are being copied
    unsigned char* fetched = memory + warp * 2 * FETCHED;               // two of 32 rows
    double* starting = (double*)(memory + SCORERS / 32 * 2 * FETCHED);  // (8 TILES)
    double2* held = (double2*)(starting + TILES * 8);                   // the origin, and the tables
    if (staged) {
        for (int k = threadIdx.x; k < groups * 8; k += SCORERS) held[k] = origin[k];
        for (int k = threadIdx.x; k < size; k += SCORERS) {
            held[groups * 8 + k] = tables[k];
            if (SQUARES) held[groups * 8 + size + k] = tables[2 * size + k];
        }
    }
    for (int c = threadIdx.x; c < TILES * 8; c += SCORERS) starting[c] = c < classes ? start[first + c] : 0.0;
    __syncthreads();
    const double2* zero = staged ? held : origin;
    const double2* table = staged ? held + groups * 8 : tables;
    const double2* of_squares = table + (staged ? size : 2 * size);
    const Index step = (Index)gridDim.x * (SCORERS / 32) * ROWS;
    Index begin = ((Index)blockIdx.x * (SCORERS / 32) + warp) * ROWS;
    if (begin >= n) return;
    fetch_rows(x, stride, aligned, begin, n, 0, d, fetched);
    double sum[2][TILES][4];
    bool careful = above;
    for (int block = 0, turn = 0; begin < n; turn ^= 1) {
        const bool last = block + 1 == blocks;
        unsigned char* here = fetched + turn * FETCHED;
        unsigned char* there = fetched + (turn ^ 1) * FETCHED;
        if (block == 0)
#pragma unroll
            for (int u = 0; u < TILES; ++u)
#pragma unroll
                for (int i = 0; i < 8; ++i) sum[i / 4][u][i % 4] = starting[u * 8 + t * 2 + i % 2];
        const bool next = !last || (roomy && begin + step < n);
        if (next) {
            fetch_rows(x, stride, aligned, last ? begin + step : begin, n, last ? 0 : (block + 1) * ACROSS, d, there);
            wait_for_copies<1>();
        } else {
            wait_for_copies<0>();
        }
        __syncwarp();
#pragma unroll
        for (int q = 0; q < GROUPS; ++q) {
            const int group = block * GROUPS + q, at = group * TILES * 64 + lane;
            if (group >= groups) break;
            double z[2][8];
            const double2 some = zero[group * 8 + t * 2], more = zero[group * 8 + t * 2 + 1];
            const double from[4] = {some.x, some.y, more.x, more.y};
#pragma unroll
            for (int row = 0; row < 4; ++row)
#pragma unroll
                for (int i = 0; i < 4; i += PACK) {
                    const Pack<T, PACK> some = *(const Pack<T, PACK>*)(here + (g + row * 8) * ROW_BYTES +
                                                                       (q * 16 + t * 4 + i) * sizeof(T));
#pragma unroll
                    for (int k = 0; k < PACK; ++k) z[row / 2][2 * (i + k) + row % 2] = some.v[k];
                }
            double lost[2][8];
            bool gaps = false;
            if (careful) {
#pragma unroll
                for (int k = 0; k < 16; ++k) {
                    double& entry = z[k / 8][k % 8];
                    const int j = group * 16 + t * 4 + k % 8 / 2;
                    const Index row = begin + g + k / 8 * 16 + k % 2 * 8;
                    lost[k / 8][k % 8] = entry == entry ? 0.0 : 1.0;
                    gaps |= !(entry == entry);
                    if (entry == entry && entry - entry != 0) atomicMin(&status[INFINITE], (Word)((before + row) * d + j));
                    entry = entry - entry != 0 ? 0.0 : above ? (j < d && entry > threshold) : entry - from[k % 8 / 2];
                }
                gaps = __ballot_sync(ALL, gaps) != 0;
            } else {
#pragma unroll
                for (int k = 0; k < 16; ++k) z[k / 8][k % 8] -= from[k % 8 / 2];
            }
#pragma unroll
            for (int u = 0; u < TILES; ++u) {
                const double2 low = table[at + u * 64], high = table[at + u * 64 + 32];
                const double b[4] = {low.x, low.y, high.x, high.y};
                multiply_add(sum[0][u], z[0], b);
                multiply_add(sum[1][u], z[1], b);
            }
            if (gaps)
#pragma unroll
                for (int u = 0; u < TILES; ++u) {
                    const double2 low = tables[size + at + u * 64], high = tables[size + at + u * 64 + 32];
                    const double b[4] = {low.x, low.y, high.x, high.y};
                    multiply_add(sum[0][u], lost[0], b);
                    multiply_add(sum[1][u], lost[1], b);
                }
            if (SQUARES) {
#pragma unroll
                for (int k = 0; k < 16; ++k) z[k / 8][k % 8] *= z[k / 8][k % 8];
#pragma unroll
                for (int u = 0; u < TILES; ++u) {
                    const double2 low = of_squares[at + u * 64], high = of_squares[at + u * 64 + 32];
                    const double b[4] = {low.x, low.y, high.x, high.y};
                    multiply_add(sum[0][u], z[0], b);
                    multiply_add(sum[1][u], z[1], b);
                }
            }
        }
        __syncwarp();
        block = last ? 0 : block + 1;
        if (!last) continue;
        // A missing or infinite entry shows in every score of its row: such rows are scored again, with care.
        double any = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) any += sum[i / 2][0][i % 2 * 2];
        if (!careful && __ballot_sync(ALL, any - any != 0)) {
            careful = true;
            wait_for_copies<0>();
            __syncwarp();
            fetch_rows(x, stride, aligned, begin, n, 0, d, there);
            continue;
        }
        careful = above;
        double* score = (double*)(roomy ? here : fetched);  // (32, apart)
#pragma unroll
        for (int u = 0; u < TILES; ++u)
#pragma unroll
            for (int i = 0; i < 8; ++i)
                score[(g + i / 2 * 8) * apart + u * 8 + t * 2 + i % 2] = sum[i / 4][u][i % 4];
        __syncwarp();
        const Index row = begin + lane;
        const int rows = (int)(n - begin < ROWS ? n - begin : ROWS);
        const bool small = single && (asked == LOG_POSTERIOR || asked == POSTERIOR);
        if (lane < rows && small) {
            finish_small(score + lane * apart, classes, fallback, asked, before + row, status);
        } else if (lane < rows) {
            const int best = finish(score + lane * apart, 1, classes, 0, fallback, asked, before + row, status);
            if (asked == MOST_PROBABLE) ((Index*)out)[row] = best;
            if (asked == LOG_DENSITY) put(out, row, score[lane * apart], single);
        }
        __syncwarp();
        if (asked != MOST_PROBABLE && asked != LOG_DENSITY) {
            int r = lane / classes, c = lane % classes;
            const int down = 32 / classes, right = 32 % classes;
            for (int k = lane; k < rows * classes; k += 32) {
                const Index at = (begin + r) * all + first + c;
                if (small)
                    ((float*)out)[at] = ((const float*)score)[2 * (r * apart + c)];
                else
                    put(out, at, score[r * apart + c], single);
                r += down, c += right;
                if (c >= classes) c -= classes, ++r;
            }
        }
        __syncwarp();
        begin += step;
        if (!roomy && begin < n) fetch_rows(x, stride, aligned, begin, n, 0, d, there);
    }
}

#define SCORE_ROWS(name, T, TILES, SQUARES)                                                                           \
    extern "C" __global__ void __launch_bounds__(SCORERS, TILES > 1 ? 2 : 3)                                           \
        name(const T* x, Index stride, int aligned, Index n, int d, const double2* origin, const double2* tables,     \
             int staged, const double* start, int above, double threshold, int all, int first,                        \
             const double* fallback, int asked, Index before, void* out, int single, Word* status) {                  \
        score_rows<T, TILES, SQUARES>(x, stride, aligned, n, d, origin, tables, staged, start, above, threshold, all, \
                                      first, fallback, asked, before, out, single, status);                           \
    }
SCORE_ROWS(near_f32_1, float, 1, true)
SCORE_ROWS(near_f32_2, float, 2, true)
SCORE_ROWS(near_f32_5, float, 5, true)
SCORE_ROWS(near_f64_1, double, 1, true)
SCORE_ROWS(near_f64_2, double, 2, true)
SCORE_ROWS(near_f64_5, double, 5, true)
SCORE_ROWS(linear_f32_1, float, 1, false)
SCORE_ROWS(linear_f32_2, float, 2, false)
SCORE_ROWS(linear_f32_5, float, 5, false)
SCORE_ROWS(linear_f64_1, double, 1, false)
SCORE_ROWS(linear_f64_2, double, 2, false)
SCORE_ROWS(linear_f64_5, double, 5, false)

__device__ double total_of_warp(double value) {
    for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(ALL, value, far);
    return value;
}

// Scores base − ½ Σ_j ((x_j − mean_j) · inverse_j)² where the means of classes lie so far apart that products of squares
// would lose digits; `absent` is taken off for a missing entry. `mean`, `inverse` and `absent` are (classes, d). A warp
// takes a row.
template <class T>
__device__ void far_scores(const T* x, Index stride, Index n, int d, const double* mean, const double* inverse,
                           const double* absent, const double* base, int classes, Index before, double* out,
                           Word* status) {
    const int lane = threadIdx.x % 32;
    const Index row = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    const T* from = x + row * stride;
    for (int c = 0; c < classes; ++c) {
        double sum = 0;
        for (int j = lane; j < d; j += 32) {
            const double value = from[j];
            const Index at = (Index)c * d + j;
            const double z = (value - mean[at]) * inverse[at];
            if (c == 0 && value == value && value - value != 0)
                atomicMin(&status[INFINITE], (Word)((before + row) * d + j));
            sum += value == value ? -0.5 * z * z : -absent[at];
        }
        sum = total_of_warp(sum);
        if (lane == 0) out[row * classes + c] = base[c] + sum;
    }
}

#define FAR_SCORES(name, T)                                                                                           \
    extern "C" __global__ void name(const T* x, Index stride, Index n, int d, const double* mean,                     \
                                    const double* inverse, const double* absent, const double* base, int classes,     \
                                    Index before, double* out, Word* status) {                                        \
        far_scores(x, stride, n, d, mean, inverse, absent, base, classes, before, out, status);                       \
    }
FAR_SCORES(far_scores_f32, float)
FAR_SCORES(far_scores_f64, double)

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
                              double threshold, double least, Index before, double* out, Word* status) {
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
            if (mine < least || (mine == mine && mine - mine != 0)) atomicMin(&status[INFINITE], (Word)((before + row) * d + at));
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
                                    double threshold, double least, Index before, double* out, Word* status) {        \
        sparse_scores(data, indices, starts, n, d, classes, coef, absent, base, above, threshold, least, before, out, \
                      status);                                                                                        \
    }
SPARSE_SCORES(sparse_scores_f32_i32, float, int)
SPARSE_SCORES(sparse_scores_f64_i32, double, int)
SPARSE_SCORES(sparse_scores_f32_i64, float, Index)
SPARSE_SCORES(sparse_scores_f64_i64, double, Index)

// The same in float32 where scores need not be exact: `coef`, (d, 4 lanes), is less a term that all classes share, so that
// it is small. `lanes` lanes beside each other, 4 or more, take 4 classes each of one entry, and the others other entries. Eight
// products are summed in float32, and the sums in float64.
template <class I>
__device__ void sparse_scores_small(const float* data, const I* indices, const I* starts, Index n, int d, int classes,
                                    int lanes, const Pack<float, 4>* coef, const Pack<float, 4>* absent,
                                    const double* base, int above, double threshold, double least, Index before,
                                    double* out, Word* status) {
    const int lane = threadIdx.x % 32, group = lane / lanes, own = lane % lanes, at_once = 32 / lanes;
    const Index row = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    const Index from = starts[row], to = starts[row + 1];
    double score[4] = {0, 0, 0, 0};
    for (Index k = from; k < to; k += 32) {
        const int many = to - k < 32 ? (int)(to - k) : 32;
        float mine = lane < many ? data[k + lane] : 0.0f;
        Index column = lane < many ? (Index)indices[k + lane] : 0;
        if (column < 0 || column >= d) {
            atomicMin(&status[ODD], (Word)(before + row));
            column = 0, mine = 0;
        }
        if (mine < least) atomicMin(&status[INFINITE], (Word)((before + row) * d + column));
        if (above && mine - mine == 0) mine = mine > threshold ? 1.0f : 0.0f;
        const bool odd = mine - mine != 0;
        const Bits gaps = __ballot_sync(ALL, odd);
        if (odd && mine == mine) atomicMin(&status[INFINITE], (Word)((before + row) * d + column));
        if (odd) mine = 0;
        const int place = (int)column * lanes;
        float some[4] = {0, 0, 0, 0};
        for (int e = group; e < many + group; e += 4 * at_once) {
            Pack<float, 4> of[4];
            float value[4];
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                value[u] = __shfl_sync(ALL, mine, e + u * at_once & 31);
                const int at = __shfl_sync(ALL, place, e + u * at_once & 31) + own;
                if (own * 4 < classes) of[u] = coef[at];
            }
#pragma unroll
            for (int u = 0; u < 4; ++u)
#pragma unroll
                for (int i = 0; i < 4; ++i) some[i] += value[u] * of[u].v[i];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) score[i] += some[i];
        if (gaps && absent)
            for (int e = group; e < 32; e += at_once) {
                const int at = __shfl_sync(ALL, place, e) + own;
                if (gaps >> e & 1)
                    for (int i = 0; i < 4; ++i) score[i] -= absent[at].v[i];
            }
    }
    for (int far = lanes; far < 32; far *= 2)
#pragma unroll
        for (int i = 0; i < 4; ++i) score[i] += __shfl_xor_sync(ALL, score[i], far);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (group == 0 && own * 4 + i < classes) out[row * classes + own * 4 + i] = score[i] + base[own * 4 + i];
}

#define SPARSE_SCORES_SMALL(name, I)                                                                                  \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        name(const float* data, const I* indices, const I* starts, Index n, int d, int classes, int lanes,            \
             const Pack<float, 4>* coef, const Pack<float, 4>* absent, const double* base, int above,                 \
             double threshold, double least, Index before, double* out, Word* status) {                               \
        sparse_scores_small(data, indices, starts, n, d, classes, lanes, coef, absent, base, above, threshold, least, \
                            before, out, status);                                                                     \
    }
SPARSE_SCORES_SMALL(sparse_scores_small_i32, int)
SPARSE_SCORES_SMALL(sparse_scores_small_i64, Index)

// ------------------------------------------------------------------------------------- columns of tables

// One step of splitmix64, as cpp/row_hashes.cpp has it.
__device__ Word mixed(Word z) {
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

// The hash of each row, from the 64 bits of its entries as float64. A thread takes a row.
template <class T>
__device__ void hash_rows(const T* x, Index stride, Index n, int d, Word missing, Word* out) {
    const Index row = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const T* from = x + row * stride;
    Word hash = 0;
    for (int j = 0; j < d; ++j) {
        const double value = (double)from[j] + 0.0;  // -0 is 0
        hash = mixed(hash ^ (value == value ? *(const Word*)&value : missing));
    }
    out[row] = hash;
}
extern "C" __global__ void hash_rows_f32(const float* x, Index stride, Index n, int d, Word missing, Word* out) {
    hash_rows(x, stride, n, d, missing, out);
}
extern "C" __global__ void hash_rows_f64(const double* x, Index stride, Index n, int d, Word missing, Word* out) {
    hash_rows(x, stride, n, d, missing, out);
}

static const int EXACT_GRID = 1, LISTED = 2;  // how a column is counted: see `place_of`
static const int CELL_THREADS = 1024;         // of a block, at most
static const int CELL_COUNTS = 1 << 14;       // by which a count may grow between two barriers

// How the values of a column become places: cells of a width that is a power of 2, from the cell `low` on. Of an exact
// grid only multiples of the width have a place, and of a list only its values, which ascend from `begin` to `end`.
struct CellColumn {
    double inverse;  // 1 / width
    Index low;
    int way, width, begin, end;
};

// The place of a value of a column, or −1 if it has none.
template <class T>
__device__ int place_of(T value, const CellColumn& column, const double* list) {
    if (column.way == LISTED) {
        int low = column.begin, high = column.end;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (list[middle] < (double)value) low = middle + 1; else high = middle;
        }
        return low < column.end && list[low] == (double)value ? low - column.begin : -1;
    }
    const double scaled = (double)value * column.inverse;
    double cell = floor(scaled);
    if (cell == 0 && value < 0) cell = -1;  // the quotient was rounded to 0
    if (!(fabs(cell) < 4503599627370496.0) || (column.way == EXACT_GRID && cell != scaled)) return -1;
    const double place = cell - (double)column.low;  // exact: both are below 2⁵²
    return place >= 0 && place < column.width ? (int)place : -1;
}

// The same of float32 by float32 alone, which takes a third of the time: `scale` is 1 / width if float32 holds it, else 0.
// A multiple of a power of 2 is exact, unless it vanishes.
__device__ int place_of(double value, const CellColumn& column, float, const double* list) {
    return place_of(value, column, list);
}
__device__ int place_of(float value, const CellColumn& column, float scale, const double* list) {
    if (scale == 0 || column.way == LISTED) return place_of(value, column, list);
    const float scaled = value * scale;
    float cell = floorf(scaled);
    if (!(fabsf(cell) < 1073741824.0f)) return place_of(value, column, list);
    if (column.way == EXACT_GRID && (cell != scaled || (scaled == 0 && value != 0))) return -1;
    if (cell == 0 && value < 0) cell = -1;
    const Index place = (Index)(int)cell - column.low;
    return place >= 0 && place < column.width ? (int)place : -1;
}

// Values that have no place: their columns, classes and values, of which there may be more than there is room for; and
// how many there are, of all columns and then of each.
struct Overflow {
    Word* many;
    Index room;
    int* column;
    int* code;
    double* value;
};

__device__ __noinline__ void keep_aside(const Overflow& aside, int column, int code, double value) {
    const Word at = atomicAdd(aside.many, (Word)1);
    atomicAdd(&aside.many[1 + column], (Word)1);
    if (at >= (Word)aside.room) return;
    aside.column[at] = column;
    aside.code[at] = code;
    aside.value[at] = value;
}

// Add to one of two 16-bit counts in a word; half of what it can hold goes to the card's memory as soon as it is there,
// which the bit of 2¹⁵ shows.
__device__ void add_half(Bits* counts, Bits slot, Bits many, Bits* out) {
    const Bits shift = (slot & 1u) * 16;
    const Bits before = atomicAdd(&counts[slot >> 1], many << shift) >> shift;
    if ((before ^ (before + many)) & 0x8000u) {
        atomicAdd(&counts[slot >> 1], 0u - (0x8000u << shift));
        atomicAdd(out + slot, 0x8000u);
    }
}

// The place of a value of a column of which is known that it is a grid, that float32 holds 1 / width ≥ 1, so that no
// quotient vanishes, and that its cells have numbers below 2³⁰. What is too large for an integer becomes the largest.
__device__ int place_on_grid(float value, float scale, int low, int width) {
    const Bits place = (Bits)__float2int_rd(value * scale) - (Bits)low;
    return place < (Bits)width && value == value ? (int)place : -1;
}
__device__ int place_on_grid(double, float, int, int) { return -1; }

// Count the values of each column and class by their places, (columns, classes, places). A block takes N columns beside
// each other and a span of rows, and counts in shared memory with 16 bits; or in the card's memory, where there is no
// room. Entries lie at row · stride + column · apart. If values are `common`, lanes that have that of the first lane are
// added at once, or they would queue. With PLAIN all columns are as `place_on_grid`
// says, and no values are common.
template <class T, int N, bool PLAIN>
__device__ void count_cells(const T* x, Index stride, Index apart, int aligned, Index n, int d, const int* codes,
                            int classes, Index span, const CellColumn* columns, const double* list, int places,
                            int common, int inside, Bits* out, Word* many, Index room, int* aside_column, int* aside_code,
                            double* aside_value, Index before, Word* status) {
    SHARED_MEMORY(memory);
    Bits* counts = (Bits*)memory;
    const Overflow aside = {many, room, aside_column, aside_code, aside_value};
    const int groups = (d + N - 1) / N, first = (int)(blockIdx.x % groups) * N, lane = threadIdx.x % 32;
    const Index begin = (Index)(blockIdx.x / groups) * span, end = begin + span < n ? begin + span : n;
    const int slots = N * classes * places;
    Bits* mine = out + (Index)first * classes * places;
    if (inside) {
        for (int k = threadIdx.x; k < (slots + 1) / 2; k += blockDim.x) counts[k] = 0;
        __syncthreads();
    }
    CellColumn own[N];
    float scale[N];
    int low[N], width[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        own[i] = columns[first + i < d ? first + i : d - 1];
        scale[i] = own[i].inverse < 1e36 && own[i].inverse > 1e-36 ? (float)own[i].inverse : 0.0f;
        low[i] = (int)own[i].low;
        width[i] = own[i].width;
    }
    const int ROWS = N == 1 ? 4 : 2, TURNS = CELL_COUNTS / (CELL_THREADS * ROWS);  // ROWS are loaded at once
    const Index step = (Index)blockDim.x * ROWS;
    int turn = 0;
    for (Index base = begin; base < end; base += step) {
        Pack<T, N> entry[ROWS];
        int code[ROWS];
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            const Index row = base + (Index)u * blockDim.x + threadIdx.x;
            code[u] = row < end ? codes[row] : -1;
            if (code[u] >= classes) code[u] = -1;
            if (code[u] < 0) continue;
            const T* from = x + row * stride + first * apart;
            if (aligned)
                entry[u] = *(const Pack<T, N>*)from;
            else
#pragma unroll
                for (int i = 0; i < N; ++i) entry[u].v[i] = from[first + i < d ? i * apart : 0];
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u)
#pragma unroll
            for (int i = 0; i < N; ++i) {
                int slot = -1;
                if (code[u] >= 0 && first + i < d) {
                    const T value = entry[u].v[i];
                    const int place = PLAIN                ? place_on_grid(value, scale[i], low[i], width[i])
                                      : value - value == 0 ? place_of(value, own[i], scale[i], list)
                                                           : -1;
                    if (place >= 0) {
                        slot = (i * classes + code[u]) * places + place;
                    } else if (value - value == 0) {
                        keep_aside(aside, first + i, code[u], (double)value);
                    } else if (value == value) {
                        const Index row = before + base + (Index)u * blockDim.x + threadIdx.x;
                        atomicMin(&status[INFINITE], (Word)(row * d + first + i));
                    }
                }
                Bits weight = 1;
                if (!PLAIN && common) {
                    const int first_lane = __shfl_sync(ALL, slot, 0);
                    const Bits alike = __ballot_sync(ALL, slot == first_lane && slot >= 0);
                    if (alike >> lane & 1) weight = lane == 0 ? (Bits)__popc(alike) : 0u;
                }
                if (slot < 0 || !weight) continue;
                if (inside)
                    add_half(counts, (Bits)slot, weight, mine);
                else
                    atomicAdd(mine + slot, weight);
            }
        if (inside && ++turn % TURNS == 0) __syncthreads();  // so that no count overflows
    }
    if (!inside) return;
    __syncthreads();
    for (int k = threadIdx.x; k < slots; k += blockDim.x) {
        const Bits found = counts[k / 2] >> k % 2 * 16 & 0xffffu;
        if (found && first + k / (classes * places) < d) atomicAdd(&mine[k], found);
    }
}

#define COUNT_CELLS(name, T, N, PLAIN)                                                                               \
    extern "C" __global__ void __launch_bounds__(N == 1 ? 1024 : 512) name(                                                        \
        const T* x, Index stride, Index apart, int aligned, Index n, int d, const int* codes, int classes,           \
        Index span, const CellColumn* columns, const double* list, int places, int common, int inside, Bits* out,     \
        Word* many, Index room, int* aside_column, int* aside_code, double* aside_value, Index before,               \
        Word* status) {                                                                                              \
        count_cells<T, N, PLAIN>(x, stride, apart, aligned, n, d, codes, classes, span, columns, list, places,       \
                                 common, inside, out, many, room, aside_column, aside_code, aside_value, before, status);    \
    }
COUNT_CELLS(count_cells_f32_1, float, 1, false)
COUNT_CELLS(count_cells_f32_4, float, 4, false)
COUNT_CELLS(count_cells_f64_1, double, 1, false)
COUNT_CELLS(count_cells_f64_4, double, 4, false)
COUNT_CELLS(plain_cells_f32_1, float, 1, true)
COUNT_CELLS(plain_cells_f32_4, float, 4, true)

static const int TILE = 64;  // rows and columns of a tile that is turned

// Write rows as columns, (columns, n). A block of 256 threads takes a tile of TILE rows and columns.
template <class T>
__device__ void turn_rows(const T* x, Index stride, Index n, int d, T* out) {
    SHARED_MEMORY(memory);
    T* tile = (T*)memory;  // (TILE, TILE + 1)
    const Index row = (Index)blockIdx.x * TILE;
    const int column = blockIdx.y * TILE, lane = threadIdx.x % TILE, first = threadIdx.x / TILE, step = blockDim.x / TILE;
    for (int r = first; r < TILE; r += step)
        if (row + r < n && column + lane < d) tile[r * (TILE + 1) + lane] = x[(row + r) * stride + column + lane];
    __syncthreads();
    for (int c = first; c < TILE; c += step)
        if (column + c < d && row + lane < n) out[(column + c) * n + row + lane] = tile[lane * (TILE + 1) + c];
}
extern "C" __global__ void turn_rows_f32(const float* x, Index stride, Index n, int d, float* out) {
    turn_rows(x, stride, n, d, out);
}
extern "C" __global__ void turn_rows_f64(const double* x, Index stride, Index n, int d, double* out) {
    turn_rows(x, stride, n, d, out);
}

// Count rows in the joint tables of pairs of columns whose values are codes, (columns, rows): a block takes a pair and a
// span of rows. Weights are sums of two integers, as those of `add_exactly`, and `out` is (2, classes, cells) of them;
// without weights only the first is used.
extern "C" __global__ void count_pairs(const unsigned char* x, Index n, const int* codes, int classes, Index span,
                                       const int* pairs, int all, const Index* sizes, const Index* offsets,
                                       const Index* high, const Index* low, int inside, Word* out) {
    SHARED_MEMORY(memory);
    Bits* counts = (Bits*)memory;
    const int pair = blockIdx.x, a = pairs[pair], b = pairs[all + pair];
    const Bits height = (Bits)sizes[a], width = (Bits)sizes[b], table = height * width;
    const Index cells = offsets[all], at = offsets[pair];
    const Index begin = (Index)blockIdx.y * span, end = begin + span < n ? begin + span : n;
    if (inside) {
        for (Bits k = threadIdx.x; k < table * classes; k += blockDim.x) counts[k] = 0;
        __syncthreads();
    }
    const unsigned char *first = x + a * n, *second = x + b * n;
    for (Index row = begin + threadIdx.x; row < end; row += blockDim.x) {
        const Bits i = first[row], j = second[row];
        const int code = codes[row];
        if (i >= height || j >= width || code < 0 || code >= classes) continue;
        const Bits cell = i * width + j;
        if (high) {
            const Index to = code * cells + at + cell;
            atomicAdd(&out[to], (Word)high[row]);
            if (low[row]) atomicAdd(&out[classes * cells + to], (Word)low[row]);
        } else if (inside) {
            atomicAdd(&counts[code * table + cell], 1u);
        } else {
            atomicAdd(&out[code * cells + at + cell], (Word)1);
        }
    }
    if (!inside) return;
    __syncthreads();
    for (Bits k = threadIdx.x; k < table * classes; k += blockDim.x)
        if (counts[k]) atomicAdd(&out[k / table * cells + at + k % table], (Word)counts[k]);
}

static const int PAIR_CLASSES = 8;  // whose sums a thread holds

// Add the scores of pairs to those of rows, (rows, classes), relative to the first class: the scores of pair q are (codes
// of the first + 1, codes of the second + 1, classes − 1) from the cell offsets[q] on. A thread takes a row.
extern "C" __global__ void pair_scores(const unsigned char* x, Index n, const int* pairs, int all, const Index* sizes,
                                       const Index* offsets, const double* scores, int classes, double* out) {
    const Index row = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const int width = classes - 1;
    for (int begin = 0; begin < width; begin += PAIR_CLASSES) {
        double sum[PAIR_CLASSES];
#pragma unroll
        for (int k = 0; k < PAIR_CLASSES; ++k) sum[k] = 0;
        for (int q = 0; q < all; ++q) {
            const int a = pairs[q], b = pairs[all + q];
            const Index tall = sizes[a], wide = sizes[b];
            Index i = x[a * n + row], j = x[b * n + row];
            i = i < tall ? i : tall;
            j = j < wide ? j : wide;
            const double* of = scores + (offsets[q] + i * (wide + 1) + j) * width + begin;
#pragma unroll
            for (int k = 0; k < PAIR_CLASSES; ++k)
                if (begin + k < width) sum[k] += of[k];
        }
        for (int k = 0; k < PAIR_CLASSES; ++k)
            if (begin + k < width) out[row * classes + begin + k + 1] += sum[k];
    }
}

// The log of a sum of Gaussian curves over the points of each class, (rows, classes), of one column; 0 where a number is
// missing. Points of a class ascend from starts[c] on, and `total` is the log of what their sum is divided by. Sources are
// left out where they add less than e⁻⁴⁰ of the weight of all, as a part of what the nearest adds. A thread takes a row.
extern "C" __global__ void kernel_scores(const double* x, Index n, int classes, const double* points,
                                         const double* weight, const Index* starts, const double* inverse,
                                         const double* total, const double* largest, double* out) {
    const Index row = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const double value = x[row];
    for (int c = 0; c < classes; ++c) {
        double found = 0;
        if (value == value) {
            const Index from = starts[c], to = starts[c + 1];
            Index low = from, high = to;
            while (low < high) {
                const Index middle = (low + high) / 2;
                if (points[middle] < value) low = middle + 1; else high = middle;
            }
            Index near = low;
            if (near == to || (near > from && value - points[near - 1] <= points[near] - value)) --near;
            double nearest = (points[near] - value) * inverse[c];
            nearest = nearest < -1e150 ? -1e150 : nearest > 1e150 ? 1e150 : nearest;
            const double least = 80.0 + 2.0 * (largest[c] - log(weight[near]));
            double sum = weight[near];
            for (int side = -1; side <= 1; side += 2)
                for (Index k = near + side; k >= from && k < to; k += side) {
                    const double d = (points[k] - points[near]) * inverse[c], far = d * (d + 2 * nearest);
                    if (!(far < least)) break;
                    sum += weight[k] * exp(-0.5 * far);
                }
            found = log(sum) - 0.5 * nearest * nearest - total[c];
        }
        out[row * classes + c] = found;
    }
}
