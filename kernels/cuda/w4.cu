// K21, K23, K26: products with 4-bit weights, and what becomes of them elsewhere.
// Classes: 60; 61 (dp4a); 75 (m16n8k8); 80 (m16n8k16, bf16).
#include "awq.cuh"
#include "w4_dense.cuh"
#include "w4_mma.cuh"
#include "w4_simt.cuh"
#include "w4a8.cuh"

#define W4(name, T, bounds, ...)                                                                                      \
    extern "C" __global__ void __launch_bounds__ bounds name(                                                         \
        const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {                  \
        __VA_ARGS__(words, scales, x, y, m, n, k, wide);                                                              \
    }

#define W4_SIMT(name, T) W4(name##_m1, T, (THREADS, 2), simt<1>) W4(name##_m4, T, (THREADS, 2), simt<4>)
// Where tensor cores take a format, nothing else is launched.
#if __CUDA_ARCH__ < 750
W4_SIMT(w4_simt_f16, f16)
#endif
#if __CUDA_ARCH__ < 800
W4_SIMT(w4_simt_bf16, bf16)
#endif

#define W4_MMA(name, T)                                                                                               \
    W4(name##_m4_r16, T, (MOST_THREADS), mma<1, 4>)                                                                   \
    W4(name##_m8_r32, T, (THREADS_R32), mma<2, 8>)                                                                    \
    W4(name##_m16_r32, T, (THREADS_M16), mma<2, 16>)                                                                  \
    W4(name##_m16_r64, T, (THREADS_M16), mma<4, 16>)
#if __CUDA_ARCH__ >= 750
W4_MMA(w4_mma_f16, f16)
#endif
#if __CUDA_ARCH__ >= 800
W4_MMA(w4_mma_bf16, bf16)
#endif
