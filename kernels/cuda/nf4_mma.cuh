// K24 on tensor cores: a block takes 16 rows at a time, its warps share the columns in runs of 128.
//
// A byte is a pair of weights: one load from a table that every lane has for itself gives a register of an A fragment. Of the eight tokens of a
// product four are used, twice: lanes t = 0 and 1 have one block of 64 columns, t = 2 and 3 the next; activations of the one go with tokens 0 … 3,
// of the other with 4 … 7, zeros elsewhere, so that both blocks have sums of their own.
#pragma once
#include "activations.cuh"
#include "fragment.cuh"
#include "nf4.cuh"

#if __CUDA_ARCH__ >= 750
constexpr u32 TILE_ROWS = 16;
// Columns that a warp takes at a time, and those of a lane.
constexpr u32 STEP = 2 * BLOCK;
constexpr u32 MINE = STEP / 4;
// Tokens of a product.
constexpr u32 TOKENS = 4;
// Steps that are loaded before the first is used: 1 KiB each.
constexpr u32 AHEAD = 4;

// Rows g and g + 8 of a step.
struct Step {
    uint4 codes[2];
    float maxima[2];
};

// Where a lane finds its parts of the steps of 16 rows.
struct Rows {
    const u8* codes[2];
    const u32* maxima[2];

    __device__ __forceinline__ Rows(const u8* all_codes, const float* all_maxima, u32 first_row, u32 n, u32 k, u32 first) {
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            // Missing rows repeat the last one; nothing of them is stored.
            const u64 at = u64(min(first_row + lane_id() / 4 + 8 * h, n - 1)) * k + first * STEP + lane_id() % 4 * MINE;
            codes[h] = all_codes + at / 2;
            maxima[h] = reinterpret_cast<const u32*>(all_maxima) + at / BLOCK;
        }
    }
    __device__ __forceinline__ void load(Step& step, u32 ahead) const {
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            step.codes[h] = load_once(codes[h] + ahead * (STEP / 2));
            step.maxima[h] = float_of(load_word(maxima[h] + ahead * (STEP / BLOCK)));
        }
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

// Adds the products of a step with TILES × 4 tokens; `x` are a lane's columns of the step, those of the second tile `apart` further on.
template <u32 TILES, typename T, typename X>
__device__ __forceinline__ void multiply(float (&sum)[TILES][4], const Step& step, u32 table, X x, u32 apart) {
    u32 b[TILES][16];
#pragma unroll
    for (u32 i = 0; i < TILES; i++)
#pragma unroll
        for (u32 at = 0; at < 4; at++) words_of(eight(x + i * apart, 8 * at), *(u32(*)[4]) & b[i][4 * at]);
    float part[TILES][4] = {};
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
        const u32 rows[2] = {
            s == 0 ? step.codes[0].x : s == 1 ? step.codes[0].y : s == 2 ? step.codes[0].z : step.codes[0].w,
            s == 0 ? step.codes[1].x : s == 1 ? step.codes[1].y : s == 2 ? step.codes[1].z : step.codes[1].w};
        const u32 a[2][4] = {
            {pair<0>(table, rows[0]), pair<0>(table, rows[1]), pair<1>(table, rows[0]), pair<1>(table, rows[1])},
            {pair<2>(table, rows[0]), pair<2>(table, rows[1]), pair<3>(table, rows[0]), pair<3>(table, rows[1])}};
#pragma unroll
        for (u32 h = 0; h < 2; h++)
#pragma unroll
            for (u32 i = 0; i < TILES; i++) Tensor<T>::mma(part[i], a[h], b[i][4 * s + 2 * h], b[i][4 * s + 2 * h + 1], part[i]);
    }
#pragma unroll
    for (u32 i = 0; i < TILES; i++)
#pragma unroll
        for (u32 c = 0; c < 4; c++) sum[i][c] += step.maxima[c / 2] * part[i][c];
}

template <u32 TILES, typename T>
__device__ __forceinline__ void mma(
    const u8* codes, const float* maxima, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    __shared__ uint4 table[256 * WARP / 4];
    __shared__ float parts[WARPS][TILE_ROWS * TOKENS * TILES];
    const u32 steps = k / STEP, warp = uniform(warp_id());
    const u32 first = warp * steps / WARPS, count = (warp + 1) * steps / WARPS - first;
    const u32 token = blockIdx.y * (TOKENS * TILES), pairs = u32(__cvta_generic_to_shared(table)) + lane_id() * 4;
    // Missing tokens repeat the last one; nothing of them is stored.
    const u32 mine = min(token + lane_id() / 4 % TOKENS, m - 1);
    const bool goes = lane_id() / 16 == lane_id() % 4 / 2;
    const u32 apart = goes ? (min(mine + TOKENS, m - 1) - mine) * k : 0, stride = goes ? AHEAD * STEP : 0;
    const T* from = goes ? x + u64(mine) * k + first * STEP + lane_id() % 4 * MINE : reinterpret_cast<const T*>(ZEROS);
    for (u32 row = blockIdx.x * TILE_ROWS; row < n; row += gridDim.x * TILE_ROWS) {
        Rows rows(codes, maxima, row, n, k, first);
        Step ring[AHEAD];
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++)
            if (d < count) rows.load(ring[d], d);
        // The weights are on their way meanwhile; those of other rows have been summed.
        if (row == blockIdx.x * TILE_ROWS) fill<T>(table);
        else __syncthreads();
        const T* at = from;
        float sum[TILES][4] = {};
        for (u32 step = 0; step < count; step += AHEAD) {
#pragma unroll
            for (u32 d = 0; d < AHEAD; d++) {
                if (step + d >= count) break;
                multiply<TILES, T>(sum, ring[d], pairs, at + d * STEP, apart);
                if (step + d + AHEAD < count) rows.load(ring[d], d + AHEAD);
            }
            rows.advance(AHEAD);
            at += stride;
            pin(at);
        }
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                const float both = sum[i][c] + shuffle_xor(sum[i][c], 2);
                const u32 j = TOKENS * i + lane_id() % 2 * 2 + c % 2;
                if (lane_id() % 4 < 2) parts[warp][j * TILE_ROWS + lane_id() / 4 + c / 2 * 8] = both;
            }
        store_sums<TILE_ROWS, TOKENS * TILES, T>(&parts[0][0], y, Extent{m, n, row, token}, wide);
    }
}
#endif
