// K30 on sm_90a: causal attention of many queries by wgmma, with keys and values by the copy engine. As attn.cu says of its tensor cores, blocks
// that are masked as a whole are skipped, and a NaN among masked values of the same block reaches up to 127 earlier tokens.
//
// A block keeps a multiprocessor and computes tile after tile: 128 queries of a head. One warpgroup has two stages of 128 keys and values filled, two
// multiply 64 rows each. Scores of the next keys are on their way while values are gathered by the weights of the last, and both run on while the last
// scores become weights: the tensor cores wait for neither exponentials nor memory. The two take turns: while one makes weights, the other has its
// products issued. The queries of the next tile, its first keys and values arrive while this one is finished, and results leave by the copy engine, from
// where the queries lay, while the next is computed.
#include "attn_state.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

constexpr u32 ROWS = 128;
constexpr u32 KEYS = 128;
constexpr u32 GROUP = 128;
constexpr u32 GROUP_ROWS = 64;
constexpr u32 STAGES = 2;
// A row of a box: 64 numbers, chunks of 16 bytes permuted by the row.
constexpr u32 LINE = 128;
constexpr u32 BOX = 128 * LINE;
constexpr u32 CONSUMING_WARPS = 2 * GROUP / WARP;

// Values are rows of keys, of which wgmma wants columns: the last immediate says so.
#define TURNED(SUMS, A0, A1, A2, A3, B, KEEP, INSTRUCTION)                                                                     \
    static __device__ __forceinline__ void gather(float (&d)[SUMS], const u32 (&a)[4], u64 b, u32 keep) {                      \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %" KEEP ", 0; wgmma.mma_async.sync.aligned." INSTRUCTION " {"             \
                     WGMMA_##SUMS "}, {%" A0 ",%" A1 ",%" A2 ",%" A3 "}, %" B ", p, 1, 1, 1; }"                                \
                     : SUMS_##SUMS("+f", d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep) : "memory");       \
    }
struct OfF16 : WgmmaF16 {
    TURNED(64, "64", "65", "66", "67", "68", "69", "m64n128k16.f32.f16.f16")
    TURNED(32, "32", "33", "34", "35", "36", "37", "m64n64k16.f32.f16.f16")
    static __device__ __forceinline__ u32 packed(float low, float high) {
        u32 out;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
        return out;
    }
};
struct OfBf16 : WgmmaBf16 {
    TURNED(64, "64", "65", "66", "67", "68", "69", "m64n128k16.f32.bf16.bf16")
    TURNED(32, "32", "33", "34", "35", "36", "37", "m64n64k16.f32.bf16.bf16")
    static __device__ __forceinline__ u32 packed(float low, float high) {
        u32 out;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
        return out;
    }
};

// Sixteen rows of a matrix that is turned: eight rows of 128 bytes after eight rows, and another box for the next 64 columns.
__device__ __forceinline__ u64 turned_matrix(u32 at) {
    constexpr u64 SWIZZLE_128 = u64(1) << 62, EIGHT_ROWS = u64(1024 >> 4) << 32, NEXT_BOX = u64(BOX >> 4) << 16;
    return SWIZZLE_128 | EIGHT_ROWS | NEXT_BOX | (at & 0x3ffffu) >> 4;
}

// Shared memory: queries of two tiles, then stages of keys and of values, each a box or two; then barriers.
template <u32 HEAD> struct Places {
    static constexpr u32 BOXES = HEAD / 64;
    static constexpr u32 TILE = BOXES * BOX;
    static constexpr u32 BARRIERS = 2 * (2 + 2 * STAGES);
    u32 start;
    __device__ __forceinline__ explicit Places(u32 from) : start((from + 1023) & ~1023u) {}
    __device__ __forceinline__ u32 queries(u32 tile) const { return start + tile % 2 * TILE; }
    __device__ __forceinline__ u32 keys(u32 stage) const { return start + (2 + stage) * TILE; }
    __device__ __forceinline__ u32 values(u32 stage) const { return start + (2 + STAGES + stage) * TILE; }
    // Those that say full come first.
    __device__ __forceinline__ u32 barrier(u32 i) const { return start + (2 + 2 * STAGES) * TILE + 8 * i; }
    __device__ __forceinline__ u32 full_queries(u32 tile) const { return barrier(tile % 2); }
    __device__ __forceinline__ u32 full_keys(u32 stage) const { return barrier(2 + stage); }
    __device__ __forceinline__ u32 full_values(u32 stage) const { return barrier(2 + STAGES + stage); }
    __device__ __forceinline__ u32 empty_queries(u32 tile) const { return barrier(BARRIERS / 2 + tile % 2); }
    __device__ __forceinline__ u32 empty_keys(u32 stage) const { return barrier(BARRIERS / 2 + 2 + stage); }
    __device__ __forceinline__ u32 empty_values(u32 stage) const { return barrier(BARRIERS / 2 + 2 + STAGES + stage); }
};

