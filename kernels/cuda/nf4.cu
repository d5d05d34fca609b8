// K24, K25: NF4 weights, two codes a byte (the first in the high half), an fp32 maximum for each 64.
// Classes: 60; 75 (m16n8k8); 80 (m16n8k16, bf16).
#include "nf4_mma.cuh"

// Rows of a warp.
constexpr u32 ROWS = 2;
// Weights in 16 bytes.
constexpr u32 LANE = 32;
// Copies of the table of pairs: one for each of the lanes that a 64-bit load from shared memory serves at once.
constexpr u32 COPIES = 16;
constexpr u32 PAIRS = 256;
// 16-byte vectors of activations in shared memory, and the one that is left free behind every four: without it lanes
// that read 64 bytes apart would meet in the same banks.
constexpr u32 VECTORS = 512;
__device__ __forceinline__ u32 spread(u32 vector) { return vector + vector / 4; }

// The pair of every byte, COPIES times; thread i of 256 writes the pairs whose second code is i / 16.
template <u32 FIRST = 0> __device__ __forceinline__ void fill(float2* table, float second) {
    table[FIRST * THREADS + threadIdx.x] = float2{nf4<FIRST>(), second};
    if constexpr (FIRST < 15) fill<FIRST + 1>(table, second);
}

// The pair of byte AT of a word.
template <u32 AT> __device__ __forceinline__ float2 pair(const float2* table, u32 word, u32 copy) {
    const u32 byte = AT == 0 ? word << 4 : word >> (8 * AT - 4);
    return table[(byte & (PAIRS - 1) * COPIES) | copy];
}

// Activations of M tokens from column `base` on; what is behind the last column is not read.
template <u32 M, typename T>
__device__ __forceinline__ void stage(uint4* staged, const T* x, u32 token, u32 m, u32 k, u32 base, u32 vectors) {
    for (u32 i = threadIdx.x; i < vectors; i += THREADS) {
#pragma unroll
        for (u32 j = 0; j < M; j++)
            staged[j * spread(VECTORS / M) + spread(i)] = load_shared_by_all(x + u64(min(token + j, m - 1)) * k + base + i * WIDE<T>);
    }
}

template <u32 M, typename T>
__device__ __forceinline__ void gemv(
    const u8* codes, const float* maxima, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    constexpr u32 TILE = VECTORS / M * WIDE<T>;
    __shared__ float2 table[PAIRS * COPIES];
    __shared__ uint4 staged[VECTORS / 4 * 5];
    fill(table, nf4(threadIdx.x / COPIES));
    const u32 copy = lane_id() % COPIES, token = blockIdx.y * M;
    for (u32 first = blockIdx.x * (WARPS * ROWS); first < n; first += gridDim.x * (WARPS * ROWS)) {
        const u32 row = first + warp_id() * ROWS;
        float sum[ROWS][M] = {};
        for (u32 base = 0; base < k; base += TILE) {
            const u32 columns = min(TILE, k - base);
            __syncthreads();
            stage<M>(staged, x, token, m, k, base, columns / WIDE<T>);
            __syncthreads();
#pragma unroll (M == 1 ? 2 : 1)
            for (u32 i = lane_id(); i < columns / LANE; i += WARP) {
                uint4 raw[ROWS];
                float maximum[ROWS];
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) {
                    const u64 at = u64(min(row + r, n - 1)) * k + base + i * LANE;
                    raw[r] = load_once(codes + at / 2);
                    maximum[r] = maxima[at / BLOCK];
                }
                float part[ROWS][M] = {};
#pragma unroll
                for (u32 s = 0; s < 4; s++) {
                    float a[M][8];
#pragma unroll
                    for (u32 j = 0; j < M; j++) widen<T>(staged[j * spread(VECTORS / M) + i * 5 + s], a[j]);
#pragma unroll
                    for (u32 r = 0; r < ROWS; r++) {
                        const u32 word = s == 0 ? raw[r].x : s == 1 ? raw[r].y : s == 2 ? raw[r].z : raw[r].w;
                        const float2 b[4] = {pair<0>(table, word, copy), pair<1>(table, word, copy), pair<2>(table, word, copy), pair<3>(table, word, copy)};
#pragma unroll
                        for (u32 j = 0; j < M; j++)
#pragma unroll
                            for (u32 p = 0; p < 4; p++) part[r][j] += a[j][2 * p] * b[p].x + a[j][2 * p + 1] * b[p].y;
                    }
                }
#pragma unroll
                for (u32 r = 0; r < ROWS; r++)
#pragma unroll
                    for (u32 j = 0; j < M; j++) sum[r][j] += maximum[r] * part[r][j];
            }
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; r++)
#pragma unroll
            for (u32 j = 0; j < M; j++) {
                const float all = warp_sum(sum[r][j]);
                if (lane_id() == 0 && row + r < n && token + j < m) put<T>(y, u64(token + j) * n + row + r, all, wide);
            }
    }
}

#define NF4(name, M, T)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(                                                    \
        const u8* codes, const float* maxima, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {                   \
        gemv<M>(codes, maxima, x, y, m, n, k, wide);                                                                  \
    }
#define NF4_TOKENS(name, T) NF4(name##_m1, 1, T) NF4(name##_m4, 4, T)
NF4_TOKENS(nf4_f16, f16)
NF4_TOKENS(nf4_bf16, bf16)

#if __CUDA_ARCH__ >= 750
#define NF4_MMA(name, M, T)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(                                                    \
        const u8* codes, const float* maxima, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {                   \
        mma<M>(codes, maxima, x, y, m, n, k, wide);                                                               \
    }
NF4_MMA(nf4_mma_f16_m4, 4, f16)
NF4_MMA(nf4_mma_f16_m8, 8, f16)
#endif
#if __CUDA_ARCH__ >= 800
NF4_MMA(nf4_mma_bf16_m4, 4, bf16)
NF4_MMA(nf4_mma_bf16_m8, 8, bf16)
#endif

// Eight weights a thread; the table once for each lane.
template <typename T> __device__ __forceinline__ void dequantize(const u32* codes, const float* maxima, uint4* to, u32 words) {
    __shared__ float table[16 * WARP];
    for (u32 i = threadIdx.x; i < 16 * WARP; i += THREADS) table[i] = nf4(i / WARP);
    __syncthreads();
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= words) return;
    const u32 word = codes[i];
    const float maximum = maxima[i / (BLOCK / 8)];
    u32 out[4];
#pragma unroll
    for (u32 byte = 0; byte < 4; byte++) {
        const float first = table[(word >> (8 * byte + 4) & 15) * WARP + lane_id()];
        const float second = table[(word >> (8 * byte) & 15) * WARP + lane_id()];
        out[byte] = u32(from_f32<T>(__fmul_rn(first, maximum)).bits) | u32(from_f32<T>(__fmul_rn(second, maximum)).bits) << 16;
    }
    to[i] = uint4{out[0], out[1], out[2], out[3]};
}

#define NF4_DEQUANT(name, T)                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const u32* codes, const float* maxima, uint4* to, u32 words) { \
        dequantize<T>(codes, maxima, to, words);                                                                      \
    }
NF4_DEQUANT(nf4_dequant_f16, f16)
NF4_DEQUANT(nf4_dequant_bf16, bf16)
