// K30: causal attention of many queries with grouped heads over a key/value cache [position][kv head][channel]. Online softmax and sums in fp32.
// The position of the first query is read from device memory; query t sees keys 0 … position + t.
//
// There are two kinds: one in plain fp32 arithmetic for every class and storage, and one on tensor cores. In the first a masked key never
// touches a row. The second skips blocks that are masked as a whole, but multiplies a masked value of the same block by zero, so that a NaN
// among them reaches up to 63 earlier tokens.
#include "attn_rows.cuh"
#include "attn_volta.cuh"

// As an instruction: the compiler splits some vector loads from shared memory, and not the same ones every time.
__device__ __forceinline__ float4 load_quad(u32 address) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(address) : "memory");
    return x;
}

// ---- Prefill, plain ----

constexpr u32 PLAIN_THREADS = 128;
constexpr u32 PLAIN_ROWS = 32;
constexpr u32 PLAIN_KEYS = 32;

// Rows of a matrix into shared memory as fp32, scaled; zero past `count`.
template <typename T, u32 HEAD>
__device__ __forceinline__ void load_plain(float* tile, const T* from, u32 stride, u32 count, float scale) {
    constexpr u32 PITCH = HEAD + 4, VECTORS = HEAD / 8;
#pragma unroll
    for (u32 at = threadIdx.x; at < PLAIN_ROWS * VECTORS; at += PLAIN_THREADS) {
        u32 row = at / VECTORS, column = at % VECTORS * 8;
        float x[8] = {};
        if (row < count) load8(from + u64(row) * stride + column, x);
        float4* to = reinterpret_cast<float4*>(tile + row * PITCH + column);
        to[0] = make_float4(x[0] * scale, x[1] * scale, x[2] * scale, x[3] * scale);
        to[1] = make_float4(x[4] * scale, x[5] * scale, x[6] * scale, x[7] * scale);
    }
}

__device__ __forceinline__ float dot4(float4 a, float4 b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// Eight lanes share two rows: `rows` is 0 … 15, `lane` 0 … 7. Lane l has keys l, l + 8, … and channels 4l …, 4l + 32 ….
template <u32 HEAD>
struct Plain {
    static constexpr u32 PITCH = HEAD + 4;
    static constexpr u32 QUADS = HEAD / 32;
    float top[2] = {LOWEST, LOWEST};
    float total[2] = {};
    float4 sum[2][QUADS] = {};

    __device__ __forceinline__ void scores(u32 queries, u32 keys, u32 rows, u32 lane, float s[2][4]) {
#pragma unroll 4
        for (u32 d = 0; d < HEAD; d += 4) {
            float4 q[2], k[4];
#pragma unroll
            for (u32 r = 0; r < 2; r++) q[r] = load_quad(queries + ((2 * rows + r) * PITCH + d) * 4);
#pragma unroll
            for (u32 c = 0; c < 4; c++) k[c] = load_quad(keys + ((lane + 8 * c) * PITCH + d) * 4);
#pragma unroll
            for (u32 r = 0; r < 2; r++)
#pragma unroll
                for (u32 c = 0; c < 4; c++) s[r][c] = dot4(q[r], k[c], s[r][c]);
        }
    }

    // Scores become weights; what was summed so far is scaled to the new maximum.
    __device__ __forceinline__ void soften(u32 r, float s[4]) {
        float high = fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]));
#pragma unroll
        for (u32 step = 1; step < 8; step *= 2) high = fmaxf(high, shuffle_xor(high, step));
        high = fmaxf(high, top[r]);
        float correction = exp2_approx(top[r] - high);
        top[r] = high;
        total[r] *= correction;
#pragma unroll
        for (u32 c = 0; c < 4; c++) {
            s[c] = exp2_approx(s[c] - high);
            total[r] += s[c];
        }
#pragma unroll
        for (u32 j = 0; j < QUADS; j++) {
            sum[r][j].x *= correction; sum[r][j].y *= correction;
            sum[r][j].z *= correction; sum[r][j].w *= correction;
        }
    }

    __device__ __forceinline__ void gather(u32 r, u32 j, float weight, float4 v) {
        sum[r][j].x = fmaf(weight, v.x, sum[r][j].x);
        sum[r][j].y = fmaf(weight, v.y, sum[r][j].y);
        sum[r][j].z = fmaf(weight, v.z, sum[r][j].z);
        sum[r][j].w = fmaf(weight, v.w, sum[r][j].w);
    }
};

