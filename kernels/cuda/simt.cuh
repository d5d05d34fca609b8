// Matrix products without tensor cores: every thread owns a part of the tile and multiplies number by number.
// Operands are widened once, on their way into shared memory, where they lie across rows: one load brings a run of them.
#pragma once

#include "product.cuh"

// Part of Y that a block of threads computes, columns of a thread, and blocks on a multiprocessor.
template <u32 ROWS, u32 COLS, u32 THREADS_, u32 OWN_COLS, u32 BLOCKS_> struct Tile {
    static constexpr u32 M = ROWS;
    static constexpr u32 N = COLS;
    static constexpr u32 THREADS = THREADS_;
    static constexpr u32 THREAD_N = OWN_COLS;
    static constexpr u32 THREAD_M = M * N / (THREADS * THREAD_N);
    static constexpr u32 BLOCKS = BLOCKS_;
};

// A slab is 32 bytes of k: two chunks of 16.
template <class Kind> constexpr u32 STEPS = 32 / sizeof(typename Kind::In);

// `pitch` is the length of a row of X and of W in bytes.
template <class Kind, class T, typename Out>
__device__ __forceinline__ void simt_product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch);

template <class Kind> struct OnThreads {
    // Steps that follow one another without a branch.
    static constexpr u32 UNROLLED = 2;

    template <class T> static constexpr u32 blocks() { return T::BLOCKS; }
    template <class T, typename Out>
    static __device__ __forceinline__ void product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch) {
        simt_product<Kind, T>(x, w, y, m, n, pitch);
    }
};

// Products and sums in fp32, whatever is stored.
template <typename Stored, typename Loaded = uint4> struct Fp32 : OnThreads<Fp32<Stored, Loaded>> {
    using In = Stored;
    using Chunk = Loaded;
    using Shared = float;
    using Sum = float;
    static constexpr u32 PACKED = 1;
    static constexpr u32 UNROLLED = sizeof(Stored) == 4 ? 8 : 2;

    static __device__ __forceinline__ float widen(In x) { return to_f32(x); }
    template <u32 ROWS, u32 COLS>
    static __device__ __forceinline__ void multiply(float (&c)[ROWS][COLS], const u32 (&a)[ROWS], const u32 (&b)[COLS]) {
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
#pragma unroll
            for (u32 j = 0; j < COLS; j++) c[i][j] = fmaf(float_of(a[i]), float_of(b[j]), c[i][j]);
        }
    }
    template <typename Out> static __device__ __forceinline__ Pair<Out> pair(const float* c) {
        return {from_f32<Out>(c[0]), from_f32<Out>(c[1])};
    }
};

// Products and sums in fp16, two columns at a time.
struct Fp16 : OnThreads<Fp16> {
    using In = f16;
    using Chunk = uint4;
    using Shared = f16;
    using Sum = u32;
    static constexpr u32 PACKED = 2;

    static __device__ __forceinline__ f16 widen(f16 x) { return x; }
    template <u32 ROWS, u32 COLS>
    static __device__ __forceinline__ void multiply(u32 (&c)[ROWS][COLS], const u32 (&a)[ROWS / 2], const u32 (&b)[COLS]) {
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            u16 one = u16(i % 2 == 0 ? a[i / 2] : a[i / 2] >> 16);
#pragma unroll
            for (u32 j = 0; j < COLS; j++) c[i][j] = fma_f16x2(pack_f16(one, one), b[j], c[i][j]);
        }
    }
    template <typename Out> static __device__ __forceinline__ Pair<Out> pair(const u32* c) {
        return {f16{u16(*c)}, f16{u16(*c >> 16)}};
    }
};

// Four 8-bit integers a word, sums in 32 bits.
struct Dp4a : OnThreads<Dp4a> {
    using In = u32;
    using Chunk = uint4;
    using Shared = u32;
    using Sum = i32;
    static constexpr u32 PACKED = 1;
    static constexpr u32 UNROLLED = 8;

    static __device__ __forceinline__ u32 widen(u32 x) { return x; }
    template <u32 ROWS, u32 COLS>
    static __device__ __forceinline__ void multiply(i32 (&c)[ROWS][COLS], const u32 (&a)[ROWS], const u32 (&b)[COLS]) {
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
#pragma unroll
            for (u32 j = 0; j < COLS; j++) c[i][j] = dp4a(a[i], b[j], c[i][j]);
        }
    }
};

// Where a row lies at a step. The second half is permuted, so that the lanes of a store, which hold chunks of both, touch
// different banks.
template <class Kind, u32 ROWS> __device__ __forceinline__ u32 strip_place(u32 step, u32 row) {
    return step * ROWS + (row ^ step / (STEPS<Kind> / 2) * 16);
}

// Rows on their way from memory into shared memory: a thread brings one chunk of every so many rows, slab after slab.
template <class Kind, class T, u32 ROWS> struct Strip {
    using In = typename Kind::In;
    using Chunk = typename Kind::Chunk;
    static constexpr u32 EACH = sizeof(Chunk) / sizeof(In);
    static constexpr u32 CHUNKS = STEPS<Kind> / EACH;
    static constexpr u32 APART = T::THREADS / CHUNKS;
    static constexpr u32 COUNT = ROWS / APART;

    const u8* at;
    u32 inside;
    Chunk held[COUNT];

    __device__ __forceinline__ explicit Strip(const Operand& from) {
        u32 row = from.first + threadIdx.x / CHUNKS;
        inside = row < from.count ? ceil_div(from.count - row, APART) : 0;
        at = from.base + (row < from.count ? u64(row) * from.pitch + threadIdx.x % CHUNKS * sizeof(Chunk) : 0);
    }
    __device__ __forceinline__ void load(u32 pitch, i32 left) {
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            held[i] = Chunk{};
            const u8* own = at + u64(i * APART) * pitch;
            if (i < inside && left > 0) held[i] = __ldg(reinterpret_cast<const Chunk*>(own));
        }
        at += 32;
    }
    __device__ __forceinline__ void store(typename Kind::Shared* to) const {
        u32 step = threadIdx.x % CHUNKS * EACH;
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            const In* own = reinterpret_cast<const In*>(&held[i]);
            u32 place = strip_place<Kind, ROWS>(step, threadIdx.x / CHUNKS + i * APART);
#pragma unroll
            for (u32 e = 0; e < EACH; e++) to[place + e * ROWS] = Kind::widen(own[e]);
        }
    }
};

