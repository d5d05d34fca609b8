// K10 to K14: Y[m,n] = X[m,k] · W[n,k]ᵀ in floating point, all row-major. k is a multiple of 8, with fp32 any.
// A tensor-core generation has its own instruction; what a class lacks is done in fp32, one product at a time.
#include "simt.cuh"

#if __CUDA_ARCH__ >= 700
#include "tensor.cuh"
#else
using F16 = Fp32<f16>;
using F16Acc16 = Fp16;
#endif
#if __CUDA_ARCH__ < 800
using Bf16 = Fp32<bf16>;
#endif
using F32 = Fp32<float>;
// Rows need not begin at 16 bytes: one number a load.
using F32Ragged = Fp32<float, float>;

// The sums of one tile in fp16 cannot be added up by slices of k: they would be rounded in another order than one after another.
#if __CUDA_ARCH__ >= 700
BY_WARPS(gemm_f16, f16, f16, F16, 2 * k)
BY_WARPS_DEALT(gemm_f16, f16, f16, F16, 2 * k)
BY_WARPS_FEW(gemm_f16_out32, f16, float, F16, 2 * k)
BY_WARPS_SLICED(gemm_f16_out32, f16, float, F16, 2 * k)
BY_WARPS_WIDE(gemm_f16_acc16, f16, f16, F16Acc16, 2 * k)
BY_WARPS_FEW(gemm_f16_acc16, f16, f16, F16Acc16, 2 * k)
#else
BY_THREADS(gemm_f16, f16, f16, F16, 2 * k)
BY_THREADS(gemm_f16_out32, f16, float, F16, 2 * k)
BY_THREADS(gemm_f16_acc16, f16, f16, F16Acc16, 2 * k)
#endif
#if __CUDA_ARCH__ >= 800
BY_WARPS(gemm_bf16, bf16, bf16, Bf16, 2 * k)
BY_WARPS_DEALT(gemm_bf16, bf16, bf16, Bf16, 2 * k)
BY_WARPS_FEW(gemm_bf16_out32, bf16, float, Bf16, 2 * k)
BY_WARPS_SLICED(gemm_bf16_out32, bf16, float, Bf16, 2 * k)
BY_WARPS_WIDE(gemm_tf32, float, float, Tf32, 4 * k)
BY_WARPS_FEW(gemm_tf32, float, float, Tf32, 4 * k)
#else
BY_THREADS(gemm_bf16, bf16, bf16, Bf16, 2 * k)
BY_THREADS(gemm_bf16_out32, bf16, float, Bf16, 2 * k)
#endif
BY_THREADS(gemm_f32, float, float, F32, 4 * k)
BY_THREADS_BROAD(gemm_f32, float, float, F32, 4 * k)
PRODUCT(gemm_f32_64x64r, Small, float, float, F32Ragged, 4 * k)
