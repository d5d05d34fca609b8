// K01, K44–K46: bandwidth, data, scans, references.
// Classes: 60, 80 (loads that pass by the first-level cache, bf16 rounding by instruction).
#include "ahead.cuh"

constexpr u32 THREADS = 256;

__device__ __forceinline__ u32 thread_id() { return blockIdx.x * THREADS + threadIdx.x; }
__device__ __forceinline__ u32 thread_count() { return gridDim.x * THREADS; }

#define SCAN(name) extern "C" __global__ void __launch_bounds__(THREADS) name

SCAN(clear)(u32* to, u32 words) {
    u32 i = thread_id();
    if (i < words) to[i] = 0;
}

// ---- K01: bandwidth; counts are of 16 bytes ----

__device__ __forceinline__ u32 fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Reads. A thread's exclusive or goes to its place in `out` where it is `wanted`, so that the loads are for something.
SCAN(read)(const uint4* from, u32* out, u32 count, u32 wanted) {
    constexpr u32 DEPTH = 8;
    const u64 stride = thread_count();
    u32 sum = 0;
    u64 i = thread_id();
    for (; i + (DEPTH - 1) * stride < count; i += DEPTH * stride) {
        uint4 v[DEPTH];
#pragma unroll
        for (u32 d = 0; d < DEPTH; d++) v[d] = load_once(from + i + d * stride);
#pragma unroll
        for (u32 d = 0; d < DEPTH; d++) sum ^= fold(v[d]);
    }
    for (; i < count; i += stride) sum ^= fold(load_once(from + i));
    if (sum == wanted) out[thread_id()] = sum;
}

SCAN(copy)(const uint4* from, uint4* to, u32 count) {
    constexpr u32 DEPTH = 8;
    const u64 stride = thread_count();
    u64 i = thread_id();
    for (; i + (DEPTH - 1) * stride < count; i += DEPTH * stride) {
        uint4 v[DEPTH];
#pragma unroll
        for (u32 d = 0; d < DEPTH; d++) v[d] = load_once(from + i + d * stride);
#pragma unroll
        for (u32 d = 0; d < DEPTH; d++) to[i + d * stride] = v[d];
    }
    for (; i < count; i += stride) to[i] = load_once(from + i);
}

// One rounding of the product and one of the sum would be two answers: a fused multiply-add is asked for by name.
__device__ __forceinline__ u32 scaled_sum(u32 a, u32 b, float scale) {
    return bits_of(__fmaf_rn(scale, float_of(b), float_of(a)));
}
__device__ __forceinline__ uint4 scaled_sum(uint4 a, uint4 b, float scale) {
    return uint4{scaled_sum(a.x, b.x, scale), scaled_sum(a.y, b.y, scale), scaled_sum(a.z, b.z, scale), scaled_sum(a.w, b.w, scale)};
}

// to = a + scale · b, fp32.
SCAN(triad)(const uint4* a, const uint4* b, uint4* to, u32 count, float scale) {
    constexpr u32 DEPTH = 4;
    const u64 stride = thread_count();
    u64 i = thread_id();
    for (; i + (DEPTH - 1) * stride < count; i += DEPTH * stride) {
        uint4 p[DEPTH], q[DEPTH];
#pragma unroll
        for (u32 d = 0; d < DEPTH; d++) {
            p[d] = load_once(a + i + d * stride);
            q[d] = load_once(b + i + d * stride);
        }
#pragma unroll
        for (u32 d = 0; d < DEPTH; d++) to[i + d * stride] = scaled_sum(p[d], q[d], scale);
    }
    for (; i < count; i += stride) to[i] = scaled_sum(load_once(a + i), load_once(b + i), scale);
}

// ---- data ----

// Sum of the four 16-bit fields, centred, over 2^15.
__device__ __forceinline__ float number(u64 word) {
    u32 low = u32(word), high = u32(word >> 32);
    u32 sum = (low & 0xffff) + (low >> 16) + (high & 0xffff) + (high >> 16);
    return __fmul_rn(__fsub_rn(float(sum), 131070.0f), 1.0f / 32768.0f);
}

template <typename T> __device__ __forceinline__ T element(u64 word) { return from_f32<T>(number(word)); }
template <> __device__ __forceinline__ u8 element<u8>(u64 word) { return u8(word >> 56); }
template <> __device__ __forceinline__ u32 element<u32>(u64 word) { return u32(word >> 32); }
template <> __device__ __forceinline__ double element<double>(u64 word) { return double(number(word)); }

template <typename T> union Vector {
    uint4 raw;
    T at[WIDE<T>];
    __device__ Vector() {}
};

template <typename T> __device__ __forceinline__ void noise(T* to, u32 count, u32 seed) {
    const u32 whole = count / WIDE<T>;
    for (u64 i = thread_id(); i < whole; i += thread_count()) {
        Vector<T> v;
#pragma unroll
        for (u32 e = 0; e < WIDE<T>; e++) v.at[e] = element<T>(random_word(seed, i * WIDE<T> + e));
        reinterpret_cast<uint4*>(to)[i] = v.raw;
    }
    const u64 rest = u64(whole) * WIDE<T> + thread_id();
    if (rest < count) to[rest] = element<T>(random_word(seed, rest));
}

