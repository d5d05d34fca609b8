// K21, K23, K26: products with 4-bit weights, and what becomes of them elsewhere.
// Classes: 60; 61 (dp4a); 75 (m16n8k8); 80 (m16n8k16, bf16).
#include "w4.cuh"

// ---- K21 on CUDA cores: 16 rows a block, the warps share the groups; fp32 throughout ----

template <u32 M, typename T>
__device__ __forceinline__ void simt(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    const Place place(words, scales, k);
    const u32 token = blockIdx.y * M;
    float sum[2][M] = {};
#pragma unroll 2
    for (u32 group = warp_id(); group < place.groups; group += blockDim.x / WARP) {
        float part[2][M] = {};
        const uint4 raw[2] = {place.load(group, 0), place.load(group, 1)};
        float scale[2];
        place.load_scales(group, scale);
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            float a[M][16];
#pragma unroll
            for (u32 j = 0; j < M; j++) {
                const T* from = x + u64(min(token + j, m - 1)) * k + column_of(group, half);
                widen<T>(load_shared_by_all(from), *(float(*)[8]) & a[j][0]);
                widen<T>(load_shared_by_all(from + 8), *(float(*)[8]) & a[j][8]);
            }
            u32 word[4];
            words_of(raw[half], word);
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                float low[4], high[4];
                integers(word[s], low, high);
#pragma unroll
                for (u32 j = 0; j < M; j++)
#pragma unroll
                    for (u32 c = 0; c < 4; c++) {
                        part[0][j] += low[c] * a[j][4 * s + c];
                        part[1][j] += high[c] * a[j][4 * s + c];
                    }
            }
        }
#pragma unroll
        for (u32 j = 0; j < M; j++) {
            sum[0][j] += scale[0] * part[0][j];
            sum[1][j] += scale[1] * part[1][j];
        }
    }
    store_lanes<M, T>(sum, y, m, n, token, wide);
}

#define W4(name, kernel, M, T)                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(                                                    \
        const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {                  \
        kernel<M>(words, scales, x, y, m, n, k, wide);                                                                \
    }
#define W4_SIMT(name, T) W4(name##_m1, simt, 1, T) W4(name##_m4, simt, 4, T)
// Where tensor cores take a format, nothing else is launched.
#if __CUDA_ARCH__ < 750
W4_SIMT(w4_simt_f16, f16)
#endif
#if __CUDA_ARCH__ < 800
W4_SIMT(w4_simt_bf16, bf16)
#endif

// ---- K21 on tensor cores ----

#if __CUDA_ARCH__ >= 750
// A nibble q + 8 is put into the mantissa of a power of two, so that it costs one instruction; what it is too large by is
// taken away by a second product with a constant A. The two alternate, so that the sum stays as small as it is.
template <typename T> struct Fragment;

template <> struct Fragment<f16> {
    // 1032 = 1024 + 8 where the nibble lies lowest, 72 = 64 + 8 where it lies four bits higher.
    static constexpr u32 LESS[4] = {0xe408e408u, 0xe408e408u, 0xd480d480u, 0xd480d480u};

    static __device__ __forceinline__ void weights(u32 word, u32 (&a)[4]) {
        const u32 high = word >> 8;
        a[0] = insert(word, 0x000f000fu, 0x64006400u);
        a[1] = insert(high, 0x000f000fu, 0x64006400u);
        a[2] = insert(word, 0x00f000f0u, 0x54005400u);
        a[3] = insert(high, 0x00f000f0u, 0x54005400u);
    }
    static __device__ __forceinline__ void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if __CUDA_ARCH__ >= 800
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
        mma_half(c, a[0], a[1], b0);
        mma_half(c, a[2], a[3], b1);
#endif
    }
    static __device__ __forceinline__ void mma_half(float (&c)[4], u32 a0, u32 a1, u32 b) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(b));
    }
};

#if __CUDA_ARCH__ >= 800
template <> struct Fragment<bf16> {
    // 136 = 128 + 8: seven bits of mantissa hold a nibble in one place only.
    static constexpr u32 LESS[4] = {0xc308c308u, 0xc308c308u, 0xc308c308u, 0xc308c308u};

    static __device__ __forceinline__ void weights(u32 word, u32 (&a)[4]) {
        a[0] = insert(word, 0x000f000fu, 0x43004300u);
        a[1] = insert(word >> 8, 0x000f000fu, 0x43004300u);
        a[2] = insert(word >> 4, 0x000f000fu, 0x43004300u);
        a[3] = insert(word >> 12, 0x000f000fu, 0x43004300u);
    }
    static __device__ __forceinline__ void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};
