// K21 on tensor cores: one to sixteen tokens.
// A block has R tiles of 16 rows; its warps share the groups, each a run of neighbours.
#pragma once
#include "activations.cuh"
#include "w4_fragment.cuh"
#include "w4_run.cuh"

// Threads of the largest block: as many warps as may share the groups of a row.
constexpr u32 MOST_THREADS = 16 * WARP;

#if __CUDA_ARCH__ >= 750
// Adds the products of a group with TILES × 8 tokens. `x` are a lane's columns of the group, those of the second tile `apart` further on;
// `less` is the constant A.
template <u32 R, u32 TILES, typename T, typename X>
__device__ __forceinline__ void multiply(
    float (&sum)[R][TILES][4], const Part<R>& part, X x, u32 apart, const u32 (&less)[4]) {
    using Of = Fragment<T>;
    u32 b[TILES][16];
#pragma unroll
    for (u32 i = 0; i < TILES; i++)
#pragma unroll
        for (u32 at = 0; at < 4; at++)
            words_of(eight(x + i * apart, at / 2 * COLUMNS + at % 2 * 8), *(u32(*)[4]) & b[i][4 * at]);
    float offset[TILES][4] = {}, dot[R][TILES][Of::SUMS][4] = {};
#pragma unroll
    for (u32 s = 0; s < 8; s++)
#pragma unroll
        for (u32 i = 0; i < TILES; i++) Of::mma(offset[i], less, b[i][2 * s], b[i][2 * s + 1], offset[i]);
#pragma unroll
    for (u32 s = 0; s < 4; s++)
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            const uint4 raw = part.raw[r][s / 2];
            u32 low[4], high[4];
            Of::weights(s % 2 ? raw.z : raw.x, s % 2 ? raw.w : raw.y, low, high);
#pragma unroll
            for (u32 i = 0; i < TILES; i++) {
                float(&last)[4] = dot[r][i][Of::SUMS - 1];
                Of::mma(last, high, b[i][4 * s + 2], b[i][4 * s + 3], s == 0 ? offset[i] : last);
                Of::mma(dot[r][i][0], low, b[i][4 * s], b[i][4 * s + 1], dot[r][i][0]);
            }
        }
#pragma unroll
    for (u32 r = 0; r < R; r++) {
        float scale[2];
        Word<f16>::widen(part.scales[r], scale);
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                float all = dot[r][i][0][c];
                if constexpr (Of::SUMS == 2) all = Of::joined(all, dot[r][i][1][c]);
                sum[r][i][c] += scale[c / 2] * all;
            }
    }
}

template <u32 R, u32 M, typename T>
__device__ __forceinline__ void mma(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    constexpr u32 TILES = M / 8;
    // Groups that are loaded before the first is used: R × 2 KiB a warp.
    constexpr u32 AHEAD = 2;
    extern __shared__ float parts[];
    const u32 groups = k / GROUP, warp = uniform(warp_id()), warps = blockDim.x / WARP;
    const u32 first = warp * groups / warps, count = (warp + 1) * groups / warps - first;
    const u32 token = blockIdx.y * M;
    Run<R> run(words, scales, blockIdx.x * R, n, groups, first);
    Part<R> ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++)
        if (d < count) run.load(ring[d], d);
    // Missing tokens repeat the last one; nothing of them is stored.
    const u32 mine = min(token + lane_id() / 4, m - 1), apart = (min(mine + 8, m - 1) - mine) * k;
    const T* at = x + u64(mine) * k + first * GROUP + lane_id() % 4 * 16;
    // What is added is zero, but no compiler knows: what it knows it puts into registers again for every group.
    u32 less[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) less[i] = Fragment<T>::LESS + (wide >> 31);
    float sum[R][TILES][4] = {};
    for (u32 group = 0; group < count; group += AHEAD) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            if (group + d >= count) break;
            multiply<R, TILES, T>(sum, ring[d], at + d * GROUP, apart, less);
            if (group + d + AHEAD < count) run.load(ring[d], d + AHEAD);
        }
        run.advance(AHEAD);
        at += AHEAD * GROUP;
        pin(at);
    }
#pragma unroll
    for (u32 r = 0; r < R; r++)
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                const u32 row = r * ROWS + lane_id() / 4 + c / 2 * 8, j = 8 * i + lane_id() % 4 * 2 + c % 2;
                parts[(warp * M + j) * (R * ROWS) + row] = sum[r][i][c] * Fragment<T>::UNIT;
            }
    store_sums<R * ROWS, M, T>(parts, y, Extent{m, n, blockIdx.x * R * ROWS, token}, wide);
}
#endif
