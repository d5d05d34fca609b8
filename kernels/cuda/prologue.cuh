// The row that the products of one token multiply, in the shared memory of every block, and what becomes of their sums.
//
// A norm between two products costs a launch for eight kilobytes of reading. Here every block computes it for itself, all of them from the same
// rows: redundant, but next to the weights it is little, and those are on their way meanwhile. The residual stream is written by the first block
// only, and to another place than it is read from, since other blocks may still be reading.
#pragma once
#include "eights.cuh"
#include "silu.cuh"
#include "stream.cuh"

// How the row comes to be: kernels/src/gpu/family/token names the same numbers.
enum Made : u32 {
    // As it lies at `x`.
    AS_IS = 0,
    // A row of the table at `x` is the residual stream; its norm is the row.
    EMBEDDED = 1,
    // The norm behind a block, of `x`, is added to the residual stream; the sum's norm is the row.
    NORMED = 2,
    // The same, of an `x` in fp32.
    NORMED_WIDE = 3,
};

// What is stored: sums in the format of the row, in fp32, or silu of the first half of the rows times the second.
enum Kept : u32 { SAME = 0, IN_F32 = 1, GATED = 2 };

template <typename T> struct Row {
    const void* x;
    const float* gains;
    const T* stream;
    T* sum;
    const float* next;
    const u32* token;
    u32 vocab, width, made;
    float epsilon;
    // Weights of the product behind this one, and how many bytes of them each block asks for.
    const u8* later = nullptr;
    u32 each = 0;
};

// Of a row, what a thread has in registers: E eights.
template <u32 E> using Eights = float[E][8];

// Asks for what will be read soon, and keeps it out of registers until then.
__device__ __forceinline__ void fetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" : : "l"(at)); }

// Asks the second-level cache for many bytes that will be read soon, by one thread.
__device__ __forceinline__ void fetch_bulk(const u8* at, u32 bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(__cvta_generic_to_global(at)), "r"(bytes));
#endif
}

template <u32 E, typename Work> __device__ __forceinline__ void each_eight(u32 width, Work&& work) {
#pragma unroll
    for (u32 e = 0; e < E; e++) {
        const u32 at = (e * blockDim.x + threadIdx.x) * 8;
        if (at < width) work(e, at);
    }
}

// 1/√(Σx² · part + ε). An infinity makes it 0, and 0·∞ is NaN: how one overflow becomes a row of NaN. Each norm has a scratch of its own, so that
// warps meet once.
template <u32 E> __device__ __forceinline__ float norm_factor(const Eights<E>& x, float part, float epsilon, float* scratch) {
    float sum = 0.0f;
#pragma unroll
    for (u32 e = 0; e < E; e++)
#pragma unroll
        for (u32 i = 0; i < 8; i++) sum = fmaf(x[e][i], x[e][i], sum);
    sum = warp_sum(sum);
    if (lane_id() == 0) scratch[warp_id()] = sum;
    __syncthreads();
    sum = warp_sum(lane_id() < blockDim.x / WARP ? scratch[lane_id()] : 0.0f);
    float factor;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(factor) : "f"(fmaf(sum, part, epsilon)));
    return factor;
}

// The row of the token; one that is not in the vocabulary is NaN.
template <u32 E, typename T> __device__ __forceinline__ void embed(const Row<T>& row, Eights<E>& stream) {
    const u32 token = *row.token;
    const bool known = token < row.vocab;
    const T* from = static_cast<const T*>(row.x) + u64(known ? token : 0) * row.width;
    each_eight<E>(row.width, [&](u32 e, u32 at) {
        load8(from + at, stream[e]);
#pragma unroll
        for (u32 i = 0; i < 8; i++) stream[e][i] = known ? stream[e][i] : float_of(0x7fffffffu);
    });
}

