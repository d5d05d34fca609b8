// K31: causal attention of one query with grouped heads over a key/value cache [position][kv head][channel]. The keys of a kv head are split over
// blocks; how many is fixed by the launch, how long a piece is follows from the position in device memory. Online softmax and sums in fp32.
//
// On tensor cores the query heads that share a kv head are the rows of one tile of sixteen: every key and value is read once for all of them,
// and an instruction does what hundreds do on CUDA cores. The weights are rounded to the storage format in front of the values, as in prefill.
// The plain kernel serves what has no tensor cores for its storage.
#include "attn_decode_plain.cuh"
#include "attn_rows.cuh"
#if __CUDA_ARCH__ >= 900
#include "tma.cuh"
#endif

#if __CUDA_ARCH__ >= 750

// Keys of a warp at a time, and how many such chunks it has on their way.
constexpr u32 CHUNK_KEYS = 16;
constexpr u32 STAGES = __CUDA_ARCH__ >= 800 ? 2 : 1;
constexpr u32 MOST_ROWS = 16;
constexpr u32 DECODE_WARPS = DECODE_THREADS / WARP;

__device__ __forceinline__ void store_half(u32 address, u16 x) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(x) : "memory");
}

// One pair of channels, i and i + HEAD / 2, turned by the angle of the position (its cosine and sine), into a row of a tile.
template <typename T, u32 HEAD>
__device__ __forceinline__ void rotate_pair(const T* from, float2 angle, u32 pair, u32 tile, u32 row) {
    float a = to_f32(from[pair]), b = to_f32(from[pair + HEAD / 2]), cosine = angle.x, sine = angle.y;
    u32 low = tile + swizzled<HEAD>(row, pair / 8) + pair % 8 * 2;
    u32 high = tile + swizzled<HEAD>(row, (pair + HEAD / 2) / 8) + pair % 8 * 2;
    store_half(low, from_f32<T>(a * cosine - b * sine).bits);
    store_half(high, from_f32<T>(a * sine + b * cosine).bits);
}

// What one query attends to. Where `rotate` is set, query, key and value come as they were projected, and the key and value at the position are
// not in the cache yet: they are rotated here, and appended.
template <typename T> struct Task {
    const T* q;
    const T* key;
    const T* value;
    T* keys;
    T* values;
    const float* table;
    const State* state;
    u32 heads, kv_heads, rotate;
    float scale;
};

// The shared memory of a block: maxima and totals of its warps, queries, the new key and value, and a ring of chunks for each warp, which later
// holds its sums; behind them what a cluster's warps give this block. All of it is dynamic, so that tiles begin where they must.
constexpr u32 FRONT = 768;
struct Front {
    float tops[DECODE_WARPS][MOST_ROWS];
    float totals[DECODE_WARPS][MOST_ROWS];
    u32 arrived;
};
static_assert(sizeof(Front) <= FRONT, "it ends before the queries");
template <u32 HEAD> struct Shared {
    static constexpr u32 ROW = HEAD * 2;
    static constexpr u32 CHUNK = CHUNK_KEYS * ROW;
    static constexpr u32 RING = STAGES * 2 * CHUNK;
    u32 queries, new_key, new_value, ring;

    __device__ __forceinline__ explicit Shared(u32 base)
        : queries(base + FRONT), new_key(queries + MOST_ROWS * ROW), new_value(new_key + ROW), ring(new_value + ROW + warp_id() * RING) {}
    // Four floats of a row of a warp's sums.
    __device__ __forceinline__ u32 sums(u32 warp, u32 row, u32 quad) const {
        return ring + (warp - warp_id()) * RING + row * HEAD * 4 + (quad ^ (row & 7)) * 16;
    }
};

