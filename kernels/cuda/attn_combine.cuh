// How the parts of one query become its result.
#pragma once

#include "attn.cuh"

constexpr u32 DECODE_THREADS = 128;
// Behind the sums of a part: maximum, total, and two words that keep the sums at 16 bytes.
constexpr u32 RECORD_TAIL = 4;

// Past the first-level cache: other blocks wrote it.
template <typename V> __device__ __forceinline__ V load_fresh(const V* from);
template <> __device__ __forceinline__ float load_fresh(const float* from) {
    float x;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(__cvta_generic_to_global(from)) : "memory");
    return x;
}
template <> __device__ __forceinline__ float2 load_fresh(const float2* from) {
    float2 x;
    asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "l"(__cvta_generic_to_global(from)) : "memory");
    return x;
}

// Two neighbouring numbers.
__device__ __forceinline__ void store2(float* to, float x, float y) { *reinterpret_cast<float2*>(to) = make_float2(x, y); }
template <typename T> __device__ __forceinline__ void store2(T* to, float x, float y) {
    *reinterpret_cast<u32*>(to) = u32(from_f32<T>(x).bits) | u32(from_f32<T>(y).bits) << 16;
}

// The parts of one head become its result, by one warp, in the order of the pieces whatever ended first. Maxima are in powers of two.
template <typename T, u32 HEAD>
__device__ __forceinline__ void combine(const float* parts, T* out, u32 splits) {
    constexpr u32 RECORD = HEAD + RECORD_TAIL, PAIRS = HEAD / 64;
    // Each lane has the maximum and the total of one part of 32.
    const auto tail_of = [&](u32 i) {
        return i < splits ? load_fresh(reinterpret_cast<const float2*>(parts + i * RECORD + HEAD)) : make_float2(LOWEST, 0.0f);
    };
    float2 tail = tail_of(lane_id());
    float high = tail.x, total = 0.0f;
    for (u32 i = lane_id() + WARP; i < splits; i += WARP) high = fmaxf(high, load_fresh(parts + i * RECORD + HEAD));
    high = warp_max(high);
    float2 sum[PAIRS] = {};
    for (u32 base = 0; base < splits; base += WARP) {
        if (base > 0) tail = tail_of(base + lane_id());
        const float mine = exp2_approx(tail.x - high);
        total = fmaf(tail.y, mine, total);
        const u32 count = min(WARP, splits - base);
#pragma unroll 8
        for (u32 i = 0; i < count; i++) {
            const float2* part = reinterpret_cast<const float2*>(parts + (base + i) * RECORD);
            const float factor = __shfl_sync(ALL, mine, i);
#pragma unroll
            for (u32 p = 0; p < PAIRS; p++) {
                float2 x = load_fresh(part + p * WARP + lane_id());
                sum[p].x = fmaf(x.x, factor, sum[p].x);
                sum[p].y = fmaf(x.y, factor, sum[p].y);
            }
        }
    }
    total = warp_sum(total);
#pragma unroll
    for (u32 p = 0; p < PAIRS; p++) store2(out + 2 * (p * WARP + lane_id()), sum[p].x / total, sum[p].y / total);
}
