// K17: Y[m,n] = X[m,k] · W[n,k]ᵀ of e4m3 or of e5m2 with fp32 results, so that the error of the accumulator is seen and no rounding.
// k is a multiple of 16. sm_89 and sm_12x multiply fp8; sm_90 and sm_10x convert to fp16 first, theirs being other instructions.
#include "tensor.cuh"

BY_WARPS_EIGHT(gemm_e4m3, u8, float, E4m3, k)
BY_WARPS_SLICED(gemm_e4m3, u8, float, E4m3, k)
BY_WARPS_EIGHT(gemm_e5m2, u8, float, E5m2, k)
