// K20 of one token in a chain of launches: what is between the products is in them.
// Classes: 60, 80 (loads that pass by the first-level cache, bf16 rounding by instruction), 90 (starts early).
#include "ahead.cuh"
#include "prologue.cuh"

// Rows of a warp, and threads of a block.
constexpr u32 ROWS = 4;
constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / WARP;
// Of a warp's part of its rows, how often 512 bytes of each are asked for before they are needed.
#if __CUDA_ARCH__ >= 900
constexpr u32 FETCHED = 2;
#else
constexpr u32 FETCHED = 1;
#endif

// The rows of a warp: neighbours, or pairs of a gate and what goes through it, n rows apart.
template <typename T> struct Share {
    const T* rows[ROWS];

    __device__ __forceinline__ Share(const T* w, u32 first, u32 n, u32 k, u32 pairs) {
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) rows[r] = w + u64(min(first + (r >> pairs), n - 1) + (r & pairs) * n) * k;
    }
    __device__ __forceinline__ void fetch_first(u32 vector, u32 stride, u32 vectors) const {
#pragma unroll
        for (u32 i = 0; i < FETCHED; i++)
            if (vector + i * stride < vectors) {
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) fetch(rows[r] + (vector + i * stride) * WIDE<T>);
            }
    }
};

// As many blocks as fit, each with the row once; `split` warps share four rows at a time, every split-th 512 bytes of them.
template <typename T>
__device__ __forceinline__ void product(const T* w, const Row<T>& row, void* y, u32 n, u32 split, u32 kept) {
    extern __shared__ uint4 staged[];
    // Twice, so that a turn is stored while the next is summed.
    __shared__ float parts[2][WARPS][ROWS];
    constexpr u32 V = WIDE<T>;
    const u32 k = row.width, vectors = k / V, stride = split * WARP, vector = warp_id() % split * WARP + lane_id();
    const u32 pairs = kept == GATED, each = ROWS >> pairs, turn = WARPS / split * each, apart = gridDim.x * turn;
    const u32 mine = warp_id() / split * each;
    Share<T>(w, blockIdx.x * turn + mine, n, k, pairs).fetch_first(vector, stride, vectors);
    stage<2>(row, staged);
    u32 half = 0;
    for (u32 first = blockIdx.x * turn; first < n; first += apart, half ^= 1) {
        const Share<T> share(w, first + mine, n, k, pairs);
        if (first + apart < n) Share<T>(w, first + apart + mine, n, k, pairs).fetch_first(vector, stride, vectors);
        float sum[ROWS] = {};
        ahead<2>(vector, vectors, stride, [&](u32 i, auto steps) {
            constexpr u32 STEPS = decltype(steps)::COUNT;
            uint4 raw[STEPS][ROWS];
#pragma unroll
            for (u32 s = 0; s < STEPS; s++)
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) raw[s][r] = load_once(share.rows[r] + (i + s * stride) * V);
#pragma unroll
            for (u32 s = 0; s < STEPS; s++) {
                float a[V];
                widen<T>(staged[i + s * stride], a);
#pragma unroll
                for (u32 r = 0; r < ROWS; r++) {
                    float b[V];
                    widen<T>(raw[s][r], b);
#pragma unroll
                    for (u32 v = 0; v < V; v++) sum[r] += a[v] * b[v];
                }
            }
        });
#pragma unroll
        for (u32 r = 0; r < ROWS; r++) {
            const float all = warp_sum(sum[r]);
            if (lane_id() == 0) parts[half][warp_id()][r] = all;
        }
        __syncthreads();
        if (threadIdx.x < turn && first + threadIdx.x < n) {
            const u32 warp = threadIdx.x / each * split, r = threadIdx.x % each << pairs;
            float all = 0.0f, up = 0.0f;
            for (u32 s = 0; s < split; s++) {
                all += parts[half][warp + s][r];
                up += parts[half][warp + s][r + pairs];
            }
            keep<T>(y, first + threadIdx.x, all, up, kept);
        }
    }
}

#define GEMV_TOKEN(name, T)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, 3) name(const T* w, ROW(T), u32 split, LATER) {                   \
        product<T>(w, MADE(T), y, n, split, kept);                                                                    \
    }
GEMV_TOKEN(gemv_token_f16, f16)
GEMV_TOKEN(gemv_token_bf16, bf16)
GEMV_TOKEN(gemv_token_f32, float)
