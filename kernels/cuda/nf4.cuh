// NF4: two codes a byte, the first in the high half, an fp32 maximum for each 64.
#pragma once
#include "stream.cuh"

constexpr u32 WARPS = 8;
constexpr u32 THREADS = WARPS * WARP;
constexpr u32 BLOCK = 64;
// Quantiles of a normal distribution (QLoRA, arXiv 2305.14314; the digits of bitsandbytes).
template <u32 CODE> __device__ constexpr float nf4() {
    constexpr float VALUES[16] = {
        -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
        -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
        0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
        0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};
    return VALUES[CODE];
}
template <u32 CODE = 15> __device__ __forceinline__ float nf4(u32 code) {
    if constexpr (CODE == 0) return nf4<0>();
    else return code == CODE ? nf4<CODE>() : nf4<CODE - 1>(code);
}
