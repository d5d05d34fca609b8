// K24, K25 of one token in a chain of launches, on tensor cores: what is between the products is in them.
// Classes: 75 (m16n8k8), 80 (m16n8k16, bf16), 90 (starts early).
#include "prologue.cuh"
#include "nf4_mma.cuh"

// Behind the row, for lanes whose columns are others' as well: zeros, in other banks than what is read with them.
constexpr u32 APART = 32 / 2;
constexpr u32 NOTHING = AHEAD * STEP;

// Sixteen rows at a time, or eight of a gate and the eight that go through it, n rows apart.
template <typename T>
__device__ __forceinline__ void product(const u8* codes, const float* maxima, const Row<T>& row, void* y, u32 n, u32 kept) {
    extern __shared__ uint4 staged[];
    __shared__ uint4 table[256 * WARP / 4];
    __shared__ float parts[WARPS][TILE_ROWS];
    const u32 k = row.width, steps = k / STEP, warp = uniform(warp_id());
    const u32 first = warp * steps / WARPS, count = (warp + 1) * steps / WARPS - first;
    const u32 pairs = u32(__cvta_generic_to_shared(table)) + lane_id() * 4;
    const u32 outputs = kept == GATED ? TILE_ROWS / 2 : TILE_ROWS;
    const Staged begin{u32(__cvta_generic_to_shared(staged))};
    const bool goes = lane_id() / 16 == lane_id() % 4 / 2;
    const u32 stride = goes ? AHEAD * STEP : 0;
    for (u32 output = blockIdx.x * outputs; output < n; output += gridDim.x * outputs) {
        Rows<4> rows(codes, maxima, output, n, k, first);
        if (kept == GATED) {
            rows.codes[1] = rows.codes[0] + u64(n) * k / 2;
            rows.maxima[1] = rows.maxima[0] + u64(n) * k / BLOCK;
        }
        Step ring[AHEAD];
        Maxima of = {};
        rows.load(of, 0, i32(count));
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++)
            if (d < count) rows.load(ring[d], d);
        // The weights are on their way meanwhile; those of other rows have been summed.
        if (output == blockIdx.x * outputs) {
            if (threadIdx.x < NOTHING / 8) staged[(k + APART) / 8 + threadIdx.x] = uint4{};
            fill<T>(table);
            stage<2>(row, staged);
        } else __syncthreads();
        const Staged at = begin + (goes ? first * STEP + Lanes<4>::first() : k + APART);
        float sum[4] = {};
        sum_up<4, T>(sum, rows, ring, of, count, pairs, at, [&](Staged& at) { at.advance(stride); });
        // Tokens 0 … 3 of a product are the one there is, and so are 4 … 7, of the next block of columns.
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const float both = sum[2 * h] + shuffle_xor(sum[2 * h], 2);
            if (lane_id() % 4 == 0) parts[warp][lane_id() / 4 + h * 8] = both;
        }
        __syncthreads();
        if (threadIdx.x >= outputs || output + threadIdx.x >= n) continue;
        float all = 0.0f, up = 0.0f;
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) {
            all += parts[w][threadIdx.x];
            up += parts[w][threadIdx.x + TILE_ROWS - outputs];
        }
        keep<T>(y, output + threadIdx.x, all, up, kept);
    }
}

#define NF4_TOKEN(name, T)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(const u8* codes, const float* maxima, ROW(T), LATER) { \
        product<T>(codes, maxima, MADE_AND_LATER(T), y, n, kept);                                                     \
    }
NF4_TOKEN(nf4_token_f16, f16)
#if __CUDA_ARCH__ >= 800
NF4_TOKEN(nf4_token_bf16, bf16)
#endif
