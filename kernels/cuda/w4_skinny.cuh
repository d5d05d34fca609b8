// Packed weights times a few tokens, unscaled: nibbles go to the tensor cores where they are, activations are fitted to them.
#pragma once
#include "fragment.cuh"
#include "w4.cuh"

#if __CUDA_ARCH__ >= 750
// Two words are the A fragments of two steps, one of their lower and one of their higher nibbles, at one instruction a register. Lower nibbles count
// sixteen times less than higher ones in place; the activations of one of the two are multiplied by what makes products of both count alike (FACTOR),
// so that one sum takes them. A nibble is q + 8: what that is too much is the same for all rows, so one product with constants (LESS) serves all tiles
// of rows, and is what their sums begin with.
//
// A token whose activations leave the range of their format by FACTOR has sums that are no numbers. It is then computed again with all of its activations
// SMALL times as large; what they lose is below 2⁻³² of the largest, less than fp32 sums lose.
template <typename T> struct Skinny;

// A nibble alone is a subnormal binary16, exact in a product: (q + 8) · 2⁻²⁴ lower, (q + 8) · 2⁻²⁰ four bits higher. A nibble in the mantissa of 1024
// would spare the factor, and take seven bits of fp32 for what is subtracted again.
template <> struct Skinny<f16> : Tensor<f16> {
    // Which of a register pair is multiplied, lower or higher, by 16.
    static constexpr u32 FITTED = 0, FACTOR = 0x4c004c00u;
    static constexpr u32 LESS[2] = {0x80088008u, 0x80808080u};
    static constexpr u32 MAGIC = 0;
    // What results are too small by, and by how much more where activations were made small: 1/16.
    static constexpr float UNIT = 1048576.0f, MORE = 16.0f;
    static constexpr u32 ONE = 0x3c003c00u, SMALL = 0x2c002c00u;
    // The least of a magnitude, as bits, that the factor leads out of the range.
    static constexpr u32 MOST = 0x6c00u;

    static __device__ __forceinline__ u32 times(u32 pair, u32 factor) {
        u32 out;
        asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(pair), "r"(factor));
        return out;
    }
};

#if __CUDA_ARCH__ >= 800
// Higher nibbles are (q + 8) · 2⁻¹²⁹, where bfloat16 counts evenly from zero through its first exponent; activations of theirs are 2⁹⁶ as large. Lower ones
// are put into the mantissa of 2⁻²⁶, whose last place is 2⁻³³.
template <> struct Skinny<bf16> : Tensor<bf16> {
    static constexpr u32 FITTED = 1, FACTOR = 0x6f806f80u;
    static constexpr u32 LESS[2] = {0xb288b288u, 0x80808080u};
    static constexpr u32 MAGIC = 0x32803280u;
    static constexpr float UNIT = 8589934592.0f, MORE = 79228162514264337593543950336.0f;
    static constexpr u32 ONE = 0x3f803f80u, SMALL = 0x0f800f80u;
    static constexpr u32 MOST = 0x4f80u;

    static __device__ __forceinline__ u32 times(u32 pair, u32 factor) {
        u32 out;
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(pair), "r"(factor), "r"(0x80008000u));
        return out;
    }
};
#endif

// Pair p of a lane's activations, in their order, as the nibbles want it.
template <typename T> __device__ __forceinline__ u32 fitted(u32 pair, u32 p) {
    return p / 2 % 2 == Skinny<T>::FITTED ? Skinny<T>::times(pair, Skinny<T>::FACTOR) : pair;
}

// The A fragments of two words.
template <typename T> __device__ __forceinline__ void nibbles(u32 first, u32 second, u32 magic, u32 (&low)[4], u32 (&high)[4]) {
    const u32 word[4] = {first, first >> 8, second, second >> 8};
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        low[i] = Skinny<T>::MAGIC ? insert(word[i], 0x000f000fu, magic) : word[i] & 0x000f000fu;
        high[i] = word[i] & 0x00f000f0u;
    }
}
#endif
