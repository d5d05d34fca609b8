// K10 to K13, K15, K17 on sm_90a: Y[m,n] = X[m,k] · W[n,k]ᵀ, all row-major, rows of X and W multiples of 16 bytes.
// A block keeps a multiprocessor and computes tile after tile of Y. Its first warpgroup has the copy engine fill stages of 128
// bytes of k, the two others multiply 64 rows each; stages pass between them by two barriers each, `full` and `empty`. The two
// blocks of a cluster compute tiles one above the other: each loads half of their rows of W, to both.
#include "skinny.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

constexpr u32 ROWS = 128;
constexpr u32 GROUP_ROWS = 64;
constexpr u32 GROUP = 128;
constexpr u32 SLAB = 128;
// wgmma takes 32 bytes of k.
constexpr u32 STEPS = 4;
// Results leave by boxes of a warp's own: 16 rows of 128 bytes, two in turn where there is room.
constexpr u32 WARP_ROWS = 16;
constexpr u32 BOX = WARP_ROWS * SLAB;

// Sums in a register.
template <typename Sum> constexpr u32 SUMS_EACH = 1;
template <> constexpr u32 SUMS_EACH<u32> = 2;

template <class Kind_, typename Out_, u32 COLS_, u32 BLOCKS_, u32 STAGES_, u32 BOXES_ = 2> struct Product {
    using Kind = Kind_;
    using Sum = typename Kind::Sum;
    using Out = Out_;
    static constexpr u32 BYTES = Kind::BYTES;
    static constexpr u32 COLS = COLS_;
    static constexpr u32 BOXES = BOXES_;
    static constexpr u32 BOX_COLS = SLAB / sizeof(Out);
    static constexpr u32 BLOCKS = BLOCKS_;
    static constexpr u32 STAGES = STAGES_;
    static constexpr u32 SUMS = COLS / 2 / SUMS_EACH<Sum>;
    static constexpr u32 OF_X = ROWS * SLAB;
    static constexpr u32 STAGE = OF_X + COLS * SLAB;
    // Everything of a stage arrives at the block's own barrier, whoever loaded it; every consuming warp of the cluster empties it.
    static constexpr u32 EMPTIED = 2 * GROUP / WARP * BLOCKS;
};

// Where things lie in shared memory: the same in every block of a cluster.
template <class P> struct Layout {
    u32 stages;
    __device__ __forceinline__ explicit Layout(u32 from) : stages((from + 1023) & ~1023u) {}
    __device__ __forceinline__ u32 stage(u32 i) const { return stages + i * P::STAGE; }
    __device__ __forceinline__ u32 full(u32 i) const { return stages + P::STAGES * P::STAGE + 8 * i; }
    __device__ __forceinline__ u32 empty(u32 i) const { return full(P::STAGES + i); }
    __device__ __forceinline__ u32 boxes(u32 warp) const { return stages + P::STAGES * P::STAGE + 1024 + warp * P::BOXES * BOX; }
};

// The tiles of a block. Clusters take them in turn, 2048 rows down, then one tile to the right: what is computed at a time
// shares rows of X and W in the cache.
template <class P> struct Tiles {
    static constexpr u32 BAND = 2048 / ROWS / P::BLOCKS;

    u32 down;
    u32 across;
    u32 index = blockIdx.x / P::BLOCKS;

    __device__ __forceinline__ Tiles(u32 m, u32 n) : down(ceil_div(m, ROWS * P::BLOCKS)), across(ceil_div(n, P::COLS)) {}
    __device__ __forceinline__ bool any() const { return index < down * across; }
    __device__ __forceinline__ void next() { index += gridDim.x / P::BLOCKS; }
    __device__ __forceinline__ u32 top() const { return index / (BAND * across) * BAND; }
    __device__ __forceinline__ u32 height() const { return min(down - top(), BAND); }
    __device__ __forceinline__ u32 row() const {
        u32 pair = top() + index % (BAND * across) % height();
        return (pair * P::BLOCKS + blockIdx.x % P::BLOCKS) * ROWS;
    }
    __device__ __forceinline__ u32 col() const { return index % (BAND * across) / height() * P::COLS; }
};

