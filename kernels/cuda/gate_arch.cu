// Instructions that the interpreter does not have: of one architecture alone, asynchronous, of opaque layout, or of single bits. Operands
// that a descriptor would place are the same everywhere, so that nothing but the instruction is in question.
#include "gate.cuh"
#include "rate.cuh"

// The architecture a build is for alone, ten times its number; 0 of a build for all from it on.
#ifdef __CUDA_ARCH_SPECIFIC__
#define OWN __CUDA_ARCH_SPECIFIC__
#else
#define OWN 0
#endif

// All of `words` set to the same.
__device__ __forceinline__ void fill(u32* words, u32 count, u32 with) {
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) words[i] = with;
}

// 16×16 fp16 matrices, row by row: A at in, B behind it, the fp32 product to out.
#if __CUDA_ARCH__ >= 700
extern "C" __global__ void wmma_f16(const u32* in, u32* out) {
    u32 a[8], b[8];
    float d[8], c[8] = {};
    const u64 from = __cvta_generic_to_global(in), to = __cvta_generic_to_global(out);
    asm volatile("wmma.load.a.sync.aligned.m16n16k16.row.global.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]), "=r"(a[4]), "=r"(a[5]), "=r"(a[6]), "=r"(a[7]) : "l"(from) : "memory");
    asm volatile("wmma.load.b.sync.aligned.m16n16k16.row.global.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]), "=r"(b[4]), "=r"(b[5]), "=r"(b[6]), "=r"(b[7]) : "l"(from + 512) : "memory");
    asm volatile("wmma.mma.sync.aligned.m16n16k16.row.row.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, {%24,%25,%26,%27,%28,%29,%30,%31};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]), "f"(c[5]), "f"(c[6]), "f"(c[7]));
    asm volatile("wmma.store.d.sync.aligned.m16n16k16.row.global.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, 16;" ::"l"(to), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]) : "memory");
}
#endif

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void mma_m16n8k256_b1(i32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
GATE_M16N8(mma_b1, i32, mma_m16n8k256_b1)
RATE_PRODUCT(rate_mma_b1, i32, 4, 4, 2, mma_m16n8k256_b1(c, a, b))
#endif

// 512 bytes by one bulk copy; lane l gives the words of lane l xor 1.
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void tma(const u32* in, u32* out) {
    __shared__ __align__(128) u32 rows[4 * WARP];
    __shared__ __align__(8) u64 barrier;
    const u32 at = shared_address(&barrier);
    if (lane_id() == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(shared_address(rows)), "l"(__cvta_generic_to_global(in)), "r"(at) : "memory");
    }
    __syncwarp();
    u32 done = 0;
    while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
    u32 d[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) d[i] = rows[4 * (lane_id() ^ 1) + i];
    give(out, d);
}
#endif

// Four warps: A from registers as m16n8k16 has it, 16 rows a warp; B all ones; lane l of warp w writes its four sums.
#if OWN == 900
extern "C" __global__ void wgmma(const u32* in, u32* out) {
    __shared__ __align__(128) u32 ones[64];
    fill(ones, 64, 0x3c003c00u);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    u32 a[4];
    float d[4] = {};
#pragma unroll
    for (u32 i = 0; i < 4; i++) a[i] = in[4 * threadIdx.x + i];
    const u64 matrix = (shared_address(ones) >> 4) | (u64(8) << 16) | (u64(16) << 32);
    // Registers are to be there before the fence, not between it and the product.
    asm volatile("wgmma.fence.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 0, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrix) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory");
#pragma unroll
    for (u32 i = 0; i < 4; i++) out[4 * threadIdx.x + i] = bits_of(d[i]);
}
#endif

// A word per lane into tensor memory and back.
#if OWN >= 1000 && OWN < 1200
extern "C" __global__ void tcgen05(const u32* in, u32* out) {
    __shared__ __align__(16) u32 place;
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(&place)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    __syncwarp();
    const u32 at = place;
    u32 d[1] = {in[lane_id()]};
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(at), "r"(d[0]) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(d[0]) : "r"(at) : "memory");
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    give(out, d);
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(at) : "memory");
}
#endif

#if OWN >= 1000
extern "C" __global__ void cvt_e2m1(const u32* in, u32* out) {
    u32 w[2], d[1];
    take(w, in);
    asm volatile("{ .reg .b8 pair; cvt.rn.satfinite.e2m1x2.f32 pair, %1, %2; cvt.u32.u8 %0, pair; }" : "=r"(d[0]) : "f"(float_of(w[1])), "f"(float_of(w[0])));
    give(out, d);
}
#endif

// Every scale is one.
#if OWN >= 1200
__device__ __forceinline__ void mma_block_scaled(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    const u32 one = 0x38383838u;
    asm volatile("mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, %10, {0, 0}, %10, {0, 0};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(one));
}
GATE_M16N8(mma_block_scale, float, mma_block_scaled)
#endif
