// K20 on tensor cores: three to eight tokens. A block has 32 rows, its warps take 32 columns of them in turn.
// Weights are operand B as they lie: sixteen bytes of a row are two products' worth. Activations are half of A; the other half, tokens 8 … 15, is zero.
#pragma once
#include "fragment.cuh"
#include "stream.cuh"

#if __CUDA_ARCH__ >= 800
// Tiles of eight rows, and columns a warp takes at a time: eight for each lane.
constexpr u32 TILES = 4;
constexpr u32 STEP = 32;
// Columns of all warps.
constexpr u32 TURN = WARPS * STEP;
// Steps that are loaded before the first is used: 2 KiB a warp each.
constexpr u32 AHEAD = 2;
constexpr u32 MMA_TOKENS = 8;

struct Columns {
    uint4 w[TILES], x;
};

template <typename T>
__device__ __forceinline__ void mma(const T* w, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    __shared__ float parts[WARPS][8 * TILES * MMA_TOKENS];
    const u32 warp = uniform(warp_id()), begin = warp * STEP, mine = begin + lane_id() % 4 * 8;
    const u32 row = blockIdx.x * (8 * TILES) + lane_id() / 4;
    // Missing rows and tokens repeat the last one; nothing of them is stored.
    const T* token = x + u64(min(lane_id() / 4, m - 1)) * k + mine;
    const T* rows[TILES];
#pragma unroll
    for (u32 i = 0; i < TILES; i++) rows[i] = w + u64(min(row + 8 * i, n - 1)) * k + mine;
    // What is `ahead` of the pointers, and `column` of the lane: behind the last column it is zero.
    const auto load = [&](Columns& to, u32 ahead, u32 column) {
        to = Columns{};
        if (column >= k) return;
#pragma unroll
        for (u32 i = 0; i < TILES; i++) to.w[i] = load_once(rows[i] + ahead);
        to.x = load_shared_by_all(token + ahead);
    };
    Columns ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++) load(ring[d], d * TURN, mine + d * TURN);
    float sum[TILES][4] = {};
    for (u32 done = 0; begin + done < k; done += AHEAD * TURN) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            const Columns now = ring[d];
            const u32 low[4] = {now.x.x, 0, now.x.y, 0}, high[4] = {now.x.z, 0, now.x.w, 0};
#pragma unroll
            for (u32 i = 0; i < TILES; i++) {
                Tensor<T>::mma(sum[i], low, now.w[i].x, now.w[i].y, sum[i]);
                Tensor<T>::mma(sum[i], high, now.w[i].z, now.w[i].w, sum[i]);
            }
            load(ring[d], (d + AHEAD) * TURN, mine + done + (d + AHEAD) * TURN);
        }
        token += AHEAD * TURN;
        pin(token);
#pragma unroll
        for (u32 i = 0; i < TILES; i++) {
            rows[i] += AHEAD * TURN;
            pin(rows[i]);
        }
    }
#pragma unroll
    for (u32 i = 0; i < TILES; i++)
#pragma unroll
        for (u32 c = 0; c < 2; c++) parts[warp][lane_id() / 4 * (8 * TILES) + 8 * i + lane_id() % 4 * 2 + c] = sum[i][c];
    store_sums<8 * TILES, MMA_TOKENS, T>(&parts[0][0], y, Extent{m, n, blockIdx.x * (8 * TILES), 0}, wide);
}
#endif
