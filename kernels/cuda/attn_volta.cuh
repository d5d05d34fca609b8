// Scores and sums of some rows on Volta's tensor cores, which multiply per quad-pair: lanes 4p … 4p + 3 and 4p + 16 … 4p + 19 do 8×8×4 of their own.
// Of a warp's sixteen rows and of sixteen columns each quad-pair has eight and eight.
//
// A lane's part of the scores is not its part of a left operand: lanes that differ in bit 1 exchange half of what they hold. The quad-pair beside
// has the same rows and the other columns; it hands its weights over, and each begins with the values of its own keys. Through shared memory the
// same would take twice the cycles of the pipe that is the narrowest here.
#pragma once

#include "attn_softmax.cuh"

#if __CUDA_ARCH__ == 700

// A register of B is 32 bits along n: values as they lie.
__device__ __forceinline__ void mma_of_rows(float (&c)[8], const u32 (&a)[2], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "r"(a[0]), "r"(a[1]), "r"(b0), "r"(b1));
}

template <typename T, u32 HEAD, u32 KEYS, u32 TILES> struct Rows : Softmax<HEAD, KEYS, TILES> {
    using Scores = typename Softmax<HEAD, KEYS, TILES>::Scores;
    static constexpr u32 PITCH = HEAD * 2;
    static constexpr u32 KEPT = TILES == 1 ? HEAD / 8 : 1;
    u32 query[KEPT][4];

    // Which row of sixteen a lane has of a left operand.
    static __device__ __forceinline__ u32 left_row() { return lane_id() / 8 % 2 * 8 + lane_id() / 16 * 4 + lane_id() % 4; }

    // The queries of a block begin to come. What is kept every lane reads itself, in lines of 32
    // bytes whose second half the next load takes.
    __device__ __forceinline__ void fetch_queries(u32 queries, const T* q, const Share& share, u32 row) {
        if (TILES > 1) {
            Mover<HEAD, CORE_THREADS / WARP * 16 * TILES, CORE_THREADS> block;
            block.issue(queries, share.row<HEAD>(q, 0), share.heads * HEAD, share.tokens - share.first, threadIdx.x);
            block.land(queries, threadIdx.x);
            return;
        }
        u32 own = row + left_row();
        const uint4* at = reinterpret_cast<const uint4*>(share.row<HEAD>(q, own));
#pragma unroll
        for (u32 d = 0; d < KEPT; d++) {
            uint4 chunk = make_uint4(0, 0, 0, 0);
            if (share.has(own)) chunk = at[d];
            query[d][0] = chunk.x; query[d][1] = chunk.y; query[d][2] = chunk.z; query[d][3] = chunk.w;
        }
    }
    __device__ __forceinline__ void take_queries(u32, u32) {}

    __device__ __forceinline__ void scores(u32 queries, u32 row, u32 keys, Scores& s) {
        // Every eight lanes read eight neighbouring rows.
        u32 key_at = keys + swizzled<HEAD>(lane_id() / 16 * 8 + lane_id() % 8, 0), query_at = queries + swizzled<HEAD>(row + left_row(), 0);
#pragma unroll
        for (u32 d = 0; d < HEAD / 8; d++) {
            u32 a[TILES][4];
#pragma unroll
            for (u32 t = 0; t < TILES; t++) {
                if (TILES > 1) load_shared(a[t], (query_at ^ d << 4) + 16 * t * PITCH);
#pragma unroll
                for (u32 i = 0; TILES == 1 && i < 4; i++) a[t][i] = query[d % KEPT][i];
            }
#pragma unroll
            for (u32 n = 0; n < KEYS / 16; n++) {
                u32 b[4];
                load_shared(b, (key_at ^ d << 4) + 16 * n * PITCH);
#pragma unroll
                for (u32 t = 0; t < TILES; t++) {
                    mma_m8n8k4(s[t][n], a[t][0], a[t][1], b[0], b[1]);
                    mma_m8n8k4(s[t][n], a[t][2], a[t][3], b[2], b[3]);
                }
            }
        }
    }

    // Two neighbours of each of a lane's rows become four of the row it has of a left operand.
    static __device__ __forceinline__ void settle(u32 (&out)[2], u32 first, u32 second) {
        bool upper = lane_id() & 2;
        u32 other = shuffle_xor(upper ? first : second, 2);
        out[0] = upper ? other : first;
        out[1] = upper ? second : other;
    }

    __device__ __forceinline__ void gather(u32 values, const Scores& s) {
        // The rows of eight that a quad-pair's own weights are for, and those of the one beside it.
        u32 chunk = lane_id() / 4 % 2 + lane_id() / 16 * 2, own_at = values + swizzled<HEAD>(lane_id() % 8, chunk);
        u32 other_at = values + swizzled<HEAD>(lane_id() % 8 ^ 4, chunk);
#pragma unroll
        for (u32 g = 0; g < KEYS / 8; g++) {
            u32 own[TILES][2], other[TILES][2];
#pragma unroll
            for (u32 t = 0; t < TILES; t++) {
                const float* four = s[t][g / 2] + g % 2 * 4;
                settle(own[t], pack<T>(four[0], four[1]), pack<T>(four[2], four[3]));
                other[t][0] = shuffle_xor(own[t][0], 4);
                other[t][1] = shuffle_xor(own[t][1], 4);
            }
#pragma unroll
            for (u32 c = 0; c < HEAD / 32; c++) add(c, own, (own_at ^ c << 6) + 8 * g * PITCH);
#pragma unroll
            for (u32 c = 0; c < HEAD / 32; c++) add(c, other, (other_at ^ c << 6) + 8 * g * PITCH);
        }
    }
    // Four keys for the 32 channels from 32 · c on, of which a lane reads eight.
    __device__ __forceinline__ void add(u32 c, const u32 (&weights)[TILES][2], u32 at) {
        u32 b[4];
        load_shared(b, at);
#pragma unroll
        for (u32 t = 0; t < TILES; t++) {
            mma_of_rows(this->sum[t][2 * c], weights[t], b[0], b[1]);
            mma_of_rows(this->sum[t][2 * c + 1], weights[t], b[2], b[3]);
        }
    }

    // The results: a lane has chunks of 16 bytes after the same exchange.
    __device__ __forceinline__ void give(u32, T* out, const Share& share, u32 row) {
#pragma unroll
        for (u32 t = 0; t < TILES; t++) {
            float factor[2] = {1.0f / this->whole(t, 0), 1.0f / this->whole(t, 1)};
            u32 halves[HEAD / 16][2][2];
#pragma unroll
            for (u32 i = 0; i < HEAD / 8; i++) {
                const float* four = this->sum[t][i / 4 * 2 + i % 2] + i / 2 % 2 * 4;
                settle(halves[i / 2][i % 2], pack<T>(four[0] * factor[0], four[1] * factor[0]), pack<T>(four[2] * factor[1], four[3] * factor[1]));
            }
            u32 own = row + 16 * t + left_row();
            uint4* at = reinterpret_cast<uint4*>(share.row<HEAD>(out, own)) + lane_id() / 4 % 2;
            if (share.has(own)) {
#pragma unroll
                for (u32 c = 0; c < HEAD / 16; c++) at[2 * c] = make_uint4(halves[c][0][0], halves[c][0][1], halves[c][1][0], halves[c][1][1]);
            }
        }
    }
};

#endif
