// What kernels share that stream weights past a few tokens: 16-byte loads, widening, the sum over the warps of a block.
#pragma once
#include "common.cuh"

// 16 bytes that nobody writes meanwhile and nobody reads twice.
__device__ __forceinline__ uint4 load_once(const void* from) {
    uint4 v;
#if __CUDA_ARCH__ >= 800
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
#else
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
#endif
    return v;
}

// The same, of what other blocks read too.
__device__ __forceinline__ uint4 load_shared_by_all(const void* from) {
    uint4 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}

// Four bytes likewise, of which others read the neighbours.
__device__ __forceinline__ u32 load_word(const u32* from) {
    u32 v;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}

// The same value in all lanes, known to the compiler to be so.
__device__ __forceinline__ u32 uniform(u32 value) { return __shfl_sync(ALL, value, 0); }

// A pointer from which compilers reach further as they are told: with constants, instead of with one more pointer for each place.
template <typename T> __device__ __forceinline__ void pin(T*& pointer) { asm volatile("" : "+l"(pointer)); }

// Elements in 16 bytes.
template <typename T> constexpr u32 WIDE = 16 / sizeof(T);

// The elements of a 32-bit word, as fp32.
template <typename T> struct Word;
template <> struct Word<float> {
    static constexpr u32 COUNT = 1;
    static __device__ __forceinline__ void widen(u32 word, float* out) { out[0] = float_of(word); }
};
template <> struct Word<f16> {
    static constexpr u32 COUNT = 2;
    static __device__ __forceinline__ void widen(u32 word, float* out) {
        out[0] = to_f32(f16{u16(word)});
        out[1] = to_f32(f16{u16(word >> 16)});
    }
};
template <> struct Word<bf16> {
    static constexpr u32 COUNT = 2;
    static __device__ __forceinline__ void widen(u32 word, float* out) {
        out[0] = float_of(word << 16);
        out[1] = float_of(word & 0xffff0000u);
    }
};

template <typename T> __device__ __forceinline__ void widen(uint4 v, float (&out)[WIDE<T>]) {
    Word<T>::widen(v.x, out);
    Word<T>::widen(v.y, out + Word<T>::COUNT);
    Word<T>::widen(v.z, out + 2 * Word<T>::COUNT);
    Word<T>::widen(v.w, out + 3 * Word<T>::COUNT);
}

// Stores a result in the format of T, or as fp32 where it is to be `wide`: one image of a kernel instead of two.
template <typename T> __device__ __forceinline__ void put(void* y, u64 at, float value, u32 wide) {
    if (wide) static_cast<float*>(y)[at] = value;
    else static_cast<T*>(y)[at] = from_f32<T>(value);
}

// Increment of SplitMix64, and the generator at position `stream · 2³² + index`: as kernels/src/model/grid.rs.
constexpr u64 GAMMA = 0x9e3779b97f4a7c15ull;
__device__ __forceinline__ u64 random_word(u64 stream, u64 index) { return mix(((stream << 32) + index + 1) * GAMMA); }
