// K21 of one token in a chain of launches, on tensor cores: what is between the products is in them.
// Classes: 75 (m16n8k8), 80 (m16n8k16, bf16), 90 (starts early).
#include "prologue.cuh"
#include "w4_mma.cuh"

// R tiles of rows a block, its warps share the groups. A gate and what goes through it are two tiles, n rows apart; n is a multiple of their rows then.
template <u32 R, typename T>
__device__ __forceinline__ void product(const uint4* words, const u32* scales, const Row<T>& row, void* y, u32 n, u32 kept) {
    // Groups that are loaded before the row is there: R × 2 KiB a warp.
    constexpr u32 AHEAD = 2, N = R * ROWS;
    extern __shared__ uint4 staged[];
    __shared__ float parts[MOST_THREADS / WARP][N];
    const u32 groups = row.width / GROUP, warp = uniform(warp_id()), warps = blockDim.x / WARP;
    const u32 first = warp * groups / warps, count = (warp + 1) * groups / warps - first;
    const bool gated = R == 2 && kept == GATED;
    Run<R> run(words, scales, blockIdx.x * (gated ? 1 : R), n, groups, first);
    if (gated) {
        run.words[R - 1] = run.words[0] + u64(n / ROWS) * groups * (GROUP / COLUMNS * WARP);
        run.scales[R - 1] = run.scales[0] + u64(n / ROWS) * groups * (ROWS / 2);
    }
    Part<R> ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++)
        if (d < count) run.load(ring[d], d);
    stage<1>(row, staged);
    // All eight tokens of a product are the one there is.
    Staged at = Staged{u32(__cvta_generic_to_shared(staged))} + (first * GROUP + lane_id() % 4 * 16);
    // What is added is zero, but no compiler knows: what it knows it puts into registers again for every group.
    u32 less[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) less[i] = Fragment<T>::LESS + (kept >> 31);
    float sum[R][1][4] = {};
    for (u32 group = 0; group < count; group += AHEAD) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            if (group + d >= count) break;
            multiply<R, 1, T>(sum, ring[d], at + d * GROUP, 0, less);
            if (group + d + AHEAD < count) run.load(ring[d], d + AHEAD);
        }
        run.advance(AHEAD);
        at.advance(AHEAD * GROUP);
    }
#pragma unroll
    for (u32 r = 0; r < R; r++)
#pragma unroll
        for (u32 h = 0; h < 2; h++)
            if (lane_id() % 4 == 0) parts[warp][r * ROWS + lane_id() / 4 + h * 8] = sum[r][0][2 * h] * Fragment<T>::UNIT;
    __syncthreads();
    const u32 outputs = gated ? ROWS : N, output = blockIdx.x * outputs + threadIdx.x;
    if (threadIdx.x >= outputs || output >= n) return;
    float all = 0.0f, up = 0.0f;
#pragma unroll 4
    for (u32 w = 0; w < warps; w++) {
        all += parts[w][threadIdx.x];
        up += parts[w][threadIdx.x + N - outputs];
    }
    keep<T>(y, output, all, up, kept);
}

#define W4_TOKEN(name, R, T)                                                                                          \
    extern "C" __global__ void __launch_bounds__(MOST_THREADS) name(const uint4* words, const u32* scales, ROW(T)) {  \
        product<R, T>(words, scales, MADE(T), y, n, kept);                                                            \
    }
W4_TOKEN(w4_token_f16_r16, 1, f16)
W4_TOKEN(w4_token_f16_r32, 2, f16)
#if __CUDA_ARCH__ >= 800
W4_TOKEN(w4_token_bf16_r16, 1, bf16)
W4_TOKEN(w4_token_bf16_r32, 2, bf16)
#endif
