// K22 on sm_90a: Y[m,n] = X[m,k] · W[n,k]ᵀ of many tokens with 4-bit weights in groups of 128, laid out by
// kernels/src/gpu/family/w4/pack.rs. Yᵀ is computed: weights become the left operand in registers, tokens the right one in
// shared memory. The blocks of a cluster share the groups of 128 rows of W and add up what they have; or each has 128 rows of its own, and they load the
// tokens together, each a part of them to all.
#include "cluster_sum.cuh"
#include "wgmma.cuh"

constexpr u32 ROWS = 128;
constexpr u32 THREADS = 128;
constexpr u32 WARP_ROWS = 16;
constexpr u32 WARPS = ROWS / WARP_ROWS;
// Columns that share a scale are two tiles, of 16 bytes a lane, four steps of wgmma, and one slab of 128 bytes of X each.
constexpr u32 GROUP = 128;
constexpr u32 TILE = 64;
constexpr u32 TILES = GROUP / TILE;
constexpr u32 STEPS = TILES * 4;
constexpr u32 SLAB = 128;

// Activations in the order in which weights lie within 64 columns: step s of lanes t has columns 16·t + 4·s …, the first two in
// the first half of its 32 bytes. A thread writes 16 bytes: a half of a step, for the four t.
extern "C" __global__ void __launch_bounds__(256) w4_hopper_order(const u32* __restrict__ x, uint4* __restrict__ to, u32 m, u32 k) {
    // The product needs nothing of this before it multiplies.
    let_successor_start();
    const u32 chunks = k / 8;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < u64(m) * chunks; i += u64(gridDim.x) * blockDim.x) {
        const u32* from = x + i / 8 * (TILE / 2) + i % 8;
        to[i] = make_uint4(from[0], from[8], from[16], from[24]);
    }
}

// `(word & mask) | magic` in one instruction.
__device__ __forceinline__ u32 insert(u32 word, u32 mask, u32 magic) {
    u32 out;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(out) : "r"(word), "r"(mask), "r"(magic));
    return out;
}

// The registers of two steps, from two words: −8 … 7 exactly, from nibbles put into the last places of 1024, of 64 and of 128.
struct F16 : WgmmaF16 {
    using T = f16;
    static __device__ __forceinline__ void low(u32 word, u32& out) {
        constexpr u32 MAGIC = 0x64006400, ONE = 0x3c003c00, LESS_1032 = 0xe408e408;
        out = fma_f16x2(insert(word, 0x000f000f, MAGIC), ONE, LESS_1032);
    }
    static __device__ __forceinline__ void high(u32 word, u32& out) {
        constexpr u32 MAGIC = 0x64006400, SIXTEENTH = 0x2c002c00, LESS_72 = 0xd480d480;
        out = fma_f16x2(insert(word, 0x00f000f0, MAGIC), SIXTEENTH, LESS_72);
    }
};
struct Bf16 : WgmmaBf16 {
    using T = bf16;
    static __device__ __forceinline__ void low(u32 word, u32& out) {
        constexpr u32 MAGIC = 0x43004300, ONE = 0x3f803f80, LESS_136 = 0xc308c308;
        out = fma_bf16x2(insert(word, 0x000f000f, MAGIC), ONE, LESS_136);
    }
    static __device__ __forceinline__ void high(u32 word, u32& out) { low(word >> 4, out); }
};

// Of a cluster PARTS blocks share k, or SHARED blocks the tokens.
template <class Kind_, u32 TOKENS_, u32 PARTS_, u32 SHARED_, u32 STAGES_> struct Plan {
    using Kind = Kind_;
    static constexpr u32 TOKENS = TOKENS_;
    static constexpr u32 PARTS = PARTS_;
    static constexpr u32 SHARED = SHARED_;
    static_assert(PARTS == 1 || SHARED == 1);
    static constexpr u32 STAGES = STAGES_;
    static constexpr u32 SUMS = TOKENS / 2;
    static constexpr u32 OF_SLAB = TOKENS * SLAB;
    static constexpr u32 STAGE = TILES * OF_SLAB;
    static_assert(Sums<TOKENS>::BYTES <= STAGES * STAGE, "sums take the place of stages");
};

// Weights on their way: of a group, and its scales.
struct Ahead {
    uint4 tiles[TILES];
    u32 scales;
};

// Where a lane finds its part of the 16 rows of its warp.
struct Weights {
    const uint4* words;
    const u32* scales;

