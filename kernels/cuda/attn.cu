// K30, K31: causal attention with grouped heads over a key/value cache [position][kv head][channel]. Online softmax and
// sums in fp32. The position of the first query is read from device memory; query t sees keys 0 … position + t.
//
// Prefill has two kernels: one in plain fp32 arithmetic for every class and storage, and one on tensor cores. In the
// first a masked key never touches a row. The second skips blocks that are masked as a whole, but multiplies a masked
// value of the same block by zero, so that a NaN among them reaches up to 63 earlier tokens.
#include "common.cuh"

constexpr float LOG2_E = 1.4426950408889634f;
// Below every score, and finite: what is subtracted from it is never NaN by its fault.
constexpr float LOWEST = -3.0e38f;
__device__ __forceinline__ float masked() { return float_of(0xff800000u); }

// The words of the decoder's state that attention reads; see glue.cu.
struct State {
    u32 token;
    u32 position;
};

// Eight neighbouring numbers, from 16-byte aligned memory.
__device__ __forceinline__ void load8(const float* from, float* to) {
    float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
    to[0] = low.x; to[1] = low.y; to[2] = low.z; to[3] = low.w;
    to[4] = high.x; to[5] = high.y; to[6] = high.z; to[7] = high.w;
}
template <typename T> __device__ __forceinline__ void load8(const T* from, float* to) {
    uint4 raw = *reinterpret_cast<const uint4*>(from);
    u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        to[2 * i] = to_f32(T{u16(words[i])});
        to[2 * i + 1] = to_f32(T{u16(words[i] >> 16)});
    }
}

__device__ __forceinline__ u32 shared_address(const void* pointer) {
    u64 out;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(out) : "l"(pointer));
    return u32(out);
}
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

#if __CUDA_ARCH__ >= 750

constexpr u32 CORE_THREADS = 128;
constexpr u32 CORE_ROWS = 64;
constexpr u32 CORE_KEYS = 64;

__device__ __forceinline__ void load_matrices(u32* x, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_transposed(u32* x, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(address) : "memory");
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

template <typename T, u32 HEAD>
__device__ __forceinline__ void load_core(uint4* tile, const T* from, u32 stride, u32 count) {
    constexpr u32 CHUNKS = HEAD / 8;
#pragma unroll 4
    for (u32 at = threadIdx.x; at < CORE_KEYS * CHUNKS; at += CORE_THREADS) {
        u32 row = at / CHUNKS, chunk = at % CHUNKS;
        uint4 x = make_uint4(0, 0, 0, 0);
        if (row < count) x = *reinterpret_cast<const uint4*>(from + u64(row) * stride + chunk * 8);
        tile[swizzled<HEAD>(row, chunk) / 16] = x;
    }
}

// Sixteen rows of a warp: thread 4g + c holds rows g and g + 8, columns 2c and 2c + 1 of every 8.
template <typename T, u32 HEAD>
struct Core {
    float top[2] = {LOWEST, LOWEST};
    float total[2] = {};
    float sum[HEAD / 8][4] = {};
    u32 query[HEAD / 16][4];

    __device__ __forceinline__ void take_queries(u32 tile) {
        u32 row = warp_id() * 16 + lane_id() % 16;
#pragma unroll
        for (u32 d = 0; d < HEAD / 16; d++) load_matrices(query[d], tile + swizzled<HEAD>(row, 2 * d + lane_id() / 16));
    }

    __device__ __forceinline__ void scores(u32 tile, float s[CORE_KEYS / 8][4]) {
        u32 row = lane_id() / 16 * 8 + lane_id() % 8, half = lane_id() / 8 % 2;
#pragma unroll
        for (u32 d = 0; d < HEAD / 16; d++)
#pragma unroll
            for (u32 n = 0; n < CORE_KEYS / 8; n += 2) {
                u32 b[4];
                load_matrices(b, tile + swizzled<HEAD>(8 * n + row, 2 * d + half));
                multiply_add(T{}, s[n], query[d], b);
                multiply_add(T{}, s[n + 1], query[d], b + 2);
            }
    }

    // `last` is the last key row g sees, counted from the first of the block; row g + 8 sees eight more.
    __device__ __forceinline__ void soften(float s[CORE_KEYS / 8][4], i32 last, float scale) {
        float high[2] = {top[0], top[1]};
#pragma unroll
        for (u32 n = 0; n < CORE_KEYS / 8; n++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                i32 key = i32(8 * n + lane_id() % 4 * 2 + i % 2);
                s[n][i] = key <= last + i32(i / 2 * 8) ? s[n][i] * scale : masked();
                high[i / 2] = fmaxf(high[i / 2], s[n][i]);
            }
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            high[r] = fmaxf(high[r], shuffle_xor(high[r], 1));
            high[r] = fmaxf(high[r], shuffle_xor(high[r], 2));
            float correction = exp2_approx(top[r] - high[r]);
            top[r] = high[r];
            total[r] *= correction;
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j++) {
                sum[j][2 * r] *= correction;
                sum[j][2 * r + 1] *= correction;
            }
        }
#pragma unroll
        for (u32 n = 0; n < CORE_KEYS / 8; n++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                s[n][i] = exp2_approx(s[n][i] - high[i / 2]);
                total[i / 2] += s[n][i];
            }
    }

    __device__ __forceinline__ void gather(u32 tile, float s[CORE_KEYS / 8][4]) {
#pragma unroll
        for (u32 n = 0; n < CORE_KEYS / 8; n += 2) {
            u32 a[4] = {pack<T>(s[n][0], s[n][1]), pack<T>(s[n][2], s[n][3]), pack<T>(s[n + 1][0], s[n + 1][1]), pack<T>(s[n + 1][2], s[n + 1][3])};
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j += 2) {
                u32 b[4];
                load_transposed(b, tile + swizzled<HEAD>(8 * n + lane_id() % 16, j + lane_id() / 16));
                multiply_add(T{}, sum[j], a, b);
                multiply_add(T{}, sum[j + 1], a, b + 2);
            }
        }
    }
};

