// How a tensor-core product moves its operands: a slab of k of every row of a tile per stage, in shared memory.
// Chunks of 16 bytes are permuted within a row so that eight rows of one chunk touch every bank once.
#pragma once

#include "product.cuh"

constexpr u32 CHUNK = 16;

// Part of Y that a block of warps computes, and how. A warp owns OWN_ROWS × OWN_COLS of it; where SLICES warps own the same,
// each has its part of every slab. A slab is CHUNKS × 16 bytes of k.
template <u32 ROWS, u32 COLS, u32 OWN_ROWS, u32 OWN_COLS, u32 OF_SLAB, u32 DEEP, u32 BLOCKS_, u32 SHARERS = 1> struct Warps {
    static constexpr u32 M = ROWS;
    static constexpr u32 N = COLS;
    static constexpr u32 WARP_M = OWN_ROWS;
    static constexpr u32 WARP_N = OWN_COLS;
    static constexpr u32 CHUNKS = OF_SLAB;
    static constexpr u32 STAGES = DEEP;
    static constexpr u32 SLICES = SHARERS;
    // On a multiprocessor.
    static constexpr u32 BLOCKS = BLOCKS_;

    static constexpr u32 DOWN = M / WARP_M;
    static constexpr u32 PARTS = DOWN * (N / WARP_N);
    static constexpr u32 THREADS = WARP * PARTS * SLICES;
    static constexpr u32 ROW = CHUNKS * CHUNK;
    static constexpr u32 STAGE = (M + N) * ROW;

    // Rows a multiple of eight apart lie alike.
    static __device__ __forceinline__ u32 place(u32 row, u32 chunk) {
        return row * ROW + (chunk ^ (CHUNKS == 4 ? row / 2 % 4 : row % 8)) * CHUNK;
    }
};

// The chunks of an operand that a thread moves: one of every so many rows of a tile, slab after slab. In place of rows
// beyond the last the last is read: what becomes of it is not stored.
template <class T, u32 ROWS> struct Walk {
    static constexpr u32 APART = T::THREADS / T::CHUNKS;
    static constexpr u32 COUNT = ROWS / APART;

    const u8* at;
    u32 last;

    __device__ __forceinline__ explicit Walk(const Operand& from) {
        u32 row = min(from.first + threadIdx.x / T::CHUNKS, from.count - 1);
        last = from.count - 1 - row;
        at = from.base + u64(row) * from.pitch + threadIdx.x % T::CHUNKS * CHUNK;
    }
    // Found anew for every slab: addresses of all chunks would take the registers of the sums.
    __device__ __forceinline__ const u8* chunk(u32 i, u32 pitch) const {
        u32 row;
        const u8* own;
        asm volatile("min.u32 %0, %1, %2;" : "=r"(row) : "r"(last), "r"(i * APART));
        asm volatile("mad.wide.u32 %0, %1, %2, %3;" : "=l"(own) : "r"(row), "r"(pitch), "l"(at));
        return own;
    }
    static __device__ __forceinline__ u32 place() { return T::place(threadIdx.x / T::CHUNKS, threadIdx.x % T::CHUNKS); }
};

// What both ways to move operands share.
template <class T> struct Moved {
    Walk<T, T::M> x;
    Walk<T, T::N> w;
    u32 pitch;
    // Bytes of a row from this thread's chunk on.
    i32 left;

    __device__ __forceinline__ Moved(const Operand& of_x, const Operand& of_w)
        : x(of_x), w(of_w), pitch(of_x.pitch), left(i32(of_x.pitch - threadIdx.x % T::CHUNKS * CHUNK)) {}
    // Begins so many slabs further on.
    __device__ __forceinline__ void skip(u32 slabs) {
        x.at += u64(slabs) * T::ROW, w.at += u64(slabs) * T::ROW;
        left -= i32(slabs * T::ROW);
    }
};

#if __CUDA_ARCH__ >= 800