#endif

// Sixteen columns of token g (lane / 4): B fragments of four steps. Missing tokens are zero.
template <typename T> __device__ __forceinline__ void activations(const T* x, u32 token, u32 m, u32 k, u32 column, u32 (&b)[8]) {
    uint4 v[2] = {};
    if (token < m) {
        const T* from = x + u64(token) * k + column;
        v[0] = load_shared_by_all(from);
        v[1] = load_shared_by_all(from + 8);
    }
    words_of(v[0], *(u32(*)[4]) & b[0]);
    words_of(v[1], *(u32(*)[4]) & b[4]);
}

template <u32 M, typename T>
__device__ __forceinline__ void mma(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    constexpr u32 TILES = M / 8;
    __shared__ float parts[WARPS][ROWS * M];
    const Place place(words, scales, k);
    const u32 token = blockIdx.y * M;
    float sum[TILES][4] = {};
#pragma unroll 2
    for (u32 group = warp_id(); group < place.groups; group += blockDim.x / WARP) {
        float part[TILES][4] = {};
        const uint4 raw[2] = {place.load(group, 0), place.load(group, 1)};
        float scale[2];
        place.load_scales(group, scale);
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 b[TILES][8];
#pragma unroll
            for (u32 i = 0; i < TILES; i++)
                activations(x, token + 8 * i + lane_id() / 4, m, k, column_of(group, half), b[i]);
            u32 word[4];
            words_of(raw[half], word);
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                u32 a[4];
                Fragment<T>::weights(word[s], a);
#pragma unroll
                for (u32 i = 0; i < TILES; i++) {
                    Fragment<T>::mma(part[i], a, b[i][2 * s], b[i][2 * s + 1]);
                    Fragment<T>::mma(part[i], Fragment<T>::LESS, b[i][2 * s], b[i][2 * s + 1]);
                }
            }
        }
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) sum[i][c] += scale[c / 2] * part[i][c];
    }
#pragma unroll
    for (u32 i = 0; i < TILES; i++)
#pragma unroll
        for (u32 c = 0; c < 4; c++) {
            const u32 row = lane_id() / 4 + c / 2 * 8, j = 8 * i + lane_id() % 4 * 2 + c % 2;
            parts[warp_id()][j * ROWS + row] = sum[i][c];
        }
    store_sums<M, T>(parts, y, m, n, token, wide);
}

#define W4_MMA(name, T) W4(name##_m8, mma, 8, T) W4(name##_m16, mma, 16, T)
W4_MMA(w4_mma_f16, f16)
#if __CUDA_ARCH__ >= 800
W4_MMA(w4_mma_bf16, bf16)
#endif
#endif

// ---- dense copies, and weights from a hash ----

template <typename T> __device__ __forceinline__ u32 rounded_pair(float a, float b) {
    return u32(from_f32<T>(a).bits) | u32(from_f32<T>(b).bits) << 16;
}

template <typename T>
__device__ __forceinline__ void dequantize(const uint4* words, const u32* scales, T* to, u32 n, u32 k) {
    const Place place(words, scales, k);
    for (u32 group = warp_id(); group < place.groups; group += blockDim.x / WARP) {
        float scale[2];
        place.load_scales(group, scale);
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 word[4], out[2][8];
            words_of(place.load(group, half), word);
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                float q[2][4];
                integers(word[s], q[0], q[1]);
#pragma unroll
                for (u32 h = 0; h < 2; h++) {
                    out[h][2 * s] = rounded_pair<T>(q[h][0] * scale[h], q[h][1] * scale[h]);
                    out[h][2 * s + 1] = rounded_pair<T>(q[h][2] * scale[h], q[h][3] * scale[h]);
                }
            }
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 row = blockIdx.x * ROWS + h * 8 + lane_id() / 4;
                if (row >= n) continue;
                uint4* at = reinterpret_cast<uint4*>(to + u64(row) * k + column_of(group, half));
                at[0] = uint4{out[h][0], out[h][1], out[h][2], out[h][3]};
                at[1] = uint4{out[h][4], out[h][5], out[h][6], out[h][7]};
            }
        }
    }
}

#define W4_DEQUANT(name, T)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const uint4* words, const u32* scales, T* to, u32 n, u32 k) { \
        dequantize(words, scales, to, n, k);                                                                          \
    }