template <typename T, u32 HEAD>
__device__ __forceinline__ void prefill_core(const T* q, const T* keys, const T* values, T* out, const State* state,
                                             u32 tokens, u32 heads, u32 kv_heads, float scale) {
    __shared__ uint4 key_tile[CORE_KEYS * HEAD / 8];
    __shared__ uint4 value_tile[CORE_KEYS * HEAD / 8];
    u32 row = (gridDim.x - 1 - blockIdx.x) * CORE_ROWS, head = blockIdx.y, kv_head = head / (heads / kv_heads);
    u32 position = state->position, count = min(CORE_ROWS, tokens - row), end = position + row + count;
    u32 stride = kv_heads * HEAD, mine = row + 16 * warp_id() + lane_id() / 4;
    Core<T, HEAD> core;
    load_core<T, HEAD>(key_tile, q + (u64(row) * heads + head) * HEAD, heads * HEAD, count);
    __syncthreads();
    core.take_queries(shared_address(key_tile));
    for (u32 first = 0; first < end; first += CORE_KEYS) {
        u32 present = min(CORE_KEYS, end - first);
        u64 at = u64(first) * stride + kv_head * HEAD;
        __syncthreads();
        load_core<T, HEAD>(key_tile, keys + at, stride, present);
        load_core<T, HEAD>(value_tile, values + at, stride, present);
        __syncthreads();
        if (first > position + row + 16 * warp_id() + 15) continue;
        float s[CORE_KEYS / 8][4] = {};
        core.scores(shared_address(key_tile), s);
        core.soften(s, i32(position + mine) - i32(first), scale * LOG2_E);
        core.gather(shared_address(value_tile), s);
    }
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        float total = core.total[r];
        total += shuffle_xor(total, 1);
        total += shuffle_xor(total, 2);
        u32 token = mine + 8 * r;
        if (token >= tokens) continue;
        u32* to = reinterpret_cast<u32*>(out + (u64(token) * heads + head) * HEAD) + lane_id() % 4;
#pragma unroll
        for (u32 j = 0; j < HEAD / 8; j++)
            to[4 * j] = pack<T>(core.sum[j][2 * r] / total, core.sum[j][2 * r + 1] / total);
    }
}

#endif

// ---- Decode ----

constexpr u32 DECODE_THREADS = 128;
constexpr u32 KEYS_AT_ONCE = DECODE_THREADS / 8;

