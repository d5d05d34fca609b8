// K10, K11 on sm_90a of up to 64 tokens: Yᵀ = W · Xᵀ, so that 64 rows of W are those of a wgmma and tokens its columns. Memory is what limits it: two
// blocks share a multiprocessor, each with 64 KiB of W and more on their way. Eight warps of a block multiply, 128 rows of W by all tokens, and one
// has the copy engine fill stages of 128 bytes of k.
#pragma once

#include "cluster_sum.cuh"
#include "wgmma.cuh"

template <class Kind_, typename T_, u32 TOKENS_, u32 BLOCKS_, u32 STAGES_> struct Skinny {
    using Kind = Kind_;
    using T = T_;
    static constexpr u32 TOKENS = TOKENS_;
    static constexpr u32 BLOCKS = BLOCKS_;
    static constexpr u32 STAGES = STAGES_;
    static constexpr u32 WARPS = 8;
    static constexpr u32 LINE = 128;
    // Numbers of a line, and steps of wgmma.
    static constexpr u32 NUMBERS = 64;
    static constexpr u32 STEPS = 4;
    static constexpr u32 OF_W = Sums<TOKENS>::ROWS * LINE;
    static constexpr u32 STAGE = OF_W + TOKENS * LINE;
    static_assert(Sums<TOKENS>::BYTES <= STAGES * STAGE, "sums take the place of stages");

    u32 stages;
    __device__ __forceinline__ explicit Skinny(u32 from) : stages((from + 1023) & ~1023u) {}
    __device__ __forceinline__ u32 stage(u32 i) const { return stages + i * STAGE; }
    __device__ __forceinline__ u32 full(u32 i) const { return stages + STAGES * STAGE + 8 * i; }
    __device__ __forceinline__ u32 empty(u32 i) const { return full(STAGES + i); }

    __device__ __forceinline__ void begin() const {
#pragma unroll
        for (u32 i = 0; i < STAGES; i++) {
            init_barrier(full(i), 1);
            init_barrier(empty(i), WARPS);
        }
        fence_init();
    }

    // One thread has everything loaded.
    __device__ __forceinline__ void load(const TensorMap& x, const TensorMap& w, Share<BLOCKS> share) const {
        Turn<STAGES> turn;
#pragma unroll 1
        for (u32 part = share.first; part < share.end; part++, turn.next()) {
            wait_barrier(empty(turn.stage), turn.parity ^ 1);
            arrive_expecting(full(turn.stage), STAGE);
            load_box(stage(turn.stage), w, part * NUMBERS, blockIdx.x / BLOCKS * Sums<TOKENS>::ROWS, full(turn.stage));
            load_box(stage(turn.stage) + OF_W, x, part * NUMBERS, blockIdx.y * TOKENS, full(turn.stage));
        }
    }

    // The products of a stage, for 64 rows of a warpgroup.
    __device__ __forceinline__ void issue(float (&d)[TOKENS / 2], u32 group, const Turn<STAGES>& turn, bool keep) const {
        wait_barrier(full(turn.stage), turn.parity);
        const u64 w = swizzled_matrix(stage(turn.stage) + group * 64 * LINE), x = swizzled_matrix(stage(turn.stage) + OF_W);
        wgmma_fence();
#pragma unroll
        for (u32 step = 0; step < STEPS; step++) Kind::multiply(d, w + 2 * step, x + 2 * step, step > 0 || keep);
        wgmma_commit();
    }
    // Their sum over the share. A product is always on its way while the stage of the one before is given back.
    __device__ __forceinline__ void multiply(u32 group, Share<BLOCKS> share, float (&d)[TOKENS / 2]) const {
        Turn<STAGES> turn;
        issue(d, group, turn, false);
        turn.next();
#pragma unroll 1
        for (u32 part = share.first + 1; part < share.end; part++, turn.next()) {
            issue(d, group, turn, true);
            wgmma_wait<1>();
            if (lane_id() == 0) arrive(empty(turn.last()));
        }
        wgmma_wait<0>();
        hold(d);
    }
};

template <class P>
__device__ __forceinline__ void multiply_skinny(const TensorMap& x, const TensorMap& w, void* y, u32 m, u32 n, u32 k, u32 wide) {
    extern __shared__ u8 shared[];
    const P at(shared_address(shared));
    const Share<P::BLOCKS> share(ceil_div(k, P::NUMBERS));
    if (threadIdx.x == 0) {
        prefetch_map(x);
        prefetch_map(w);
        at.begin();
    }
    __syncthreads();
    // The same for every lane, and told so to the compiler.
    const u32 own = __shfl_sync(ALL, warp_id(), 0);
    if (own == P::WARPS) {
        if (lane_id() == 0) at.load(x, w, share);
    } else {
        float d[P::TOKENS / 2];
        if (share.first < share.end) {
            at.multiply(own / 4, share, d);
        } else {
            // The last blocks of a cluster have nothing where k is short.
#pragma unroll
            for (u32 i = 0; i < P::TOKENS / 2; i++) d[i] = 0.0f;
        }
        // Every warp is done with the stages, where the sums go.
        asm volatile("barrier.sync 1, 256;" ::: "memory");
        Sums<P::TOKENS>::place(at.stages, own * 16, d);
    }
    sync_cluster();
    sum_up<typename P::T, P::TOKENS, P::BLOCKS>(at.stages, y, m, n, wide);
    // No block leaves while another reads its sums.
    meet_cluster();
}

// Results as fp32 where they are to be `wide`.
#define SKINNY(NAME, KIND, T, TOKENS, BLOCKS, STAGES)                                                                      \
    extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(288, 2) NAME(                            \
        const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, void* y, u32 m, u32 n, u32 k, u32 wide) { \
        multiply_skinny<Skinny<KIND, T, TOKENS, BLOCKS, STAGES>>(x, w, y, m, n, k, wide);                                     \
    }
