// The online softmax of some rows on tensor cores, whichever lanes hold them.
#pragma once

#include "attn.cuh"

#if __CUDA_ARCH__ >= 700

// Of a block with many queries.
constexpr u32 CORE_THREADS = 128;

// Which queries and results a block has: of one head, from `first` on. Found anew where needed: what all of it follows from are parameters.
struct Share {
    u32 first, tokens, heads, head;

    __device__ __forceinline__ bool has(u32 row) const { return first + row < tokens; }
    template <u32 HEAD, typename T> __device__ __forceinline__ T* row(T* base, u32 row) const {
        return base + (u64(first + row) * heads + head) * HEAD;
    }
};

// How a warp holds a product of sixteen rows: WIDTH columns at a time in SUMS registers of a lane, which are of two rows. The lanes that share
// them differ in SHARER and in the bit above.
struct Held {
#if __CUDA_ARCH__ >= 750
    static constexpr u32 WIDTH = 8, SUMS = 4, SHARER = 1;
    static __device__ __forceinline__ u32 row(u32 which) { return lane_id() / 4 + 8 * which; }
    static __device__ __forceinline__ u32 column(u32 i) { return lane_id() % 4 * 2 + i % 2; }
#else
    // Of a quad-pair's eight columns, four neighbours each: attn_volta.cuh reads the keys so.
    static constexpr u32 WIDTH = 16, SUMS = 8, SHARER = 2;
    static __device__ __forceinline__ u32 row(u32 which) { return lane_id() / 8 % 2 * 8 + lane_id() / 16 * 4 + 2 * which + lane_id() % 2; }
    static __device__ __forceinline__ u32 column(u32 i) { return i / 4 * 8 + (lane_id() & 6) + i % 2; }
#endif
    static __device__ __forceinline__ u32 which(u32 i) { return i / 2 % 2; }
};

// TILES times sixteen rows of a warp against KEYS keys.
template <u32 HEAD, u32 KEYS, u32 TILES> struct Softmax {
    using Scores = float[TILES][KEYS / Held::WIDTH][Held::SUMS];
    float top[TILES][2];
    float total[TILES][2];
    float sum[TILES][HEAD / Held::WIDTH][Held::SUMS];

    __device__ __forceinline__ Softmax() {
#pragma unroll
        for (u32 t = 0; t < TILES; t++) {
            top[t][0] = top[t][1] = LOWEST;
            total[t][0] = total[t][1] = 0.0f;
#pragma unroll
            for (u32 j = 0; j < HEAD / Held::WIDTH; j++)
#pragma unroll
                for (u32 i = 0; i < Held::SUMS; i++) sum[t][j][i] = 0.0f;
        }
    }

    // `last` is the last key that row 0 of the warp sees, counted from the first of the block; every further row sees one more.
    static __device__ __forceinline__ void mask(Scores& s, i32 last) {
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 n = 0; n < KEYS / Held::WIDTH; n++)
#pragma unroll
                for (u32 i = 0; i < Held::SUMS; i++) {
                    i32 key = i32(Held::WIDTH * n + Held::column(i));
                    i32 seen = last + i32(16 * t + Held::row(Held::which(i)));
                    s[t][n][i] = key <= seen ? s[t][n][i] : masked();
                }
    }
    // Columns from `present` on are seen by nobody.
    static __device__ __forceinline__ void cut(Scores& s, u32 present) {
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 n = 0; n < KEYS / Held::WIDTH; n++)
#pragma unroll
                for (u32 i = 0; i < Held::SUMS; i++)
                    s[t][n][i] = Held::WIDTH * n + Held::column(i) < present ? s[t][n][i] : masked();
    }

    // Scores become weights, by one multiply-add and one power of two each: `scale` has log₂ e in it. What was summed so far is scaled to the new
    // maximum, where any row of the warp has one.
    __device__ __forceinline__ void soften(Scores& s, float scale) {
        float factor[TILES][2];
        bool risen = false;
#pragma unroll
        for (u32 t = 0; t < TILES; t++)
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                float high = top[t][r];
#pragma unroll
                for (u32 n = 0; n < KEYS / Held::WIDTH; n++)
#pragma unroll
                    for (u32 i = 2 * r; i < Held::SUMS; i += 4) high = fmaxf(high, fmaxf(s[t][n][i], s[t][n][i + 1]));
                high = fmaxf(high, shuffle_xor(high, Held::SHARER));
                high = fmaxf(high, shuffle_xor(high, 2 * Held::SHARER));
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
                    for (u32 j = 0; j < HEAD / Held::WIDTH; j++)
#pragma unroll
                        for (u32 i = 2 * r; i < Held::SUMS; i += 4) {
                            sum[t][j][i] *= factor[t][r];
                            sum[t][j][i + 1] *= factor[t][r];
                        }
                }
        }
#pragma unroll
        for (u32 t = 0; t < TILES; t++) {
            float offset[2] = {top[t][0] * scale, top[t][1] * scale};
#pragma unroll
            for (u32 n = 0; n < KEYS / Held::WIDTH; n++)
#pragma unroll
                for (u32 i = 0; i < Held::SUMS; i++) {
                    s[t][n][i] = exp2_approx(fmaf(s[t][n][i], scale, -offset[Held::which(i)]));
                    total[t][Held::which(i)] += s[t][n][i];
                }
        }
    }

    // The sum of the weights of a row, for every lane that holds it.
    __device__ __forceinline__ float whole(u32 t, u32 r) const {
        float sum = total[t][r];
        sum += shuffle_xor(sum, Held::SHARER);
        return sum + shuffle_xor(sum, 2 * Held::SHARER);
    }
};

#endif