// One thread has everything loaded, of k what lies between two slabs.
template <class P>
__device__ __forceinline__ void load(const Layout<P>& at, const TensorMap& x, const TensorMap& w, Tiles<P> tiles, u32 begin, u32 end, u32 per_slab) {
    constexpr u32 SHARE = P::COLS / P::BLOCKS;
    const u32 rank = blockIdx.x % P::BLOCKS;
    Turn<P::STAGES> turn;
    for (; tiles.any(); tiles.next()) {
        const u32 row = tiles.row(), col = tiles.col() + rank * SHARE;
#pragma unroll 1
        for (u32 k = begin * per_slab; k < end * per_slab; k += per_slab, turn.next()) {
            wait_barrier(at.empty(turn.stage), turn.parity ^ 1);
            const u32 full = at.full(turn.stage), to = at.stage(turn.stage);
            arrive_expecting(full, P::STAGE);
            load_box(to, x, k, row, full);
            if constexpr (P::BLOCKS == 1) {
                load_box(to + P::OF_X, w, k, col, full);
            } else {
                load_box_to((1 << P::BLOCKS) - 1, to + P::OF_X + rank * SHARE * SLAB, w, k, col, full);
            }
        }
    }
}

// What a warpgroup multiplies, stage after stage.
template <class P> struct Multiplier {
    using Sum = typename P::Sum;

    const Layout<P>& at;
    u32 group;
    Turn<P::STAGES> turn;

    __device__ __forceinline__ void issue(Sum (&d)[P::SUMS], bool keep) {
        wait_barrier(at.full(turn.stage), turn.parity);
        const u32 stage = at.stage(turn.stage);
        const u64 x = swizzled_matrix(stage + group * GROUP_ROWS * SLAB), w = swizzled_matrix(stage + P::OF_X);
        wgmma_fence();
#pragma unroll
        for (u32 step = 0; step < STEPS; step++) P::Kind::multiply(d, x + 2 * step, w + 2 * step, step > 0 || keep);
        wgmma_commit();
        turn.next();
    }
    // Gives a stage back to whoever loads into it: the producers of all blocks.
    __device__ __forceinline__ void release(u32 stage) const {
        if (lane_id() >= P::BLOCKS) return;
        if constexpr (P::BLOCKS == 1) {
            arrive(at.empty(stage));
        } else {
            arrive_in_cluster(in_block(at.empty(stage), lane_id()));
        }
    }
    // The sum over k. A product is always on its way while the stage of the one before is given back.
    __device__ __forceinline__ void sum(u32 slabs, Sum (&d)[P::SUMS]) {
        issue(d, false);
#pragma unroll 1
        for (u32 slab = 1; slab < slabs; slab++) {
            const u32 before = turn.last();
            issue(d, true);
            wgmma_wait<1>();
            release(before);
        }
        wgmma_wait<0>();
        hold(d);
        release(turn.last());
    }
    // The sum over k of products whose sums are short of fp32: each stage by itself, added up outside. The other warpgroup
    // multiplies meanwhile.
    __device__ __forceinline__ void sum_of_stages(u32 slabs, Sum (&d)[P::SUMS]) {
        Sum part[P::SUMS];
#pragma unroll
        for (u32 i = 0; i < P::SUMS; i++) d[i] = 0;
#pragma unroll 1
        for (u32 slab = 0; slab < slabs; slab++) {
            issue(part, false);
            wgmma_wait<0>();
            hold(part);
            release(turn.last());
#pragma unroll
            for (u32 i = 0; i < P::SUMS; i++) d[i] += part[i];
        }
    }
};

template <typename Out> __device__ __forceinline__ u32 packed(float low, float high);
template <> __device__ __forceinline__ u32 packed<f16>(float low, float high) {
    u32 out;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
}
template <> __device__ __forceinline__ u32 packed<bf16>(float low, float high) {
    u32 out;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
}

