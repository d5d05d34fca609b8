// Rates of single instructions; a step of a product is the same size on every architecture.
#include "rate.cuh"

RATE_SCALAR(rate_fma_f32, float, c = fmaf(c, float_of(0x3f000000u | a), float_of(b)))
RATE_SCALAR(rate_fma_f16, u32, c = fma_f16x2(a, b, c))
#if __CUDA_ARCH__ >= 610
RATE_SCALAR(rate_dp4a, u32, c = u32(dp4a(a, b, i32(c))))
#endif

#if __CUDA_ARCH__ >= 700
RATE_PRODUCT(rate_mma_m8n8k4, u32, 4, 2, 2, mma_m8n8k4(c, a[0], a[1], b[0], b[1]))
#endif

// One step is 16×8×16 for 16 bits, 16×8×32 for 8 and 16×8×64 for 4, whatever the instructions of the architecture.
#if __CUDA_ARCH__ >= 800
RATE_PRODUCT(rate_mma_f16_acc16, u32, 2, 4, 2, mma_m16n8k16_f16(c, a, b))
RATE_PRODUCT(rate_mma_f16, float, 4, 4, 2, mma_m16n8k16_f16(c, a, b))
RATE_PRODUCT(rate_mma_bf16, float, 4, 4, 2, mma_m16n8k16_bf16(c, a, b))
RATE_PRODUCT(rate_mma_int8, i32, 4, 4, 2, mma_m16n8k32_s8(c, a, b))
RATE_PRODUCT(rate_mma_int4, i32, 4, 4, 2, mma_m16n8k64_s4(c, a, b))
#elif __CUDA_ARCH__ >= 750
RATE_PRODUCT(rate_mma_f16_acc16, u32, 2, 4, 2, mma_m16n8k8_f16(c, a[0], a[1], b[0]); mma_m16n8k8_f16(c, a[2], a[3], b[1]))
RATE_PRODUCT(rate_mma_int8, i32, 4, 4, 2, mma_m8n8k16_s8(c[0], c[1], a[0], b[0]); mma_m8n8k16_s8(c[2], c[3], a[1], b[0]); mma_m8n8k16_s8(c[0], c[1], a[2], b[1]); mma_m8n8k16_s8(c[2], c[3], a[3], b[1]))
RATE_PRODUCT(rate_mma_int4, i32, 4, 4, 2, mma_m8n8k32_s4(c[0], c[1], a[0], b[0]); mma_m8n8k32_s4(c[2], c[3], a[1], b[0]); mma_m8n8k32_s4(c[0], c[1], a[2], b[1]); mma_m8n8k32_s4(c[2], c[3], a[3], b[1]))
#endif