// The queries of the group into their tile, and the new row into shared memory and cache. `angle` is that of the one pair of channels a thread has.
template <typename T, u32 HEAD>
__device__ __forceinline__ void prepare(const Task<T>& task, const Shared<HEAD>& shared, u32 head, u32 count, u32 kv_head, bool append, float2 angle) {
    constexpr u32 CHUNKS = HEAD / 8, PAIRS = HEAD / 2;
    static_assert(DECODE_THREADS % PAIRS == 0, "a thread stays with its pair");
    if (!task.rotate) {
        for (u32 at = threadIdx.x; at < count * CHUNKS; at += DECODE_THREADS) {
            u32 row = at / CHUNKS, chunk = at % CHUNKS;
            store_shared16(shared.queries + swizzled<HEAD>(row, chunk), *reinterpret_cast<const uint4*>(task.q + (head + row) * HEAD + chunk * 8));
        }
        return;
    }
    for (u32 at = threadIdx.x; at < count * PAIRS; at += DECODE_THREADS)
        rotate_pair<T, HEAD>(task.q + (head + at / PAIRS) * HEAD, angle, at % PAIRS, shared.queries, at / PAIRS);
    if (!append) return;
    if (threadIdx.x < PAIRS) rotate_pair<T, HEAD>(task.key + kv_head * HEAD, angle, threadIdx.x, shared.new_key, 0);
    if (threadIdx.x < CHUNKS)
        store_shared16(shared.new_value + threadIdx.x * 16, *reinterpret_cast<const uint4*>(task.value + kv_head * HEAD + threadIdx.x * 8));
}

// The sums of the four warps are one part, or the result where there is one piece only.
template <typename T, u32 HEAD>
__device__ __forceinline__ void merge(const Shared<HEAD>& shared, const Front& front, float* parts, T* out, u32 head, u32 count) {
    constexpr u32 QUADS = HEAD / 4;
    u32 splits = gridDim.x;
    for (u32 at = threadIdx.x; at < count * QUADS; at += DECODE_THREADS) {
        u32 row = at / QUADS, quad = at % QUADS;
        float high = LOWEST, total = 0.0f, sum[4] = {};
#pragma unroll
        for (u32 w = 0; w < DECODE_WARPS; w++) high = fmaxf(high, front.tops[w][row]);
#pragma unroll
        for (u32 w = 0; w < DECODE_WARPS; w++) {
            float factor = exp2_approx(front.tops[w][row] - high);
            uint4 x = load_chunk(shared.sums(w, row, quad));
            sum[0] = fmaf(float_of(x.x), factor, sum[0]);
            sum[1] = fmaf(float_of(x.y), factor, sum[1]);
            sum[2] = fmaf(float_of(x.z), factor, sum[2]);
            sum[3] = fmaf(float_of(x.w), factor, sum[3]);
            total = fmaf(front.totals[w][row], factor, total);
        }
        if (splits == 1) {
            store2(out + u64(head + row) * HEAD + 4 * quad, sum[0] / total, sum[1] / total);
            store2(out + u64(head + row) * HEAD + 4 * quad + 2, sum[2] / total, sum[3] / total);
            continue;
        }
        float* part = parts + (u64(head + row) * splits + blockIdx.x) * (HEAD + RECORD_TAIL);
        *reinterpret_cast<float4*>(part + 4 * quad) = make_float4(sum[0], sum[1], sum[2], sum[3]);
        if (quad == 0) *reinterpret_cast<float2*>(part + HEAD) = make_float2(high, total);
    }
}

#if __CUDA_ARCH__ >= 900
// Blocks of a cluster, one a piece, and its warps.
constexpr u32 CLUSTER = 8;
constexpr u32 SOURCES = CLUSTER * DECODE_WARPS;

// The two halves of a meeting of a cluster; what a thread wrote before the first is published where it is asked for.
template <bool PUBLISH> __device__ __forceinline__ void arrive_at_cluster() {
    if (PUBLISH) asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    else asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
__device__ __forceinline__ void give_in_cluster(u32 at, float first, float second) {
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(first), "f"(second) : "memory");
}
__device__ __forceinline__ void take_given(float (&out)[4], u32 at) {
    u32 words[4];
    load_shared(words, at);
#pragma unroll
    for (u32 i = 0; i < 4; i++) out[i] = float_of(words[i]);
}