    __device__ __forceinline__ void load(Ahead& to, u32 group, bool there) const {
        to.scales = 0;
#pragma unroll
        for (u32 i = 0; i < TILES; i++) to.tiles[i] = make_uint4(0, 0, 0, 0);
        if (!there) return;
#pragma unroll
        for (u32 i = 0; i < TILES; i++) to.tiles[i] = load_once(words + (TILES * group + i) * WARP);
        to.scales = scales[group * (WARP_ROWS / 2)];
    }
};

template <class Kind>
__device__ __forceinline__ void integers(u32 first, u32 second, u32 (&low)[4], u32 (&high)[4]) {
    const u32 words[4] = {first, first >> 8, second, second >> 8};
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        Kind::low(words[i], low[i]);
        Kind::high(words[i], high[i]);
    }
}
template <class P> __device__ __forceinline__ void integers(const Ahead& from, u32 (&a)[STEPS][4]) {
#pragma unroll
    for (u32 i = 0; i < TILES; i++) {
        integers<typename P::Kind>(from.tiles[i].x, from.tiles[i].y, a[4 * i], a[4 * i + 1]);
        integers<typename P::Kind>(from.tiles[i].z, from.tiles[i].w, a[4 * i + 2], a[4 * i + 3]);
    }
}

// What a warpgroup sums up: 64 rows of W by the tokens of the block.
template <class P> struct Multiplier {
    u32 stages;
    u32 full;
    u32 empty;
    Turn<P::STAGES> turn;

    // The products of a group, which its scale multiplies before they are added.
    __device__ __forceinline__ void start(float (&part)[P::SUMS], const u32 (&a)[STEPS][4]) {
        wait_barrier(full + 8 * turn.stage, turn.parity);
        const u64 x = swizzled_matrix(stages + turn.stage * P::STAGE);
        wgmma_fence();
#pragma unroll
        for (u32 step = 0; step < STEPS; step++) {
            const u32 on = step / 4 * P::OF_SLAB + step % 4 * 32;
            P::Kind::multiply(part, a[step], x + on / 16, step > 0);
        }
        wgmma_commit();
    }
    __device__ __forceinline__ void finish(float (&part)[P::SUMS], u32 scales, float (&d)[P::SUMS]) {
        float scale[2];
        Word<f16>::widen(scales, scale);
        wgmma_wait<0>();
        hold(part);
        give_back();
        turn.next();
#pragma unroll
        for (u32 i = 0; i < P::SUMS; i++) d[i] += scale[i / 2 % 2] * part[i];
    }
    // To whoever loads into the stage: the producers of all blocks that share the tokens.
    __device__ __forceinline__ void give_back() const {
        if (lane_id() >= P::SHARED) return;
        if constexpr (P::SHARED == 1) {
            arrive(empty + 8 * turn.stage);
        } else {
            arrive_in_cluster(in_block(empty + 8 * turn.stage, lane_id()));
        }
    }
    // Weights of the group after next are on their way while one is multiplied. Those of the next could be made numbers meanwhile, but ptxas puts
    // that behind the wait whatever stands between; then the other warpgroup multiplies.
    __device__ __forceinline__ void sum(const Weights& weights, Share<P::PARTS> share, float (&d)[P::SUMS]) {
        float part[P::SUMS];
        u32 a[STEPS][4], b[STEPS][4];
        Ahead first, second;
#pragma unroll
        for (u32 i = 0; i < P::SUMS; i++) d[i] = 0.0f;
        weights.load(first, share.first, share.first < share.end);
        weights.load(second, share.first + 1, share.first + 1 < share.end);
        integers<P>(first, a);
#pragma unroll 1
        for (u32 group = share.first; group < share.end; group += 2) {
            one(weights, group, share.end, first, second, part, a, b, d);
            if (group + 1 < share.end) one(weights, group + 1, share.end, second, first, part, b, a, d);
        }
    }

  private:
    __device__ __forceinline__ void one(const Weights& weights, u32 group, u32 end, Ahead& now, const Ahead& next, float (&part)[P::SUMS], const u32 (&a)[STEPS][4], u32 (&b)[STEPS][4], float (&d)[P::SUMS]) {
        const u32 scales = now.scales;
        start(part, a);
        weights.load(now, group + 2, group + 2 < end);
        integers<P>(next, b);
        finish(part, scales, d);
    }
};

