// What both kinds of attention share: loads, and on tensor cores the tile of keys or values.
#pragma once

#include "attn_state.cuh"
#include "eights.cuh"
#include "mma.cuh"

#if __CUDA_ARCH__ >= 700

__device__ __forceinline__ uint4 load_chunk(u32 address) {
    u32 x[4];
    load_shared(x, address);
    return make_uint4(x[0], x[1], x[2], x[3]);
}

template <typename T> __device__ __forceinline__ u32 pack(float low, float high) {
    return u32(from_f32<T>(low).bits) | u32(from_f32<T>(high).bits) << 16;
}

// Chunks of 16 bytes are permuted within a row, so that eight rows of one column lie in different banks.
template <u32 HEAD> __device__ __forceinline__ u32 swizzled(u32 row, u32 chunk) {
    return (row * (HEAD / 8) + (chunk ^ (row & 7))) * 16;
}

// Moves rows of one head into a tile, by some lanes: `issue` starts it, `land` ends it for the lane itself. On sm_80 and later past the
// registers, before through them. Rows from `present` on become zero.
template <u32 HEAD, u32 ROWS, u32 LANES> struct Mover {
    static constexpr u32 CHUNKS = HEAD / 8;
    static constexpr u32 APART = LANES / CHUNKS;
    static constexpr u32 COUNT = ROWS / APART;
    static constexpr u32 BYTES = ROWS * HEAD * 2;
    static_assert(APART % 8 == 0 || APART < 8, "a lane's chunk is permuted by its row");
#if __CUDA_ARCH__ < 800
    uint4 held[COUNT];
#endif

    // `stride` in numbers of 16 bits.
    __device__ __forceinline__ void issue(u32 tile, const void* from, u32 stride, u32 present, u32 lane) {
        u32 row = lane / CHUNKS, chunk = lane % CHUNKS;
        const u8* at = reinterpret_cast<const u8*>(from) + u64(row) * stride * 2 + chunk * 16;
#pragma unroll
        for (u32 i = 0; i < COUNT; i++, row += APART) {
#if __CUDA_ARCH__ >= 800
            u32 bytes = row < present ? 16 : 0;
            const u8* source = row < present ? at : reinterpret_cast<const u8*>(from);
            cp_async16(tile + swizzled<HEAD>(row, chunk), source, bytes);
#else
            held[i] = make_uint4(0, 0, 0, 0);
            if (row < present) held[i] = *reinterpret_cast<const uint4*>(at);
#endif
            at += u64(APART) * stride * 2;
        }
    }
    __device__ __forceinline__ void land(u32 tile, u32 lane) {
#if __CUDA_ARCH__ < 800
        u32 row = lane / CHUNKS, chunk = lane % CHUNKS;
#pragma unroll
        for (u32 i = 0; i < COUNT; i++, row += APART) store_shared16(tile + swizzled<HEAD>(row, chunk), held[i]);
#endif
    }
};

__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    cp_async_commit();
#endif
}
template <u32 PENDING> __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    cp_async_wait<PENDING>();
#endif
}

#endif
