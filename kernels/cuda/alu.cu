// K02: what an instruction's pipe yields when nothing else is in the way. Every warp repeats one instruction on registers, on
// CHAINS independent accumulators. Two B take turns, so that with B and −B sums never leave their format, however long it takes.
// All registers come from memory and a digest of the accumulators goes back: nothing can be left out and the result is known.
#include "mma.cuh"

constexpr u32 CHAINS = 8;
constexpr u32 THREADS = 256;

__device__ __forceinline__ void take(u32 word, u32& into) { into = word; }
__device__ __forceinline__ void take(u32 word, i32& into) { into = i32(word); }
__device__ __forceinline__ void take(u32 word, float& into) { into = float_of(word); }
__device__ __forceinline__ u32 word_of(u32 x) { return x; }
__device__ __forceinline__ u32 word_of(i32 x) { return u32(x); }
__device__ __forceinline__ u32 word_of(float x) { return bits_of(x); }

// Registers of A, of one B and of an accumulator. Every chain has an A of its own, lest what imitates the instruction on some
// architectures multiplies once and only adds for each.
template <u32 OF_A, u32 OF_B, typename Sum, u32 OF_C> struct OfWarp {
    using A = u32[OF_A];
    using B = u32[OF_B];
    using C = Sum[OF_C];
    static constexpr u32 OWN = CHAINS;
    static constexpr u32 PAIRS = 1;
};
// A multiply-add takes no longer than the loop's own instructions, so that a turn has more of them, and shares A, so that no
// two of its operands wait for the same bank.
template <typename Sum> struct OfLane : OfWarp<1, 1, Sum, 1> {
    static constexpr u32 OWN = 1;
    static constexpr u32 PAIRS = 4;
};

struct Ffma : OfLane<float> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) {
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(c[0]) : "f"(float_of(a[0])), "f"(float_of(b[0])));
    }
};
struct Hfma2 : OfLane<u32> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) {
        asm volatile("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(c[0]) : "r"(a[0]), "r"(b[0]));
    }
};
struct Bfma2 : OfLane<u32> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) {
        asm volatile("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(c[0]) : "r"(a[0]), "r"(b[0]));
    }
};
struct Dot4 : OfLane<i32> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) {
        asm volatile("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(c[0]) : "r"(a[0]), "r"(b[0]));
    }
};

// Volta; later architectures have it for compatibility or imitate it.
struct M8n8k4F16 : OfWarp<2, 2, float, 8> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m8n8k4(c, a[0], a[1], b[0], b[1]); }
};
struct M8n8k4F16Acc16 : OfWarp<2, 2, u32, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m8n8k4(c, a[0], a[1], b[0], b[1]); }
};

// Turing.
struct M16n8k8F16 : OfWarp<2, 1, float, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k8_f16(c, a[0], a[1], b[0]); }
};
struct M16n8k8F16Acc16 : OfWarp<2, 1, u32, 2> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k8_f16(c, a[0], a[1], b[0]); }
};
struct M8n8k16S8 : OfWarp<1, 1, i32, 2> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m8n8k16_s8(c[0], c[1], a[0], b[0]); }
};
struct M8n8k32S4 : OfWarp<1, 1, i32, 2> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m8n8k32_s4(c[0], c[1], a[0], b[0]); }
};

// Ampere and later.
struct M16n8k16F16 : OfWarp<4, 2, float, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k16_f16(c, a, b); }
};
struct M16n8k16F16Acc16 : OfWarp<4, 2, u32, 2> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k16_f16(c, a, b); }
};
struct M16n8k16Bf16 : OfWarp<4, 2, float, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k16_bf16(c, a, b); }
};
struct M16n8k8Tf32 : OfWarp<4, 2, float, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k8_tf32(c, a, b); }
};
struct M16n8k32S8 : OfWarp<4, 2, i32, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k32_s8(c, a, b); }
};
struct M16n8k64S4 : OfWarp<4, 2, i32, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k64_s4(c, a, b); }
};

// Ada and later.
struct M16n8k32E4m3 : OfWarp<4, 2, float, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k32_e4m3(c, a, b); }
};
struct M16n8k32E5m2 : OfWarp<4, 2, float, 4> {
    static __device__ __forceinline__ void run(C& c, const A& a, const B& b) { mma_m16n8k32_e5m2(c, a, b); }
};

template <typename T, u32 COUNT> __device__ __forceinline__ void take_all(const u32*& from, T (&into)[COUNT]) {
#pragma unroll
    for (u32 i = 0; i < COUNT; i++, from += WARP) take(*from, into[i]);
}

// `from` holds, each for 32 lanes, the registers of every A, of B, of the other B and of the accumulators.
template <class Op> __device__ __forceinline__ void peak(const u32* from, u32* to, u32 turns) {
    typename Op::A a[Op::OWN];
    typename Op::B b[2];
    typename Op::C c[CHAINS];
    from += lane_id();
#pragma unroll
    for (u32 i = 0; i < Op::OWN; i++) take_all(from, a[i]);
    take_all(from, b[0]);
    take_all(from, b[1]);
#pragma unroll
    for (u32 i = 0; i < CHAINS; i++) take_all(from, c[i]);
#pragma unroll 1
    for (; turns > 0; turns--) {
#pragma unroll
        for (u32 step = 0; step < 2 * Op::PAIRS; step++) {
#pragma unroll
            for (u32 i = 0; i < CHAINS; i++) Op::run(c[i], a[i % Op::OWN], b[step % 2]);
        }
    }
    u32 digest = 0;
#pragma unroll
    for (u32 i = 0; i < CHAINS; i++) {
        for (auto one : c[i]) digest = digest * 31 + word_of(one);
    }
    to[u64(blockIdx.x) * THREADS + threadIdx.x] = digest;
}

#define PEAK(NAME, OP)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME(const u32* from, u32* to, u32 turns) { \
        peak<OP>(from, to, turns);                                                                   \
    }

PEAK(peak_ffma, Ffma)
PEAK(peak_hfma2, Hfma2)
#if __CUDA_ARCH__ >= 610
PEAK(peak_dp4a, Dot4)
#endif
#if __CUDA_ARCH__ >= 800
PEAK(peak_bfma2, Bfma2)
PEAK(peak_m16n8k16_f16, M16n8k16F16)
PEAK(peak_m16n8k16_f16_acc16, M16n8k16F16Acc16)
PEAK(peak_m16n8k16_bf16, M16n8k16Bf16)
PEAK(peak_m16n8k8_tf32, M16n8k8Tf32)
PEAK(peak_m16n8k32_s8, M16n8k32S8)
PEAK(peak_m16n8k64_s4, M16n8k64S4)
#elif __CUDA_ARCH__ >= 750
PEAK(peak_m16n8k8_f16, M16n8k8F16)
PEAK(peak_m16n8k8_f16_acc16, M16n8k8F16Acc16)
PEAK(peak_m8n8k16_s8, M8n8k16S8)
PEAK(peak_m8n8k32_s4, M8n8k32S4)
#elif __CUDA_ARCH__ >= 700
PEAK(peak_m8n8k4_f16, M8n8k4F16)
PEAK(peak_m8n8k4_f16_acc16, M8n8k4F16Acc16)
#endif
#if __CUDA_ARCH__ >= 890
PEAK(peak_m16n8k32_e4m3, M16n8k32E4m3)
PEAK(peak_m16n8k32_e5m2, M16n8k32E5m2)
#endif
