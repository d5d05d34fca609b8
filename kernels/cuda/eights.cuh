// Eight neighbouring numbers at a time, whatever their storage.
#pragma once

#include "common.cuh"

// From and to 16-byte aligned memory.
__device__ __forceinline__ void load8(const float* from, float* to) {
    float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
    to[0] = low.x; to[1] = low.y; to[2] = low.z; to[3] = low.w;
    to[4] = high.x; to[5] = high.y; to[6] = high.z; to[7] = high.w;
}
template <typename T> __device__ __forceinline__ void load8(const T* from, float* to) {
    uint4 raw = *reinterpret_cast<const uint4*>(from);
    u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        to[2 * i] = to_f32(T{u16(words[i])});
        to[2 * i + 1] = to_f32(T{u16(words[i] >> 16)});
    }
}
__device__ __forceinline__ void store8(float* to, const float* from) {
    reinterpret_cast<float4*>(to)[0] = make_float4(from[0], from[1], from[2], from[3]);
    reinterpret_cast<float4*>(to)[1] = make_float4(from[4], from[5], from[6], from[7]);
}
template <typename T> __device__ __forceinline__ void store8(T* to, const float* from) {
    u32 words[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        words[i] = u32(from_f32<T>(from[2 * i]).bits) | u32(from_f32<T>(from[2 * i + 1]).bits) << 16;
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}