SCAN(noise_f64)(double* to, u32 count, u32 seed) { noise(to, count, seed); }
SCAN(noise_f32)(float* to, u32 count, u32 seed) { noise(to, count, seed); }
SCAN(noise_f16)(f16* to, u32 count, u32 seed) { noise(to, count, seed); }
SCAN(noise_bf16)(bf16* to, u32 count, u32 seed) { noise(to, count, seed); }
SCAN(noise_u32)(u32* to, u32 count, u32 seed) { noise(to, count, seed); }
SCAN(noise_u8)(u8* to, u32 count, u32 seed) { noise(to, count, seed); }

// ---- K44: what is not finite ----

// Of a format: the bits of a magnitude, of the smallest normal number, of infinity, of 65504, and a magnitude in fp32.
template <typename T> struct Format;
template <> struct Format<float> {
    static constexpr u32 NORMAL = 0x00800000, INFINITE = 0x7f800000, FP16_MAX = 0x477fe000;
    static __device__ __forceinline__ u32 magnitude(float x) { return bits_of(x) & 0x7fffffffu; }
    static __device__ __forceinline__ u32 wide(u32 magnitude) { return magnitude; }
};
template <> struct Format<f16> {
    static constexpr u32 NORMAL = 0x0400, INFINITE = 0x7c00, FP16_MAX = 0x7bff;
    static __device__ __forceinline__ u32 magnitude(f16 x) { return x.bits & 0x7fffu; }
    static __device__ __forceinline__ u32 wide(u32 magnitude) { return bits_of(to_f32(f16{u16(magnitude)})); }
};
template <> struct Format<bf16> {
    // 65504 lies between 65280 and 65536.
    static constexpr u32 NORMAL = 0x0080, INFINITE = 0x7f80, FP16_MAX = 0x477f;
    static __device__ __forceinline__ u32 magnitude(bf16 x) { return x.bits & 0x7fffu; }
    static __device__ __forceinline__ u32 wide(u32 magnitude) { return magnitude << 16; }
};

// What a thread has seen. `largest` is a magnitude plus one, zero where nothing was finite; `bad` an inverted index.
struct Seen {
    u32 nan, infinite, over, subnormal, largest, at, bad;

    template <typename T> __device__ __forceinline__ void look(T x, u32 index) {
        const u32 magnitude = Format<T>::magnitude(x);
        const bool finite = magnitude < Format<T>::INFINITE;
        nan += magnitude > Format<T>::INFINITE;
        infinite += magnitude == Format<T>::INFINITE;
        over += finite && magnitude > Format<T>::FP16_MAX;
        subnormal += magnitude != 0 && magnitude < Format<T>::NORMAL;
        if (finite && magnitude >= largest) {
            largest = magnitude + 1;
            at = index;
        }
        if (!finite) bad = max(bad, ~index);
    }
};

__device__ __forceinline__ u32 warp_total(u32 x) {
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) x += shuffle_xor(x, step);
    return x;
}
__device__ __forceinline__ u64 shuffle_xor(u64 x, u32 mask) {
    return u64(shuffle_xor(u32(x >> 32), mask)) << 32 | shuffle_xor(u32(x), mask);
}
__device__ __forceinline__ u64 warp_largest(u64 x) {
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) x = max(x, shuffle_xor(x, step));
    return x;
}

// NaNs, infinities, finite numbers above fp16's largest, subnormals; magnitude and inverted index of the largest; inverted
// index of the first that is not finite.
struct Report { u32 nan, infinite, over, subnormal; u64 largest; u32 bad, unused; };

__device__ __forceinline__ void add_count(u32* to, u32 count) {
    count = warp_total(count);
    if (lane_id() == 0 && count != 0) atomicAdd(to, count);
}

template <typename T> __device__ __forceinline__ void finite(const T* from, Report* report, u32 count) {
    constexpr u32 V = WIDE<T>;
    Seen seen = {};
    const u32 whole = count / V;
    const u64 stride = thread_count();
    ahead<4>(u64(thread_id()), u64(whole), stride, [&](u64 i, auto steps) {
        constexpr u32 STEPS = decltype(steps)::COUNT;
        Vector<T> v[STEPS];
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) v[s].raw = load_once(from + (i + s * stride) * V);
#pragma unroll
        for (u32 s = 0; s < STEPS; s++)
#pragma unroll
            for (u32 e = 0; e < V; e++) seen.look(v[s].at[e], u32(i + s * stride) * V + e);
    });
    const u64 rest = u64(whole) * V + thread_id();
    if (rest < count) seen.look(from[rest], u32(rest));
    add_count(&report->nan, seen.nan);
    add_count(&report->infinite, seen.infinite);
    add_count(&report->over, seen.over);
    add_count(&report->subnormal, seen.subnormal);
    const bool any = seen.largest != 0;
    const u64 largest = warp_largest(any ? u64(Format<T>::wide(seen.largest - 1)) << 32 | u32(~seen.at) : 0);
    const u64 bad = warp_largest(seen.bad);
    if (lane_id() == 0 && largest != 0) atomicMax(&report->largest, largest);
    if (lane_id() == 0 && bad != 0) atomicMax(&report->bad, u32(bad));
}

