// Packed weights as A operands of the tensor cores.
#pragma once
#include "w4.cuh"

// Two words are the A fragments of two steps, one of their lower and one of their higher nibbles. A nibble q + 8 costs one instruction; what it is
// too large by is the same for all rows, so one product with a constant A (`LESS`) serves all tiles of rows: what the sums of higher nibbles begin
// with.
template <typename T> struct Fragment;

// A nibble alone is a subnormal binary16, exact in a product: (q + 8) · 2⁻²⁴ lowest, (q + 8) · 2⁻²⁰ four bits higher. The two are summed apart.
// A nibble in the mantissa of 1024 would spare one of the sums, and take seven bits of fp32 for what is subtracted again.
template <> struct Fragment<f16> {
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
    // d = a·b + c.
    static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1, const float (&c)[4]) {
#if __CUDA_ARCH__ >= 800
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
        mma_half(d, a[0], a[1], b0, c);
        mma_half(d, a[2], a[3], b1, d);
#endif
    }
    static __device__ __forceinline__ void mma_half(float (&d)[4], u32 a0, u32 a1, u32 b, const float (&c)[4]) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a0), "r"(a1), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    }
};

#if __CUDA_ARCH__ >= 800
// Products with subnormal bfloat16 would be subnormal themselves: nibbles are put into the mantissa of 128, which holds them in one place only.
template <> struct Fragment<bf16> {
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
    static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1, const float (&c)[4]) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    }
};
#endif
