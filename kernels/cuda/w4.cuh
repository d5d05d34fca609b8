// 4-bit weights in groups of 128 as kernels/src/gpu/family/w4/pack.rs lays them out: the fragments of m16n8k16.
#pragma once
#include "stream.cuh"

constexpr u32 GROUP = 128;
constexpr u32 WARPS = 8;
constexpr u32 THREADS = WARPS * WARP;
// Rows of a block: those of a tile.
constexpr u32 ROWS = 16;
// Columns of a tile: 16 for each of four lanes.
constexpr u32 COLUMNS = 64;

// Where a lane finds its part of a group.
struct Place {
    const uint4* words;
    const u32* scales;
    u32 groups;

    __device__ __forceinline__ Place(const uint4* all_words, const u32* all_scales, u32 k) {
        groups = k / GROUP;
        words = all_words + u64(blockIdx.x) * (k / COLUMNS) * WARP + lane_id();
        scales = all_scales + u64(blockIdx.x) * groups * (ROWS / 2) + lane_id() / 4;
    }
    // Columns 64·half … of a group.
    __device__ __forceinline__ uint4 load(u32 group, u32 half) const { return load_once(words + (2 * group + half) * WARP); }
    // Scales of rows g and g + 8.
    __device__ __forceinline__ void load_scales(u32 group, float (&out)[2]) const {
        Word<f16>::widen(scales[group * (ROWS / 2)], out);
    }
};

// First of a lane's sixteen columns.
__device__ __forceinline__ u32 column_of(u32 group, u32 half) { return group * GROUP + half * COLUMNS + lane_id() % 4 * 16; }

// `(word & mask) | magic` in one instruction.
__device__ __forceinline__ u32 insert(u32 word, u32 mask, u32 magic) {
    u32 out;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(out) : "r"(word), "r"(mask), "r"(magic));
    return out;
}

// The nibble at bit AT, less 8: put into the mantissa of 2^(23 − AT), whose last place before it is one.
template <u32 AT> __device__ __forceinline__ float nibble(u32 word) {
    constexpr u32 MAGIC = (127u + 23 - AT) << 23;
    constexpr float BASE = float((1u << (23 - AT)) + 8);
    return float_of(insert(word, 0xfu << AT, MAGIC)) - BASE;
}

// Eight neighbouring columns of rows g and g + 8.
__device__ __forceinline__ void integers(u32 first, u32 second, float (&row)[2][8]) {
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const u32 word = (i < 2 ? first : second) >> (i % 2 * 16);
        row[0][i] = nibble<0>(word), row[0][4 + i] = nibble<4>(word);
        row[1][i] = nibble<8>(word), row[1][4 + i] = nibble<12>(word);
    }
}

__device__ __forceinline__ void words_of(uint4 v, u32 (&out)[4]) { out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w; }

// Adds up what the warps of a block have of N rows × M tokens, in the order of the warps, and stores it.
template <u32 N, u32 M, typename T>
__device__ __forceinline__ void store_sums(const float* parts, void* y, u32 m, u32 n, u32 token, u32 wide) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < N * min(M, m - token); i += blockDim.x) {
        float sum = 0.0f;
#pragma unroll 4
        for (u32 w = 0; w < blockDim.x / WARP; w++) sum += parts[w * (N * M) + i];
        const u32 row = blockIdx.x * N + i % N, j = token + i / N;
        if (row < n) put<T>(y, u64(j) * n + row, sum, wide);
    }
}

// The same, of sums that four lanes share each: rows g and g + 8 of every token.
template <u32 M, typename T>
__device__ __forceinline__ void store_lanes(const float (&sum)[2][M], void* y, u32 m, u32 n, u32 token, u32 wide) {
    __shared__ float parts[WARPS][ROWS * M];
#pragma unroll
    for (u32 h = 0; h < 2; h++)
#pragma unroll
        for (u32 j = 0; j < M; j++) {
            float all = sum[h][j];
            all += shuffle_xor(all, 1);
            all += shuffle_xor(all, 2);
            if (lane_id() % 4 == 0) parts[warp_id()][j * ROWS + h * 8 + lane_id() / 4] = all;
        }
    store_sums<ROWS, M, T>(&parts[0][0], y, m, n, token, wide);
}
