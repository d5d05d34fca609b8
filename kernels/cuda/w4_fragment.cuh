// Packed weights as A operands of the tensor cores.
#pragma once
#include "fragment.cuh"
#include "w4.cuh"

#if __CUDA_ARCH__ >= 750
// Two words are the A fragments of two steps, one of their lower and one of their higher nibbles. A nibble q + 8 costs one instruction; what it is
// too large by is the same for all rows, so one product with a constant A (`LESS`) serves all tiles of rows: what the sums of higher nibbles begin
// with.
template <typename T> struct Fragment;

// A nibble alone is a subnormal binary16, exact in a product: (q + 8) · 2⁻²⁴ lowest, (q + 8) · 2⁻²⁰ four bits higher. The two are summed apart.
// A nibble in the mantissa of 1024 would spare one of the sums, and take seven bits of fp32 for what is subtracted again.
template <> struct Fragment<f16> : Tensor<f16> {
    static constexpr u32 LESS = 0x80808080u;
    static constexpr u32 SUMS = 2;
    // What results are too small by.
    static constexpr float UNIT = 1048576.0f;

    static __device__ __forceinline__ void weights(u32 first, u32 second, u32 (&low)[4], u32 (&high)[4]) {
        const u32 word[4] = {first, first >> 8, second, second >> 8};
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            low[i] = word[i] & 0x000f000fu;
            high[i] = word[i] & 0x00f000f0u;
        }
    }
    static __device__ __forceinline__ float joined(float low, float high) { return 16.0f * low + high; }
    // q itself: put into the mantissa of 1024 and of 64, from which that and eight are taken.
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
// Products with subnormal bfloat16 would be subnormal themselves: nibbles are put into the mantissa of 128, which holds them in one place only.
template <> struct Fragment<bf16> : Tensor<bf16> {
    // 136 = 128 + 8.
    static constexpr u32 LESS = 0xc308c308u;
    static constexpr u32 SUMS = 1;
    static constexpr float UNIT = 1.0f;

    static __device__ __forceinline__ void weights(u32 first, u32 second, u32 (&low)[4], u32 (&high)[4]) {
        const u32 word[4] = {first, first >> 8, second, second >> 8};
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            low[i] = insert(word[i], 0x000f000fu, 0x43004300u);
            high[i] = insert(i % 2 ? word[i - 1] >> 12 : word[i] >> 4, 0x000f000fu, 0x43004300u);
        }
    }
    // q itself: 1 · (136 + q) − 136, for lack of a subtraction before sm_90.
    static __device__ __forceinline__ void exact(u32 first, u32 second, u32 (&low)[4], u32 (&high)[4]) {
        weights(first, second, low, high);
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(low[i]) : "r"(0x3f803f80u), "r"(LESS));
            asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(high[i]) : "r"(0x3f803f80u), "r"(LESS));
        }
    }
};
#endif
#endif