// The tiles of a block: the last queries, which see most keys, come first, their heads side by side. Blocks take them forward and backward in turn, so
// that who had a longer one than others has a shorter one next.
struct Tiles {
    u32 heads, down;
    u32 round = 0;

    __device__ __forceinline__ Tiles(u32 tokens, u32 heads) : heads(heads), down(ceil_div(tokens, ROWS)) {}
    __device__ __forceinline__ u32 index() const { return round * gridDim.x + (round % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x); }
    __device__ __forceinline__ bool any() const { return index() < down * heads; }
    __device__ __forceinline__ u32 row() const { return (down - 1 - index() / heads) * ROWS; }
    __device__ __forceinline__ u32 head() const { return index() % heads; }
};

template <u32 HEAD>
__device__ __forceinline__ void load_tile(u32 to, const TensorMap& map, u32 col, u32 row, u32 barrier) {
    arrive_expecting(barrier, Places<HEAD>::TILE);
#pragma unroll
    for (u32 b = 0; b < HEAD / 64; b++) load_box(to + b * BOX, map, col + 64 * b, row, barrier);
}

// Maxima, totals and sums of 64 rows: warp w has rows 16·w on, lane 4·g + c of it rows g and g + 8.
template <class Kind, u32 HEAD> struct Consumer {
    static constexpr u32 STEPS = KEYS / 16;
    const Places<HEAD>& at;
    u32 group;
    float scale;
    // Which tile of the block it is, and how many blocks of keys there were before it.
    u32 tile;
    u32 before;
    float top[2] = {LOWEST, LOWEST};
    float total[2] = {};
    float factor[2];
    float scores[KEYS / 2];
    float sums[HEAD / 2];
    u32 weights[STEPS][4];

    __device__ __forceinline__ Consumer(const Places<HEAD>& at, u32 group, float scale, u32 tile, u32 before)
        : at(at), group(group), scale(scale), tile(tile), before(before) {}

    __device__ __forceinline__ u32 stage(u32 block) const { return (before + block) % STAGES; }
    __device__ __forceinline__ u32 parity(u32 block) const { return (before + block) / STAGES % 2; }

    __device__ __forceinline__ void release(u32 barrier) const {
        if (lane_id() == 0) arrive(barrier);
    }
    __device__ __forceinline__ void multiply(u32 block) {
        wait_barrier(at.full_keys(stage(block)), parity(block));
        wgmma_fence();
#pragma unroll
        for (u32 d = 0; d < HEAD / 16; d++) {
            u32 along = d / 4 * BOX;
            u64 q = swizzled_matrix(at.queries(tile) + along + group * GROUP_ROWS * LINE) + 2 * (d % 4);
            u64 k = swizzled_matrix(at.keys(stage(block)) + along) + 2 * (d % 4);
            Kind::multiply(scores, q, k, d > 0);
        }
        wgmma_commit();
    }
    __device__ __forceinline__ void await_values(u32 block) const { wait_barrier(at.full_values(stage(block)), parity(block)); }
    __device__ __forceinline__ void gather(u32 block) {
        wgmma_fence();
#pragma unroll
        for (u32 t = 0; t < STEPS; t++)
            Kind::gather(sums, weights[t], turned_matrix(at.values(stage(block)) + 16 * t * LINE), block > 0 || t > 0);
        wgmma_commit();
    }
    // Whose turn it is, by two barriers of 256 threads.
    __device__ __forceinline__ void await_turn() const { asm volatile("bar.sync %0, 256;" ::"r"(3 + group) : "memory"); }
    __device__ __forceinline__ void pass_turn() const { asm volatile("bar.arrive %0, 256;" ::"r"(4 - group) : "memory"); }

    // `last` is the last key that row 0 of the group sees, counted from the first of the block; every further row sees one more.
    __device__ __forceinline__ void mask(i32 last) {
        last += i32(warp_id() % 4 * 16 + lane_id() / 4);
#pragma unroll
        for (u32 n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                i32 key = i32(8 * n + lane_id() % 4 * 2 + i % 2);
                scores[4 * n + i] = key <= last + i32(i / 2 * 8) ? scores[4 * n + i] : masked();
            }
    }
    // Scores become weights, still in fp32.
    __device__ __forceinline__ void soften() {
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            float high = top[r];
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n++) high = fmaxf(high, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
            high = fmaxf(high, shuffle_xor(high, 1));
            high = fmaxf(high, shuffle_xor(high, 2));
            factor[r] = exp2_approx((top[r] - high) * scale);
            top[r] = high;
            total[r] *= factor[r];
            float offset = high * scale;
#pragma unroll
            for (u32 n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (u32 i = 2 * r; i < 2 * r + 2; i++) {
                    scores[4 * n + i] = exp2_approx(fmaf(scores[4 * n + i], scale, -offset));
                    total[r] += scores[4 * n + i];
                }
        }
    }
    // What was gathered goes to the new maximum.
    __device__ __forceinline__ void rescale() {
#pragma unroll
        for (u32 j = 0; j < HEAD / 2; j++) sums[j] *= factor[j / 2 % 2];
    }
    __device__ __forceinline__ void pack() {
#pragma unroll
        for (u32 t = 0; t < STEPS; t++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) weights[t][i] = Kind::packed(scores[8 * t + 2 * i], scores[8 * t + 2 * i + 1]);
    }

    // `sees` is the last key that row 0 of the group sees.
    __device__ __forceinline__ void run(u32 blocks, u32 sees) {
        wait_barrier(at.full_queries(tile), tile / 2 % 2);
        multiply(0);
        wgmma_wait<0>();
        hold(scores);
        release(at.empty_keys(stage(0)));
        give_back();
        if (sees < KEYS - 1) mask(i32(sees));
        soften();
        pack();
        await_values(0);
        // The first goes first, and nobody waits for it after its last.
        if (group == 1 && blocks > 1) pass_turn();
#pragma unroll 1
        for (u32 block = 1; block < blocks; block++) {
            await_turn();
            multiply(block);
            gather(block - 1);
            if (group == 0 || block + 1 < blocks) pass_turn();
            wgmma_wait<1>();
            hold(scores);
            release(at.empty_keys(stage(block)));
            if (sees < (block + 1) * KEYS - 1) mask(i32(sees - block * KEYS));
            soften();
            // Also what keeps the compiler from moving the next wait ahead of the exponentials: there is a loop between.
            await_values(block);
            wgmma_wait<0>();
            hold(sums);
            release(at.empty_values(stage(block - 1)));
            rescale();
            pack();
        }
        gather(blocks - 1);
        wgmma_wait<0>();
        hold(sums);
        release(at.empty_values(stage(blocks - 1)));
    }
    // The results of the tile before have left by now, so that queries may come where they lay.
    __device__ __forceinline__ void give_back() const {
        if (tile == 0 || lane_id() > 0) return;
        wait_boxes_read<0>();
        arrive(at.empty_queries(tile - 1));
    }
    // Through the warp's own queries, which nobody reads any more, a box for 64 columns of its 16 rows.
    __device__ __forceinline__ void store(const TensorMap& out, u32 row, u32 col) {
        if (group == 0) asm volatile("bar.sync 1, 128;" ::: "memory");
        else asm volatile("bar.sync 2, 128;" ::: "memory");
        const u32 first = group * GROUP_ROWS + warp_id() % 4 * 16;
        const u32 rows = at.queries(tile) + first * LINE;
        auto place = [&](u32 row, u32 chunk) { return rows + chunk / 8 * BOX + row * LINE + (chunk ^ row) % 8 * 16; };
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            total[r] += shuffle_xor(total[r], 1);
            total[r] += shuffle_xor(total[r], 2);
            float share = 1.0f / total[r];
#pragma unroll
            for (u32 j = 0; j < HEAD / 8; j++)
                store_shared4(place(lane_id() / 4 + 8 * r, j) + lane_id() % 4 * 4,
                              Kind::packed(sums[4 * j + 2 * r] * share, sums[4 * j + 2 * r + 1] * share));
        }
        fence_async();
        __syncwarp();
        if (lane_id() > 0) return;
#pragma unroll
        for (u32 b = 0; b < HEAD / 64; b++) store_box(out, col + 64 * b, row + first, rows + b * BOX);
        commit_boxes();
    }
};

