// Matrix products on tensor cores. A warp owns T::M/2 × 32 of a tile; eight (or four) warps are 2 down, the rest across.
// A kind says how the fragments of 16 rows × 32 bytes and 8 columns × 32 bytes are multiplied, whatever the numbers are.
#pragma once

#include "slab.cuh"

constexpr u32 WARP_COLS = 32;

// Results of 16-bit accumulators are packed in pairs already.
template <typename Out> __device__ __forceinline__ Pair<Out> pair_of(float a, float b) {
    return {from_f32<Out>(a), from_f32<Out>(b)};
}
template <typename Out> __device__ __forceinline__ Pair<Out> pair_of(i32 a, i32 b) { return {a, b}; }
__device__ __forceinline__ Pair<f16> pair_of(u32 both) { return {f16{u16(both)}, f16{u16(both >> 16)}}; }

// `pitch` is the length of a row of X and of W in bytes, a multiple of 16.
template <class Kind, class T, typename Out>
__device__ __forceinline__ void tensor_product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch);

template <class Kind> struct OnTensorCores {
    static constexpr u32 THREADS_PER_SM = 512;

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

// Two integers a byte, the lower half first. What stands in for the instruction from sm_90 on needs more registers.
struct S4 : OnTensorCores<S4> {
    static constexpr u32 THREADS_PER_SM = __CUDA_ARCH__ >= 900 ? 256 : 512;
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

// As with 4-bit integers where it is not the hardware's own.
struct E4m3 : OnTensorCores<E4m3> {
    static constexpr u32 THREADS_PER_SM = 256;
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
        mma_m16n8k32_e4m3(c, a, b);
    }
};
struct E5m2 : OnTensorCores<E5m2> {
    static constexpr u32 THREADS_PER_SM = 256;
    using Sum = float;
    static constexpr u32 SUMS = 4;
    static __device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
        mma_m16n8k32_e5m2(c, a, b);
    }
};