// Two results side by side as 16-bit numbers, from the sum on that is the i-th where each has a register.
template <class P> __device__ __forceinline__ u32 two(const typename P::Sum (&d)[P::SUMS], u32 i) {
    if constexpr (SUMS_EACH<typename P::Sum> == 2) {
        return d[i / 2];
    } else {
        return packed<typename P::Out>(d[i], d[i + 1]);
    }
}

__device__ __forceinline__ u32 word_of(float x) { return bits_of(x); }
__device__ __forceinline__ u32 word_of(i32 x) { return u32(x); }

// A box of results, from the `first` sum on, as the copy engine expects it: chunks of 16 bytes permuted by the row.
template <class P> __device__ __forceinline__ void place(const typename P::Sum (&d)[P::SUMS], u32 first, u32 box) {
    if constexpr (sizeof(typename P::Out) == 2) {
        const u32 line = lane_id() % 16;
        const u32 chunk = box + line * SLAB + ((lane_id() / 16 ^ line) % 8) * 16;
#pragma unroll
        for (u32 j = 0; j < P::BOX_COLS / 16; j++) {
            const u32 i = first + 8 * j;
            stmatrix_x4(chunk ^ 32 * j, two<P>(d, i), two<P>(d, i + 2), two<P>(d, i + 4), two<P>(d, i + 6));
        }
    } else {
        // Lanes of odd rows store the third and fourth eight columns first, so that each half of a warp meets every bank once.
        const u32 line = lane_id() / 4, odd = line % 2;
        const u32 chunk = box + line * SLAB + (lane_id() % 4 / 2 ^ line ^ 4 * odd) * 16 + lane_id() % 2 * 8;
#pragma unroll
        for (u32 half = 0; half < 2; half++)
#pragma unroll
            for (u32 g = 0; g < 2; g++) {
                const u32 i = first + 4 * g + 2 * half, at = (chunk ^ 32 * g) + 8 * half * SLAB;
                const u32 near[2] = {word_of(d[i]), word_of(d[i + 1])}, far[2] = {word_of(d[i + 8]), word_of(d[i + 9])};
                store_shared8(at, odd ? far[0] : near[0], odd ? far[1] : near[1]);
                store_shared8(at ^ 64, odd ? near[0] : far[0], odd ? near[1] : far[1]);
            }
    }
}

// Results of a warp leave through shared memory while the next tile is multiplied.
template <class P>
__device__ __forceinline__ void store(const TensorMap& y, const typename P::Sum (&d)[P::SUMS], u32 boxes, u32 row, u32 col) {
#pragma unroll
    for (u32 b = 0; b < ceil_div(P::COLS, P::BOX_COLS); b++) {
        // The last one overlaps the one before where columns are no multiple of it, and stores the same there.
        const u32 box = boxes + b % P::BOXES * BOX, first = min(b * P::BOX_COLS, P::COLS - P::BOX_COLS);
        if (lane_id() == 0) wait_boxes_read<P::BOXES - 1>();
        __syncwarp();
        place<P>(d, first / 2, box);
        fence_async();
        __syncwarp();
        if (lane_id() == 0) {
            store_box(y, col + first, row, box);
            commit_boxes();
        }
    }
}

// 32-bit results of rows that no tensor map takes: four lanes fill 32 bytes of a row.
template <class P>
__device__ __forceinline__ void store_straight(typename P::Out* y, const typename P::Sum (&d)[P::SUMS], u32 row, u32 col, u32 m, u32 n) {
    col += lane_id() % 4 * 2;
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        const u32 line = row + lane_id() / 4 + 8 * half;
        if (line >= m) continue;
        typename P::Out* to = y + u64(line) * n + col;
#pragma unroll
        for (u32 i = 0; i < P::COLS / 8; i++) {
            if (col + 8 * i < n) to[8 * i] = d[4 * i + 2 * half];
            if (col + 8 * i + 1 < n) to[8 * i + 1] = d[4 * i + 2 * half + 1];
        }
    }
}