// A thread's rows (or columns) come in runs of one 16-byte load, COUNT of them, the runs of all threads side by side.
template <class Kind, u32 ROWS, u32 COUNT> struct Run {
    static constexpr u32 SIZE = sizeof(typename Kind::Shared);
    static constexpr u32 PER_LOAD = 16 / SIZE < COUNT ? 16 / SIZE : COUNT;
    static constexpr u32 WORDS = PER_LOAD * SIZE / 4;
    static constexpr u32 APART = ROWS / COUNT * PER_LOAD;

    static __device__ __forceinline__ u32 line(u32 thread, u32 index) {
        return index / PER_LOAD * APART + thread * PER_LOAD + index % PER_LOAD;
    }
    // By an instruction: of some plain loads the compiler says which bytes are used, as only new assemblers understand.
    static __device__ __forceinline__ void load(u32 (&out)[COUNT / PER_LOAD * WORDS], u32 strip, u32 step, u32 thread) {
        strip += strip_place<Kind, ROWS>(step, thread * PER_LOAD) * SIZE;
#pragma unroll
        for (u32 i = 0; i < COUNT / PER_LOAD; i++) {
            u32 words[WORDS];
            load_shared(words, strip + i * APART * SIZE);
#pragma unroll
            for (u32 e = 0; e < WORDS; e++) out[i * WORDS + e] = words[e];
        }
    }
};

template <class Kind, class T, typename Out>
__device__ __forceinline__ void simt_product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch) {
    using Shared = typename Kind::Shared;
    constexpr u32 COLS = T::THREAD_N, ROWS = T::THREAD_M;
    using Down = Run<Kind, T::M, ROWS>;
    using Across = Run<Kind, T::N, COLS>;
    constexpr u32 PER_WORD = 4 / sizeof(Shared);
    __shared__ alignas(16) Shared strips[2][STEPS<Kind> * (T::M + T::N)];

    const u32 down = threadIdx.x / (T::N / COLS);
    const u32 across = threadIdx.x % (T::N / COLS);
    typename Kind::Sum c[ROWS][COLS / Kind::PACKED] = {};
    const Place<T> from(m, n);
    Strip<Kind, T, T::M> next_x({static_cast<const u8*>(x), from.row, m, pitch});
    Strip<Kind, T, T::N> next_w({static_cast<const u8*>(w), from.col, n, pitch});
    i32 left = i32(pitch - threadIdx.x % next_x.CHUNKS * sizeof(typename Kind::Chunk));
    next_x.load(pitch, left);
    next_w.load(pitch, left);
    const u32 slabs = ceil_div(pitch, 32);
    for (u32 slab = 0; slab < slabs; slab++) {
        Shared* strip = strips[slab % 2];
        next_x.store(strip);
        next_w.store(strip + STEPS<Kind> * T::M);
        __syncthreads();
        const u32 ready = shared_address(strip);
        left -= 32;
        next_x.load(pitch, left);
        next_w.load(pitch, left);
#pragma unroll(Kind::UNROLLED)
        for (u32 step = 0; step < STEPS<Kind>; step++) {
            u32 a[ROWS / PER_WORD], b[COLS / PER_WORD];
            Down::load(a, ready, step, down);
            Across::load(b, ready + STEPS<Kind> * T::M * sizeof(Shared), step, across);
            Kind::multiply(c, a, b);
        }
    }
    const Place<T> place(m, n);
    const Result<Out> result = {y, place.row, place.col, m, n};
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) {
        const u32 row = Down::line(down, i);
        if constexpr (sizeof(Out) == 4) {
#pragma unroll
            for (u32 j = 0; j < COLS; j += 4) {
                const auto* own = &c[i][j];
                const u32 words[4] = {word_of(own[0]), word_of(own[1]), word_of(own[2]), word_of(own[3])};
                result.store(row, Across::line(across, j), words);
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < COLS; j += 2) {
                result.store(row, Across::line(across, j), Kind::template pair<Out>(&c[i][j / Kind::PACKED]));
            }
        }
    }
}

using Large = Tile<128, 128, 256, 8, 2>;
using Small = Tile<64, 64, 128, 8, 4>;
// A thread has 8 × 16, of which a byte of shared memory feeds a third more products.
using Broad = Tile<128, 128, 128, 16, 2>;

// Entry points: one for each tile.
#define BY_THREADS(NAME, IN, OUT, KIND, PITCH)           \
    PRODUCT(NAME##_128x128, Large, IN, OUT, KIND, PITCH) \
    PRODUCT(NAME##_64x64, Small, IN, OUT, KIND, PITCH)
#define BY_THREADS_BROAD(NAME, IN, OUT, KIND, PITCH) PRODUCT(NAME##_128x128w4, Broad, IN, OUT, KIND, PITCH)