SCAN(finite_f32)(const float* from, Report* report, u32 count) { finite(from, report, count); }
SCAN(finite_f16)(const f16* from, Report* report, u32 count) { finite(from, report, count); }
SCAN(finite_bf16)(const bf16* from, Report* report, u32 count) { finite(from, report, count); }

// ---- K46: hash ----

// The sum over 64-bit words of each one mixed with its position; the last is filled up with zeros, the length goes in.
SCAN(hash)(const u8* from, u64* to, u32 bytes) {
    const u32 whole = bytes / 16;
    u64 sum = 0;
    const u64 stride = thread_count();
    ahead<4>(u64(thread_id()), u64(whole), stride, [&](u64 i, auto steps) {
        constexpr u32 STEPS = decltype(steps)::COUNT;
        uint4 v[STEPS];
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) v[s] = load_once(from + (i + s * stride) * 16);
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) {
            const u64 at = 2 * (i + s * stride);
            sum += mix((u64(v[s].y) << 32 | v[s].x) + (at + 1) * GAMMA);
            sum += mix((u64(v[s].w) << 32 | v[s].z) + (at + 2) * GAMMA);
        }
    });
    if (thread_id() == 0) {
        for (u32 first = whole * 16; first < bytes; first += 8) {
            u64 word = 0;
            for (u32 i = first; i < bytes && i < first + 8; i++) word |= u64(from[i]) << (8 * (i - first));
            sum += mix(word + (first / 8 + 1) * GAMMA);
        }
        sum += mix(bytes);
    }
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) sum += shuffle_xor(sum, step);
    if (lane_id() == 0) atomicAdd(to, sum);
}

// ---- K45: references ----

// About 48 bits out of two fp32 numbers (Dekker's double-length sum, with the product's error from a fused multiply-add).
struct Pair {
    float high, low;

    __device__ __forceinline__ void add(float x, float small) {
        const float sum = __fadd_rn(high, x);
        const float part = __fsub_rn(sum, high);
        const float error = __fadd_rn(__fsub_rn(high, __fsub_rn(sum, part)), __fsub_rn(x, part));
        low = __fadd_rn(low, __fadd_rn(error, small));
        high = __fadd_rn(sum, low);
        low = __fsub_rn(low, __fsub_rn(high, sum));
    }
    __device__ __forceinline__ void add_product(float a, float b) {
        const float product = __fmul_rn(a, b);
        add(product, __fmaf_rn(a, b, -product));
    }
    __device__ __forceinline__ void add_lane(u32 mask) { add(shuffle_xor(high, mask), shuffle_xor(low, mask)); }
    __device__ __forceinline__ double value() const { return double(high) + double(low); }
};

struct Whole {
    double sum;

    __device__ __forceinline__ void add_product(float a, float b) { sum = __fma_rn(double(a), double(b), sum); }
    __device__ __forceinline__ void add_lane(u32 mask) {
        sum += __longlong_as_double((long long)shuffle_xor(u64(__double_as_longlong(sum)), mask));
    }
    __device__ __forceinline__ double value() const { return sum; }
};

// A warp for each of rows × columns outputs, spread evenly over y = x · Wᵀ.
template <typename S, typename T>
__device__ __forceinline__ void reference(const T* x, const T* w, double* y, u32 m, u32 n, u32 k, u32 rows, u32 columns) {
    const u64 row = u64(blockIdx.x / columns) * m / rows;
    const u64 column = u64(blockIdx.x % columns) * n / columns;
    S sum = {};
    for (u32 i = lane_id(); i < k; i += WARP) sum.add_product(to_f32(x[row * k + i]), to_f32(w[column * k + i]));
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) sum.add_lane(step);
    if (lane_id() == 0) y[blockIdx.x] = sum.value();
}

#define REFERENCE(name, S, T)                                                                                         \
    extern "C" __global__ void __launch_bounds__(WARP) name(                                                          \
        const T* x, const T* w, double* y, u32 m, u32 n, u32 k, u32 rows, u32 columns) {                              \
        reference<S, T>(x, w, y, m, n, k, rows, columns);                                                             \
    }
REFERENCE(ref_f64_f32, Whole, float)
REFERENCE(ref_f64_f16, Whole, f16)
REFERENCE(ref_f64_bf16, Whole, bf16)
REFERENCE(ref_f32x2_f32, Pair, float)
REFERENCE(ref_f32x2_f16, Pair, f16)
REFERENCE(ref_f32x2_bf16, Pair, bf16)