// What every warp of a cluster gives each of its blocks, which make an eighth of the channels of every row: maximum and total of its rows, and its sums of
// these channels. A store goes to another block without being waited for; a load would take a turn there and back, behind the meeting of all.
template <u32 HEAD> struct Given {
    static constexpr u32 QUADS = HEAD / 4 / CLUSTER;
    u32 base, count;

    // Sixteen bytes behind those of a source: lanes that read those of eight sources meet every bank once.
    __device__ __forceinline__ u32 sums(u32 source, u32 row, u32 quad) const {
        return base + SOURCES * MOST_ROWS * 8 + source * (count * QUADS * 16 + 16) + (row * QUADS + quad) * 16;
    }
    __device__ __forceinline__ u32 record(u32 source, u32 row) const { return base + (source * MOST_ROWS + row) * 8; }

    // A lane's part of rows g and g + 8; all lanes of a row have its maximum and total.
    __device__ __forceinline__ void give(const float (&sum)[HEAD / 8][4], const float (&top)[2], const float (&total)[2]) const {
        const u32 source = warp_id() * CLUSTER + blockIdx.x, lane = lane_id() % 4;
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 row = lane_id() / 4 + 8 * r;
            if (row >= count) continue;
#pragma unroll
            for (u32 to = lane; to < CLUSTER; to += 4) give_in_cluster(in_block(record(source, row), to), top[r], total[r]);
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j++) {
                const u32 quad = 2 * j + lane / 2;
                give_in_cluster(in_block(sums(source, row, quad % QUADS), j / 2) + lane % 2 * 8, sum[j][2 * r], sum[j][2 * r + 1]);
            }
        }
    }
    // What all gave becomes the result: of every four channels a lane merges what the warps of one block gave.
    template <typename T> __device__ __forceinline__ void merge(T* out, u32 head) const {
        static_assert(WARP % CLUSTER == 0, "the blocks of a quad are lanes of a warp");
        const u32 block = lane_id() % CLUSTER, all = count * QUADS;
        for (u32 first = 0; first < all; first += DECODE_THREADS / CLUSTER) {
            const u32 at = first + threadIdx.x / CLUSTER, row = min(at, all - 1) / QUADS, quad = min(at, all - 1) % QUADS;
            float part[DECODE_WARPS][4], record_of[DECODE_WARPS][2], high = LOWEST;
#pragma unroll
            for (u32 w = 0; w < DECODE_WARPS; w++) {
                u32 words[2];
                load_shared(words, record(w * CLUSTER + block, row));
                record_of[w][0] = float_of(words[0]), record_of[w][1] = float_of(words[1]);
                take_given(part[w], sums(w * CLUSTER + block, row, quad));
                high = fmaxf(high, record_of[w][0]);
            }
#pragma unroll
            for (u32 step = 1; step < CLUSTER; step *= 2) high = fmaxf(high, shuffle_xor(high, step));
            float sum[5] = {};
#pragma unroll
            for (u32 w = 0; w < DECODE_WARPS; w++) {
                const float factor = exp2_approx(record_of[w][0] - high);
#pragma unroll
                for (u32 e = 0; e < 4; e++) sum[e] = fmaf(part[w][e], factor, sum[e]);
                sum[4] = fmaf(record_of[w][1], factor, sum[4]);
            }
#pragma unroll
            for (u32 step = 1; step < CLUSTER; step *= 2)
#pragma unroll
                for (u32 e = 0; e < 5; e++) sum[e] += shuffle_xor(sum[e], step);
            if (block > 0 || at >= all) continue;
            T* to = out + u64(head + row) * HEAD + 4 * (blockIdx.x * QUADS + quad);
            store2(to, sum[0] / sum[4], sum[1] / sum[4]);
            store2(to + 2, sum[2] / sum[4], sum[3] / sum[4]);
        }
    }
};
#endif