W4_DEQUANT(w4_dequant_f16, f16)
W4_DEQUANT(w4_dequant_bf16, bf16)

// Sum of four 2-bit fields and 2: the nibble of the sum less 6.
__device__ __forceinline__ u32 bell(u32 byte) {
    return (byte & 3) + (byte >> 2 & 3) + (byte >> 4 & 3) + (byte >> 6 & 3) + 2;
}

// The grid of kernels/src/model/grid.rs: integers and scales from hashes of their index, missing rows zero.
extern "C" __global__ void __launch_bounds__(THREADS) w4_grid(uint4* words, f16* scales, u64 tensor, u32 n, u32 k, float unit) {
    const u32 groups = k / GROUP;
    for (u32 group = warp_id(); group < groups; group += blockDim.x / WARP) {
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 word[4] = {};
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 row = blockIdx.x * ROWS + h * 8 + lane_id() / 4;
                const u64 index = u64(row) * k + column_of(group, half);
#pragma unroll
                for (u32 s = 0; s < 4; s++) {
                    const u32 fields = u32(random_word(tensor, (index + 4 * s) / 8) >> (s % 2 * 32));
#pragma unroll
                    for (u32 c = 0; c < 4; c++) {
                        const u32 q = row < n ? bell(fields >> (8 * c) & 0xff) : 8;
                        word[s] |= q << (c % 2 * 16 + c / 2 * 4 + h * 8);
                    }
                }
            }
            words[(u64(blockIdx.x) * (k / COLUMNS) + 2 * group + half) * WARP + lane_id()] = uint4{word[0], word[1], word[2], word[3]};
        }
        if (lane_id() < ROWS) {
            const u32 row = blockIdx.x * ROWS + lane_id() / 2 + lane_id() % 2 * 8;
            const u64 index = (1ull << 31) + u64(row) * groups + group;
            const float scale = float(4 + u32(random_word(tensor, index) & 3)) * unit;
            scales[(u64(blockIdx.x) * groups + group) * ROWS + lane_id()] = from_f32<f16>(row < n ? scale : 0.0f);
        }
    }
}

// ---- K26: activations in eight bits, dp4a ----

// Per token and group: the scale of the integers and their sum.
struct Quantized { float scale; i32 sum; };

// A warp quantises a group of a token: the largest magnitude becomes 127. What is not finite makes the scale so.
template <typename T> __device__ __forceinline__ void quantize(const T* x, u32* codes, Quantized* groups) {
    const T* from = x + u64(blockIdx.x) * GROUP + lane_id() * 4;
    float v[4];
    u32 largest = 0;
#pragma unroll
    for (u32 c = 0; c < 4; c++) {
        v[c] = to_f32(from[c]);
        largest = max(largest, bits_of(v[c]) & 0x7fffffffu);
    }
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) largest = max(largest, shuffle_xor(largest, step));
    const float scale = __fdiv_rn(float_of(largest), 127.0f);
    const bool usable = largest != 0 && largest < 0x7f800000u;
    u32 word = 0;
    i32 sum = 0;
#pragma unroll
    for (u32 c = 0; c < 4; c++) {
        const i32 q = usable ? __float2int_rn(__fdiv_rn(v[c], scale)) : 0;
        const i32 code = max(-127, min(127, q));
        sum += code;
        word |= u32(code & 0xff) << (8 * c);
    }
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) sum += i32(shuffle_xor(u32(sum), step));
    codes[u64(blockIdx.x) * WARP + lane_id()] = word;
    if (lane_id() == 0) groups[blockIdx.x] = Quantized{scale, sum};
}

#define W4A8_QUANTIZE(name, T)                                                                                        \
    extern "C" __global__ void __launch_bounds__(WARP) name(const T* x, u32* codes, Quantized* groups) {              \
        quantize(x, codes, groups);                                                                                   \
    }
W4A8_QUANTIZE(w4a8_quantize_f16, f16)
W4A8_QUANTIZE(w4a8_quantize_bf16, bf16)
W4A8_QUANTIZE(w4a8_quantize_f32, float)

#if __CUDA_ARCH__ >= 610
__device__ __forceinline__ i32 dp4a(u32 a, u32 b, i32 c) {
    i32 out;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
    return out;
}

