// The same for FP8. Apart from the others, because it needs a newer PTX.
#include "rate.cuh"

RATE_PRODUCT(rate_mma_fp8, float, 4, 4, 2, mma_m16n8k32_e4m3(c, a, b))
