// Dense copies of packed weights, and weights from a hash.
#pragma once
#include "w4.cuh"

template <typename T> __device__ __forceinline__ u32 rounded_pair(float a, float b) {
    return u32(from_f32<T>(a).bits) | u32(from_f32<T>(b).bits) << 16;
}

template <typename T>
__device__ __forceinline__ void dequantize(const uint4* words, const u32* scales, T* to, u32 n, u32 k) {
    const Place place(words, scales, k);
    for (u32 group = warp_id(); group < place.groups; group += blockDim.x / WARP) {
        float scale[2];
        place.load_scales(group, scale);
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 word[4], out[2][8];
            words_of(place.load(group, half), word);
#pragma unroll
            for (u32 s = 0; s < 2; s++) {
                float q[2][8];
                integers(word[2 * s], word[2 * s + 1], q);
#pragma unroll
                for (u32 h = 0; h < 2; h++)
#pragma unroll
                    for (u32 c = 0; c < 4; c++)
                        out[h][4 * s + c] = rounded_pair<T>(q[h][2 * c] * scale[h], q[h][2 * c + 1] * scale[h]);
            }
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 row = blockIdx.x * ROWS + h * 8 + lane_id() / 4;
                if (row >= n) continue;
                uint4* at = reinterpret_cast<uint4*>(to + u64(row) * k + column_of(group, half));
                at[0] = uint4{out[h][0], out[h][1], out[h][2], out[h][3]};
                at[1] = uint4{out[h][4], out[h][5], out[h][6], out[h][7]};
            }
        }
    }
}

#define W4_DEQUANT(name, T)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const uint4* words, const u32* scales, T* to, u32 n, u32 k) { \
        dequantize(words, scales, to, n, k);                                                                          \
    }
W4_DEQUANT(w4_dequant_f16, f16)
W4_DEQUANT(w4_dequant_bf16, bf16)

// Sum of four 2-bit fields and 2: the nibble of the sum less 6.
__device__ __forceinline__ u32 bell(u32 byte) {
    return (byte & 3) + (byte >> 2 & 3) + (byte >> 4 & 3) + (byte >> 6 & 3) + 2;
}

// The grid of kernels/src/model/grid.rs: integers and scales from hashes of their index, missing rows zero.
extern "C" __global__ void __launch_bounds__(THREADS) w4_grid(uint4* words, f16* scales, u64 tensor, u32 n, u32 k, float unit) {
    const u32 groups = k / GROUP;
    for (u32 group = warp_id(); group < groups; group += blockDim.x / WARP) {
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 word[4] = {};
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 row = blockIdx.x * ROWS + h * 8 + lane_id() / 4;
                const u64 index = u64(row) * k + column_of(group, half);
#pragma unroll
                for (u32 s = 0; s < 4; s++) {
                    const u32 fields = u32(random_word(tensor, (index + 4 * s) / 8) >> (s % 2 * 32));
#pragma unroll
                    for (u32 c = 0; c < 4; c++) {
                        const u32 q = row < n ? bell(fields >> (8 * c) & 0xff) : 8;
                        word[s / 2 * 2 + c / 2] |= q << (c % 2 * 16 + s % 2 * 4 + h * 8);
                    }
                }
            }
            words[(u64(blockIdx.x) * (k / COLUMNS) + 2 * group + half) * WARP + lane_id()] = uint4{word[0], word[1], word[2], word[3]};
        }
        if (lane_id() < ROWS) {
            const u32 row = blockIdx.x * ROWS + lane_id() / 2 + lane_id() % 2 * 8;
            const u64 index = (1ull << 31) + u64(row) * groups + group;
            const float scale = float(4 + u32(random_word(tensor, index) & 3)) * unit;
            scales[(u64(blockIdx.x) * groups + group) * ROWS + lane_id()] = from_f32<f16>(row < n ? scale : 0.0f);
        }
    }
}
