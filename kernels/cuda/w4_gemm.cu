// K22: products of 4-bit weights with many tokens.
// Classes: 80.
//
// A block has eight warps: each 32 rows of weights, straight from memory to registers, and `parts` of them the same rows, a run of the groups each.
// Activations of TILES × 8 tokens pass through shared memory, three stages of 64 columns for each part. Integers are exact in 16 bits, sums and
// scales fp32. The parts add up in the order of their columns.
#include "mma.cuh"
#include "w4_fragment.cuh"
#include "w4_run.cuh"

constexpr u32 STAGES = 3;
// 16-byte chunks of a token in a stage.
constexpr u32 CHUNKS = COLUMNS * 2 / 16;
// Groups that are loaded before the first is used.
constexpr u32 AHEAD = 2;

// A part's stage of activations: neighbouring tokens have their chunks swapped, so that the lanes of a load do not meet in the same banks.
__device__ __forceinline__ u32 chunk_at(u32 token, u32 chunk) { return token * CHUNKS + (chunk ^ (token & 1)); }

// Copies the columns from 64 · step of every part's run. What is not there is zero.
template <u32 M, typename T>
__device__ __forceinline__ void stage(uint4* staged, const T* x, u32 token, u32 m, u32 k, u32 step, u32 parts) {
    const u32 groups = k / GROUP;
    for (u32 i = threadIdx.x; i < parts * M * CHUNKS; i += THREADS) {
        const u32 part = i / (M * CHUNKS), j = i / CHUNKS % M, chunk = i % CHUNKS;
        const u32 first = part * groups / parts, last = (part + 1) * groups / parts;
        const u32 column = first * GROUP + step * COLUMNS + chunk * 8;
        const bool there = token + j < m && column < last * GROUP;
        const T* from = there ? x + u64(token + j) * k + column : x;
        cp_async16(shared_address(staged + part * (M * CHUNKS) + chunk_at(j, chunk)), from, there ? 16 : 0);
    }
}

// Adds the products of half a group.
template <u32 TILES, typename T>
__device__ __forceinline__ void multiply(float (&dot)[2][TILES][4], const Part<2>& part, u32 half, const uint4* staged) {
#pragma unroll
    for (u32 pair = 0; pair < 2; pair++) {
        u32 low[2][4], high[2][4];
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const uint4 raw = part.raw[r][half];
            Fragment<T>::exact(pair ? raw.z : raw.x, pair ? raw.w : raw.y, low[r], high[r]);
        }
#pragma unroll
        for (u32 i = 0; i < TILES; i++) {
            u32 b[4];
            words_of(staged[chunk_at(i * 8 + lane_id() / 4, lane_id() % 4 * 2 + pair)], b);
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                Fragment<T>::mma(dot[r][i], low[r], b[0], b[1], dot[r][i]);
                Fragment<T>::mma(dot[r][i], high[r], b[2], b[3], dot[r][i]);
            }
        }
    }
}

// Adds what a group gave, by its scales, and begins anew.
template <u32 TILES>
__device__ __forceinline__ void scaled(float (&sum)[2][TILES][4], float (&dot)[2][TILES][4], const u32 (&scales)[2]) {
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        float scale[2];
        Word<f16>::widen(scales[r], scale);
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                sum[r][i][c] += scale[c / 2] * dot[r][i][c];
                dot[r][i][c] = 0.0f;
            }
    }
}

// The sums of all parts, in their order: in the registers of the last one.
template <u32 TILES> __device__ __forceinline__ void add_parts(float (&sum)[2][TILES][4], float* kept, u32 part, u32 parts) {
    for (u32 turn = 0; turn < parts; turn++) {
        __syncthreads();
        if (part != turn) continue;
#pragma unroll
        for (u32 r = 0; r < 2; r++)
#pragma unroll
            for (u32 i = 0; i < TILES; i++)
#pragma unroll
                for (u32 c = 0; c < 4; c++) {
                    float& at = kept[((r * TILES + i) * 4 + c) * WARP + lane_id()];
                    if (turn > 0) sum[r][i][c] += at;
                    if (turn + 1 < parts) at = sum[r][i][c];
                }
    }
}

template <u32 TILES, typename T>
__device__ __forceinline__ void gemm(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide, u32 parts) {
    constexpr u32 M = TILES * 8;
    extern __shared__ uint4 staged[];
    const u32 groups = k / GROUP, warp = uniform(warp_id()), shared_rows = WARPS / parts;
    const u32 part = warp / shared_rows, tile = (blockIdx.x * shared_rows + warp % shared_rows) * 2;
    const u32 first = part * groups / parts, count = (part + 1) * groups / parts - first;
    const u32 token = blockIdx.y * M, most = ceil_div(groups, parts), whole = parts * M * CHUNKS;
    Run<2> run(words, scales, tile, n, groups, first);
    Part<2> ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++)
        if (d < count) run.load(ring[d], d);
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) {
        stage<M>(staged + s * whole, x, token, m, k, s, parts);
        cp_async_commit();
    }
    u32 here = 0, next = STAGES - 1;
    float sum[2][TILES][4] = {}, dot[2][TILES][4] = {};
    for (u32 group = 0; group < most; group += AHEAD) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            if (group + d >= most) break;
#pragma unroll
            for (u32 half = 0; half < 2; half++) {
                cp_async_wait<STAGES - 2>();
                __syncthreads();
                stage<M>(staged + next * whole, x, token, m, k, (group + d) * 2 + half + STAGES - 1, parts);
                cp_async_commit();
                // The runs of parts differ by a group at most.
                if (group + d < count) multiply<TILES, T>(dot, ring[d], half, staged + here * whole + part * (M * CHUNKS));
                here = here + 1 == STAGES ? 0 : here + 1;
                next = next + 1 == STAGES ? 0 : next + 1;
            }
            if (group + d < count) scaled<TILES>(sum, dot, ring[d].scales);
            if (group + d + AHEAD < count) run.load(ring[d], d + AHEAD);
        }
        run.advance(AHEAD);
    }
    cp_async_wait<0>();
    add_parts<TILES>(sum, reinterpret_cast<float*>(staged) + warp % shared_rows * (2 * TILES * 4 * WARP), part, parts);
    if (part + 1 < parts) return;
#pragma unroll
    for (u32 r = 0; r < 2; r++)
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                const u32 row = (tile + r) * ROWS + lane_id() / 4 + c / 2 * 8, j = token + 8 * i + lane_id() % 4 * 2 + c % 2;
                if (row < n && j < m) put<T>(y, u64(j) * n + row, sum[r][i][c], wide);
            }
}

#define W4_GEMM(name, TILES, T, blocks)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks) name(                                               \
        const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide, u32 parts) {       \
        gemm<TILES>(words, scales, x, y, m, n, k, wide, parts);                                                       \
    }
W4_GEMM(w4_gemm_f16_m16, 2, f16, 2)
W4_GEMM(w4_gemm_f16_m32, 4, f16, 1)
W4_GEMM(w4_gemm_f16_m64, 8, f16, 1)
W4_GEMM(w4_gemm_bf16_m16, 2, bf16, 2)
W4_GEMM(w4_gemm_bf16_m32, 4, bf16, 1)
W4_GEMM(w4_gemm_bf16_m64, 8, bf16, 1)
