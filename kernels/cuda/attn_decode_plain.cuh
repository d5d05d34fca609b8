// K31 in plain fp32 arithmetic: parts of one query, for storage that has no tensor cores.
#pragma once

#include "attn_combine.cuh"

constexpr u32 KEYS_AT_ONCE = DECODE_THREADS / 8;

// One piece of the keys of one kv head, for up to four of the query heads that share it. Eight lanes hold one key, so
// that every key and value is read once for all of them. Partial results: the sums, the maximum, the total.
template <typename T, u32 HEAD, u32 SHARED>
__device__ __forceinline__ void decode_plain(const T* q, const T* keys, const T* values, float* parts, const State* state,
                                       u32 head, u32 count, u32 kv_head, u32 stride, float scale) {
    constexpr u32 OWN = HEAD / 8, WARPS = DECODE_THREADS / WARP;
    __shared__ float sums[WARPS][SHARED][HEAD];
    __shared__ float tops[WARPS][SHARED], totals[WARPS][SHARED];
    u32 lane = threadIdx.x % 8, splits = gridDim.x, length = state->position + 1;
    u32 piece = ceil_div(length, splits), begin = blockIdx.x * piece, end = min(begin + piece, length);
    float query[SHARED][OWN], sum[SHARED][OWN] = {}, top[SHARED], total[SHARED] = {};
#pragma unroll
    for (u32 g = 0; g < SHARED; g++) {
        top[g] = LOWEST;
        const T* from = q + (head + min(g, count - 1)) * HEAD + lane * 8;
#pragma unroll
        for (u32 i = 0; i < OWN; i += 8) load8(from + i * 8, query[g] + i);
#pragma unroll
        for (u32 i = 0; i < OWN; i++) query[g][i] *= scale * LOG2_E;
    }
    for (u32 first = begin; first < end; first += KEYS_AT_ONCE) {
        u32 key = first + threadIdx.x / 8;
        float k[OWN] = {}, v[OWN] = {};
        if (key < end) {
            u64 at = u64(key) * stride + kv_head * HEAD + lane * 8;
#pragma unroll
            for (u32 i = 0; i < OWN; i += 8) {
                load8(keys + at + i * 8, k + i);
                load8(values + at + i * 8, v + i);
            }
        }
#pragma unroll
        for (u32 g = 0; g < SHARED; g++) {
            float s = 0.0f;
#pragma unroll
            for (u32 i = 0; i < OWN; i++) s = fmaf(query[g][i], k[i], s);
#pragma unroll
            for (u32 step = 1; step < 8; step *= 2) s += shuffle_xor(s, step);
            s = key < end ? s : masked();
            float high = fmaxf(top[g], s), correction = exp2_approx(top[g] - high), weight = exp2_approx(s - high);
            top[g] = high;
            total[g] = fmaf(total[g], correction, weight);
#pragma unroll
            for (u32 i = 0; i < OWN; i++) sum[g][i] = fmaf(weight, v[i], sum[g][i] * correction);
        }
    }
#pragma unroll
    for (u32 g = 0; g < SHARED; g++) {
#pragma unroll
        for (u32 step = 8; step < WARP; step *= 2) {
            float other = shuffle_xor(top[g], step), high = fmaxf(top[g], other);
            float mine = exp2_approx(top[g] - high), theirs = exp2_approx(other - high);
            top[g] = high;
            total[g] = fmaf(total[g], mine, shuffle_xor(total[g], step) * theirs);
#pragma unroll
            for (u32 i = 0; i < OWN; i++) sum[g][i] = fmaf(sum[g][i], mine, shuffle_xor(sum[g][i], step) * theirs);
        }
        if (lane_id() < 8) {
#pragma unroll
            for (u32 i = 0; i < OWN; i++) sums[warp_id()][g][i / 8 * 64 + lane * 8 + i % 8] = sum[g][i];
        }
        if (lane_id() == 0) {
            tops[warp_id()][g] = top[g];
            totals[warp_id()][g] = total[g];
        }
    }
    __syncthreads();
    for (u32 at = threadIdx.x; at < count * HEAD; at += DECODE_THREADS) {
        u32 g = at / HEAD, d = at % HEAD;
        float high = LOWEST, combined = 0.0f, weight = 0.0f;
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) high = fmaxf(high, tops[w][g]);
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) {
            float scale = exp2_approx(tops[w][g] - high);
            combined = fmaf(sums[w][g][d], scale, combined);
            weight = fmaf(totals[w][g], scale, weight);
        }
        float* part = parts + (u64(head + g) * splits + blockIdx.x) * (HEAD + RECORD_TAIL);
        part[d] = combined;
        if (d == 0) {
            part[HEAD] = high;
            part[HEAD + 1] = weight;
        }
    }
}

template <typename T, u32 HEAD>
__device__ __forceinline__ void decode_shared(const T* q, const T* keys, const T* values, float* parts,
                                              const State* state, u32 heads, u32 kv_heads, float scale) {
    take_turn();
    u32 group = heads / kv_heads, blocks = ceil_div(group, 4), kv_head = blockIdx.y / blocks;
    u32 offset = blockIdx.y % blocks * 4, count = min(4u, group - offset), head = kv_head * group + offset;
    if (count == 1) decode_plain<T, HEAD, 1>(q, keys, values, parts, state, head, count, kv_head, kv_heads * HEAD, scale);
    else decode_plain<T, HEAD, 4>(q, keys, values, parts, state, head, count, kv_head, kv_heads * HEAD, scale);
}