// Blocks of keys that the queries of a tile see.
__device__ __forceinline__ u32 seen(u32 position, u32 row, u32 tokens) { return ceil_div(position + min(row + ROWS, tokens), KEYS); }

// One thread has everything loaded, and the queries of the next tile behind the last keys of this one.
template <u32 HEAD>
__device__ __forceinline__ void load(const Places<HEAD>& at, const TensorMap& q, const TensorMap& keys, const TensorMap& values, Tiles tiles,
                                     u32 position, u32 tokens, u32 heads_each) {
    Turn<STAGES> turn;
    load_tile<HEAD>(at.queries(0), q, tiles.head() * HEAD, tiles.row(), at.full_queries(0));
    while (tiles.any()) {
        const u32 blocks = seen(position, tiles.row(), tokens), kv_col = tiles.head() / heads_each * HEAD;
#pragma unroll 1
        for (u32 block = 0; block < blocks; block++, turn.next()) {
            wait_barrier(at.empty_keys(turn.stage), turn.parity ^ 1);
            load_tile<HEAD>(at.keys(turn.stage), keys, kv_col, block * KEYS, at.full_keys(turn.stage));
            wait_barrier(at.empty_values(turn.stage), turn.parity ^ 1);
            load_tile<HEAD>(at.values(turn.stage), values, kv_col, block * KEYS, at.full_values(turn.stage));
        }
        const u32 tile = ++tiles.round;
        if (!tiles.any()) return;
        wait_barrier(at.empty_queries(tile), tile / 2 % 2 ^ 1);
        load_tile<HEAD>(at.queries(tile), q, tiles.head() * HEAD, tiles.row(), at.full_queries(tile));
    }
}

