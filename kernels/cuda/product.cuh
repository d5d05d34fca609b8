// Y[m,n] = X[m,k] · W[n,k]ᵀ: what every matrix product shares. Both operands lie along k, so that a tile of either is rows
// of bytes and the number format matters to the multiplying instruction alone.
#pragma once

#include "mma.cuh"

// Rows of X or W from the first of this block's.
struct Operand {
    const u8* base;
    u32 first;
    u32 count;
    u32 pitch;
};

template <typename T> struct alignas(2 * sizeof(T)) Pair {
    T first;
    T second;
};

__device__ __forceinline__ u32 word_of(float x) { return bits_of(x); }
__device__ __forceinline__ u32 word_of(i32 x) { return u32(x); }

template <typename Out> struct Result {
    Out* base;
    u32 first_row;
    u32 first_col;
    u32 m;
    u32 n;

    // `col` is even, so a row of even length takes both at once.
    __device__ __forceinline__ void store(u32 row, u32 col, Pair<Out> two) const {
        row += first_row;
        col += first_col;
        if (row >= m || col >= n) return;
        Out* at = base + u64(row) * n + col;
        if (n % 2 == 0) {
            *reinterpret_cast<Pair<Out>*>(at) = two;
        } else {
            at[0] = two.first;
            if (col + 1 < n) at[1] = two.second;
        }
    }
    // Sixteen bytes; `col` is a multiple of their count, so a row of such length takes them at once.
    __device__ __forceinline__ void store(u32 row, u32 col, const u32 (&words)[4]) const {
        constexpr u32 COUNT = 16 / sizeof(Out);
        row += first_row;
        col += first_col;
        if (row >= m || col >= n) return;
        Out* at = base + u64(row) * n + col;
        if (n % COUNT == 0) {
            *reinterpret_cast<uint4*>(at) = make_uint4(words[0], words[1], words[2], words[3]);
        } else {
#pragma unroll
            for (u32 e = 0; e < COUNT; e++) {
                if (col + e < n) put(at + e, words[e * sizeof(Out) / 4] >> e * sizeof(Out) % 4 * 8);
            }
        }
    }
    static __device__ __forceinline__ void put(float* at, u32 bits) { *at = float_of(bits); }
    static __device__ __forceinline__ void put(i32* at, u32 bits) { *at = i32(bits); }
    template <typename Half> static __device__ __forceinline__ void put(Half* at, u32 bits) { *at = Half{u16(bits)}; }
};

// Where a tile is; of a block, if it has one of its own. Eight tiles down, then one to the right: neighbours in time share rows of W in the cache.
// Volatile, so that it is found twice, before and after the products, and occupies no register in between.
template <class T> struct Place {
    u32 row;
    u32 col;

    __device__ __forceinline__ Place(u32 m, u32 n) {
        u32 block;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        *this = Place(block, m, n);
    }
    __device__ __forceinline__ Place(u32 block, u32 m, u32 n) {
        constexpr u32 DOWN = 8;
        u32 tiles_down = ceil_div(m, T::M);
        u32 band = DOWN * ceil_div(n, T::N);
        u32 top = block / band * DOWN;
        u32 height = min(tiles_down - top, DOWN);
        row = (top + block % band % height) * T::M;
        col = block % band / height * T::N;
    }
};

// An entry point. `PITCH` is the length of a row of X and of W in bytes.
#define PRODUCT(NAME, TILE, IN, OUT, KIND, PITCH)                                                            \
    extern "C" __global__ void __launch_bounds__(TILE::THREADS, KIND::blocks<TILE>())                        \
        NAME(const IN* __restrict__ x, const IN* __restrict__ w, OUT* __restrict__ y, u32 m, u32 n, u32 k) { \
        KIND::product<TILE>(x, w, y, m, n, PITCH);                                                           \
    }