template <typename T, u32 HEAD>
__device__ __forceinline__ void prefill(const T* q, const T* keys, const T* values, T* out, const State* state,
                                        u32 tokens, u32 heads, u32 kv_heads, float scale) {
    constexpr u32 PITCH = HEAD + 4, WEIGHT_PITCH = PLAIN_KEYS + 1;
    __shared__ __align__(16) float queries[PLAIN_ROWS * PITCH];
    __shared__ __align__(16) float tile[PLAIN_KEYS * PITCH];
    __shared__ float weights[PLAIN_ROWS * WEIGHT_PITCH];
    u32 row = (gridDim.x - 1 - blockIdx.x) * PLAIN_ROWS, head = blockIdx.y, kv_head = head / (heads / kv_heads);
    u32 rows = threadIdx.x / 8, lane = threadIdx.x % 8, position = state->position;
    u32 count = min(PLAIN_ROWS, tokens - row), end = position + row + count, stride = kv_heads * HEAD;
    load_plain<T, HEAD>(queries, q + (u64(row) * heads + head) * HEAD, heads * HEAD, count, scale * LOG2_E);
    u32 query_address = shared_address(queries), tile_address = shared_address(tile);
    Plain<HEAD> plain;
    for (u32 first = 0; first < end; first += PLAIN_KEYS) {
        u32 present = min(PLAIN_KEYS, end - first);
        u64 at = u64(first) * stride + kv_head * HEAD;
        __syncthreads();
        load_plain<T, HEAD>(tile, keys + at, stride, present, 1.0f);
        __syncthreads();
        float s[2][4] = {};
        plain.scores(query_address, tile_address, rows, lane, s);
        __syncthreads();
        load_plain<T, HEAD>(tile, values + at, stride, present, 1.0f);
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            u32 last = position + row + 2 * rows + r;
#pragma unroll
            for (u32 c = 0; c < 4; c++) s[r][c] = first + lane + 8 * c <= last ? s[r][c] : masked();
            plain.soften(r, s[r]);
#pragma unroll
            for (u32 c = 0; c < 4; c++) weights[(2 * rows + r) * WEIGHT_PITCH + lane + 8 * c] = s[r][c];
        }
        __syncthreads();
        for (u32 key = 0; key < present; key++) {
            bool seen[2];
            float weight[2];
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                seen[r] = first + key <= position + row + 2 * rows + r;
                weight[r] = weights[(2 * rows + r) * WEIGHT_PITCH + key];
            }
#pragma unroll
            for (u32 j = 0; j < HEAD / 32; j++) {
                float4 v = load_quad(tile_address + (key * PITCH + 32 * j + 4 * lane) * 4);
                if (seen[0]) plain.gather(0, j, weight[0], v);
                if (seen[1]) plain.gather(1, j, weight[1], v);
            }
        }
    }
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        float total = plain.total[r];
#pragma unroll
        for (u32 step = 1; step < 8; step *= 2) total += shuffle_xor(total, step);
        if (2 * rows + r >= count) continue;
        T* to = out + (u64(row + 2 * rows + r) * heads + head) * HEAD + 4 * lane;
#pragma unroll
        for (u32 j = 0; j < HEAD / 32; j++) {
            float4 sum = plain.sum[r][j];
            to[32 * j] = from_f32<T>(sum.x / total);
            to[32 * j + 1] = from_f32<T>(sum.y / total);
            to[32 * j + 2] = from_f32<T>(sum.z / total);
            to[32 * j + 3] = from_f32<T>(sum.w / total);
        }
    }
}

// ---- Prefill on tensor cores ----

#if __CUDA_ARCH__ >= 700

// What is known to be a constant is added anew wherever it is needed, which costs the largest tile two registers too many.
__device__ __forceinline__ u32 opaque(u32 x) {
    u32 out;
    asm("mov.u32 %0, %1;" : "=r"(out) : "r"(x));
    return out;
}