template <class P> __device__ __forceinline__ void begin(const Layout<P>& at, const TensorMap& x, const TensorMap& w) {
    prefetch_map(x);
    prefetch_map(w);
#pragma unroll
    for (u32 i = 0; i < P::STAGES; i++) {
        init_barrier(at.full(i), 1);
        init_barrier(at.empty(i), P::EMPTIED);
    }
    fence_init();
}

template <class P>
__device__ __forceinline__ void multiply(const TensorMap& x, const TensorMap& w, const TensorMap& y, typename P::Out* straight, u32 m, u32 n, u32 k) {
    constexpr u32 PER_SLAB = SLAB / P::BYTES;
    const u32 slabs = ceil_div(k, PER_SLAB);
    extern __shared__ u8 shared[];
    const Layout<P> at(shared_address(shared));
    if (threadIdx.x == 0) begin<P>(at, x, w);
    if constexpr (P::BLOCKS > 1) meet_cluster(); else __syncthreads();
    Tiles<P> tiles(m, n);
    // The same for every lane, and told so to the compiler.
    const u32 own = __shfl_sync(ALL, warp_id(), 0);
    if (own < GROUP / WARP) {
        fewer_registers<40>();
        if (threadIdx.x == 0) load<P>(at, x, w, tiles, 0, slabs, PER_SLAB);
    } else {
        more_registers<232>();
        const u32 warp = own - GROUP / WARP;
        Multiplier<P> multiplier = {at, warp / 4, {}};
        for (; tiles.any(); tiles.next()) {
            typename P::Sum d[P::SUMS];
            if constexpr (P::Kind::SHORT) multiplier.sum_of_stages(slabs, d); else multiplier.sum(slabs, d);
            const u32 row = tiles.row() + warp * WARP_ROWS;
            if constexpr (sizeof(typename P::Out) == 2) {
                store<P>(y, d, at.boxes(warp), row, tiles.col());
            } else if (n % 4 == 0) {
                store<P>(y, d, at.boxes(warp), row, tiles.col());
            } else {
                store_straight<P>(straight, d, row, tiles.col(), m, n);
            }
        }
        if (lane_id() == 0) wait_boxes_read<0>();
    }
    // No block leaves while another may write to its shared memory.
    if constexpr (P::BLOCKS > 1) meet_cluster();
}

// Sums of a tile in the place of the stages. Rows are so far apart that half a warp meets every bank once.
template <class P> struct TileSums {
    static constexpr u32 LINE = (P::COLS + 8) * 4;
    static_assert(ROWS * LINE <= P::STAGES * P::STAGE);

    static __device__ __forceinline__ void place(u32 sums, u32 row, const float (&d)[P::SUMS]) {
        const u32 to = sums + (row + lane_id() / 4) * LINE + lane_id() % 4 * 8;
#pragma unroll
        for (u32 i = 0; i < P::SUMS; i += 2) store_shared8(to + i / 4 * 32 + i / 2 % 2 * 8 * LINE, bits_of(d[i]), bits_of(d[i + 1]));
    }
    // Adds up what the blocks of the cluster placed, and stores it: each a part of the rows, four columns a thread.
    template <u32 PARTS> static __device__ __forceinline__ void add(u32 sums, void* y, u32 row, u32 col, u32 m, u32 n, u32 wide) {
        constexpr u32 FOURS = P::COLS / 4, EACH = ROWS / PARTS;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < EACH * FOURS; i += blockDim.x) {
            const u32 line = blockIdx.y * EACH + i / FOURS, j = i % FOURS * 4, to = col + j;
            if (row + line >= m || to >= n) continue;
            float all[4] = {};
#pragma unroll
            for (u32 part = 0; part < PARTS; part++) {
                float of[4];
                load_in_cluster(of, in_block(sums + line * LINE + j * 4, part));
#pragma unroll
                for (u32 e = 0; e < 4; e++) all[e] += of[e];
            }
            put_four<typename P::Out>(y, u64(row + line) * n + to, all, n - to, wide);
        }
    }
};