// One piece for the heads of a group, at most sixteen. Each warp streams its own chunks of keys without meeting the others; then the four are merged,
// and whichever block of a group ends last combines the parts: a second launch would cost more than it does. Pieces that are a cluster need no memory for
// parts, nor a turn through it.
// With `rotate`, what the cache holds in front of the position does not depend on the launch in front, and is on its way before that has ended.
template <typename T, u32 HEAD, bool CLUSTERED>
__device__ __forceinline__ void decode_core(const Task<T>& task, float* parts, u32* arrivals, T* out) {
    using Chunk = Mover<HEAD, CHUNK_KEYS, WARP>;
    extern __shared__ __align__(256) uint4 dynamic[];
    Front& front = *reinterpret_cast<Front*>(dynamic);
    const Shared<HEAD> shared(shared_address(dynamic));
    u32 group = task.heads / task.kv_heads, blocks = ceil_div(group, MOST_ROWS), kv_head = blockIdx.y / blocks;
    u32 offset = blockIdx.y % blocks * MOST_ROWS, count = min(MOST_ROWS, group - offset), head = kv_head * group + offset;
    u32 length = task.state->position + 1, stride = task.kv_heads * HEAD, splits = gridDim.x;
    u32 piece = ceil_div(ceil_div(length, splits), CHUNK_KEYS) * CHUNK_KEYS;
    u32 begin = min(blockIdx.x * piece, length), end = min(begin + piece, length);
    bool append = task.rotate && begin < end && end == length;
    u32 cached = end - u32(append);
    T* keys = task.keys + kv_head * HEAD;
    T* values = task.values + kv_head * HEAD;
    Chunk of_keys, of_values;
    auto issue = [&](u32 first, u32 stage) {
        if (first < end) {
            u32 present = cached - first;
            of_keys.issue(stage, keys + u64(first) * stride, stride, present, lane_id());
            of_values.issue(stage + Chunk::BYTES, values + u64(first) * stride, stride, present, lane_id());
        }
        commit_copies();
    };
    constexpr u32 APART = DECODE_WARPS * CHUNK_KEYS;
    u32 first = begin + warp_id() * CHUNK_KEYS, stage = shared.ring;
#if __CUDA_ARCH__ >= 900
    // A block may be given something once it has begun.
    if (CLUSTERED) arrive_at_cluster<false>();
#endif
    if (!task.rotate) wait_for_predecessor();
#pragma unroll
    for (u32 i = 0; i < STAGES; i++) issue(first + i * APART, shared.ring + i * 2 * Chunk::BYTES);
    for (u32 at = threadIdx.x + count * (HEAD / 8); at < MOST_ROWS * (HEAD / 8); at += DECODE_THREADS)
        store_shared16(shared.queries + at * 16, make_uint4(0, 0, 0, 0));
    float2 angle = {};
    if (task.rotate) angle = reinterpret_cast<const float2*>(task.table + u64(length - 1) * HEAD)[threadIdx.x % (HEAD / 2)];
    take_turn();
    prepare<T, HEAD>(task, shared, head, count, kv_head, append, angle);
    __syncthreads();
    const auto remember = [&] {
        if (!append || offset > 0 || threadIdx.x >= HEAD / 8) return;
        u64 at = u64(length - 1) * stride + threadIdx.x * 8;
        *reinterpret_cast<uint4*>(keys + at) = load_chunk(shared.new_key + threadIdx.x * 16);
        *reinterpret_cast<uint4*>(values + at) = load_chunk(shared.new_value + threadIdx.x * 16);
    };
    if (!CLUSTERED) remember();
    Rows<T, HEAD, CHUNK_KEYS, 1> rows;
    rows.keep_queries(shared.queries, 0);
    for (; first < end; first += APART) {
        wait_for_copies<STAGES - 1>();
        of_keys.land(stage, lane_id());
        of_values.land(stage + Chunk::BYTES, lane_id());
        __syncwarp();
        if (STAGES == 1) issue(first + APART, stage);
        if (append && cached < first + CHUNK_KEYS) {
            constexpr u32 CHUNKS = HEAD / 8;
            u32 chunk = lane_id() % CHUNKS, row = cached - first;
            if (lane_id() < CHUNKS) store_shared16(stage + swizzled<HEAD>(row, chunk), load_chunk(shared.new_key + chunk * 16));
            else if (lane_id() < 2 * CHUNKS)
                store_shared16(stage + Chunk::BYTES + swizzled<HEAD>(row, chunk), load_chunk(shared.new_value + chunk * 16));
            __syncwarp();
        }
        float s[1][CHUNK_KEYS / 8][4] = {};
        rows.scores(0, 0, stage, s);
        if (end < first + CHUNK_KEYS) rows.cut(s, end - first);
        rows.soften(s, task.scale * LOG2_E);
        rows.gather(stage + Chunk::BYTES, s);
        __syncwarp();
        if (STAGES > 1) issue(first + STAGES * APART, stage);
        if (STAGES > 1) stage = stage == shared.ring ? stage + 2 * Chunk::BYTES : shared.ring;
    }
    wait_for_copies<0>();
    __syncwarp();
    float top[2], total[2];
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        top[r] = rows.top[0][r] * (task.scale * LOG2_E);
        total[r] = rows.total[0][r];
        total[r] += shuffle_xor(total[r], 1);
        total[r] += shuffle_xor(total[r], 2);
    }
