// What every gate does: one warp, lane l reads its words behind each other at in[l·N] and writes what came out at out[l·M]. Which element
// a word holds is the instruction's own layout; the host knows it.
#pragma once

#include "mma.cuh"

template <u32 N> __device__ __forceinline__ void take(u32 (&words)[N], const u32* in) {
#pragma unroll
    for (u32 i = 0; i < N; i++) words[i] = in[lane_id() * N + i];
}
template <u32 N> __device__ __forceinline__ void give(u32* out, const u32 (&words)[N]) {
#pragma unroll
    for (u32 i = 0; i < N; i++) out[lane_id() * N + i] = words[i];
}
template <u32 N> __device__ __forceinline__ void give(u32* out, const float (&values)[N]) {
#pragma unroll
    for (u32 i = 0; i < N; i++) out[lane_id() * N + i] = bits_of(values[i]);
}
template <u32 N> __device__ __forceinline__ void give(u32* out, const i32 (&values)[N]) {
#pragma unroll
    for (u32 i = 0; i < N; i++) out[lane_id() * N + i] = u32(values[i]);
}

// A product of 16×8: four words of A, two of B.
#define GATE_M16N8(NAME, TYPE, MMA)                                 \
    extern "C" __global__ void NAME(const u32* in, u32* out) {      \
        u32 w[6];                                                   \
        take(w, in);                                                \
        u32 a[4] = {w[0], w[1], w[2], w[3]}, b[2] = {w[4], w[5]};   \
        TYPE d[4] = {};                                             \
        MMA(d, a, b);                                               \
        give(out, d);                                               \
    }

// No instruction in particular: whether an image loads and runs at all. In every image of gates.
extern "C" __global__ void echo(const u32* in, u32* out) { out[lane_id()] = in[lane_id()] ^ 0xffffffffu; }