// One tile for each cluster, whose blocks share k: where there are fewer tiles than multiprocessors.
template <class P, u32 PARTS>
__device__ __forceinline__ void multiply_part(const TensorMap& x, const TensorMap& w, void* y, u32 m, u32 n, u32 k, u32 wide) {
    constexpr u32 PER_SLAB = SLAB / P::BYTES;
    const u32 slabs = ceil_div(k, PER_SLAB), each = ceil_div(slabs, PARTS);
    const u32 first = min(blockIdx.y * each, slabs), count = min(each, slabs - first);
    extern __shared__ u8 shared[];
    const Layout<P> at(shared_address(shared));
    if (threadIdx.x == 0) begin<P>(at, x, w);
    __syncthreads();
    const Tiles<P> tile(m, n);
    // The same for every lane, and told so to the compiler.
    const u32 own = __shfl_sync(ALL, warp_id(), 0);
    if (own < GROUP / WARP) {
        fewer_registers<40>();
        if (threadIdx.x == 0) load<P>(at, x, w, tile, first, first + count, PER_SLAB);
        sync_cluster();
    } else {
        more_registers<232>();
        const u32 warp = own - GROUP / WARP;
        Multiplier<P> multiplier = {at, warp / 4, {}};
        typename P::Sum d[P::SUMS];
        if (count > 0) {
            multiplier.sum(count, d);
        } else {
            // The last blocks of a cluster have nothing where k is short.
#pragma unroll
            for (u32 i = 0; i < P::SUMS; i++) d[i] = 0.0f;
        }
        // Every warp is done with the stages, where the sums go.
        asm volatile("barrier.sync 1, 256;" ::: "memory");
        TileSums<P>::place(at.stages, warp * WARP_ROWS, d);
        sync_cluster();
    }
    TileSums<P>::template add<PARTS>(at.stages, y, tile.row(), tile.col(), m, n, wide);
    // No block leaves while another reads its sums.
    meet_cluster();
}

#define HOPPER(BLOCKS) extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(3 * GROUP, 1)
#define MAP const __grid_constant__ TensorMap

// 32-bit results take Y itself, too, where its rows are no multiple of 16 bytes; then nobody looks at its map.
#define PRODUCT16(NAME, KIND, OUT, COLS, BLOCKS, STAGES)                                \
    HOPPER(BLOCKS) NAME(MAP x, MAP w, MAP y, u32 m, u32 n, u32 k) {                     \
        multiply<Product<KIND, OUT, COLS, BLOCKS, STAGES>>(x, w, y, nullptr, m, n, k);  \
    }
#define PRODUCT32(NAME, KIND, OUT, COLS, BLOCKS, ...)                                        \
    HOPPER(BLOCKS) NAME(MAP x, MAP w, MAP y, OUT* straight, u32 m, u32 n, u32 k) {           \
        multiply<Product<KIND, OUT, COLS, BLOCKS, __VA_ARGS__>>(x, w, y, straight, m, n, k); \
    }
