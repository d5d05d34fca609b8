// Scores and sums of some rows on tensor cores that take sixteen rows of sixteen columns, by one or two instructions.
#pragma once

#include "attn_softmax.cuh"

#if __CUDA_ARCH__ >= 750

__device__ __forceinline__ void load_transposed(u32 (&out)[4], u32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(at) : "memory");
}

// c += a · b: 16×16 by 16×8. In the order of the text: where these are free to move, more registers are held.
__device__ __forceinline__ void multiply_add(f16, float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    mma_m16n8k16_f16(c, a, b);
#else
    mma_m16n8k8_f16(c, a[0], a[1], b[0]);
    mma_m16n8k8_f16(c, a[2], a[3], b[1]);
#endif
}
__device__ __forceinline__ void multiply_add(bf16, float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    mma_m16n8k16_bf16(c, a, b);
}
// Two of eight columns, as one load of matrices brings them.
template <typename T> __device__ __forceinline__ void multiply_add(float (&c)[4], float (&d)[4], const u32 (&a)[4], const u32 (&b)[4]) {
    multiply_add(T{}, c, a, {b[0], b[1]});
    multiply_add(T{}, d, a, {b[2], b[3]});
}

// One tile keeps its queries in registers; with more there is no room, and they are read again for every block of keys, for half the reads of
// keys and values.
template <typename T, u32 HEAD, u32 KEYS, u32 TILES> struct Rows : Softmax<HEAD, KEYS, TILES> {
    using Scores = typename Softmax<HEAD, KEYS, TILES>::Scores;
    static constexpr u32 KEPT = TILES == 1 ? HEAD / 16 : 1;
    static constexpr u32 ROWS = CORE_THREADS / WARP * 16 * TILES;
    u32 query[KEPT][4];

    // Tiles begin at a multiple of 256 bytes, so that another chunk of the same row is an exclusive or away.
    static constexpr u32 PITCH = HEAD * 2;
    // Where a lane reads 16 rows, left operand or transposed; `row` is a multiple of eight, here and below.
    static __device__ __forceinline__ u32 sixteen_rows(u32 tile, u32 row) {
        return tile + swizzled<HEAD>(row + lane_id() % 16, lane_id() / 16);
    }
    // The queries of a block begin to come.
    __device__ __forceinline__ void fetch_queries(u32 queries, const T* q, const Share& share, u32) {
        Mover<HEAD, ROWS, CORE_THREADS> block;
        block.issue(queries, share.row<HEAD>(q, 0), share.heads * HEAD, share.tokens - share.first, threadIdx.x);
        block.land(queries, threadIdx.x);
    }
    // They have come. `row` is the warp's first in the tile of queries.
    __device__ __forceinline__ void take_queries(u32 queries, u32 row) {
        if (TILES > 1) return;
        wait_for_copies<0>();
        __syncthreads();
        keep_queries(queries, row);
    }
    __device__ __forceinline__ void keep_queries(u32 queries, u32 row) {
        u32 at = sixteen_rows(queries, row);
#pragma unroll
        for (u32 d = 0; d < KEPT; d++) ldmatrix_x4(query[d], at ^ d << 5);
    }

    __device__ __forceinline__ void scores(u32 queries, u32 row, u32 keys, Scores& s) {
        u32 key_at = keys + swizzled<HEAD>(lane_id() / 16 * 8 + lane_id() % 8, lane_id() / 8 % 2);
        u32 query_at = sixteen_rows(queries, row);
#pragma unroll
        for (u32 d = 0; d < HEAD / 16; d++) {
            u32 a[TILES][4];
#pragma unroll
            for (u32 t = 0; t < TILES; t++) {
                if (TILES > 1) ldmatrix_x4(a[t], (query_at ^ d << 5) + 16 * t * PITCH);
#pragma unroll
                for (u32 i = 0; TILES == 1 && i < 4; i++) a[t][i] = query[d % KEPT][i];
            }
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n += 2) {
                u32 b[4];
                ldmatrix_x4(b, (key_at ^ d << 5) + 8 * n * PITCH);
#pragma unroll
                for (u32 t = 0; t < TILES; t++) multiply_add<T>(s[t][n], s[t][n + 1], a[t], b);
            }
        }
    }

    // The weights are the left operand as they lie: two columns of eight are one of sixteen.
    __device__ __forceinline__ void gather(u32 values, const Scores& s) {
        u32 value_at = sixteen_rows(values, 0);
#pragma unroll
        for (u32 n = 0; n < KEYS / 8; n += 2) {
            u32 a[TILES][4];
#pragma unroll
            for (u32 t = 0; t < TILES; t++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) a[t][i] = pack<T>(s[t][n + i / 2][i % 2 * 2], s[t][n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j += 2) {
                u32 b[4];
                load_transposed(b, (value_at ^ j << 4) + 8 * n * PITCH);
#pragma unroll
                for (u32 t = 0; t < TILES; t++) multiply_add<T>(this->sum[t][j], this->sum[t][j + 1], a[t], b);
            }
        }
    }

    // The results, by way of the warp's own part of a tile, so that they leave in chunks of 16 bytes.
    __device__ __forceinline__ void give(u32 tile, T* out, const Share& share, u32 row) {
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                float factor = 1.0f / this->whole(t, r);
                u32 at = row + 16 * t + Held::row(r);
#pragma unroll
                for (u32 j = 0; j < HEAD / 8; j++)
                    store_shared4(tile + swizzled<HEAD>(at, j) + lane_id() % 4 * 4,
                                  pack<T>(this->sum[t][j][2 * r] * factor, this->sum[t][j][2 * r + 1] * factor));
            }
        __syncwarp();
        constexpr u32 CHUNKS = HEAD / 8;
#pragma unroll 4
        for (u32 i = lane_id(); i < 16 * TILES * CHUNKS; i += WARP) {
            u32 at = row + i / CHUNKS, chunk = i % CHUNKS;
            if (!share.has(at)) continue;
            *reinterpret_cast<uint4*>(share.row<HEAD>(out, at) + chunk * 8) = load_chunk(tile + swizzled<HEAD>(at, chunk));
        }
    }
};

#endif
