// wgmma: products that four warps (a warpgroup) issue together and that run on while they do something else. Of sm_90a alone.
#pragma once

#include "common.cuh"

// A matrix in shared memory for wgmma: rows of 128 bytes along k, chunks of 16 bytes permuted by the row modulo 8, eight rows
// after eight rows; it begins at a multiple of 1024. Two more is 32 bytes further along k.
__device__ __forceinline__ u64 swizzled_matrix(u32 at) {
    constexpr u64 SWIZZLE_128 = u64(1) << 62, EIGHT_ROWS = u64(1024 >> 4) << 32, UNUSED = u64(1) << 16;
    return SWIZZLE_128 | EIGHT_ROWS | UNUSED | (at & 0x3ffffu) >> 4;
}

// Before the first product, and after registers of one were touched.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until all but so many groups are done.
template <u32 PENDING> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// No use of the sums moves up past this: the compiler does not know that they come later than the instruction.
template <u32 COUNT> __device__ __forceinline__ void hold(float (&d)[COUNT]) {
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}
template <u32 COUNT> __device__ __forceinline__ void hold(i32 (&d)[COUNT]) {
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) asm volatile("" : "+r"(d[i])::"memory");
}

template <u32 COUNT> __device__ __forceinline__ void hold(u32 (&d)[COUNT]) {
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) asm volatile("" : "+r"(d[i])::"memory");
}

// Registers of a thread from here on; all warps of a warpgroup say so.
template <u32 COUNT> __device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <u32 COUNT> __device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

#define WGMMA_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define WGMMA_16 WGMMA_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define WGMMA_32 WGMMA_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_64 WGMMA_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_88 WGMMA_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87"
#define WGMMA_96 WGMMA_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_128 WGMMA_96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define SUMS_8_AT(K, d, i) K(d[i]), K(d[i + 1]), K(d[i + 2]), K(d[i + 3]), K(d[i + 4]), K(d[i + 5]), K(d[i + 6]), K(d[i + 7])
#define SUMS_32_AT(K, d, i) SUMS_8_AT(K, d, i), SUMS_8_AT(K, d, i + 8), SUMS_8_AT(K, d, i + 16), SUMS_8_AT(K, d, i + 24)
#define SUMS_8(K, d) SUMS_8_AT(K, d, 0)
#define SUMS_16(K, d) SUMS_8(K, d), SUMS_8_AT(K, d, 8)
#define SUMS_32(K, d) SUMS_32_AT(K, d, 0)
#define SUMS_64(K, d) SUMS_32(K, d), SUMS_32_AT(K, d, 32)
#define SUMS_88(K, d) SUMS_64(K, d), SUMS_8_AT(K, d, 64), SUMS_8_AT(K, d, 72), SUMS_8_AT(K, d, 80)
#define SUMS_96(K, d) SUMS_88(K, d), SUMS_8_AT(K, d, 88)
#define SUMS_128(K, d) SUMS_96(K, d), SUMS_32_AT(K, d, 96)

// d = a·bᵀ + d, or without d where `keep` is 0: 64 rows by twice as many columns as a thread has sums, 32 bytes of k.
// Warp w has rows 16·w on; lane 4·g + q of it rows g and g + 8, columns 2q and 2q + 1 of every 8, four sums each.
#define WGMMA(SUM, K, SUMS, A, B, KEEP, INSTRUCTION, SCALES)                                                        \
    static __device__ __forceinline__ void multiply(SUM (&d)[SUMS], u64 a, u64 b, u32 keep) {                       \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %" KEEP ", 0; wgmma.mma_async.sync.aligned." INSTRUCTION " {"  \
                     WGMMA_##SUMS "}, %" A ", %" B ", p" SCALES "; }"                                               \
                     : SUMS_##SUMS(K, d) : "l"(a), "l"(b), "r"(keep) : "memory");                                   \
    }
#define WGMMA_N256(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 128, "128", "129", "130", INSTRUCTION, SCALES)
#define WGMMA_N192(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 96, "96", "97", "98", INSTRUCTION, SCALES)
#define WGMMA_N176(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 88, "88", "89", "90", INSTRUCTION, SCALES)
#define WGMMA_N128(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 64, "64", "65", "66", INSTRUCTION, SCALES)
#define WGMMA_N64(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 32, "32", "33", "34", INSTRUCTION, SCALES)
#define WGMMA_N32(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 16, "16", "17", "18", INSTRUCTION, SCALES)
#define WGMMA_N16(SUM, K, INSTRUCTION, SCALES) WGMMA(SUM, K, 8, "8", "9", "10", INSTRUCTION, SCALES)

