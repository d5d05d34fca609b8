// What every family shares: storage types, conversions, warp and block sums, the hash that generates data.
// No CUDA header is included, so that the compiler alone builds everything; instructions are inline PTX of one line each.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i32 = int;

constexpr u32 WARP = 32;
constexpr u32 ALL = 0xffffffffu;

// Storage only; arithmetic on them goes through fp32 unless a kernel is about 16-bit arithmetic.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

__device__ __forceinline__ u32 bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float float_of(u32 x) { return __uint_as_float(x); }

__device__ __forceinline__ float to_f32(float x) { return x; }
__device__ __forceinline__ float to_f32(f16 x) {
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
    return out;
}
__device__ __forceinline__ float to_f32(bf16 x) { return float_of(u32(x.bits) << 16); }

// Nearest even; beyond the range infinite.
template <typename T> __device__ __forceinline__ T from_f32(float x);
template <> __device__ __forceinline__ float from_f32<float>(float x) { return x; }
template <> __device__ __forceinline__ f16 from_f32<f16>(float x) {
    f16 out;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
    return out;
}
template <> __device__ __forceinline__ bf16 from_f32<bf16>(float x) {
#if __CUDA_ARCH__ >= 800
    bf16 out;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
    return out;
#else
    u32 bits = bits_of(x);
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    u32 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return bf16{u16(nan ? 0x7fffu : rounded >> 16)};
#endif
}

__device__ __forceinline__ float exp2_approx(float x) {
    float out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
    return out;
}

// Programmatic dependent launch, sm_90 and later; elsewhere a launch starts when its predecessor has ended, and there is nothing to wait for.
// A kernel launched early calls `wait_for_predecessor` before it touches what any launch in front of it writes: it returns when the one
// directly in front has ended and its writes are visible. That one waited likewise before it ended, so everything further in front has ended too.
__device__ __forceinline__ void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// Lets the launch behind start once every block has called this or ended. Called only after `wait_for_predecessor`, so that what runs before a
// successor's own wait finds everything complete but this kernel.
__device__ __forceinline__ void let_successor_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Both: for kernels with nothing to do in between.
__device__ __forceinline__ void take_turn() {
    wait_for_predecessor();
    let_successor_start();
}

__device__ __forceinline__ u32 lane_id() { return threadIdx.x % WARP; }
__device__ __forceinline__ u32 warp_id() { return threadIdx.x / WARP; }
__device__ __forceinline__ u32 ceil_div(u32 a, u32 b) { return (a + b - 1) / b; }

__device__ __forceinline__ float shuffle_xor(float x, u32 mask) { return __shfl_xor_sync(ALL, x, mask); }
__device__ __forceinline__ u32 shuffle_xor(u32 x, u32 mask) { return __shfl_xor_sync(ALL, x, mask); }

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) x += shuffle_xor(x, step);
    return x;
}
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) x = fmaxf(x, shuffle_xor(x, step));
    return x;
}

// Sum over a one-dimensional block of whole warps; every thread gets it. `scratch` has one float per warp.
__device__ __forceinline__ float block_sum(float x, float* scratch) {
    x = warp_sum(x);
    if (lane_id() == 0) scratch[warp_id()] = x;
    __syncthreads();
    float sum = lane_id() < blockDim.x / WARP ? scratch[lane_id()] : 0.0f;
    sum = warp_sum(sum);
    __syncthreads();
    return sum;
}

// SplitMix64 in counter form: the same integers as kernels/src/model/grid.rs.
__device__ __forceinline__ u64 mix(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
