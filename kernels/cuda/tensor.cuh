// Matrix products on tensor cores. A kind says how the fragments of 16 rows × 32 bytes and 8 columns × 32 bytes are multiplied,
// whatever the numbers are. Where a warp owns 64 × 64 a byte of shared memory feeds half as many products again as with 64 × 32.
#pragma once

#include "stream_k.cuh"
#include "slab.cuh"

// Begins at the first bank, which the permutation of chunks counts on.
extern __shared__ __align__(128) u8 stages[];

__device__ __forceinline__ void add_word(float& sum, u32 word) { sum += float_of(word); }
__device__ __forceinline__ void add_word(i32& sum, u32 word) { sum += i32(word); }

// `pitch` is the length of a row of X and of W in bytes, a multiple of 16.
template <class Kind, class T, typename Out>
__device__ __forceinline__ void tensor_product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch);

template <class Kind> struct OnTensorCores {
    // What stands in for an instruction needs more registers.
    static constexpr bool IMITATED = false;

    // A register of a fragment as the instruction takes it.
    static __device__ __forceinline__ u32 taken(u32 x) { return x; }

    template <class T> static constexpr u32 blocks() { return Kind::IMITATED ? 1 : T::BLOCKS; }
    template <class T, typename Out>
    static __device__ __forceinline__ void product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch) {
        tensor_product<Kind, T>(x, w, y, m, n, pitch);
    }
};

#if __CUDA_ARCH__ >= 750

struct F16 : OnTensorCores<F16> {
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        mma_m16n8k16_f16(c, a, b);
#else
        mma_m16n8k8_f16(c, a[0], a[1], b[0]);
        mma_m16n8k8_f16(c, a[2], a[3], b[1]);
#endif
    }
};

struct F16Acc16 : OnTensorCores<F16Acc16> {
    using Sum = u32;
    static constexpr u32 SUMS = 2;
    static __device__ __forceinline__ void multiply(u32 (&c)[2], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        mma_m16n8k16_f16(c, a, b);
#else
        mma_m16n8k8_f16(c, a[0], a[1], b[0]);
        mma_m16n8k8_f16(c, a[2], a[3], b[1]);
#endif
    }
};

#if __CUDA_ARCH__ >= 800
struct Bf16 : OnTensorCores<Bf16> {
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
        mma_m16n8k16_bf16(c, a, b);
    }
};

// The instruction cuts what fp32 has and tf32 has not: it is rounded before.
struct Tf32 : OnTensorCores<Tf32> {
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ u32 taken(u32 x) { return tf32_of(float_of(x)); }
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
        mma_m16n8k8_tf32(c, a, b);
    }
};
#endif

struct S8 : OnTensorCores<S8> {
    using Sum = i32;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(i32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        mma_m16n8k32_s8(c, a, b);
#else
        mma_m8n8k16_s8(c[0], c[1], a[0], b[0]);
        mma_m8n8k16_s8(c[2], c[3], a[1], b[0]);
        mma_m8n8k16_s8(c[0], c[1], a[2], b[1]);
        mma_m8n8k16_s8(c[2], c[3], a[3], b[1]);
#endif
    }
};

// Two integers a byte, the lower half first.
struct S4 : OnTensorCores<S4> {
    static constexpr bool IMITATED = __CUDA_ARCH__ >= 900;
    using Sum = i32;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(i32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        mma_m16n8k64_s4(c, a, b);
#else
        mma_m8n8k32_s4(c[0], c[1], a[0], b[0]);
        mma_m8n8k32_s4(c[2], c[3], a[1], b[0]);
        mma_m8n8k32_s4(c[0], c[1], a[2], b[1]);
        mma_m8n8k32_s4(c[2], c[3], a[3], b[1]);
#endif
    }
};

// The same code runs where fp8 is the hardware's own and where it is not.
struct E4m3 : OnTensorCores<E4m3> {
    static constexpr bool IMITATED = true;
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
        mma_m16n8k32_e4m3(c, a, b);
    }
};
struct E5m2 : OnTensorCores<E5m2> {
    static constexpr bool IMITATED = true;
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
        mma_m16n8k32_e5m2(c, a, b);
    }
};