// One thread has the tokens of every group loaded, which the launch in front may only now be bringing into their order; or its part of them, to all blocks
// that share them.
template <class P>
__device__ __forceinline__ void load(u32 stages, u32 full, u32 empty, const TensorMap& x, Share<P::PARTS> share) {
    constexpr u32 EACH = P::TOKENS / P::SHARED;
    const u32 rank = blockIdx.x % P::SHARED, row = blockIdx.y * P::TOKENS + rank * EACH;
    Turn<P::STAGES> turn;
    wait_for_predecessor();
#pragma unroll 1
    for (u32 group = share.first; group < share.end; group++, turn.next()) {
        wait_barrier(empty + 8 * turn.stage, turn.parity ^ 1);
        arrive_expecting(full + 8 * turn.stage, P::STAGE);
#pragma unroll
        for (u32 i = 0; i < TILES; i++) {
            const u32 to = stages + turn.stage * P::STAGE + i * P::OF_SLAB + rank * EACH * SLAB, col = group * GROUP + i * TILE;
            if constexpr (P::SHARED == 1) {
                load_box(to, x, col, row, full + 8 * turn.stage);
            } else {
                load_box_to((1 << P::SHARED) - 1, to, x, col, row, full + 8 * turn.stage);
            }
        }
    }
}

// Until the sums of all blocks that share them are where they are added up.
template <class P> __device__ __forceinline__ void sync_sums() {
    if constexpr (P::PARTS > 1) sync_cluster(); else asm volatile("barrier.sync 0;" ::: "memory");
}

template <class P>
__device__ __forceinline__ void product(const uint4* words, const u32* scales, const TensorMap& x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    extern __shared__ u8 shared[];
    const u32 stages = (shared_address(shared) + 1023) & ~1023u;
    const u32 full = stages + P::STAGES * P::STAGE, empty = full + 8 * P::STAGES;
    const u32 groups = k / GROUP;
    const Share<P::PARTS> share(groups);
    if (threadIdx.x == 0) {
        prefetch_map(x);
#pragma unroll
        for (u32 i = 0; i < P::STAGES; i++) {
            init_barrier(full + 8 * i, 1);
            init_barrier(empty + 8 * i, WARPS * P::SHARED);
        }
        fence_init();
    }
    if constexpr (P::SHARED > 1) meet_cluster(); else __syncthreads();
    // The same for every lane, and told so to the compiler.
    const u32 own = __shfl_sync(ALL, warp_id(), 0);
    if (own < THREADS / WARP) {
        fewer_registers<40>();
        if (threadIdx.x == 0) load<P>(stages, full, empty, x, share);
        sync_sums<P>();
    } else {
        more_registers<232>();
        const u32 warp = own - THREADS / WARP;
        const u32 rows = blockIdx.x / P::PARTS * WARPS + warp;
        Multiplier<P> multiplier = {stages, full, empty, {}};
        float d[P::SUMS];
        // Rows past the last have no weights.
        const bool there = rows * WARP_ROWS < n;
        const Weights weights = {words + u64(there ? rows : 0) * (k / TILE) * WARP + lane_id(), scales + u64(there ? rows : 0) * groups * (WARP_ROWS / 2) + lane_id() / 4};
        multiplier.sum(weights, share, d);
        // Every warp is done with the stages, where the sums go.
        asm volatile("barrier.sync 1, 256;" ::: "memory");
        Sums<P::TOKENS>::place(stages, warp * WARP_ROWS, d);
        sync_sums<P>();
    }
    sum_up<typename P::Kind::T, P::TOKENS, P::PARTS>(stages, y, m, n, wide);
    // No block leaves while another reads its sums, or gives a stage back to it.
    meet_cluster();
}

#define W4(NAME, KIND, TOKENS, PARTS, SHARED, STAGES)                                                                               \
    extern "C" __global__ void __cluster_dims__(PARTS * SHARED, 1, 1) __launch_bounds__(3 * THREADS, 1)                             \
    NAME(const uint4* __restrict__ words, const u32* __restrict__ scales, const __grid_constant__ TensorMap x, void* y, u32 m, u32 n, u32 k, u32 wide) { \
        product<Plan<KIND, TOKENS, PARTS, SHARED, STAGES>>(words, scales, x, y, m, n, k, wide);                                     \
    }

W4(w4_hopper_f16_m64c2, F16, 64, 2, 1, 8)
W4(w4_hopper_f16_m128c2, F16, 128, 2, 1, 5)
W4(w4_hopper_f16_m64c4, F16, 64, 4, 1, 8)
W4(w4_hopper_f16_m128r2, F16, 128, 1, 2, 5)
W4(w4_hopper_f16_m64r4, F16, 64, 1, 4, 8)
W4(w4_hopper_bf16_m64c2, Bf16, 64, 2, 1, 8)
W4(w4_hopper_bf16_m128c2, Bf16, 128, 2, 1, 5)
W4(w4_hopper_bf16_m64c4, Bf16, 64, 4, 1, 8)
W4(w4_hopper_bf16_m128r2, Bf16, 128, 1, 2, 5)
W4(w4_hopper_bf16_m64r4, Bf16, 64, 1, 4, 8)
