// K21 on CUDA cores: 16 rows a block, the warps share the groups; fp32 throughout.
#pragma once
#include "w4.cuh"

template <u32 M, typename T>
__device__ __forceinline__ void simt(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    const Place place(words, scales, k);
    const u32 token = blockIdx.y * M;
    float sum[2][M] = {};
#pragma unroll 2
    for (u32 group = warp_id(); group < place.groups; group += blockDim.x / WARP) {
        float part[2][M] = {};
        const uint4 raw[2] = {place.load(group, 0), place.load(group, 1)};
        float scale[2];
        place.load_scales(group, scale);
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            float a[M][16];
#pragma unroll
            for (u32 j = 0; j < M; j++) {
                const T* from = x + u64(min(token + j, m - 1)) * k + column_of(group, half);
                widen<T>(load_shared_by_all(from), *(float(*)[8]) & a[j][0]);
                widen<T>(load_shared_by_all(from + 8), *(float(*)[8]) & a[j][8]);
            }
            u32 word[4];
            words_of(raw[half], word);
#pragma unroll
            for (u32 s = 0; s < 2; s++) {
                float q[2][8];
                integers(word[2 * s], word[2 * s + 1], q);
#pragma unroll
                for (u32 j = 0; j < M; j++)
#pragma unroll
                    for (u32 c = 0; c < 8; c++) {
                        part[0][j] += q[0][c] * a[j][8 * s + c];
                        part[1][j] += q[1][c] * a[j][8 * s + c];
                    }
            }
        }
#pragma unroll
        for (u32 j = 0; j < M; j++) {
            sum[0][j] += scale[0] * part[0][j];
            sum[1][j] += scale[1] * part[1][j];
        }
    }
    store_lanes<M, T>(sum, y, m, n, token, wide);
}
