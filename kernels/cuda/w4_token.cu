// K21 of one token in a chain of launches, on tensor cores: what is between the products is in them.
// Classes: 75 (m16n8k8), 80 (m16n8k16, bf16), 90 (starts early).
#include "activations.cuh"
#include "prologue.cuh"
#include "w4_fragment.cuh"
#include "w4_run.cuh"

// Threads of the largest block: as many warps as may share the groups of a row.
constexpr u32 MOST_THREADS = 16 * WARP;

// Adds the products of a group with the token. `x` are a lane's columns of the group; `less` is the constant A.
template <u32 R, typename T>
__device__ __forceinline__ void multiply(float (&sum)[R][4], const Part<R>& part, Staged x, const u32 (&less)[4]) {
    using Of = Fragment<T>;
    u32 b[16];
#pragma unroll
    for (u32 at = 0; at < 4; at++) words_of(eight(x, at / 2 * COLUMNS + at % 2 * 8), *(u32(*)[4]) & b[4 * at]);
    float offset[4] = {}, dot[R][Of::SUMS][4] = {};
#pragma unroll
    for (u32 s = 0; s < 8; s++) Of::mma(offset, less, b[2 * s], b[2 * s + 1], offset);
#pragma unroll
    for (u32 s = 0; s < 4; s++)
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            const uint4 raw = part.raw[r][s / 2];
            u32 low[4], high[4];
            Of::weights(s % 2 ? raw.z : raw.x, s % 2 ? raw.w : raw.y, low, high);
            float(&last)[4] = dot[r][Of::SUMS - 1];
            Of::mma(last, high, b[4 * s + 2], b[4 * s + 3], s == 0 ? offset : last);
            Of::mma(dot[r][0], low, b[4 * s], b[4 * s + 1], dot[r][0]);
        }
#pragma unroll
    for (u32 r = 0; r < R; r++) {
        float scale[2];
        Word<f16>::widen(part.scales[r], scale);
#pragma unroll
        for (u32 c = 0; c < 4; c++) {
            float all = dot[r][0][c];
            if constexpr (Of::SUMS == 2) all = Of::joined(all, dot[r][1][c]);
            sum[r][c] += scale[c / 2] * all;
        }
    }
}

// R tiles of rows at a time, the warps share the groups. A gate and what goes through it are two tiles, n rows apart; n is a multiple of their rows
// then. Two tiles are for many rows: as many blocks as fit, each with the row once and then tile after tile. One tile is for few: a block for each,
// and registers are left for blocks of the launch behind.
template <u32 R, typename T>
__device__ __forceinline__ void product(const uint4* words, const u32* scales, const Row<T>& row, void* y, u32 n, u32 kept) {
    // Groups that are loaded before the row is there, and asked for while other rows are summed: R × 2 KiB a warp.
    constexpr u32 AHEAD = 2, N = R * ROWS;
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
    stage<1>(row, staged);
    // All eight tokens of a product are the one there is.
    const Staged mine = Staged{u32(__cvta_generic_to_shared(staged))} + (first * GROUP + lane_id() % 4 * 16);
    // What is added is zero, but no compiler knows: what it knows it puts into registers again for every group.
    u32 less[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) less[i] = Fragment<T>::LESS + (kept >> 31);
    u32 half = 0, output = blockIdx.x * outputs;
    do {
        if (R == 2 && output > blockIdx.x * outputs) begin(run);
        Staged at = mine;
        float sum[R][4] = {};
        for (u32 group = 0; group < count; group += AHEAD) {
#pragma unroll
            for (u32 d = 0; d < AHEAD; d++) {
                if (group + d >= count) break;
                multiply<R, T>(sum, ring[d], at + d * GROUP, less);
                if (group + d + AHEAD < count) run.load(ring[d], d + AHEAD);
            }
            run.advance(AHEAD);
            at.advance(AHEAD * GROUP);
        }
        if (R == 2 && output + gridDim.x * outputs < n) {
            run = place(output + gridDim.x * outputs);
#pragma unroll
            for (u32 r = 0; r < R; r++)
#pragma unroll 1
                for (u32 at = 0; at < 2 * min(AHEAD, count); at++) fetch(run.words[r] + at * WARP);
        }
#pragma unroll
        for (u32 r = 0; r < R; r++)
#pragma unroll
            for (u32 h = 0; h < 2; h++)
                if (lane_id() % 4 == 0) parts[half][warp][r * ROWS + lane_id() / 4 + h * 8] = sum[r][2 * h] * Fragment<T>::UNIT;
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
    extern "C" __global__ void __launch_bounds__ bounds name(const uint4* words, const u32* scales, ROW(T)) {         \
        product<R, T>(words, scales, MADE(T), y, n, kept);                                                            \
    }
// Turns cost registers: without a second bound compilers spill to make room for a second block of sixteen warps.
W4_TOKEN(w4_token_f16_r16, 1, f16, (MOST_THREADS))
W4_TOKEN(w4_token_f16_r32, 2, f16, (MOST_THREADS, 1))
#if __CUDA_ARCH__ >= 800
W4_TOKEN(w4_token_bf16_r16, 1, bf16, (MOST_THREADS))
W4_TOKEN(w4_token_bf16_r32, 2, bf16, (MOST_THREADS, 1))
#endif
