// K24 on tensor cores: a block takes 16 rows at a time, its warps share the columns in runs of 128.
//
// A byte is a pair of weights: one load from a table that every lane has for itself gives a register of an A fragment. A block of 64 columns has sums
// of its own. Eight tokens take a product for themselves, and lanes of a row 16 columns each of one block and then of the next, 8 bytes at a time. Of up
// to four a product is taken twice: lanes t = 0 and 1 have one block, 16 bytes at a time, t = 2 and 3 the next; activations of the one go with tokens
// 0 … 3, of the other with 4 … 7, zeros elsewhere.
#pragma once
#include "activations.cuh"
#include "fragment.cuh"
#include "nf4.cuh"

#if __CUDA_ARCH__ >= 750
constexpr u32 TILE_ROWS = 16;
// Columns that a warp takes at a time, and those of a lane.
constexpr u32 STEP = 2 * BLOCK;
constexpr u32 MINE = STEP / 4;
// Steps that are loaded before the first is used: 1 KiB each.
constexpr u32 AHEAD = 4;

// How lanes share a step with M tokens: the blocks that each has a part of, and which columns those are.
template <u32 M> struct Lanes {
    static constexpr u32 BLOCKS = M == 8 ? 2 : 1;
    // A lane's first column, and the one that its eight columns `s` begin with from there.
    static __device__ __forceinline__ u32 first() { return lane_id() % 4 * (MINE / BLOCKS); }
    static __device__ constexpr u32 column(u32 s) { return s / (4 / BLOCKS) * BLOCK + s % (4 / BLOCKS) * 8; }
};

// Eight bytes that nobody writes meanwhile and nobody reads twice.
__device__ __forceinline__ void load_once(u32 (&out)[2], const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(out[0]), "=r"(out[1]) : "l"(from));
#else
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(out[0]), "=r"(out[1]) : "l"(from));
#endif
}

// The same, of which others read the neighbours.
__device__ __forceinline__ float2 load_two(const float* from) {
    float2 v;
    asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from));
    return v;
}
__device__ __forceinline__ float from_lane(float x, u32 lane) { return __shfl_sync(ALL, x, lane); }

// Rows g and g + 8 of a step.
struct Step {
    u32 codes[2][4];
};

// Of AHEAD steps, the maxima of a row's blocks: lane t of four has both of step t. A load for each step would touch as many lines of the first-level cache
// as its codes do, for 64 bytes.
struct Maxima {
    static_assert(AHEAD == 4, "as many lanes share a row");
    float2 of[2];

    // Those of a lane's blocks in steps d and d + 1, of rows g and g + 8.
    template <u32 BLOCKS> __device__ __forceinline__ void take(float (&out)[2][2][BLOCKS], u32 d) const {
        const u32 first = lane_id() / 4 * 4 + d;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            if constexpr (BLOCKS == 2) {
#pragma unroll
                for (u32 s = 0; s < 2; s++) out[s][h][0] = from_lane(of[h].x, first + s), out[s][h][1] = from_lane(of[h].y, first + s);
            } else {
                // Lanes of the second block take what those of the first do not; odd ones give the second for the first.
                const bool second = lane_id() % 4 / 2 > 0, odd = lane_id() % 2 > 0;
                const float even = from_lane(odd ? of[h].y : of[h].x, first + second), other = from_lane(odd ? of[h].x : of[h].y, first + !second);
                out[0][h][0] = second ? other : even;
                out[1][h][0] = second ? even : other;
            }
        }
    }
};

// Where a lane finds its parts of the steps of 16 rows.
template <u32 M> struct Rows {
    const u8* codes[2];
    const float* maxima[2];

    __device__ __forceinline__ Rows(const u8* all_codes, const float* all_maxima, u32 first_row, u32 n, u32 k, u32 first) {
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            // Missing rows repeat the last one; nothing of them is stored.
            const u64 at = u64(min(first_row + lane_id() / 4 + 8 * h, n - 1)) * k + first * STEP;
            codes[h] = all_codes + (at + Lanes<M>::first()) / 2;
            maxima[h] = all_maxima + at / BLOCK + lane_id() % AHEAD * 2;
        }
    }
    __device__ __forceinline__ void load(Step& step, u32 ahead) const {
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const u8* from = codes[h] + ahead * (STEP / 2);
            if constexpr (M == 8) {
                load_once(*(u32(*)[2]) & step.codes[h][0], from);
                load_once(*(u32(*)[2]) & step.codes[h][2], from + BLOCK / 2);
            } else {
                words_of(load_once(from), step.codes[h]);
            }
        }
    }
    // Those of the steps from `ahead` on, of which so many are left.
    __device__ __forceinline__ void load(Maxima& of, u32 ahead, i32 left) const {
        if (i32(lane_id() % AHEAD) >= left) return;
#pragma unroll
        for (u32 h = 0; h < 2; h++) of.of[h] = load_two(maxima[h] + ahead * (STEP / BLOCK));
    }
    __device__ __forceinline__ void advance(u32 by) {
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            codes[h] += by * (STEP / 2);
            maxima[h] += by * (STEP / BLOCK);
            pin(codes[h]);
            pin(maxima[h]);
        }
    }
};

// What lanes read for the activations that go with other columns than theirs.
__device__ const uint4 ZEROS[AHEAD * STEP * 2 / 16] = {};

