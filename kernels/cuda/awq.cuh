// K23: zero points, and fp16 all the way, as AWQ's kernels sum: what overflows and loses bits is the point of it.
#pragma once
#include "ahead.cuh"
#include "w4.cuh"

__device__ __forceinline__ u32 sub2(u32 a, u32 b) {
    u32 out;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
__device__ __forceinline__ u32 add2(u32 a, u32 b) {
    u32 out;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
__device__ __forceinline__ u32 mul2(u32 a, u32 b) {
    u32 out;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
__device__ __forceinline__ u32 fma2(u32 a, u32 b, u32 c) {
    u32 out;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
    return out;
}

// A warp for each row; 32 weights a lane at a time. A word holds eight: pairs of neighbours at bits 4i and 4i + 16.
extern "C" __global__ void __launch_bounds__(THREADS, 4) awq_f16(
    const uint4* words, const f16* scales, const u8* zeros, const u32* x, f16* y, u32 n, u32 k) {
    const u32 row = blockIdx.x * WARPS + warp_id();
    if (row >= n) return;
    const u32* a = x + u64(blockIdx.y) * (k / 2);
    u32 sum = 0;
    ahead<2>(lane_id(), k / 32, WARP, [&](u32 first, auto steps) {
        constexpr u32 STEPS = decltype(steps)::COUNT;
        uint4 raw[STEPS];
#pragma unroll
        for (u32 t = 0; t < STEPS; t++) raw[t] = load_once(words + u64(row) * (k / 32) + first + t * WARP);
#pragma unroll
        for (u32 t = 0; t < STEPS; t++) {
            const u32 i = first + t * WARP;
            const u64 group = u64(row) * (k / GROUP) + i / 4;
            u32 word[4];
            words_of(raw[t], word);
            const u32 scale = u32(scales[group].bits) * 0x00010001u;
            const u32 zero = (0x6400u + zeros[group]) * 0x00010001u;
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                u32 pair[4];
                words_of(load_shared_by_all(a + i * 16 + s * 4), pair);
#pragma unroll
                for (u32 p = 0; p < 4; p++) {
                    const u32 q = sub2(insert(word[s] >> (4 * p), 0x000f000fu, 0x64006400u), zero);
                    sum = fma2(mul2(q, scale), pair[p], sum);
                }
            }
        }
    });
    sum = add2(sum, sum >> 16 | sum << 16);
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) sum = add2(sum, shuffle_xor(sum, step));
    if (lane_id() == 0) y[u64(blockIdx.y) * n + row] = f16{u16(sum)};
}