// One piece of the keys of one kv head, for up to four of the query heads that share it. Eight lanes hold one key, so
// that every key and value is read once for all of them. Partial results: the sums, the maximum, the total.
template <typename T, u32 HEAD, u32 SHARED>
__device__ __forceinline__ void decode(const T* q, const T* keys, const T* values, float* parts, const State* state,
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
        float high = LOWEST, joined = 0.0f, weight = 0.0f;
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) high = fmaxf(high, tops[w][g]);
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) {
            float scale = exp2_approx(tops[w][g] - high);
            joined = fmaf(sums[w][g][d], scale, joined);
            weight = fmaf(totals[w][g], scale, weight);
        }
        float* part = parts + (u64(head + g) * splits + blockIdx.x) * (HEAD + 2);
        part[d] = joined;
        if (d == 0) {
            part[HEAD] = high;
            part[HEAD + 1] = weight;
        }
    }
}

template <typename T, u32 HEAD>
__device__ __forceinline__ void decode_shared(const T* q, const T* keys, const T* values, float* parts,
                                              const State* state, u32 heads, u32 kv_heads, float scale) {
    u32 group = heads / kv_heads, blocks = ceil_div(group, 4), kv_head = blockIdx.y / blocks;
    u32 offset = blockIdx.y % blocks * 4, count = min(4u, group - offset), head = kv_head * group + offset;
    if (count == 1) decode<T, HEAD, 1>(q, keys, values, parts, state, head, count, kv_head, kv_heads * HEAD, scale);
    else if (count == 2) decode<T, HEAD, 2>(q, keys, values, parts, state, head, count, kv_head, kv_heads * HEAD, scale);
    else decode<T, HEAD, 4>(q, keys, values, parts, state, head, count, kv_head, kv_heads * HEAD, scale);
}

// One block per query head, one thread per channel.
template <typename T>
__device__ __forceinline__ void combine(const float* parts, T* out, u32 splits) {
    u32 width = blockDim.x, record = width + 2;
    parts += u64(blockIdx.x) * splits * record;
    float high = LOWEST, sum = 0.0f, total = 0.0f;
    for (u32 i = 0; i < splits; i++) high = fmaxf(high, parts[i * record + width]);
    for (u32 i = 0; i < splits; i++) {
        float scale = exp2_approx(parts[i * record + width] - high);
        sum = fmaf(parts[i * record + threadIdx.x], scale, sum);
        total = fmaf(parts[i * record + width + 1], scale, total);
    }
    out[blockIdx.x * width + threadIdx.x] = from_f32<T>(sum / total);
}

#define PREFILL(entry, body, threads, T)                                                                              \
    extern "C" __global__ void __launch_bounds__(threads) entry(const T* q, const T* keys, const T* values, T* out,   \
                                                                const State* state, u32 tokens, u32 heads,            \
                                                                u32 kv_heads, float scale) {                          \
        body(q, keys, values, out, state, tokens, heads, kv_heads, scale);                                            \
    }
#define OF_HEAD(T, HEAD)                                                                                              \
    PREFILL(attn_prefill_##T##_h##HEAD, (prefill<T, HEAD>), PLAIN_THREADS, T)                                         \
    extern "C" __global__ void __launch_bounds__(DECODE_THREADS) attn_decode_##T##_h##HEAD(                           \
        const T* q, const T* keys, const T* values, float* parts, const State* state, u32 heads, u32 kv_heads,        \
        float scale) {                                                                                                \
        decode_shared<T, HEAD>(q, keys, values, parts, state, heads, kv_heads, scale);                                \
    }
#define OF_STORAGE(T)                                                                                                 \
    OF_HEAD(T, 64)                                                                                                    \
    OF_HEAD(T, 128)                                                                                                   \
    extern "C" __global__ void attn_combine_##T(const float* parts, T* out, u32 splits) { combine(parts, out, splits); }

using f32 = float;
OF_STORAGE(f32)
OF_STORAGE(f16)
OF_STORAGE(bf16)

#if __CUDA_ARCH__ >= 750
PREFILL(attn_prefill_mma_f16_h64, (prefill_core<f16, 64>), CORE_THREADS, f16)
PREFILL(attn_prefill_mma_f16_h128, (prefill_core<f16, 128>), CORE_THREADS, f16)
#endif
#if __CUDA_ARCH__ >= 800
PREFILL(attn_prefill_mma_bf16_h64, (prefill_core<bf16, 64>), CORE_THREADS, bf16)
PREFILL(attn_prefill_mma_bf16_h128, (prefill_core<bf16, 128>), CORE_THREADS, bf16)
#endif