// What a warp accumulates. Lane 4·g + q holds rows g and g+8, columns 2q and 2q+1 of every 16 × 8.
template <class Kind, class T> struct WarpProduct {
    static constexpr u32 DOWN = T::WARP_M / 16;
    static constexpr u32 ACROSS = T::WARP_N / 8;
    static constexpr u32 STEPS = T::CHUNKS / 2 / T::SLICES;

    typename Kind::Sum c[DOWN][ACROSS][Kind::SUMS] = {};
    u32 a[2][DOWN][4], b[2][ACROSS / 2][4];
    u32 of_x, of_w;

    __device__ __forceinline__ WarpProduct() {
        u32 part = warp_id() % T::PARTS, chunk = warp_id() / T::PARTS * STEPS * 2;
        of_x = T::place(part % T::DOWN * T::WARP_M + lane_id() % 16, chunk + lane_id() / 16);
        of_w = T::place(T::M + part / T::DOWN * T::WARP_N + lane_id() / 16 * 8 + lane_id() % 8, chunk + lane_id() / 8 % 2);
    }
    // A step is two chunks: their number enters the place by exclusive or.
    __device__ __forceinline__ void load(u32 into, u32 stage, u32 step) {
        u32 x = stage + of_x ^ step * 2 * CHUNK, w = stage + of_w ^ step * 2 * CHUNK;
#pragma unroll
        for (u32 i = 0; i < DOWN; i++) ldmatrix_x4(a[into][i], x + 16 * i * T::ROW);
#pragma unroll
        for (u32 j = 0; j < ACROSS / 2; j++) ldmatrix_x4(b[into][j], w + 16 * j * T::ROW);
    }
    // There and back, so that neighbours share a fragment.
    __device__ __forceinline__ void multiply(u32 from) {
#pragma unroll
        for (u32 e = 0; e < 4 * DOWN; e++) a[from][e / 4][e % 4] = Kind::taken(a[from][e / 4][e % 4]);
#pragma unroll
        for (u32 e = 0; e < 2 * ACROSS; e++) b[from][e / 4][e % 4] = Kind::taken(b[from][e / 4][e % 4]);
#pragma unroll
        for (u32 i = 0; i < DOWN; i++) {
#pragma unroll
            for (u32 at = 0; at < ACROSS; at++) {
                u32 j = i % 2 == 0 ? at : ACROSS - 1 - at;
                const u32 half[2] = {b[from][j / 2][j % 2 * 2], b[from][j / 2][j % 2 * 2 + 1]};
                Kind::multiply(c[i][j], a[from][i], half);
            }
        }
    }
    // The results of 16 rows, of which `row` says where they lie.
    template <class Row> __device__ __forceinline__ void scatter(u32 i, Row row) const {
#pragma unroll
        for (u32 j = 0; j < ACROSS; j++) {
            row.put(lane_id() / 4, 8 * j + lane_id() % 4 * 2, c[i][j], 0);
            row.put(lane_id() / 4 + 8, 8 * j + lane_id() % 4 * 2, c[i][j], 1);
        }
    }
};

#else

struct F16 : OnTensorCores<F16> {
    using Sum = float;
    static constexpr u32 SUMS = 8;
};
struct F16Acc16 : OnTensorCores<F16Acc16> {
    using Sum = u32;
    static constexpr u32 SUMS = 4;
};

