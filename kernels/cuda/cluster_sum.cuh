// Yᵀ of few tokens on sm_90a: the blocks of a cluster share k, and add up what they have through each other's shared memory.
#pragma once

#include "stream.cuh"
#include "tma.cuh"

// Parts of k of this block: its share of all.
template <u32 BLOCKS> struct Share {
    u32 first;
    u32 end;
    __device__ __forceinline__ explicit Share(u32 parts) {
        const u32 rank = blockIdx.x % BLOCKS, each = ceil_div(parts, BLOCKS);
        first = min(rank * each, parts);
        end = min(first + each, parts);
    }
};

// Sums of TOKENS tokens by 128 rows of W. A token's are so far apart that the lanes of a warp meet every bank once.
template <u32 TOKENS> struct Sums {
    static constexpr u32 ROWS = 128;
    static constexpr u32 LINE = (ROWS + 4) * 4;
    static constexpr u32 BYTES = TOKENS * LINE;

    // Those of a warp's 16 rows, from the first on, as wgmma leaves them.
    static __device__ __forceinline__ void place(u32 sums, u32 row, const float (&d)[TOKENS / 2]) {
        const u32 to = sums + lane_id() % 4 * 2 * LINE + (row + lane_id() / 4) * 4;
#pragma unroll
        for (u32 i = 0; i < TOKENS / 2; i++) store_shared4(to + (i / 4 * 8 + i % 2) * LINE + i / 2 % 2 * 32, bits_of(d[i]));
    }
};

// Four neighbouring results, at once where rows of Y begin at a multiple of them.
template <typename T> __device__ __forceinline__ void put_four(void* y, u64 at, const float (&all)[4], u32 there, u32 wide) {
    struct alignas(4 * sizeof(T)) Four { T of[4]; };
    if (there >= 4 && at % 4 == 0) {
        if (wide) *reinterpret_cast<float4*>(static_cast<float*>(y) + at) = make_float4(all[0], all[1], all[2], all[3]);
        else *reinterpret_cast<Four*>(static_cast<T*>(y) + at) = {from_f32<T>(all[0]), from_f32<T>(all[1]), from_f32<T>(all[2]), from_f32<T>(all[3])};
        return;
    }
#pragma unroll
    for (u32 e = 0; e < 4; e++) {
        if (e < there) put<T>(y, at + e, all[e], wide);
    }
}

// Adds up what the blocks of the cluster placed, and stores it: each block a part of the tokens, four rows a thread. A cluster has 128 rows.
template <typename T, u32 TOKENS, u32 BLOCKS>
__device__ __forceinline__ void sum_up(u32 sums, void* y, u32 m, u32 n, u32 wide) {
    constexpr u32 FOURS = Sums<TOKENS>::ROWS / 4;
    constexpr u32 EACH = TOKENS / BLOCKS;
    const u32 rank = blockIdx.x % BLOCKS;
    for (u32 i = threadIdx.x; i < EACH * FOURS; i += blockDim.x) {
        const u32 token = rank * EACH + i / FOURS;
        const u32 j = blockIdx.y * TOKENS + token, row = blockIdx.x / BLOCKS * Sums<TOKENS>::ROWS + i % FOURS * 4;
        if (j >= m || row >= n) continue;
        const u32 at = sums + token * Sums<TOKENS>::LINE + i % FOURS * 16;
        float all[4] = {};
#pragma unroll
        for (u32 block = 0; block < BLOCKS; block++) {
            float part[4];
            // A sum of a block's own is in its own memory, whatever else the cluster shares.
            load_in_cluster(part, BLOCKS == 1 ? at : in_block(at, block));
#pragma unroll
            for (u32 e = 0; e < 4; e++) all[e] += part[e];
        }
        put_four<T>(y, u64(j) * n + row, all, n - row, wide);
    }
}
