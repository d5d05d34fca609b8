// What both kinds of attention share: loads, and on tensor cores the tile of keys or values, the scores and the online softmax of some rows.
#pragma once

#include "attn_state.cuh"
#include "eights.cuh"

__device__ __forceinline__ u32 shared_address(const void* pointer) {
    u64 out;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(out) : "l"(pointer));
    return u32(out);
}

#if __CUDA_ARCH__ >= 750

__device__ __forceinline__ void load_matrices(u32* x, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_transposed(u32* x, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void store_chunk(u32 address, uint4 x) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
__device__ __forceinline__ uint4 load_chunk(u32 address) {
    uint4 x;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(address) : "memory");
    return x;
}
__device__ __forceinline__ void store_word(u32 address, u32 x) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}

// c += a · b: 16×16 by 16×8.
__device__ __forceinline__ void multiply_add(f16, float* c, const u32* a, const u32* b) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[2]), "r"(a[3]), "r"(b[1]));
#endif
}
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void multiply_add(bf16, float* c, const u32* a, const u32* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

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
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tile + swizzled<HEAD>(row, chunk)), "l"(__cvta_generic_to_global(source)), "r"(bytes) : "memory");
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
        for (u32 i = 0; i < COUNT; i++, row += APART) store_chunk(tile + swizzled<HEAD>(row, chunk), held[i]);
#endif
    }
};

__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <u32 PENDING> __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// TILES times sixteen rows of a warp against KEYS keys: thread 4g + c holds rows g and g + 8, columns 2c and 2c + 1 of every 8. One tile keeps
// its queries in registers; with more there is no room, and they are read again for every block of keys, for half the reads of keys and values.
template <typename T, u32 HEAD, u32 KEYS, u32 TILES>
struct Rows {
    static constexpr u32 KEPT = TILES == 1 ? HEAD / 16 : 1;
    float top[TILES][2];
    float total[TILES][2];
    float sum[TILES][HEAD / 8][4];
    u32 query[KEPT][4];