// Volta multiplies per quad-pair: lanes 4p…4p+3 and 4p+16…4p+19. Quad-pairs are 2 down, 2 across, and interleaved so that
// eight lanes read eight neighbouring rows: line(i) of 16·i, the lower quads the first half of each.
template <class Kind, class T> struct WarpProduct {
    static constexpr u32 DOWN = T::WARP_M / 16;
    static constexpr u32 ACROSS = T::WARP_N / 16;
    static constexpr u32 STEPS = T::CHUNKS / T::SLICES;

    typename Kind::Sum c[DOWN][ACROSS][Kind::SUMS] = {};
    u32 a[2][DOWN][4], b[2][ACROSS][4];
    u32 of_x, of_w;

    __device__ __forceinline__ WarpProduct() {
        u32 part = warp_id() % T::PARTS, chunk = warp_id() / T::PARTS * STEPS;
        u32 own = lane_id() % 4 + lane_id() / 16 * 8;
        of_x = T::place(part % T::DOWN * T::WARP_M + lane_id() / 8 % 2 * 4 + own, chunk);
        of_w = T::place(T::M + part / T::DOWN * T::WARP_N + lane_id() / 4 % 2 * 4 + own, chunk);
    }
    // A step is one chunk.
    __device__ __forceinline__ void load(u32 into, u32 stage, u32 step) {
        u32 x = stage + of_x ^ step * CHUNK, w = stage + of_w ^ step * CHUNK;
#pragma unroll
        for (u32 i = 0; i < DOWN; i++) load_shared(a[into][i], x + 16 * i * T::ROW);
#pragma unroll
        for (u32 j = 0; j < ACROSS; j++) load_shared(b[into][j], w + 16 * j * T::ROW);
    }
    __device__ __forceinline__ void multiply(u32 from) {
#pragma unroll
        for (u32 half = 0; half < 4; half += 2) {
#pragma unroll
            for (u32 i = 0; i < DOWN; i++) {
#pragma unroll
                for (u32 at = 0; at < ACROSS; at++) {
                    u32 j = i % 2 == 0 ? at : ACROSS - 1 - at;
                    mma_m8n8k4(c[i][j], a[from][i][half], a[from][i][half + 1], b[from][j][half], b[from][j][half + 1]);
                }
            }
        }
    }
    // Where row or column 0…7 of a quad-pair's product lies among 16.
    static __device__ __forceinline__ u32 spread(u32 index) { return index % 4 + index / 4 * 8; }

    template <class Row> __device__ __forceinline__ void scatter(u32 i, Row row) const {
        u32 down = lane_id() / 8 % 2 * 4, across = lane_id() / 4 % 2 * 4;
#pragma unroll
        for (u32 j = 0; j < ACROSS; j++) {
            if constexpr (Kind::SUMS == 8) {
#pragma unroll
                for (u32 e = 0; e < 8; e += 2) {
                    u32 of = (lane_id() & 1) + (e & 2) + lane_id() / 16 * 4;
                    const float two[4] = {c[i][j][e], c[i][j][e + 1]};
                    row.put(down + spread(of), 16 * j + across + spread((e & 4) + (lane_id() & 2)), two, 0);
                }
            } else {
                u32 of = lane_id() % 4 + lane_id() / 16 * 4;
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
                    const u32 two[2] = {c[i][j][e]};
                    row.put(down + spread(of), 16 * j + across + spread(2 * e), two, 0);
                }
            }
        }
    }
};

#endif

// Rows of results of a warp in shared memory, on their way into rows of Y: apart so that no bank is touched twice.
template <typename Out, u32 COLS> struct Gathered {
    static constexpr u32 PITCH = (COLS + 8) * sizeof(Out);
    static constexpr u32 BYTES = 16 * PITCH;

    u32 at;

    __device__ __forceinline__ void put(u32 row, u32 col, const u32 (&c)[2], u32 half) const {
        store_shared4(place(row, col), c[half]);
    }
    template <typename Sum> __device__ __forceinline__ void put(u32 row, u32 col, const Sum (&c)[4], u32 half) const {
        if constexpr (sizeof(Out) == 4) {
            store_shared8(place(row, col), word_of(c[2 * half]), word_of(c[2 * half + 1]));
        } else {
            Out low = from_f32<Out>(c[2 * half]), high = from_f32<Out>(c[2 * half + 1]);
            store_shared4(place(row, col), low.bits | u32(high.bits) << 16);
        }
    }
    __device__ __forceinline__ u32 place(u32 row, u32 col) const { return at + row * PITCH + col * sizeof(Out); }

    __device__ __forceinline__ void give(const Result<Out>& y, u32 first_row, u32 first_col) const {
        constexpr u32 EACH = 16 / sizeof(Out);
#pragma unroll
        for (u32 i = 0; i < 16 * COLS / EACH; i += WARP) {
            u32 row = (i + lane_id()) / (COLS / EACH), col = (i + lane_id()) % (COLS / EACH) * EACH;
            u32 words[4];
            load_shared(words, place(row, col));
            y.store(first_row + row, first_col + col, words);
        }
    }
};

// Adds the sums of the warps that share a part, in their order. Whether this warp is the first of them, which has the result.
template <class T, class Product> __device__ __forceinline__ bool add_slices(Product& product, u32 shared) {
    constexpr u32 COUNT = sizeof(product.c) / 4;
    auto* sums = &product.c[0][0][0];
    const u32 slice = warp_id() / T::PARTS;
    const u32 own = shared + lane_id() * 16 + warp_id() % T::PARTS * (T::SLICES - 1) * COUNT * WARP * 4;
    if (slice > 0) {
        u32 at = own + (slice - 1) * COUNT * WARP * 4;
#pragma unroll
        for (u32 e = 0; e < COUNT; e += 4) {
            uint4 four = make_uint4(word_of(sums[e]), word_of(sums[e + 1]), word_of(sums[e + 2]), word_of(sums[e + 3]));
            store_shared16(at + e * WARP * 4, four);
        }
    }
    __syncthreads();
    if (slice > 0) return false;
#pragma unroll
    for (u32 e = 0; e < (T::SLICES - 1) * COUNT; e += 4) {
        u32 four[4];
        load_shared(four, own + e * WARP * 4);
#pragma unroll
        for (u32 i = 0; i < 4; i++) add_word(sums[e % COUNT + i], four[i]);
    }
    return true;
}

