// K21 of one token in a chain of launches, on tensor cores: what is between the products is in them.
// Classes: 75 (m16n8k8), 80 (m16n8k16, bf16), 90 (starts early).
#include "prologue.cuh"
#include "activations.cuh"
#include "w4_mma.cuh"

// Fits the row in shared memory to nibbles; gives what results are multiplied by because it had to be made small for that.
template <typename T> __device__ __forceinline__ float fit(uint4* staged, u32 width) {
    bool wide = false;
    for (u32 i = threadIdx.x; i < width / 8; i += blockDim.x) {
        u32 b[4];
        words_of(staged[i], b);
#pragma unroll
        for (u32 p = 0; p < 4; p++)
            if (p / 2 == Skinny<T>::FITTED) wide |= (b[p] & 0x7fffu) >= Skinny<T>::MOST || (b[p] >> 16 & 0x7fffu) >= Skinny<T>::MOST;
    }
    const bool small = __syncthreads_or(wide);
    for (u32 i = threadIdx.x; i < width / 8; i += blockDim.x) {
        u32 b[4];
        words_of(staged[i], b);
#pragma unroll
        for (u32 p = 0; p < 4; p++) b[p] = fitted<T>(small ? Skinny<T>::times(b[p], Skinny<T>::SMALL) : b[p], p);
        staged[i] = uint4{b[0], b[1], b[2], b[3]};
    }
    __syncthreads();
    return small ? Skinny<T>::MORE : 1.0f;
}

// R tiles of rows at a time, the warps share the groups. A gate and what goes through it are two tiles, n rows apart; n is a multiple of their rows
// then. Two tiles are for many rows: as many blocks as fit, each with the row once and then tile after tile. One tile is for few: a block for each,
// and registers are left for blocks of the launch behind.
template <u32 R, typename T>
__device__ __forceinline__ void product(const uint4* words, const u32* scales, const Row<T>& row, void* y, u32 n, u32 kept) {
    // Groups that are loaded before the row is there, and asked for while other rows are summed: R × 2 KiB a warp.
    constexpr u32 AHEAD = 2, N = R * ROWS, M = 4;
    extern __shared__ uint4 staged[];
    // Twice where there are turns: one is stored while the next is summed.
    __shared__ float parts[R][MOST_THREADS / WARP][N];
    const u32 groups = row.width / GROUP, warp = uniform(warp_id()), warps = blockDim.x / WARP;
    const u32 first = warp * groups / warps, count = (warp + 1) * groups / warps - first;
    const bool gated = R == 2 && kept == GATED;
    const u32 outputs = gated ? ROWS : N;
    const auto place = [&](u32 output) {
        Run<R> run(words, scales, output / ROWS, n, groups, first);
        if (gated) {
            run.words[R - 1] = run.words[0] + u64(n / ROWS) * groups * (GROUP / COLUMNS * WARP);
            run.scales[R - 1] = run.scales[0] + u64(n / ROWS) * groups * (ROWS / 2);
        }
        return run;
    };
    Part<R> ring[AHEAD];
    const auto begin = [&](const Run<R>& run) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++)
            if (d < count) run.load(ring[d], d);
    };
    Run<R> run = place(blockIdx.x * outputs);
    begin(run);
    const Constants of = constants<T>();
    stage<1>(row, staged);
    // The four tokens of a product are the one there is.
    const float more = fit<T>(staged, row.width);
    const Staged mine = Staged{u32(__cvta_generic_to_shared(staged))} + (first * GROUP + Tokens<M>::column());
    u32 half = 0, output = blockIdx.x * outputs;
    do {
        Staged at = mine;
        Products<R, M> sum = {};
        for (i32 left = i32(count); left > 0; left -= AHEAD) {
#pragma unroll
            for (u32 d = 0; d < AHEAD; d++) {
                Pairs<M> b;
#pragma unroll
                for (u32 q = 0; q < Tokens<M>::PAIRS / 4; q++)
                    words_of(eight(at, d * GROUP + q / 2 * COLUMNS + q % 2 * 8), *(u32(*)[4]) & b[0][4 * q]);
                multiply<R, M, T>(sum, ring[d], b, of);
                if (left > i32(d + AHEAD)) run.load(ring[d], d + AHEAD);
                if (left <= i32(d + 1)) break;
            }
            run.advance(AHEAD);
            at.advance(AHEAD * GROUP);
        }
        if (R == 2 && output + gridDim.x * outputs < n) {
            run = place(output + gridDim.x * outputs);
            begin(run);
        }
        Sums<R, M> all;
        combine<R, M>(all, sum);
#pragma unroll
        for (u32 r = 0; r < R; r++)
#pragma unroll
            for (u32 h = 0; h < 2; h++)
                if (lane_id() % 4 == 0) parts[half][warp][r * ROWS + lane_id() / 4 + h * 8] = all[r][0][2 * h] * Skinny<T>::UNIT * more;
        __syncthreads();
        if (threadIdx.x < outputs && output + threadIdx.x < n) {
            float all = 0.0f, up = 0.0f;
#pragma unroll 4
            for (u32 w = 0; w < warps; w++) {
                all += parts[half][w][threadIdx.x];
                up += parts[half][w][threadIdx.x + N - outputs];
            }
            keep<T>(y, output + threadIdx.x, all, up, kept);
        }
        output += gridDim.x * outputs;
        half ^= 1;
    } while (R == 2 && output < n);
}

#define W4_TOKEN(name, R, T, bounds)                                                                                  \
    extern "C" __global__ void __launch_bounds__ bounds name(const uint4* words, const u32* scales, ROW(T), LATER) {  \
        product<R, T>(words, scales, MADE_AND_LATER(T), y, n, kept);                                                  \
    }
// Turns cost registers: without a second bound compilers spill to make room for a second block of sixteen warps.
W4_TOKEN(w4_token_f16_r16, 1, f16, (MOST_THREADS))
W4_TOKEN(w4_token_f16_r32, 2, f16, (MOST_THREADS, 1))
#if __CUDA_ARCH__ >= 800
W4_TOKEN(w4_token_bf16_r16, 1, bf16, (MOST_THREADS))
W4_TOKEN(w4_token_bf16_r32, 2, bf16, (MOST_THREADS, 1))
#endif