template <u32 M, typename T>
__device__ __forceinline__ void w4a8(
    const uint4* words, const u32* scales, const uint4* codes, const Quantized* quantized, void* y, u32 m, u32 n, u32 k,
    u32 wide) {
    const Place place(words, scales, k);
    const u32 token = blockIdx.y * M;
    float sum[2][M] = {};
#pragma unroll 2
    for (u32 group = warp_id(); group < place.groups; group += blockDim.x / WARP) {
        const uint4 raw[2] = {place.load(group, 0), place.load(group, 1)};
        float scale[2];
        place.load_scales(group, scale);
        i32 dot[2][M] = {};
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 a[M][4], word[4];
#pragma unroll
            for (u32 j = 0; j < M; j++)
                words_of(load_shared_by_all(codes + (u64(min(token + j, m - 1)) * k + column_of(group, half)) / 16), a[j]);
            words_of(raw[half], word);
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                const u32 even = word[s] & 0x0f0f0f0fu, odd = word[s] >> 4 & 0x0f0f0f0fu;
                const u32 low = __byte_perm(even, odd, 0x6420), high = __byte_perm(even, odd, 0x7531);
#pragma unroll
                for (u32 j = 0; j < M; j++) {
                    dot[0][j] = dp4a(low, a[j][s], dot[0][j]);
                    dot[1][j] = dp4a(high, a[j][s], dot[1][j]);
                }
            }
        }
#pragma unroll
        for (u32 j = 0; j < M; j++) {
            const Quantized of = quantized[u64(min(token + j, m - 1)) * place.groups + group];
            // Nibbles are larger by 8; one lane of the four that share a row takes that away.
            const i32 less = lane_id() % 4 == 0 ? 8 * of.sum : 0;
            sum[0][j] += scale[0] * of.scale * float(dot[0][j] - less);
            sum[1][j] += scale[1] * of.scale * float(dot[1][j] - less);
        }
    }
    store_lanes<M, T>(sum, y, m, n, token, wide);
}

#define W4A8(name, M, T)                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS) name(                                                       \
        const uint4* words, const u32* scales, const uint4* codes, const Quantized* quantized, void* y, u32 m, u32 n, \
        u32 k, u32 wide) {                                                                                            \
        w4a8<M, T>(words, scales, codes, quantized, y, m, n, k, wide);                                                \
    }
W4A8(w4a8_f16_m1, 1, f16)
W4A8(w4a8_f16_m4, 4, f16)
W4A8(w4a8_bf16_m1, 1, bf16)
W4A8(w4a8_bf16_m4, 4, bf16)
#endif

// ---- K23: zero points, and fp16 all the way, as AWQ's kernels sum: what overflows and loses bits is the point of it ----

__device__ __forceinline__ u32 sub2(u32 a, u32 b) {
    u32 out;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
__device__ __forceinline__ u32 add2(u32 a, u32 b) {
    u32 out;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
__device__ __forceinline__ u32 mul2(u32 a, u32 b) {
    u32 out;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
__device__ __forceinline__ u32 fma2(u32 a, u32 b, u32 c) {
    u32 out;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
    return out;
}

// A warp for each row; 32 weights a lane at a time. A word holds eight: pairs of neighbours at bits 4i and 4i + 16.
extern "C" __global__ void __launch_bounds__(THREADS) awq_f16(
    const uint4* words, const f16* scales, const u8* zeros, const u32* x, f16* y, u32 n, u32 k) {
    const u32 row = blockIdx.x * WARPS + warp_id();
    if (row >= n) return;
    const u32* a = x + u64(blockIdx.y) * (k / 2);
    u32 sum = 0;
#pragma unroll 2
    for (u32 i = lane_id(); i < k / 32; i += WARP) {
        const u64 group = u64(row) * (k / GROUP) + i / 4;
        u32 word[4];
        words_of(load_once(words + u64(row) * (k / 32) + i), word);
        const u32 scale = u32(scales[group].bits) * 0x00010001u;
        const u32 zero = (0x6400u + zeros[group]) * 0x00010001u;
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
            u32 pair[4];
            words_of(load_shared_by_all(a + i * 16 + s * 4), pair);
#pragma unroll
            for (u32 p = 0; p < 4; p++) {
                const u32 q = sub2(insert(word[s] >> (4 * p), 0x000f000fu, 0x64006400u), zero);
                sum = fma2(mul2(q, scale), pair[p], sum);
            }
        }
    }
    sum = add2(sum, sum >> 16 | sum << 16);
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) sum = add2(sum, shuffle_xor(sum, step));
    if (lane_id() == 0) y[u64(blockIdx.y) * n + row] = f16{u16(sum)};
}