// Stores a tile by way of shared memory.
template <class T, class Product, typename Out>
__device__ __forceinline__ void store_product(const Product& product, u32 shared, Out* y, const Place<T>& place, u32 m, u32 n) {
    using Rows = Gathered<Out, T::WARP_N>;
    const u32 part = warp_id() % T::PARTS;
    const Rows rows = {shared + part * Rows::BYTES};
    const Result<Out> result = {y, place.row + part % T::DOWN * T::WARP_M, place.col + part / T::DOWN * T::WARP_N, m, n};
#pragma unroll
    for (u32 i = 0; i < Product::DOWN; i++) {
        product.scatter(i, rows);
        __syncwarp();
        rows.give(result, 16 * i, 0);
        __syncwarp();
    }
}

template <class Kind, class T, typename Out>
__device__ __forceinline__ void tensor_product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch) {
    using Product = WarpProduct<Kind, T>;
    static_assert(Product::STEPS % 2 == 0, "fragments of even steps lie in one half of the registers");
    const u32 shared = shared_address(stages);
    Product product;
    {
        const Place<T> from(m, n);
        Pipeline<T> pipeline({static_cast<const u8*>(x), from.row, m, pitch}, {static_cast<const u8*>(w), from.col, n, pitch});
        pipeline.run(shared, ceil_div(pitch, T::ROW), product);
    }
    if constexpr (T::SLICES > 1) {
        if (!add_slices<T>(product, shared + T::PARTS * Gathered<Out, T::WARP_N>::BYTES)) return;
    }
    store_product<T>(product, shared, y, Place<T>(m, n), m, n);
}

// The same by blocks to which the slabs of all tiles are split evenly (stream-K).
template <class Kind, class T, typename Out>
__device__ __forceinline__ void dealt_product(
    const void* x, const void* w, Out* y, uint4* left, u32* arrivals, u32 m, u32 n, u32 pitch) {
    using Product = WarpProduct<Kind, T>;
    constexpr u32 COUNT = sizeof(Product::c) / 4;
    static_assert(T::SLICES == 1, "every warp has results of its own");
    const u32 shared = shared_address(stages);
    const auto piece_at = [&](u32 at) { return Piece(ceil_div(m, T::M) * ceil_div(n, T::N), ceil_div(pitch, T::ROW), at); };
    const auto left_at = [&](u32 place) { return left + place * (COUNT / 4 * T::THREADS) + threadIdx.x; };
    // Where the block is, in no register while it multiplies; and a word to agree by.
    __shared__ u32 at, word;
    if (threadIdx.x == 0) at = piece_at(0).split.begin(blockIdx.x);
    __syncthreads();
#pragma unroll 1
    while (at < piece_at(0).split.begin(blockIdx.x + 1)) {
        Product product;
        {
            const Piece piece = piece_at(at);
            const Place<T> from(piece.tile, m, n);
            Pipeline<T> pipeline({static_cast<const u8*>(x), from.row, m, pitch}, {static_cast<const u8*>(w), from.col, n, pitch});
            pipeline.skip(piece.first);
            pipeline.run(shared, piece.count, product);
        }
        const Piece piece = piece_at(at);
        bool complete = piece.whole();
        if (!complete) {
            float(&sums)[COUNT] = reinterpret_cast<float(&)[COUNT]>(product.c);
            leave(sums, left_at(piece.place()), T::THREADS);
            complete = piece.arrives_last(arrivals, &word);
            if (complete) add_pieces(sums, piece.pieces(), [&](u32 i) { return left_at(piece.place(i)); }, T::THREADS);
        }
        if (complete) store_product<T>(product, shared, y, Place<T>(piece.tile, m, n), m, n);
        __syncthreads();
        if (threadIdx.x == 0) at += piece.count;
        __syncthreads();
    }
}

#define DEALT_PRODUCT(NAME, TILE, IN, OUT, KIND, PITCH)                                                                      \
    extern "C" __global__ void __launch_bounds__(TILE::THREADS, KIND::blocks<TILE>())                                        \
        NAME(const IN* __restrict__ x, const IN* __restrict__ w, OUT* __restrict__ y, uint4* left, u32* arrivals, u32 m, u32 n, u32 k) { \
        dealt_product<KIND, TILE>(x, w, y, left, arrivals, m, n, PITCH);                                                     \
    }

