// The FP8 instructions of Ada. Apart from the others, because they need a newer PTX.
#include "gate.cuh"

GATE_M16N8(mma_fp8, float, mma_m16n8k32_e4m3)

extern "C" __global__ void cvt_e4m3(const u32* in, u32* out) {
    u32 w[2];
    take(w, in);
    u16 pair;
    asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(float_of(w[1])), "f"(float_of(w[0])));
    u32 d[1] = {pair};
    give(out, d);
}