PRODUCT16(gemm_f16_128x256c2, WgmmaF16, f16, 256, 2, 4)
PRODUCT16(gemm_f16_128x256, WgmmaF16, f16, 256, 1, 4)
PRODUCT16(gemm_f16_128x128, WgmmaF16, f16, 128, 1, 6)
PRODUCT32(gemm_f16_out32_128x256c2, WgmmaF16, float, 256, 2, 4)
PRODUCT32(gemm_f16_out32_128x128, WgmmaF16, float, 128, 1, 6)
PRODUCT16(gemm_bf16_128x256c2, WgmmaBf16, bf16, 256, 2, 4)
PRODUCT16(gemm_bf16_128x256, WgmmaBf16, bf16, 256, 1, 4)
PRODUCT16(gemm_bf16_128x128, WgmmaBf16, bf16, 128, 1, 6)
PRODUCT32(gemm_bf16_out32_128x256c2, WgmmaBf16, float, 256, 2, 4)
PRODUCT32(gemm_bf16_out32_128x128, WgmmaBf16, float, 128, 1, 6)
PRODUCT16(gemm_f16_acc16_128x256c2, WgmmaF16Acc16, f16, 256, 2, 4)
PRODUCT16(gemm_f16_acc16_128x256, WgmmaF16Acc16, f16, 256, 1, 4)
PRODUCT16(gemm_f16_acc16_128x128, WgmmaF16Acc16, f16, 128, 1, 6)
PRODUCT32(gemm_tf32_128x256c2, WgmmaTf32, float, 256, 2, 4)
PRODUCT32(gemm_tf32_128x256, WgmmaTf32, float, 256, 1, 4)
PRODUCT32(gemm_tf32_128x128, WgmmaTf32, float, 128, 1, 6)
PRODUCT32(gemm_s8_128x256c2, WgmmaS8, i32, 256, 2, 4)
PRODUCT32(gemm_s8_128x256, WgmmaS8, i32, 256, 1, 4)
PRODUCT32(gemm_s8_128x128, WgmmaS8, i32, 128, 1, 6)
// Two sets of sums leave no room for 256 columns.
PRODUCT32(gemm_e4m3_128x192c2, WgmmaE4m3, float, 192, 2, 5, 1)
PRODUCT32(gemm_e4m3_128x176c2, WgmmaE4m3, float, 176, 2, 5)
PRODUCT32(gemm_e4m3_128x128c2, WgmmaE4m3, float, 128, 2, 6)
PRODUCT32(gemm_e4m3_128x128, WgmmaE4m3, float, 128, 1, 6)
PRODUCT32(gemm_e5m2_128x192c2, WgmmaE5m2, float, 192, 2, 5, 1)
PRODUCT32(gemm_e5m2_128x176c2, WgmmaE5m2, float, 176, 2, 5)
PRODUCT32(gemm_e5m2_128x128c2, WgmmaE5m2, float, 128, 2, 6)
PRODUCT32(gemm_e5m2_128x128, WgmmaE5m2, float, 128, 1, 6)
// Results as fp32 where they are to be `wide`.
#define PARTS(NAME, KIND, T, COUNT)                                                                                          \
    extern "C" __global__ void __cluster_dims__(1, COUNT, 1) __launch_bounds__(3 * GROUP, 1)                                 \
    NAME(MAP x, MAP w, void* y, u32 m, u32 n, u32 k, u32 wide) {                                                             \
        multiply_part<Product<KIND, T, 128, 1, 6>, COUNT>(x, w, y, m, n, k, wide);                                           \
    }
PARTS(gemm_f16_parts_128x128k2, WgmmaF16, f16, 2)
PARTS(gemm_f16_parts_128x128k4, WgmmaF16, f16, 4)
PARTS(gemm_bf16_parts_128x128k2, WgmmaBf16, bf16, 2)
PARTS(gemm_bf16_parts_128x128k4, WgmmaBf16, bf16, 4)
// Up to 64 tokens: two blocks of a multiprocessor have 113 KiB each.
SKINNY(gemm_f16_few16c2, WgmmaF16, f16, 16, 2, 6)
SKINNY(gemm_f16_few16c4, WgmmaF16, f16, 16, 4, 6)
SKINNY(gemm_f16_few64c2, WgmmaF16, f16, 64, 2, 4)
SKINNY(gemm_f16_few64c4, WgmmaF16, f16, 64, 4, 4)
SKINNY(gemm_bf16_few16c2, WgmmaBf16, bf16, 16, 2, 6)
SKINNY(gemm_bf16_few16c4, WgmmaBf16, bf16, 16, 4, 6)
SKINNY(gemm_bf16_few64c2, WgmmaBf16, bf16, 64, 2, 4)
SKINNY(gemm_bf16_few64c4, WgmmaBf16, bf16, 64, 4, 4)