template <class Kind, u32 HEAD>
__device__ __forceinline__ void prefill(const TensorMap& q, const TensorMap& keys, const TensorMap& values, const TensorMap& out, const State* state,
                                        u32 tokens, u32 heads, u32 kv_heads, float scale) {
    extern __shared__ u8 dynamic[];
    using At = Places<HEAD>;
    const At at(shared_address(dynamic));
    if (threadIdx.x == 0) {
        prefetch_map(q);
        prefetch_map(keys);
        prefetch_map(values);
#pragma unroll
        for (u32 i = 0; i < At::BARRIERS; i++) init_barrier(at.barrier(i), i < At::BARRIERS / 2 ? 1 : CONSUMING_WARPS);
        fence_init();
    }
    __syncthreads();
    Tiles tiles(tokens, heads);
    const u32 position = state->position;
    // The same for every lane, and told so to the compiler.
    const u32 own = __shfl_sync(ALL, warp_id(), 0);
    if (own < GROUP / WARP) {
        fewer_registers<40>();
        if (threadIdx.x == 0) load<HEAD>(at, q, keys, values, tiles, position, tokens, heads / kv_heads);
    } else {
        more_registers<232>();
        const u32 group = own / 4 - 1;
#pragma unroll 1
        for (u32 before = 0; tiles.any(); tiles.round++) {
            const u32 row = tiles.row(), blocks = seen(position, row, tokens);
            Consumer<Kind, HEAD> consumer(at, group, scale * LOG2_E, tiles.round, before);
            consumer.run(blocks, position + row + group * GROUP_ROWS);
            consumer.store(out, row, tiles.head() * HEAD);
            before += blocks;
        }
        if (lane_id() == 0) wait_boxes_read<0>();
    }
}

#define MAP const __grid_constant__ TensorMap
#define PREFILL(T, KIND, HEAD)                                                                                        \
    extern "C" __global__ void __launch_bounds__(3 * GROUP, 1) attn_prefill_wgmma_##T##_h##HEAD(                      \
        MAP q, MAP keys, MAP values, MAP out, const State* state, u32 tokens, u32 heads, u32 kv_heads, float scale) {  \
        prefill<KIND, HEAD>(q, keys, values, out, state, tokens, heads, kv_heads, scale);                          \
    }

PREFILL(f16, OfF16, 128)
PREFILL(bf16, OfBf16, 128)