// Sixteen or thirty-two rows for each of four warps. Keys and values have one tile each: values are on their way while scores are computed, the
// next keys while scores become weights and gather values, so two barriers a block of keys order everything, and shared memory is half of
// what two stages of both would take. One tile of sixteen rows borrows that of the values for its queries, which then stay in registers.
// Heads are the fast index of the grid and the last queries come first: the longest work starts first, and heads that share keys run together.
template <typename T, u32 HEAD, u32 KEYS, u32 TILES>
__device__ __forceinline__ void prefill_core(const T* q, const T* keys, const T* values, T* out, const State* state,
                                             u32 tokens, u32 heads, u32 kv_heads, float scale) {
    constexpr u32 ROWS = CORE_THREADS / WARP * 16 * TILES;
    using Tile = Mover<HEAD, KEYS, CORE_THREADS>;
    extern __shared__ __align__(256) uint4 dynamic[];
    u32 key_tile = opaque(shared_address(dynamic)), value_tile = key_tile + Tile::BYTES;
    u32 queries = TILES == 1 ? value_tile : value_tile + Tile::BYTES;
    u32 row = (gridDim.y - 1 - blockIdx.y) * ROWS, head = blockIdx.x, kv_head = head / (heads / kv_heads);
    u32 position = state->position, count = min(ROWS, tokens - row), end = position + row + count;
    u32 stride = kv_heads * HEAD, mine = 16 * TILES * warp_id();
    const Share share = {row, tokens, heads, head};
    const T* next_keys = keys + kv_head * HEAD;
    const T* next_values = values + kv_head * HEAD;
    Rows<T, HEAD, KEYS, TILES> rows;
    Tile tile;
    rows.fetch_queries(queries, q, share, mine);
    tile.issue(key_tile, next_keys, stride, end, threadIdx.x);
    commit_copies();
    rows.take_queries(queries, mine);
    // The last keys that the warp's first row and its last row see.
    u32 first_sees = position + row + mine, last_sees = first_sees + 16 * TILES - 1;
    for (u32 first = 0; first < end; first += KEYS) {
        wait_for_copies<0>();
        tile.land(key_tile, threadIdx.x);
        __syncthreads();
        tile.issue(value_tile, next_values, stride, end - first, threadIdx.x);
        commit_copies();
        bool seen = first <= last_sees;
        float s[TILES][KEYS / Held::WIDTH][Held::SUMS] = {};
        if (seen) rows.scores(queries, mine, key_tile, s);
        wait_for_copies<0>();
        tile.land(value_tile, threadIdx.x);
        __syncthreads();
        next_keys += u64(KEYS) * stride;
        next_values += u64(KEYS) * stride;
        if (first + KEYS < end) tile.issue(key_tile, next_keys, stride, end - first - KEYS, threadIdx.x);
        commit_copies();
        if (!seen) continue;
        if (first + KEYS - 1 > first_sees) rows.mask(s, i32(first_sees - first));
        rows.soften(s, scale * LOG2_E);
        rows.gather(value_tile, s);
    }
    // Nobody reads the last keys any more; the queries were each warp's own.
    rows.give(TILES == 1 ? key_tile : queries, out, share, mine);
}

#endif

#define PREFILL(entry, body, threads, T)                                                                              \
    extern "C" __global__ void __launch_bounds__(threads) entry(const T* q, const T* keys, const T* values, T* out,   \
                                                                const State* state, u32 tokens, u32 heads,            \
                                                                u32 kv_heads, float scale) {                          \
        body(q, keys, values, out, state, tokens, heads, kv_heads, scale);                                            \
    }
#define PLAIN(T) PREFILL(attn_prefill_##T##_h128, (prefill<T, 128>), PLAIN_THREADS, T)
#define CORE(T, ROWS, KEYS)                                                                                           \
    PREFILL(attn_prefill_##ROWS##x##KEYS##_##T##_h128, (prefill_core<T, 128, KEYS, ROWS / 64>), CORE_THREADS, T)

using f32 = float;
PLAIN(f32)
PLAIN(f16)
PLAIN(bf16)

#if __CUDA_ARCH__ >= 700
CORE(f16, 64, 64)
#endif
#if __CUDA_ARCH__ == 700
CORE(f16, 128, 32)
#endif
#if __CUDA_ARCH__ >= 800
CORE(f16, 128, 64)
CORE(bf16, 64, 64)
CORE(bf16, 128, 64)
#endif