// What a warp accumulates. Lane 4·g + q holds rows g and g+8, columns 2q and 2q+1 of every 16 × 8.
template <class Kind, class T> struct WarpProduct {
    static constexpr u32 DOWN = T::M / 2 / 16;
    static constexpr u32 ACROSS = WARP_COLS / 8;

    typename Kind::Sum c[DOWN][ACROSS][Kind::SUMS] = {};
    u32 row = warp_id() % 2 * (T::M / 2);
    u32 col = warp_id() / 2 * WARP_COLS;

    __device__ __forceinline__ void accumulate(u32 x, u32 w) {
#pragma unroll(__CUDA_ARCH__ >= 800 ? 2 : 1)
        for (u32 chunk = 0; chunk < CHUNKS; chunk += 2) {
            u32 a[DOWN][4], b[ACROSS / 2][4];
            u32 of_x = x + chunk_place(row + lane_id() % 16, chunk + lane_id() / 16);
            u32 of_w = w + chunk_place(col + lane_id() / 16 * 8 + lane_id() % 8, chunk + lane_id() / 8 % 2);
#pragma unroll
            for (u32 i = 0; i < DOWN; i++) ldmatrix_x4(a[i], of_x + 16 * i * SLAB);
#pragma unroll
            for (u32 j = 0; j < ACROSS / 2; j++) ldmatrix_x4(b[j], of_w + 16 * j * SLAB);
#pragma unroll
            for (u32 i = 0; i < DOWN; i++) {
#pragma unroll
                for (u32 j = 0; j < ACROSS; j++) {
                    const u32 half[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
                    Kind::multiply(c[i][j], a[i], half);
                }
            }
        }
    }
    template <typename Out> __device__ __forceinline__ void store(const Result<Out>& y) const {
#pragma unroll
        for (u32 i = 0; i < DOWN; i++) {
#pragma unroll
            for (u32 j = 0; j < ACROSS; j++) {
#pragma unroll
                for (u32 half = 0; half < 2; half++) {
                    u32 at = row + 16 * i + 8 * half + lane_id() / 4;
                    y.store(at, col + 8 * j + lane_id() % 4 * 2, two<Out>(c[i][j], half));
                }
            }
        }
    }
    template <typename Out> static __device__ __forceinline__ Pair<Out> two(const u32 (&c)[2], u32 half) {
        return pair_of(c[half]);
    }
    template <typename Out, typename Sum>
    static __device__ __forceinline__ Pair<Out> two(const Sum (&c)[4], u32 half) {
        return pair_of<Out>(c[2 * half], c[2 * half + 1]);
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
    static constexpr u32 DOWN = T::M / 2 / 16;
    static constexpr u32 ACROSS = WARP_COLS / 16;

    typename Kind::Sum c[DOWN][ACROSS][Kind::SUMS] = {};
    u32 row = warp_id() % 2 * (T::M / 2) + lane_id() / 8 % 2 * 4;
    u32 col = warp_id() / 2 * WARP_COLS + lane_id() / 4 % 2 * 4;

    // Where row or column 0…7 of a quad-pair's product lies.
    static __device__ __forceinline__ u32 spread(u32 index) { return index % 4 + index / 4 * 8; }

    __device__ __forceinline__ void accumulate(u32 x, u32 w) {
        u32 own = lane_id() % 4 + lane_id() / 16 * 8;
#pragma unroll
        for (u32 chunk = 0; chunk < CHUNKS; chunk++) {
            u32 a[DOWN][4], b[ACROSS][4];
            u32 of_x = x + chunk_place(row + own, chunk);
            u32 of_w = w + chunk_place(col + own, chunk);
#pragma unroll
            for (u32 i = 0; i < DOWN; i++) load_shared(a[i], of_x + 16 * i * SLAB);
#pragma unroll
            for (u32 j = 0; j < ACROSS; j++) load_shared(b[j], of_w + 16 * j * SLAB);
#pragma unroll
            for (u32 i = 0; i < DOWN; i++) {
#pragma unroll
                for (u32 j = 0; j < ACROSS; j++) {
                    mma_m8n8k4(c[i][j], a[i][0], a[i][1], b[j][0], b[j][1]);
                    mma_m8n8k4(c[i][j], a[i][2], a[i][3], b[j][2], b[j][3]);
                }
            }
        }
    }
    template <typename Out> __device__ __forceinline__ void store(const Result<Out>& y) const {
#pragma unroll
        for (u32 i = 0; i < DOWN; i++) {
#pragma unroll
            for (u32 j = 0; j < ACROSS; j++) part(y, row + 16 * i, col + 16 * j, c[i][j]);
        }
    }
    template <typename Out>
    static __device__ __forceinline__ void part(const Result<Out>& y, u32 row, u32 col, const float (&c)[8]) {
#pragma unroll
        for (u32 e = 0; e < 8; e += 2) {
            u32 down = (lane_id() & 1) + (e & 2) + lane_id() / 16 * 4;
            u32 across = (e & 4) + (lane_id() & 2);
            y.store(row + spread(down), col + spread(across), pair_of<Out>(c[e], c[e + 1]));
        }
    }
    template <typename Out>
    static __device__ __forceinline__ void part(const Result<Out>& y, u32 row, u32 col, const u32 (&c)[4]) {
        u32 down = lane_id() % 4 + lane_id() / 16 * 4;
#pragma unroll
        for (u32 e = 0; e < 4; e++) y.store(row + spread(down), col + spread(2 * e), pair_of(c[e]));
    }
};

#endif

template <class Kind, class T, typename Out>
__device__ __forceinline__ void tensor_product(const void* x, const void* w, Out* y, u32 m, u32 n, u32 pitch) {
    __shared__ alignas(128) u8 stages[Pipeline<T>::BYTES];
    const Place<T> from(m, n);
    Pipeline<T> pipeline = {
        Walk<T, T::M>({static_cast<const u8*>(x), from.row, m, pitch}),
        Walk<T, T::N>({static_cast<const u8*>(w), from.col, n, pitch}),
        pitch,
        i32(pitch - threadIdx.x % CHUNKS * CHUNK),
    };
    WarpProduct<Kind, T> product;
    pipeline.run(shared_address(stages), ceil_div(pitch, SLAB), product);
    const Place<T> place(m, n);
    product.store(Result<Out>{y, place.row, place.col, m, n});
}