// Entry points: one for each tile that can be the best of some size on some device.
#if __CUDA_ARCH__ >= 800
using Deep128x256 = Warps<128, 256, 64, 64, 8, 3, 1>;
using Wide128x256 = Warps<128, 256, 64, 64, 4, 3, 1>;
using Half128x128 = Warps<128, 128, 64, 64, 4, 3, 2>;
// What stands in for an instruction finds its registers here.
using Eight128x128 = Warps<128, 128, 64, 32, 4, 3, 2>;
using Flat64x128 = Warps<64, 128, 32, 64, 4, 4, 3>;
using Small64x64 = Warps<64, 64, 32, 32, 8, 3, 4>;
using Sliced32x64 = Warps<32, 64, 32, 64, 16, 3, 2, 4>;

#define BY_WARPS_EIGHT(NAME, IN, OUT, KIND, PITCH)                      \
    PRODUCT(NAME##_128x128b64s3w8, Eight128x128, IN, OUT, KIND, PITCH) \
    PRODUCT(NAME##_64x64b128s3, Small64x64, IN, OUT, KIND, PITCH)
#define BY_WARPS_WIDE(NAME, IN, OUT, KIND, PITCH) PRODUCT(NAME##_128x256b64s3, Wide128x256, IN, OUT, KIND, PITCH)
#define BY_WARPS_FEW(NAME, IN, OUT, KIND, PITCH)                   \
    PRODUCT(NAME##_128x128b64s3, Half128x128, IN, OUT, KIND, PITCH) \
    PRODUCT(NAME##_64x64b128s3, Small64x64, IN, OUT, KIND, PITCH)
#define BY_WARPS_SLICED(NAME, IN, OUT, KIND, PITCH) PRODUCT(NAME##_32x64b256s3k4, Sliced32x64, IN, OUT, KIND, PITCH)
#define BY_WARPS_MORE(NAME, IN, OUT, KIND, PITCH)                    \
    PRODUCT(NAME##_128x256b128s3, Deep128x256, IN, OUT, KIND, PITCH) \
    PRODUCT(NAME##_64x128b64s4, Flat64x128, IN, OUT, KIND, PITCH)
#define BY_WARPS_DEALT(NAME, IN, OUT, KIND, PITCH) DEALT_PRODUCT(NAME##_128x128b64s3d, Half128x128, IN, OUT, KIND, PITCH)
#else
using Wide128x256 = Warps<128, 256, 64, 64, 4, 2, 1>;
using Half128x128 = Warps<128, 128, 64, 64, 4, 2, 2>;
using Small64x64 = Warps<64, 64, 32, 32, 4, 2, 4>;
using Sliced32x64 = Warps<32, 64, 32, 64, 16, 2, 1, 4>;

#define BY_WARPS_WIDE(NAME, IN, OUT, KIND, PITCH) PRODUCT(NAME##_128x256b64s2, Wide128x256, IN, OUT, KIND, PITCH)
#define BY_WARPS_FEW(NAME, IN, OUT, KIND, PITCH)                   \
    PRODUCT(NAME##_128x128b64s2, Half128x128, IN, OUT, KIND, PITCH) \
    PRODUCT(NAME##_64x64b64s2, Small64x64, IN, OUT, KIND, PITCH)
#define BY_WARPS_SLICED(NAME, IN, OUT, KIND, PITCH) PRODUCT(NAME##_32x64b256s2k4, Sliced32x64, IN, OUT, KIND, PITCH)
#define BY_WARPS_MORE(NAME, IN, OUT, KIND, PITCH)
// Two blocks leave nothing of the shared memory of sm_75.
#if __CUDA_ARCH__ < 750
#define BY_WARPS_DEALT(NAME, IN, OUT, KIND, PITCH) DEALT_PRODUCT(NAME##_128x128b64s2d, Half128x128, IN, OUT, KIND, PITCH)
#else
#define BY_WARPS_DEALT(NAME, IN, OUT, KIND, PITCH)
#endif
#endif
#define BY_WARPS(NAME, IN, OUT, KIND, PITCH)     \
    BY_WARPS_MORE(NAME, IN, OUT, KIND, PITCH)    \
    BY_WARPS_WIDE(NAME, IN, OUT, KIND, PITCH)    \
    BY_WARPS_FEW(NAME, IN, OUT, KIND, PITCH)     \
    BY_WARPS_SLICED(NAME, IN, OUT, KIND, PITCH)
