// Stream-K: the steps of k of all tiles, one tile behind another, split evenly over blocks, and how blocks that share a tile add up.
// Each leaves its sums in memory and counts itself; the one that ends last adds all of them in the order of their steps, so that results do not
// depend on which it is, and leaves the count as it was found: zero. Nobody waits for another block.
#pragma once
#include "common.cuh"

// Even runs of so many steps, in the order of blocks.
struct StreamK {
    u32 each, more;

    __device__ __forceinline__ explicit StreamK(u32 all) : each(all / gridDim.x), more(all % gridDim.x) {}
    __device__ __forceinline__ u32 begin(u32 block) const { return block * each + min(block, more); }
    __device__ __forceinline__ u32 owner(u32 step) const {
        const u32 longer = more * (each + 1);
        return step < longer ? step / (each + 1) : more + (step - longer) / each;
    }
};

// What a block has of a tile from a step on. Found twice, in front of the products and behind them, and in no register in between: `block` and
// `at` are opaque for that.
struct Piece {
    u32 block, steps, tile, first, count;
    StreamK split;

    __device__ __forceinline__ Piece(u32 tiles, u32 steps_of_tile, u32 at) : steps(steps_of_tile), split(tiles * steps_of_tile) {
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        asm volatile("" : "+r"(at));
        tile = at / steps, first = at % steps;
        count = min(steps - first, split.begin(block + 1) - at);
    }
    __device__ __forceinline__ bool whole() const { return count == steps; }
    // Blocks that share the tile, and the first of them.
    __device__ __forceinline__ u32 begin() const { return split.owner(tile * steps); }
    __device__ __forceinline__ u32 pieces() const { return split.owner((tile + 1) * steps - 1) + 1 - begin(); }
    // Two places a block: one for a tile that it begins, one for a tile that others began.
    __device__ __forceinline__ u32 place() const { return 2 * block + u32(first == 0); }
    __device__ __forceinline__ u32 place(u32 piece) const { return 2 * (begin() + piece) + u32(piece == 0); }

    // Whether every other block that shares the tile has left its sums, and this one was the last. `word` is in shared memory, and free.
    __device__ __forceinline__ bool arrives_last(u32* arrivals, u32* word) const {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            const bool last = atomicAdd(arrivals + tile, 1u) + 1 == pieces();
            if (last) arrivals[tile] = 0;
            *word = last;
        }
        __syncthreads();
        __threadfence();
        return *word != 0;
    }
};

// Past the first-level cache: other blocks wrote it.
__device__ __forceinline__ uint4 load_left(const uint4* from) {
    uint4 x;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(__cvta_generic_to_global(from)) : "memory");
    return x;
}

// Leaves COUNT sums of a thread at every `apart` × 16 bytes.
template <u32 COUNT> __device__ __forceinline__ void leave(const float (&sums)[COUNT], uint4* to, u32 apart) {
#pragma unroll
    for (u32 e = 0; e < COUNT; e += 4)
        to[e / 4 * apart] = make_uint4(bits_of(sums[e]), bits_of(sums[e + 1]), bits_of(sums[e + 2]), bits_of(sums[e + 3]));
}
// The sums of all that were left so, in their order, `from` being where.
template <u32 COUNT, class From> __device__ __forceinline__ void add_pieces(float (&sums)[COUNT], u32 pieces, From from, u32 apart) {
#pragma unroll
    for (u32 e = 0; e < COUNT; e++) sums[e] = 0.0f;
#pragma unroll 1
    for (u32 piece = 0; piece < pieces; piece++) {
        const uint4* at = from(piece);
#pragma unroll
        for (u32 e = 0; e < COUNT; e += 4) {
            const uint4 four = load_left(at + e / 4 * apart);
            sums[e] += float_of(four.x), sums[e + 1] += float_of(four.y);
            sums[e + 2] += float_of(four.z), sums[e + 3] += float_of(four.w);
        }
    }
}
