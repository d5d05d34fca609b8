// The FP8 product of Ada. Apart from the others, because it needs a newer PTX.
#include "gate.cuh"

GATE_M16N8(mma_fp8, float, mma_m16n8k32_e4m3)
