// K15, K16: Y[m,n] = X[m,k] · W[n,k]ᵀ of integers, exact in 32 bits (and wrapping beyond). k is a multiple of 16 for 8-bit
// integers, of 32 for 4-bit ones, of which a byte holds two, the lower half first.
// Below sm_75 four 8-bit products are one dp4a and 4-bit ones do not exist. From sm_90 on the 4-bit instruction is made of 8-bit ones.
#if __CUDA_ARCH__ >= 750
#include "tensor.cuh"

BY_WARPS(gemm_s8, i8, i32, S8, k)
BY_WARPS_FEW(gemm_s4, i8, i32, S4, k / 2)
#if __CUDA_ARCH__ < 900
BY_WARPS_WIDE(gemm_s4, i8, i32, S4, k / 2)
#endif
#else
#include "simt.cuh"

BY_THREADS(gemm_s8, i8, i32, Dp4a, k)
BY_THREADS_BROAD(gemm_s8, i8, i32, Dp4a, k)
#endif