// The same, with `a` in registers: four of m16n8k16 for the rows of each warp. They are read until the product is waited for.
#define WGMMA_OF_REGISTERS(SUMS, A0, A1, A2, A3, B, KEEP, INSTRUCTION)                                                         \
    static __device__ __forceinline__ void multiply(float (&d)[SUMS], const u32 (&a)[4], u64 b, u32 keep) {                    \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %" KEEP ", 0; wgmma.mma_async.sync.aligned." INSTRUCTION " {"             \
                     WGMMA_##SUMS "}, {%" A0 ",%" A1 ",%" A2 ",%" A3 "}, %" B ", p, 1, 1, 0; }"                                \
                     : SUMS_##SUMS("+f", d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep) : "memory");       \
    }
#define WGMMA_N128_OF_REGISTERS(INSTRUCTION) WGMMA_OF_REGISTERS(64, "64", "65", "66", "67", "68", "69", INSTRUCTION)
#define WGMMA_N64_OF_REGISTERS(INSTRUCTION) WGMMA_OF_REGISTERS(32, "32", "33", "34", "35", "36", "37", INSTRUCTION)

// Bytes of a number, and whether the tensor cores sum with fewer bits than fp32 has.
struct WgmmaF16 {
    using Sum = float;
    static constexpr u32 BYTES = 2;
    static constexpr bool SHORT = false;
    WGMMA_N256(float, "+f", "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0")
    WGMMA_N128(float, "+f", "m64n128k16.f32.f16.f16", ", 1, 1, 0, 0")
    WGMMA_N64(float, "+f", "m64n64k16.f32.f16.f16", ", 1, 1, 0, 0")
    WGMMA_N32(float, "+f", "m64n32k16.f32.f16.f16", ", 1, 1, 0, 0")
    WGMMA_N16(float, "+f", "m64n16k16.f32.f16.f16", ", 1, 1, 0, 0")
    WGMMA_N128_OF_REGISTERS("m64n128k16.f32.f16.f16")
    WGMMA_N64_OF_REGISTERS("m64n64k16.f32.f16.f16")
};
struct WgmmaBf16 {
    using Sum = float;
    static constexpr u32 BYTES = 2;
    static constexpr bool SHORT = false;
    WGMMA_N256(float, "+f", "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0")
    WGMMA_N128(float, "+f", "m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0")
    WGMMA_N64(float, "+f", "m64n64k16.f32.bf16.bf16", ", 1, 1, 0, 0")
    WGMMA_N32(float, "+f", "m64n32k16.f32.bf16.bf16", ", 1, 1, 0, 0")
    WGMMA_N16(float, "+f", "m64n16k16.f32.bf16.bf16", ", 1, 1, 0, 0")
    WGMMA_N128_OF_REGISTERS("m64n128k16.f32.bf16.bf16")
    WGMMA_N64_OF_REGISTERS("m64n64k16.f32.bf16.bf16")
};
// Sums of fp16, two in a register: those of fp32, two by two.
struct WgmmaF16Acc16 {
    using Sum = u32;
    static constexpr u32 BYTES = 2;
    static constexpr bool SHORT = false;
    WGMMA(u32, "+r", 64, "64", "65", "66", "m64n256k16.f16.f16.f16", ", 1, 1, 0, 0")
    WGMMA(u32, "+r", 32, "32", "33", "34", "m64n128k16.f16.f16.f16", ", 1, 1, 0, 0")
};
// Of fp32 numbers the first 19 bits; the copy engine has rounded them.
struct WgmmaTf32 {
    using Sum = float;
    static constexpr u32 BYTES = 4;
    static constexpr bool SHORT = false;
    WGMMA_N256(float, "+f", "m64n256k8.f32.tf32.tf32", ", 1, 1")
    WGMMA_N128(float, "+f", "m64n128k8.f32.tf32.tf32", ", 1, 1")
};
struct WgmmaS8 {
    using Sum = i32;
    static constexpr u32 BYTES = 1;
    static constexpr bool SHORT = false;
    WGMMA_N256(i32, "+r", "m64n256k32.s32.s8.s8", "")
    WGMMA_N128(i32, "+r", "m64n128k32.s32.s8.s8", "")
};
struct WgmmaE4m3 {
    using Sum = float;
    static constexpr u32 BYTES = 1;
    static constexpr bool SHORT = true;
    WGMMA_N192(float, "+f", "m64n192k32.f32.e4m3.e4m3", ", 1, 1")
    WGMMA_N176(float, "+f", "m64n176k32.f32.e4m3.e4m3", ", 1, 1")
    WGMMA_N128(float, "+f", "m64n128k32.f32.e4m3.e4m3", ", 1, 1")
};
struct WgmmaE5m2 {
    using Sum = float;
    static constexpr u32 BYTES = 1;
    static constexpr bool SHORT = true;
    WGMMA_N192(float, "+f", "m64n192k32.f32.e5m2.e5m2", ", 1, 1")
    WGMMA_N176(float, "+f", "m64n176k32.f32.e5m2.e5m2", ", 1, 1")
    WGMMA_N128(float, "+f", "m64n128k32.f32.e5m2.e5m2", ", 1, 1")
};