// By asynchronous copies: all stages but one are in flight while one is multiplied.
template <class T> struct Pipeline : Moved<T> {
    using Moved<T>::Moved;
    static constexpr u32 BYTES = T::STAGES * T::STAGE;

    template <u32 ROWS> __device__ __forceinline__ void copy(u32 to, Walk<T, ROWS>& from) {
        u32 bytes = this->left > 0 ? CHUNK : 0;
#pragma unroll
        for (u32 i = 0; i < from.COUNT; i++) cp_async16(to + i * from.APART * T::ROW, from.chunk(i, this->pitch), bytes);
        from.at += T::ROW;
    }
    __device__ __forceinline__ void fetch(u32 stage) {
        copy(stage + this->x.place(), this->x);
        copy(stage + T::M * T::ROW + this->w.place(), this->w);
        this->left -= i32(T::ROW);
        cp_async_commit();
    }
    // Fragments of a step are loaded while those of the step before are multiplied. The stage that is filled is the one whose
    // last fragments were loaded before the last barrier.
    template <class Product> __device__ __forceinline__ void run(u32 shared, u32 slabs, Product& product) {
        const u32 end = shared + BYTES - T::STAGE;
#pragma unroll
        for (u32 ahead = 0; ahead < T::STAGES - 1; ahead++) fetch(shared + ahead * T::STAGE);
        u32 filled = end, ready = shared;
        cp_async_wait<T::STAGES - 2>();
        __syncthreads();
        product.load(0, ready, 0);
#pragma unroll 1
        for (; slabs > 0; slabs--) {
#pragma unroll
            for (u32 step = 0; step < Product::STEPS; step++) {
                if (step == Product::STEPS - 1) {
                    cp_async_wait<T::STAGES - 2>();
                    __syncthreads();
                    ready = ready == end ? shared : ready + T::STAGE;
                }
                product.load((step + 1) % 2, ready, (step + 1) % Product::STEPS);
                if (step == 0) {
                    fetch(filled);
                    filled = filled == end ? shared : filled + T::STAGE;
                }
                product.multiply(step % 2);
            }
        }
        cp_async_wait<0>();
        __syncthreads();
    }
};

#else

// Two stages through registers: the next slab comes from memory while this one is multiplied. Where there are steps enough
// rows of X follow those of W, and half the registers do.
template <class T> struct Pipeline : Moved<T> {
    using Moved<T>::Moved;
    static constexpr u32 BYTES = 2 * T::STAGE;

    template <u32 COUNT, u32 ROWS>
    __device__ __forceinline__ void load(uint4 (&held)[COUNT], Walk<T, ROWS>& from) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            held[i] = make_uint4(0, 0, 0, 0);
            if (this->left > 0) held[i] = __ldg(reinterpret_cast<const uint4*>(from.chunk(i, this->pitch)));
        }
        from.at += T::ROW;
    }
    template <u32 COUNT> static __device__ __forceinline__ void store(u32 to, const uint4 (&held)[COUNT]) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) store_shared16(to + i * Walk<T, T::M>::APART * T::ROW, held[i]);
    }
    template <class Product> __device__ __forceinline__ void run(u32 shared, u32 slabs, Product& product) {
        constexpr u32 LAST = Product::STEPS - 1, HALF = Product::STEPS / 2;
        uint4 of_x[Walk<T, T::M>::COUNT], of_w[Walk<T, T::N>::COUNT];
        const u32 own_x = this->x.place(), own_w = T::M * T::ROW + this->w.place();
        u32 ready = shared;
        load(of_w, this->w);
        load(of_x, this->x);
        store(ready + own_w, of_w);
        store(ready + own_x, of_x);
        __syncthreads();
        product.load(0, ready, 0);
#pragma unroll 1
        for (; slabs > 0; slabs--) {
            const u32 other = 2 * shared + T::STAGE - ready;
            this->left -= i32(T::ROW);
#pragma unroll
            for (u32 step = 0; step <= LAST; step++) {
                if (step == HALF) store(other + own_w, of_w);
                if (step == LAST) {
                    store(other + own_x, of_x);
                    __syncthreads();
                    ready = other;
                }
                product.load((step + 1) % 2, ready, step < LAST ? step + 1 : 0);
                if (step == 0) load(of_w, this->w);
                if (step == (HALF < LAST ? HALF : 0)) load(of_x, this->x);
                product.multiply(step % 2);
            }
        }
        __syncthreads();
    }
};

#endif
