// How often a second an instruction runs: eight independent chains of it in registers, none of which is ever finished. Compared with
// each other on one device, the rates tell what is in the hardware from what is put together of other instructions.
#pragma once

#include "mma.cuh"

constexpr u32 CHAINS = 8;

// A chain starts from what differs between lanes, so that nothing is known to the compiler.
__device__ __forceinline__ u32 seed(u32 at) { return u32(mix(at * 4096 + threadIdx.x + 1)) & 0x3bff3bffu; }
__device__ __forceinline__ void keep(u32* out, u32 word) {
    if (word == 0x9e3779b9u) out[threadIdx.x] = word;
}

#define RATE_SCALAR(NAME, TYPE, STEP)                                                \
    extern "C" __global__ void NAME(u32* out, u32 rounds) {                          \
        TYPE chain[CHAINS];                                                          \
        const u32 a = seed(CHAINS), b = seed(CHAINS + 1);                            \
        for (u32 i = 0; i < CHAINS; i++) chain[i] = TYPE(seed(i));                   \
        _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++) {           \
            _Pragma("unroll") for (u32 i = 0; i < 4 * CHAINS; i++) { TYPE& c = chain[i % CHAINS]; STEP; } \
        }                                                                            \
        u32 all = 0;                                                                 \
        for (u32 i = 0; i < CHAINS; i++) all ^= u32(chain[i]);                       \
        keep(out, all);                                                              \
    }

// A product per chain: TYPE of the accumulators, WORDS of them, A and B words of the operands.
#define RATE_PRODUCT(NAME, TYPE, WORDS, A, B, STEP)                                  \
    extern "C" __global__ void NAME(u32* out, u32 rounds) {                          \
        TYPE chain[CHAINS][WORDS];                                                   \
        u32 a[A], b[B];                                                              \
        for (u32 i = 0; i < A; i++) a[i] = seed(i);                                  \
        for (u32 i = 0; i < B; i++) b[i] = seed(A + i);                              \
        for (u32 i = 0; i < CHAINS; i++)                                             \
            for (u32 j = 0; j < WORDS; j++) chain[i][j] = TYPE(seed(16 + WORDS * i + j)); \
        _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++) {           \
            _Pragma("unroll") for (u32 i = 0; i < CHAINS; i++) { auto& c = chain[i]; STEP; } \
        }                                                                            \
        u32 all = 0;                                                                 \
        for (u32 i = 0; i < CHAINS; i++)                                             \
            for (u32 j = 0; j < WORDS; j++) all ^= u32(chain[i][j]);                 \
        keep(out, all);                                                              \
    }
