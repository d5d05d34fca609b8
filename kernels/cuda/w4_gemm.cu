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

// Where a chunk of a token is in a part's stage: neighbouring tokens have theirs swapped, so that the lanes of a load do not meet in the same banks.
__device__ __forceinline__ u32 chunk_at(u32 token, u32 chunk) { return token * CHUNKS + (chunk ^ (token & 1)); }

// What a thread copies of the activations of its part: a chunk of every `apart`-th token.
template <u32 M, typename T> struct Copies {
    const T* from;
    u32 to, k, apart, first, tokens, steps;

    // `tokens` and `steps` of 64 columns are there; for the rest nothing is read, and it becomes zero.
    __device__ __forceinline__ void stage(u32 slot, u32 step) {
        const u32 there = step < steps ? tokens : 0;
#pragma unroll 1
        for (u32 j = first; j < M; j += apart)
            cp_async16(to + slot + j * (CHUNKS * 16), from + u64(j) * k, j < there ? 16 : 0);
        cp_async_commit();
        from += COLUMNS;
        pin(from);
    }
};

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

// AHEAD groups are loaded before the first is used.
template <u32 TILES, u32 AHEAD, typename T>
__device__ __forceinline__ void gemm(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide, u32 parts) {
    constexpr u32 M = TILES * 8;
    extern __shared__ uint4 staged[];
    const u32 groups = k / GROUP, warp = uniform(warp_id()), sharing = WARPS / parts;
    const u32 part = warp / sharing, tile = (blockIdx.x * sharing + warp % sharing) * 2;
    const u32 first = part * groups / parts, count = (part + 1) * groups / parts - first;
    const u32 token = blockIdx.y * M, most = ceil_div(groups, parts);
    Run<2> run(words, scales, tile, n, groups, first);
    Part<2> ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++)
        if (d < count) run.load(ring[d], d);
    const u32 mine = warp % sharing * WARP + lane_id(), chunk = mine % CHUNKS, stage = M * CHUNKS * parts;
    Copies<M, T> copies = {
        x + u64(token) * k + first * GROUP + chunk * 8, shared_address(staged + part * (M * CHUNKS) + (chunk ^ (mine / CHUNKS & 1))), k,
        sharing * WARP / CHUNKS, mine / CHUNKS, m - token, 2 * count};
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) copies.stage(s * stage * 16, s);
    u32 here = 0, next = (STAGES - 1) * stage;
    float sum[2][TILES][4] = {}, dot[2][TILES][4] = {};
    for (u32 group = 0; group < most; group += AHEAD) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            if (group + d >= most) break;
#pragma unroll
            for (u32 half = 0; half < 2; half++) {
                cp_async_wait<STAGES - 2>();
                __syncthreads();
                copies.stage(next * 16, (group + d) * 2 + half + STAGES - 1);
                // The runs of parts differ by a group at most.
                if (group + d < count) multiply<TILES, T>(dot, ring[d], half, staged + here + part * (M * CHUNKS));
                if (group + d + AHEAD < count) run.load_half(ring[d], half, d + AHEAD);
                here = here + stage == STAGES * stage ? 0 : here + stage;
                next = next + stage == STAGES * stage ? 0 : next + stage;
            }
            if (group + d < count) scaled<TILES>(sum, dot, ring[d].scales);
            if (group + d + AHEAD < count) run.load_scales(ring[d], d + AHEAD);
        }
        run.advance(AHEAD);
    }
    cp_async_wait<0>();
    add_parts<TILES>(sum, reinterpret_cast<float*>(staged) + warp % sharing * (2 * TILES * 4 * WARP), part, parts);
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

#define W4_GEMM(name, TILES, AHEAD, T, blocks)                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks) name(                                               \
        const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide, u32 parts) {       \
        gemm<TILES, AHEAD>(words, scales, x, y, m, n, k, wide, parts);                                                \
    }
// Products take longer than weights need to arrive where tokens are many.
#define W4_GEMM_TOKENS(name, T)                                                                                       \
    W4_GEMM(name##_m16, 2, 2, T, 2) W4_GEMM(name##_m32, 4, 2, T, 1) W4_GEMM(name##_m64, 8, 1, T, 1)
W4_GEMM_TOKENS(w4_gemm_f16, f16)
W4_GEMM_TOKENS(w4_gemm_bf16, bf16)
