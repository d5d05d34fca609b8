// How a tensor-core product moves its operands: 64 bytes of k of every row of a tile per stage, in shared memory.
// Chunks of 16 bytes are permuted within a row so that eight rows of one chunk touch every bank once.
#pragma once

#include "product.cuh"

constexpr u32 CHUNK = 16;
constexpr u32 CHUNKS = 4;
constexpr u32 SLAB = CHUNK * CHUNKS;

// Rows a multiple of eight apart lie alike.
__device__ __forceinline__ u32 chunk_place(u32 row, u32 chunk) {
    return row * SLAB + (chunk ^ row >> 1) % CHUNKS * CHUNK;
}

// The chunks of an operand that a thread moves: one of every so many rows of a tile, slab after slab.
template <class T, u32 ROWS> struct Walk {
    static constexpr u32 APART = T::THREADS / CHUNKS;
    static constexpr u32 COUNT = ROWS / APART;

    const u8* at;
    u32 inside;

    __device__ __forceinline__ explicit Walk(const Operand& from) {
        u32 row = from.first + threadIdx.x / CHUNKS;
        inside = row < from.count ? ceil_div(from.count - row, APART) : 0;
        at = from.base + (row < from.count ? u64(row) * from.pitch + threadIdx.x % CHUNKS * CHUNK : 0);
    }
    __device__ __forceinline__ const u8* chunk(u32 i, u32 pitch) const { return at + u64(i * APART) * pitch; }
    static __device__ __forceinline__ u32 place() { return chunk_place(threadIdx.x / CHUNKS, threadIdx.x % CHUNKS); }
};

#if __CUDA_ARCH__ >= 800

// Three stages by asynchronous copies: two in flight while one is multiplied.
template <class T> struct Pipeline {
    static constexpr u32 STAGES = 3;
    static constexpr u32 STAGE = (T::M + T::N) * SLAB;
    static constexpr u32 BYTES = STAGES * STAGE;

    Walk<T, T::M> x;
    Walk<T, T::N> w;
    u32 pitch;
    i32 left;

    template <u32 ROWS> __device__ __forceinline__ void copy(u32 to, Walk<T, ROWS>& from) {
#pragma unroll
        for (u32 i = 0; i < Walk<T, ROWS>::COUNT; i++) {
            bool inside = i < from.inside && left > 0;
            cp_async16(to + i * from.APART * SLAB, inside ? from.chunk(i, pitch) : from.at, inside ? CHUNK : 0);
        }
        from.at += SLAB;
    }
    __device__ __forceinline__ void fetch(u32 stage) {
        copy(stage + x.place(), x);
        copy(stage + T::M * SLAB + w.place(), w);
        left -= i32(SLAB);
        cp_async_commit();
    }
    template <class Product> __device__ __forceinline__ void run(u32 shared, u32 slabs, Product& product) {
        u32 filled = shared, ready = shared;
        for (u32 ahead = 0; ahead < STAGES - 1; ahead++, filled += STAGE) fetch(filled);
        for (u32 slab = 0; slab < slabs; slab++) {
            cp_async_wait<STAGES - 2>();
            __syncthreads();
            fetch(filled);
            product.accumulate(ready, ready + T::M * SLAB);
            filled = filled == shared + BYTES - STAGE ? shared : filled + STAGE;
            ready = ready == shared + BYTES - STAGE ? shared : ready + STAGE;
        }
        cp_async_wait<0>();
    }
};

#else

// Two stages through registers: the next slab is on its way from memory while this one is multiplied.
template <class T> struct Pipeline {
    static constexpr u32 STAGES = 2;
    static constexpr u32 STAGE = (T::M + T::N) * SLAB;
    static constexpr u32 BYTES = STAGES * STAGE;

    Walk<T, T::M> x;
    Walk<T, T::N> w;
    u32 pitch;
    i32 left;

    template <u32 COUNT, u32 ROWS>
    __device__ __forceinline__ void load(uint4 (&held)[COUNT], Walk<T, ROWS>& from) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            held[i] = make_uint4(0, 0, 0, 0);
            if (i < from.inside && left > 0) held[i] = __ldg(reinterpret_cast<const uint4*>(from.chunk(i, pitch)));
        }
        from.at += SLAB;
    }
    template <u32 COUNT> static __device__ __forceinline__ void store(u32 to, const uint4 (&held)[COUNT]) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) store_shared16(to + i * Walk<T, T::M>::APART * SLAB, held[i]);
    }
    template <class Product> __device__ __forceinline__ void run(u32 shared, u32 slabs, Product& product) {
        uint4 of_x[Walk<T, T::M>::COUNT], of_w[Walk<T, T::N>::COUNT];
        load(of_x, x);
        load(of_w, w);
        u32 stage = 0;
        for (; slabs > 0; slabs--) {
            store(shared + stage + x.place(), of_x);
            store(shared + stage + w.place() + T::M * SLAB, of_w);
            __syncthreads();
            left -= i32(SLAB);
            load(of_x, x);
            load(of_w, w);
            product.accumulate(shared + stage, shared + stage + T::M * SLAB);
            stage = STAGE - stage;
        }
    }
};

#endif
