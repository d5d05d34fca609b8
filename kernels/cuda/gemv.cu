// K20: y[m, n] = x[m, k] · W[n, k]ᵀ for one to eight tokens, fp32 accumulation.
// Classes: 60, 80 (loads that pass by the first-level cache, bf16 rounding by instruction, m16n8k16).
#include "ahead.cuh"

// Rows of a warp, and threads of a block.
constexpr u32 ROWS = 4;
constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / WARP;

#include "gemv_mma.cuh"

// `split` warps share four rows and take every split-th 512 bytes of them. `tile` columns of x are in shared memory at a
// time, a multiple of 16 bytes.
template <typename T, u32 M>
__device__ __forceinline__ void gemv(
    const T* w, const T* x, void* y, u32 m, u32 n, u32 k, u32 split, u32 tile, u32 wide) {
    extern __shared__ uint4 staged[];
    __shared__ float parts[WARPS][ROWS * M];
    constexpr u32 V = WIDE<T>;
    const u32 first = (blockIdx.x * (WARPS / split) + warp_id() / split) * ROWS;
    const T* rows[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) rows[r] = w + u64(min(first + r, n - 1)) * k;
    float sum[ROWS][M] = {};
    for (u32 base = 0; base < k; base += tile) {
        const u32 columns = min(tile, k - base);
        const u32 vectors = columns / V;
        for (u32 i = threadIdx.x; i < vectors; i += THREADS) {
#pragma unroll
            for (u32 j = 0; j < M; j++)
                staged[j * (tile / V) + i] = load_shared_by_all(x + u64(min(j, m - 1)) * k + base + i * V);
        }
        __syncthreads();
        const u32 stride = split * WARP;
        ahead<M <= 2 ? 2 : 1>((warp_id() % split) * WARP + lane_id(), vectors, stride, [&](u32 i, auto steps) {
            constexpr u32 STEPS = decltype(steps)::COUNT;
            uint4 raw[STEPS][ROWS];
#pragma unroll
            for (u32 s = 0; s < STEPS; s++)
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) raw[s][r] = load_once(rows[r] + base + (i + s * stride) * V);
#pragma unroll
            for (u32 s = 0; s < STEPS; s++) {
                float a[M][V];
#pragma unroll
                for (u32 j = 0; j < M; j++) widen<T>(staged[j * (tile / V) + i + s * stride], a[j]);
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) {
                    float b[V];
                    widen<T>(raw[s][r], b);
#pragma unroll
                    for (u32 j = 0; j < M; j++)
#pragma unroll
                        for (u32 v = 0; v < V; v++) sum[r][j] += a[j][v] * b[v];
                }
            }
        });
        __syncthreads();
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; r++)
#pragma unroll
        for (u32 j = 0; j < M; j++) {
            float all = warp_sum(sum[r][j]);
            if (lane_id() == 0) parts[warp_id()][r * M + j] = all;
        }
    __syncthreads();
    for (u32 i = threadIdx.x; i < WARPS / split * ROWS * M; i += THREADS) {
        const u32 group = i / (ROWS * M), r = i % (ROWS * M) / M, j = i % M;
        const u32 row = (blockIdx.x * (WARPS / split) + group) * ROWS + r;
        float all = 0.0f;
        for (u32 s = 0; s < split; s++) all += parts[group * split + s][r * M + j];
        if (row < n && j < m) put<T>(y, u64(j) * n + row, all, wide);
    }
}

#define GEMV(name, T, M)                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(                                                    \
        const T* w, const T* x, void* y, u32 m, u32 n, u32 k, u32 split, u32 tile, u32 wide) {                        \
        gemv<T, M>(w, x, y, m, n, k, split, tile, wide);                                                              \
    }
#define GEMV_FEW(name, T) GEMV(name##_m1, T, 1) GEMV(name##_m2, T, 2)
#define GEMV_MORE(name, T) GEMV(name##_m4, T, 4) GEMV(name##_m8, T, 8)

GEMV_FEW(gemv_f16, f16)
GEMV_FEW(gemv_bf16, bf16)
GEMV_FEW(gemv_f32, float)
GEMV_MORE(gemv_f32, float)
// Where tensor cores take a format, more than two tokens are theirs.
#if __CUDA_ARCH__ < 800
GEMV_MORE(gemv_f16, f16)
GEMV_MORE(gemv_bf16, bf16)
#endif

#if __CUDA_ARCH__ >= 800
#define GEMV_MMA(name, T)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(const T* w, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) { \
        mma(w, x, y, m, n, k, wide);                                                                                  \
    }
GEMV_MMA(gemv_mma_f16, f16)
GEMV_MMA(gemv_mma_bf16, bf16)
#endif
