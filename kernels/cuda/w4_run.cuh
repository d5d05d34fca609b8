// A run of groups of R tiles of rows, as a warp streams it.
#pragma once
#include "w4.cuh"

// What a lane has of a group: R tiles of rows.
template <u32 R> struct Part {
    uint4 raw[R][2];
    u32 scales[R];
};

// Where a lane finds its parts of the groups from `first` on, of R tiles from `tile` on. Addresses are constants from a pointer on.
template <u32 R> struct Run {
    const uint4* words[R];
    const u32* scales[R];

    __device__ __forceinline__ Run(const uint4* all_words, const u32* all_scales, u32 tile, u32 n, u32 groups, u32 first) {
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            // There may be no second tile: the first then serves for it, and nothing of it is stored.
            const u64 at = u64(min(tile + r, ceil_div(n, ROWS) - 1)) * groups + first;
            words[r] = all_words + at * (GROUP / COLUMNS * WARP) + lane_id();
            scales[r] = all_scales + at * (ROWS / 2) + lane_id() / 4;
        }
    }
    // Half of the part of the group `ahead` further on.
    __device__ __forceinline__ void load_half(Part<R>& part, u32 half, u32 ahead) const {
#pragma unroll
        for (u32 r = 0; r < R; r++) part.raw[r][half] = load_once(words[r] + (GROUP / COLUMNS * ahead + half) * WARP);
    }
    __device__ __forceinline__ void load_scales(Part<R>& part, u32 ahead) const {
#pragma unroll
        for (u32 r = 0; r < R; r++) part.scales[r] = load_word(scales[r] + ahead * (ROWS / 2));
    }
    __device__ __forceinline__ void load(Part<R>& part, u32 ahead) const {
        load_half(part, 0, ahead);
        load_half(part, 1, ahead);
        load_scales(part, ahead);
    }
    __device__ __forceinline__ void advance(u32 by) {
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            words[r] += by * (GROUP / COLUMNS * WARP);
            scales[r] += by * (ROWS / 2);
            pin(words[r]);
            pin(scales[r]);
        }
    }
};
