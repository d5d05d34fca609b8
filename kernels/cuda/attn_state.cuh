// What every kernel of attention begins from.
#pragma once

#include "common.cuh"

constexpr float LOG2_E = 1.4426950408889634f;
// Below every score, and finite: what is subtracted from it is never NaN by its fault.
constexpr float LOWEST = -3.0e38f;
__device__ __forceinline__ float masked() { return float_of(0xff800000u); }

// The words of the decoder's state that attention reads; see elementwise.cu.
struct State {
    u32 token;
    u32 position;
};
