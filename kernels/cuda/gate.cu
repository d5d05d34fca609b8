// One instruction each, to find out whether a device has it; and what else is asked of one warp.
#include "gate.cuh"

// Fills dynamic shared memory of so many words and sums it from the other end.
extern "C" __global__ void span_shared(u32* out, u32 words) {
    extern __shared__ u32 span[];
    for (u32 i = lane_id(); i < words; i += WARP) span[i] = i;
    __syncwarp();
    u32 sum = 0;
    for (u32 i = lane_id(); i < words; i += WARP) sum += span[words - 1 - i];
    out[lane_id()] = sum;
}

// A sum of 32 products in three number formats: binary32, and rounded from it to binary16 and to bfloat16; and summed in binary16.
extern "C" __global__ void overflow(const u32* in, u32* out) {
    float wide = 0.0f;
    u32 narrow = 0;
    for (u32 i = 0; i < WARP; i++) {
        u16 low = u16(in[i]);
        wide += to_f32(f16{low}) * to_f32(f16{low});
        narrow = fma_f16x2(in[i], in[i], narrow);
    }
    u32 words[4] = {bits_of(wide), u32(from_f32<f16>(wide).bits), u32(from_f32<bf16>(wide).bits), narrow & 0xffffu};
    give(out, words);
}

extern "C" __global__ void fma_f16(const u32* in, u32* out) {
    u32 w[3];
    take(w, in);
    u32 d[1] = {fma_f16x2(w[0], w[1], w[2])};
    give(out, d);
}
extern "C" __global__ void atom_add_f16x2(const u32* in, u32* out) {
    asm volatile("{ .reg .b32 old; atom.global.add.noftz.f16x2 old, [%0], %1; }" ::"l"(__cvta_generic_to_global(out)), "r"(in[lane_id()]) : "memory");
}

#if __CUDA_ARCH__ >= 610
extern "C" __global__ void dp4a_s8(const u32* in, u32* out) {
    u32 w[3];
    take(w, in);
    i32 d[1] = {dp4a(w[0], w[1], i32(w[2]))};
    give(out, d);
}
#endif

#if __CUDA_ARCH__ >= 700
extern "C" __global__ void mma_m8n8k4_f16(const u32* in, u32* out) {
    u32 w[4];
    take(w, in);
    float d[8] = {};
    mma_m8n8k4(d, w[0], w[1], w[2], w[3]);
    give(out, d);
}
extern "C" __global__ void atom_add_f16(const u32* in, u32* out) {
    asm volatile("{ .reg .b16 old; atom.global.add.noftz.f16 old, [%0], %1; }" ::"l"(__cvta_generic_to_global(out)), "h"(u16(in[lane_id()])) : "memory");
}
extern "C" __global__ void ld_evict_last(const u32* in, u32* out) {
    u32 d[1];
    asm volatile("ld.global.L1::evict_last.u32 %0, [%1];" : "=r"(d[0]) : "l"(__cvta_generic_to_global(in + lane_id())) : "memory");
    give(out, d);
}
#endif

#if __CUDA_ARCH__ >= 750
extern "C" __global__ void mma_m16n8k8(const u32* in, u32* out) {
    u32 w[3];
    take(w, in);
    float d[4] = {};
    mma_m16n8k8_f16(d, w[0], w[1], w[2]);
    give(out, d);
}
extern "C" __global__ void mma_int8(const u32* in, u32* out) {
    u32 w[2];
    take(w, in);
    i32 d[2] = {};
    mma_m8n8k16_s8(d[0], d[1], w[0], w[1]);
    give(out, d);
}
extern "C" __global__ void mma_int4(const u32* in, u32* out) {
    u32 w[2];
    take(w, in);
    i32 d[2] = {};
    mma_m8n8k32_s4(d[0], d[1], w[0], w[1]);
    give(out, d);
}
// Thirty-two rows of sixteen bytes, row l written by lane l.
extern "C" __global__ void ldmatrix(const u32* in, u32* out) {
    __shared__ __align__(16) u32 rows[4 * WARP];
    u32 w[4];
    take(w, in);
#pragma unroll
    for (u32 i = 0; i < 4; i++) rows[4 * lane_id() + i] = w[i];
    __syncwarp();
    ldmatrix_x4(w, shared_address(rows + 4 * lane_id()));
    give(out, w);
}
#endif

#if __CUDA_ARCH__ >= 800
GATE_M16N8(mma_m16n8k16, float, mma_m16n8k16_f16)
GATE_M16N8(mma_bf16, float, mma_m16n8k16_bf16)
GATE_M16N8(mma_tf32, float, mma_m16n8k8_tf32)
GATE_M16N8(mma_int8_m16n8k32, i32, mma_m16n8k32_s8)

extern "C" __global__ void fma_bf16(const u32* in, u32* out) {
    u32 w[3];
    take(w, in);
    u32 d[1] = {fma_bf16x2(w[0], w[1], w[2])};
    give(out, d);
}
extern "C" __global__ void cvt_bf16(const u32* in, u32* out) {
    u16 bits;
    asm volatile("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(float_of(in[lane_id()])));
    u32 d[1] = {bits};
    give(out, d);
}
extern "C" __global__ void cp_async(const u32* in, u32* out) {
    __shared__ __align__(16) u32 rows[4 * WARP];
    cp_async16(shared_address(rows + 4 * lane_id()), in + 4 * lane_id(), 16);
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    u32 d[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) d[i] = rows[4 * (lane_id() ^ 1) + i];
    give(out, d);
}
extern "C" __global__ void redux_sync(const u32* in, u32* out) {
    u32 d[1];
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(d[0]) : "r"(in[lane_id()]));
    give(out, d);
}
#endif

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void atom_add_bf16x2(const u32* in, u32* out) {
    asm volatile("{ .reg .b32 old; atom.global.add.noftz.bf16x2 old, [%0], %1; }" ::"l"(__cvta_generic_to_global(out)), "r"(in[lane_id()]) : "memory");
}
#endif