// A table of pairs for each lane: entry b of lane l at 128·b + 4·l. A thread has the pair of its own number.
template <typename T> __device__ __forceinline__ void fill(uint4* table) {
    const u32 first = from_f32<T>(nf4(threadIdx.x / 16)).bits, second = from_f32<T>(nf4(threadIdx.x % 16)).bits;
    const u32 pair = first | second << 16;
    // Begun at another place by each lane, so that they do not meet in the same banks.
#pragma unroll
    for (u32 i = 0; i < 8; i++) table[threadIdx.x * 8 + (i + lane_id()) % 8] = uint4{pair, pair, pair, pair};
    __syncthreads();
}

// The pair of byte AT of a word; `mine` is the address of the lane's first.
template <u32 AT> __device__ __forceinline__ u32 pair(u32 mine, u32 word) {
    u32 out;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(out) : "r"(mine + __byte_perm(word, 0, 0x4440 + AT) * (WARP * 4)));
    return out;
}

// Adds the products of a step with M tokens; `x` are a lane's columns of it.
template <u32 M, typename T, typename X>
__device__ __forceinline__ void multiply(float (&sum)[4], const Step& step, const float (&maxima)[2][Lanes<M>::BLOCKS], u32 table, X x) {
    constexpr u32 BLOCKS = Lanes<M>::BLOCKS;
    u32 b[4][4];
#pragma unroll
    for (u32 s = 0; s < 4; s++) words_of(eight(x, Lanes<M>::column(s)), b[s]);
    float part[BLOCKS][4] = {};
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
        const u32 rows[2] = {step.codes[0][s], step.codes[1][s]};
        const u32 a[2][4] = {
            {pair<0>(table, rows[0]), pair<0>(table, rows[1]), pair<1>(table, rows[0]), pair<1>(table, rows[1])},
            {pair<2>(table, rows[0]), pair<2>(table, rows[1]), pair<3>(table, rows[0]), pair<3>(table, rows[1])}};
        float(&of)[4] = part[s / (4 / BLOCKS)];
#pragma unroll
        for (u32 h = 0; h < 2; h++) Tensor<T>::mma(of, a[h], b[s][2 * h], b[s][2 * h + 1], of);
    }
#pragma unroll
    for (u32 i = 0; i < BLOCKS; i++)
#pragma unroll
        for (u32 c = 0; c < 4; c++) sum[c] += maxima[c / 2][i] * part[i][c];
}

// Adds `count` steps, of which the first AHEAD and their maxima are on their way; `x` goes on by `stride` for as many.
template <u32 M, typename T, typename X, typename Advance>
__device__ __forceinline__ void sum_up(float (&sum)[4], Rows<M>& rows, Step (&ring)[AHEAD], Maxima& maxima, u32 count, u32 table, X x, Advance&& advance) {
    for (i32 left = i32(count); left > 0; left -= AHEAD) {
        Maxima next = {};
        rows.load(next, AHEAD, left - i32(AHEAD));
        float of[2][2][Lanes<M>::BLOCKS];
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            if (d % 2 == 0) maxima.template take<Lanes<M>::BLOCKS>(of, d);
            if (i32(d) >= left) break;
            multiply<M, T>(sum, ring[d], of[d % 2], table, x + d * STEP);
            if (i32(d + AHEAD) < left) rows.load(ring[d], d + AHEAD);
        }
        maxima = next;
        rows.advance(AHEAD);
        advance(x);
    }
}

template <u32 M, typename T>
__device__ __forceinline__ void mma(
    const u8* codes, const float* maxima, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    __shared__ uint4 table[256 * WARP / 4];
    __shared__ float parts[WARPS][TILE_ROWS * M];
    const u32 steps = k / STEP, warp = uniform(warp_id());
    const u32 first = warp * steps / WARPS, count = (warp + 1) * steps / WARPS - first;
    const u32 token = blockIdx.y * M, pairs = u32(__cvta_generic_to_shared(table)) + lane_id() * 4;
    // Missing tokens repeat the last one; nothing of them is stored.
    const u32 mine = min(token + lane_id() / 4 % M, m - 1);
    const bool goes = M == 8 || lane_id() / 16 == lane_id() % 4 / 2;
    const u32 stride = goes ? AHEAD * STEP : 0;
    const T* from = goes ? x + u64(mine) * k + first * STEP + Lanes<M>::first() : reinterpret_cast<const T*>(ZEROS);
    for (u32 row = blockIdx.x * TILE_ROWS; row < n; row += gridDim.x * TILE_ROWS) {
        Rows<M> rows(codes, maxima, row, n, k, first);
        Step ring[AHEAD];
        Maxima of = {};
        rows.load(of, 0, i32(count));
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++)
            if (d < count) rows.load(ring[d], d);
        // The weights are on their way meanwhile; those of other rows have been summed.
        if (row == blockIdx.x * TILE_ROWS) fill<T>(table);
        else __syncthreads();
        float sum[4] = {};
        sum_up<M, T>(sum, rows, ring, of, count, pairs, from, [&](const T*& at) {
            at += stride;
            pin(at);
        });
#pragma unroll
        for (u32 c = 0; c < 4; c++) {
            const float both = M == 8 ? sum[c] : sum[c] + shuffle_xor(sum[c], 2);
            const u32 j = lane_id() % (M / 2) * 2 + c % 2;
            if (lane_id() % 4 < M / 2) parts[warp][j * TILE_ROWS + lane_id() / 4 + c / 2 * 8] = both;
        }
        store_sums<TILE_ROWS, M, T>(&parts[0][0], y, Extent{m, n, row, token}, wide);
    }
}
#endif
