// Packed weights as A operands of the tensor cores, as exact integers.
#pragma once
#include "fragment.cuh"
#include "w4.cuh"

#if __CUDA_ARCH__ >= 750
// Two words are the A fragments of two steps, one of their lower and one of their higher nibbles.
template <typename T> struct Fragment;

template <> struct Fragment<f16> : Tensor<f16> {
    // Put into the mantissa of 1024 and of 64, from which that and eight are taken.
    static __device__ __forceinline__ void exact(u32 first, u32 second, u32 (&low)[4], u32 (&high)[4]) {
        const u32 word[4] = {first, first >> 8, second, second >> 8};
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(low[i]) : "r"(insert(word[i], 0x000f000fu, 0x64006400u)), "r"(0x64086408u));
            asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(high[i]) : "r"(insert(word[i], 0x00f000f0u, 0x54005400u)), "r"(0x54805480u));
        }
    }
};

#if __CUDA_ARCH__ >= 800
template <> struct Fragment<bf16> : Tensor<bf16> {
    // 1 · (136 + q) − 136, for lack of a subtraction before sm_90. The mantissa of 128 holds a nibble in one place only.
    static __device__ __forceinline__ void exact(u32 first, u32 second, u32 (&low)[4], u32 (&high)[4]) {
        const u32 word[4] = {first, first >> 8, second, second >> 8};
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            low[i] = insert(word[i], 0x000f000fu, 0x43004300u);
            high[i] = insert(i % 2 ? word[i - 1] >> 12 : word[i] >> 4, 0x000f000fu, 0x43004300u);
            asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(low[i]) : "r"(0x3f803f80u), "r"(0xc308c308u));
            asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(high[i]) : "r"(0x3f803f80u), "r"(0xc308c308u));
        }
    }
};
#endif
#endif