// The residual stream and the norm of `x`.
template <u32 E, typename T>
__device__ __forceinline__ void add_norm(const Row<T>& row, Eights<E>& stream, const Eights<E>& gain, float part, float* scratch) {
    Eights<E> value = {};
    each_eight<E>(row.width, [&](u32 e, u32 at) {
        if (row.made == NORMED_WIDE) load8(static_cast<const float*>(row.x) + at, value[e]);
        else load8(static_cast<const T*>(row.x) + at, value[e]);
        load8(row.stream + at, stream[e]);
    });
    const float factor = norm_factor<E>(value, part, row.epsilon, scratch);
    each_eight<E>(row.width, [&](u32 e, u32) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) {
            const float rescued = to_f32(from_f32<T>(value[e][i] * factor * gain[e][i]));
            stream[e][i] = to_f32(from_f32<T>(stream[e][i] + rescued));
        }
    });
}

// Asks for a part of the weights of the launch behind, which nobody writes.
template <typename T> __device__ __forceinline__ void fetch_later(const Row<T>& row) {
    if (threadIdx.x == 0 && row.each > 0) fetch_bulk(row.later + u64(blockIdx.x) * row.each, row.each);
}

// Waits for the launch in front and puts the row into shared memory. What comes before it must not depend on that launch. Lets the launch behind start,
// unless there is `more` to ask for: what that one asks for would only take turns with it, and memory would be idle while that one makes its row. Norms
// take rows of E eights a thread.
template <u32 E, typename T> __device__ __forceinline__ void stage(const Row<T>& row, uint4* staged, bool more = false) {
    __shared__ float scratch[2][WARP];
    Eights<E> gain, next;
    const float part = 1.0f / float(row.width);
    if (row.made != AS_IS) {
        each_eight<E>(row.width, [&](u32 e, u32 at) {
            if (row.made != EMBEDDED) load8(row.gains + at, gain[e]);
            load8(row.next + at, next[e]);
        });
    }
    // Behind the block's own, so that memory is not idle while the next launch waits for results and makes its row.
    if (!more) fetch_later(row);
    wait_for_predecessor();
    if (!more) let_successor_start();
    if (row.made == AS_IS) {
        const uint4* from = static_cast<const uint4*>(row.x);
#pragma unroll 4
        for (u32 i = threadIdx.x; i < row.width / WIDE<T>; i += blockDim.x) staged[i] = from[i];
        __syncthreads();
        return;
    }
    Eights<E> stream = {};
    if (row.made == EMBEDDED) embed<E>(row, stream);
    else add_norm<E>(row, stream, gain, part, scratch[0]);
    each_eight<E>(row.width, [&](u32 e, u32 at) {
        if (blockIdx.x == 0) store8(row.sum + at, stream[e]);
    });
    const float factor = norm_factor<E>(stream, part, row.epsilon, scratch[1]);
    each_eight<E>(row.width, [&](u32 e, u32 at) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) stream[e][i] = stream[e][i] * factor * next[e][i];
        store8(reinterpret_cast<T*>(staged) + at, stream[e]);
    });
    __syncthreads();
}

// Stores a sum, or of two that belong together the product with the gate: rounded where launches of their own would store them.
template <typename T> __device__ __forceinline__ void keep(void* y, u32 at, float sum, float up, u32 kept) {
    if (kept == GATED) sum = silu(to_f32(from_f32<T>(sum))) * to_f32(from_f32<T>(up));
    put<T>(y, at, sum, kept == IN_F32);
}

// What entries take behind their weights.
#define ROW(T)                                                                                                        \
    const void *x, const float *gains, const T *stream, T *sum, const float *next, const u32 *token, void *y, u32 n,  \
        u32 k, u32 vocab, u32 made, u32 kept, float epsilon
// And at the end.
#define LATER const u8 *later, u32 each
#define MADE(T) Row<T>{x, gains, stream, sum, next, token, vocab, k, made, epsilon}
#define MADE_AND_LATER(T) Row<T>{x, gains, stream, sum, next, token, vocab, k, made, epsilon, later, each}