    __device__ __forceinline__ Rows() {
#pragma unroll
        for (u32 t = 0; t < TILES; t++) {
            top[t][0] = top[t][1] = LOWEST;
            total[t][0] = total[t][1] = 0.0f;
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) sum[t][j][i] = 0.0f;
        }
    }

    // Tiles begin at a multiple of 256 bytes, so that another chunk of the same row is an exclusive or away.
    static constexpr u32 PITCH = HEAD * 2;
    // Where a lane reads 16 rows, left operand or transposed; `row` is a multiple of eight, here and below.
    static __device__ __forceinline__ u32 sixteen_rows(u32 tile, u32 row) {
        return tile + swizzled<HEAD>(row + lane_id() % 16, lane_id() / 16);
    }
    // `row` is the warp's first in the tile of queries.
    __device__ __forceinline__ void take_queries(u32 queries, u32 row) {
        u32 at = sixteen_rows(queries, row);
#pragma unroll
        for (u32 d = 0; d < KEPT; d++) load_matrices(query[d], at ^ d << 5);
    }

    __device__ __forceinline__ void scores(u32 queries, u32 row, u32 keys, float s[TILES][KEYS / 8][4]) {
        u32 key_at = keys + swizzled<HEAD>(lane_id() / 16 * 8 + lane_id() % 8, lane_id() / 8 % 2);
        u32 query_at = sixteen_rows(queries, row);
#pragma unroll
        for (u32 d = 0; d < HEAD / 16; d++) {
            u32 a[TILES][4];
#pragma unroll
            for (u32 t = 0; t < TILES; t++) {
                if (TILES > 1) load_matrices(a[t], (query_at ^ d << 5) + 16 * t * PITCH);
#pragma unroll
                for (u32 i = 0; TILES == 1 && i < 4; i++) a[t][i] = query[d % KEPT][i];
            }
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n += 2) {
                u32 b[4];
                load_matrices(b, (key_at ^ d << 5) + 8 * n * PITCH);
#pragma unroll
                for (u32 t = 0; t < TILES; t++) {
                    multiply_add(T{}, s[t][n], a[t], b);
                    multiply_add(T{}, s[t][n + 1], a[t], b + 2);
                }
            }
        }
    }

    // `last` is the last key that row 0 of the warp sees, counted from the first of the block; every further row sees one more.
    static __device__ __forceinline__ void mask(float s[TILES][KEYS / 8][4], i32 last) {
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    i32 key = i32(8 * n + lane_id() % 4 * 2 + i % 2);
                    i32 seen = last + i32(16 * t + lane_id() / 4 + i / 2 * 8);
                    s[t][n][i] = key <= seen ? s[t][n][i] : masked();
                }
    }
    // Columns from `present` on are seen by nobody.
    static __device__ __forceinline__ void cut(float s[TILES][KEYS / 8][4], u32 present) {
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++)
                    s[t][n][i] = 8 * n + lane_id() % 4 * 2 + i % 2 < present ? s[t][n][i] : masked();
    }

    // Scores become weights, by one multiply-add and one power of two each: `scale` has log₂ e in it. What was summed so far is scaled to the new
    // maximum, where any row of the warp has one.
    __device__ __forceinline__ void soften(float s[TILES][KEYS / 8][4], float scale) {
        float factor[TILES][2];
        bool risen = false;
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                float high = top[t][r];
#pragma unroll
                for (u32 n = 0; n < KEYS / 8; n++) high = fmaxf(high, fmaxf(s[t][n][2 * r], s[t][n][2 * r + 1]));
                high = fmaxf(high, shuffle_xor(high, 1));
                high = fmaxf(high, shuffle_xor(high, 2));
                factor[t][r] = exp2_approx((top[t][r] - high) * scale);
                risen |= high != top[t][r];
                top[t][r] = high;
            }
        if (__any_sync(ALL, risen)) {
#pragma unroll
            for (u32 t = 0; t < TILES; t++)
#pragma unroll
                for (u32 r = 0; r < 2; r++) {
                    total[t][r] *= factor[t][r];
#pragma unroll
                    for (u32 j = 0; j < HEAD / 8; j++) {
                        sum[t][j][2 * r] *= factor[t][r];
                        sum[t][j][2 * r + 1] *= factor[t][r];
                    }
                }
        }
#pragma unroll
        for (u32 t = 0; t < TILES; t++) {
            float offset[2] = {top[t][0] * scale, top[t][1] * scale};
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    s[t][n][i] = exp2_approx(fmaf(s[t][n][i], scale, -offset[i / 2]));
                    total[t][i / 2] += s[t][n][i];
                }
        }
    }

    // The weights are the left operand as they lie: two columns of eight are one of sixteen.
    __device__ __forceinline__ void gather(u32 values, float s[TILES][KEYS / 8][4]) {
        u32 value_at = sixteen_rows(values, 0);
#pragma unroll
        for (u32 n = 0; n < KEYS / 8; n += 2) {
            u32 a[TILES][4];
#pragma unroll
            for (u32 t = 0; t < TILES; t++) {
                a[t][0] = pack<T>(s[t][n][0], s[t][n][1]);
                a[t][1] = pack<T>(s[t][n][2], s[t][n][3]);
                a[t][2] = pack<T>(s[t][n + 1][0], s[t][n + 1][1]);
                a[t][3] = pack<T>(s[t][n + 1][2], s[t][n + 1][3]);
            }
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j += 2) {
                u32 b[4];
                load_transposed(b, (value_at ^ j << 4) + 8 * n * PITCH);
#pragma unroll
                for (u32 t = 0; t < TILES; t++) {
                    multiply_add(T{}, sum[t][j], a[t], b);
                    multiply_add(T{}, sum[t][j + 1], a[t], b + 2);
                }
            }
        }
    }
};

#endif
