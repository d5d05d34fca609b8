// K26: activations in eight bits, products by dp4a.
#pragma once
#include "w4.cuh"

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
                const u32 place = s % 2 * 4;
                const u32 first = word[s / 2 * 2] >> place & 0x0f0f0f0fu, second = word[s / 2 * 2 + 1] >> place & 0x0f0f0f0fu;
                const u32 low = __byte_perm(first, second, 0x6420), high = __byte_perm(first, second, 0x7531);
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