#if __CUDA_ARCH__ >= 900
    if constexpr (CLUSTERED) {
        const Given<HEAD> given{shared.ring + (DECODE_WARPS - warp_id()) * Shared<HEAD>::RING, count};
        wait_for_cluster();
        given.give(rows.sum[0], top, total);
        arrive_at_cluster<true>();
        remember();
        wait_for_cluster();
        given.template merge<T>(out, head);
        return;
    }
#endif
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        u32 row = lane_id() / 4 + 8 * r, lane = lane_id() % 4;
        if (lane == 0) front.tops[warp_id()][row] = top[r], front.totals[warp_id()][row] = total[r];
        if (row >= count) continue;
#pragma unroll
        for (u32 j = 0; j < HEAD / 8; j++) {
            u32 at = shared.sums(warp_id(), row, 2 * j + lane / 2) + lane % 2 * 8;
            store_shared4(at, bits_of(rows.sum[0][j][2 * r]));
            store_shared4(at + 4, bits_of(rows.sum[0][j][2 * r + 1]));
        }
    }
    __syncthreads();
    merge<T, HEAD>(shared, front, parts, out, head, count);
    if (splits == 1) return;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) front.arrived = atomicAdd(arrivals + blockIdx.y, 1u);
    __syncthreads();
    if (front.arrived + 1 < splits) return;
    __threadfence();
    for (u32 row = warp_id(); row < count; row += DECODE_WARPS)
        combine<T, HEAD>(parts + u64(head + row) * splits * (HEAD + RECORD_TAIL), out + u64(head + row) * HEAD, splits);
    if (threadIdx.x == 0) arrivals[blockIdx.y] = 0;
}

#endif

#define PLAIN(T, HEAD)                                                                                                \
    extern "C" __global__ void __launch_bounds__(DECODE_THREADS) attn_decode_##T##_h##HEAD(                           \
        const T* q, const T* keys, const T* values, float* parts, const State* state, u32 heads, u32 kv_heads,        \
        float scale) {                                                                                                \
        decode_shared<T, HEAD>(q, keys, values, parts, state, heads, kv_heads, scale);                                \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(WARP) attn_combine_##T##_h##HEAD(const float* parts, T* out,         \
                                                                                  u32 splits) {                       \
        take_turn();                                                                                                  \
        u32 head = blockIdx.x;                                                                                        \
        combine<T, HEAD>(parts + u64(head) * splits * (HEAD + RECORD_TAIL), out + u64(head) * HEAD, splits);             \
    }
#define CORE_AS(name, T, HEAD, CLUSTERED, bounds)                                                                     \
    extern "C" __global__ void bounds __launch_bounds__(DECODE_THREADS) name(                                         \
        const T* q, const T* key, const T* value, T* keys, T* values, float* parts, u32* arrivals, T* out,            \
        const float* table, const State* state, u32 heads, u32 kv_heads, u32 rotate, float scale) {                   \
        decode_core<T, HEAD, CLUSTERED>(                                                                              \
            Task<T>{q, key, value, keys, values, table, state, heads, kv_heads, rotate, scale}, parts, arrivals, out); \
    }
#if __CUDA_ARCH__ >= 900
#define CORE(T, HEAD)                                                                                                 \
    CORE_AS(attn_decode_mma_##T##_h##HEAD, T, HEAD, false, )                                                          \
    CORE_AS(attn_decode_cluster_##T##_h##HEAD, T, HEAD, true, __cluster_dims__(CLUSTER, 1, 1))
#else
#define CORE(T, HEAD) CORE_AS(attn_decode_mma_##T##_h##HEAD, T, HEAD, false, )
#endif

using f32 = float;
PLAIN(f32, 128)
#if __CUDA_ARCH__ >= 750
CORE(f16, 128)
#else
PLAIN(f16, 128)
#endif
#if __CUDA_ARCH__ >= 800
CORE(bf16, 128)
#else
PLAIN(bf16, 128)
#endif
