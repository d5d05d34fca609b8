// K21 on tensor cores: one to sixteen tokens.
// A block has R tiles of 16 rows; its warps share the groups, each a run of neighbours.
#pragma once
#include "w4_skinny.cuh"
#include "w4_run.cuh"

// Threads of the largest block: as many warps as may share the groups of a row. Registers leave fewer where there are two tiles, or sixteen tokens.
constexpr u32 MOST_THREADS = 16 * WARP, THREADS_R32 = 12 * WARP, THREADS_M16 = 8 * WARP;

#if __CUDA_ARCH__ >= 750
// Up to four tokens take half of the columns of a product; the other half then has the same tokens with the second half of a group. A lane so loads and
// fits half as many activations. Products of either half of the weights have sums of their own, of which a lane keeps those of its columns' half.
template <u32 M> struct Tokens {
    // Products that weights take part in, and their sums.
    static constexpr u32 TILES = M > 8 ? 2 : 1;
    static constexpr u32 SUMS = M == 4 ? 2 : TILES;
    // Registers of activations for a group, in each product.
    static constexpr u32 PAIRS = M == 4 ? 8 : 16;
    // A lane's token of tile i, and its first column of a group.
    static __device__ __forceinline__ u32 loaded(u32 i) { return M == 4 ? lane_id() / 4 % 4 : 8 * i + lane_id() / 4; }
    static __device__ __forceinline__ u32 column() { return lane_id() % 4 * 16 + (M == 4 ? lane_id() / 16 * COLUMNS : 0); }
    // The token that sum c of tile i is of.
    static __device__ __forceinline__ u32 summed(u32 i, u32 c) { return 8 * i + (M == 4 ? lane_id() % 2 : lane_id() % 4) * 2 + c % 2; }
};

// A lane's activations of a group, fitted.
template <u32 M> using Pairs = u32[Tokens<M>::TILES][Tokens<M>::PAIRS];
// Sums of R tiles: of the products, and of the tokens.
template <u32 R, u32 M> using Products = float[R][Tokens<M>::SUMS][4];
template <u32 R, u32 M> using Sums = float[R][Tokens<M>::TILES][4];

// Where a lane's activations are, and by what those of each tile are multiplied before they are fitted.
template <u32 M, typename T> struct Activations {
    const T* at[Tokens<M>::TILES];
    u32 size[Tokens<M>::TILES];

    // Tokens from `token` on, columns from `column` on; tokens in `again` are made small.
    __device__ __forceinline__ Activations(const T* x, u32 token, u32 m, u32 k, u32 column, u32 again) {
#pragma unroll
        for (u32 i = 0; i < Tokens<M>::TILES; i++) {
            const u32 mine = Tokens<M>::loaded(i);
            // Missing tokens repeat the last one; nothing of them is stored.
            at[i] = x + u64(min(token + mine, m - 1)) * k + column + Tokens<M>::column();
            size[i] = again >> mine & 1 ? Skinny<T>::SMALL : Skinny<T>::ONE;
        }
    }
    template <bool AGAIN> __device__ __forceinline__ void load(Pairs<M>& b, u32 ahead) const {
#pragma unroll
        for (u32 i = 0; i < Tokens<M>::TILES; i++) {
#pragma unroll
            for (u32 q = 0; q < Tokens<M>::PAIRS / 4; q++)
                words_of(load_shared_by_all(at[i] + ahead * GROUP + q / 2 * COLUMNS + q % 2 * 8), *(u32(*)[4]) & b[i][4 * q]);
#pragma unroll
            for (u32 p = 0; p < Tokens<M>::PAIRS; p++) {
                if (AGAIN) b[i][p] = Skinny<T>::times(b[i][p], size[i]);
                b[i][p] = fitted<T>(b[i][p], p);
            }
        }
    }
    __device__ __forceinline__ void advance(u32 by) {
#pragma unroll
        for (u32 i = 0; i < Tokens<M>::TILES; i++) {
            at[i] += by * GROUP;
            pin(at[i]);
        }
    }
};

// The A fragments of what lower and higher nibbles are too much, and what lower ones are put into.
struct Constants {
    u32 less[2][4], magic;
};
template <typename T> __device__ const uint4 CONSTANTS[3] = {
    {Skinny<T>::LESS[0], Skinny<T>::LESS[0], Skinny<T>::LESS[0], Skinny<T>::LESS[0]},
    {Skinny<T>::LESS[1], Skinny<T>::LESS[1], Skinny<T>::LESS[1], Skinny<T>::LESS[1]},
    {Skinny<T>::MAGIC}};

// From memory: constants that compilers know are put into registers again for every group.
template <typename T> __device__ __forceinline__ Constants constants() {
    Constants of;
    words_of(load_shared_by_all(&CONSTANTS<T>[0]), of.less[0]);
    words_of(load_shared_by_all(&CONSTANTS<T>[1]), of.less[1]);
    of.magic = load_word(&CONSTANTS<T>[2].x);
    return of;
}

// Adds the products of a group.
template <u32 R, u32 M, typename T>
__device__ __forceinline__ void multiply(Products<R, M>& sum, const Part<R>& part, const Pairs<M>& b, const Constants& of) {
    constexpr u32 TILES = Tokens<M>::TILES, SUMS = Tokens<M>::SUMS, PAIRS = Tokens<M>::PAIRS;
    float offset[TILES][4] = {};
    Products<R, M> dot;
#pragma unroll
    for (u32 p = 0; p < PAIRS; p += 2)
#pragma unroll
        for (u32 i = 0; i < TILES; i++) Skinny<T>::mma(offset[i], of.less[p / 2 % 2], b[i][p], b[i][p + 1], offset[i]);
#pragma unroll
    for (u32 s = 0; s < 4; s++)
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            const uint4 raw = part.raw[r][s / 2];
            u32 low[4], high[4];
            nibbles<T>(s % 2 ? raw.z : raw.x, s % 2 ? raw.w : raw.y, of.magic, low, high);
#pragma unroll
            for (u32 i = 0; i < TILES; i++) {
                const u32 p = 4 * s % PAIRS;
                float(&to)[4] = dot[r][M == 4 ? s / 2 : i];
                Skinny<T>::mma(to, low, b[i][p], b[i][p + 1], p == 0 ? offset[i] : to);
                Skinny<T>::mma(to, high, b[i][p + 2], b[i][p + 3], to);
            }
        }
#pragma unroll
    for (u32 r = 0; r < R; r++) {
        float scale[2];
        Word<f16>::widen(part.scales[r], scale);
#pragma unroll
        for (u32 j = 0; j < SUMS; j++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) sum[r][j][c] += scale[c / 2] * dot[r][j][c];
    }
}

// Adds the products of a run of groups, TURN at a time, AHEAD of which are loaded before the first is used: R × 1 KiB each.
template <u32 R, u32 M, u32 AHEAD, u32 TURN, bool AGAIN, typename T>
__device__ __forceinline__ void add_groups(Products<R, M>& sum, Run<R> run, Activations<M, T> x, u32 count, const Constants& of) {
    Part<R> ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++)
        if (d < count) run.load(ring[d], d);
    i32 left = i32(count);
    while (true) {
#pragma unroll
        for (u32 d = 0; d < TURN; d++) {
            Pairs<M> b;
            x.template load<AGAIN>(b, d);
            multiply<R, M, T>(sum, ring[d % AHEAD], b, of);
            if (left > i32(d + AHEAD)) run.load(ring[d % AHEAD], d + AHEAD);
            if (left <= i32(d + 1)) return;
        }
        left -= TURN;
        run.advance(TURN);
        x.advance(TURN);
    }
}

// What tokens have of the products: of up to four, a lane has a half of every group and the one two further on has the other.
template <u32 R, u32 M> __device__ __forceinline__ void combine(Sums<R, M>& all, const Products<R, M>& sum) {
#pragma unroll
    for (u32 r = 0; r < R; r++)
#pragma unroll
        for (u32 i = 0; i < Tokens<M>::TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                all[r][i][c] = M == 4 && lane_id() % 4 >= 2 ? sum[r][Tokens<M>::SUMS - 1][c] : sum[r][i][c];
                if (M == 4) all[r][i][c] += shuffle_xor(all[r][i][c], 2);
            }
}

// Tokens of which a sum is no finite number, as bits.
template <u32 R, u32 M> __device__ __forceinline__ u32 endless(const Sums<R, M>& sum) {
    u32 found = 0;
#pragma unroll
    for (u32 r = 0; r < R; r++)
#pragma unroll
        for (u32 i = 0; i < Tokens<M>::TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++)
                if ((bits_of(sum[r][i][c]) & 0x7f800000u) == 0x7f800000u) found |= 1u << Tokens<M>::summed(i, c);
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) found |= shuffle_xor(found, step);
    return found;
}

// Leaves sums for the other warps, `rows` for each token; those of tokens in `again` are of small activations.
template <u32 R, u32 M, typename T>
__device__ __forceinline__ void leave(float* parts, const Sums<R, M>& sum, u32 rows, u32 again) {
#pragma unroll
    for (u32 r = 0; r < R; r++)
#pragma unroll
        for (u32 i = 0; i < Tokens<M>::TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                const u32 token = Tokens<M>::summed(i, c);
                const float all = sum[r][i][c] * Skinny<T>::UNIT * (again >> token & 1 ? Skinny<T>::MORE : 1.0f);
                if (M != 4 || lane_id() % 4 < 2) parts[token * rows + r * ROWS + lane_id() / 4 + c / 2 * 8] = all;
            }
}

template <u32 R, u32 M, typename T>
__device__ __forceinline__ void mma(
    const uint4* words, const u32* scales, const T* x, void* y, u32 m, u32 n, u32 k, u32 wide) {
    // More on their way would take more registers than there are.
    constexpr u32 AHEAD = R < 4 ? 2 : 1;
    extern __shared__ float parts[];
    const u32 groups = k / GROUP, warp = uniform(warp_id()), warps = blockDim.x / WARP;
    const u32 first = warp * groups / warps, count = (warp + 1) * groups / warps - first;
    const u32 token = blockIdx.y * M, tile = blockIdx.x * R;
    float* const mine = parts + warp * (M * R * ROWS);
    const Constants of = constants<T>();
    Products<R, M> sum = {};
    add_groups<R, M, AHEAD, 2, false>(
        sum, Run<R>(words, scales, tile, n, groups, first), Activations<M, T>(x, token, m, k, first * GROUP, 0), count, of);
    Sums<R, M> all;
    combine<R, M>(all, sum);
    leave<R, M, T>(mine, all, R * ROWS, 0);
    if (const u32 again = endless<R, M>(all)) {
        const Activations<M, T> small(x, token, m, k, first * GROUP, again);
#pragma unroll 1
        for (u32 r = 0; r < R; r++) {
            Products<1, M> sum = {};
            add_groups<1, M, 1, 1, true>(sum, Run<1>(words, scales, tile + r, n, groups, first), small, count, of);
            Sums<1, M> all;
            combine<1, M>(all, sum);
            leave<1, M, T>(mine + r * ROWS, all, R * ROWS, again);
        }
    }
    store_sums<R * ROWS, M, T>(parts, y, Extent{m, n, tile * ROWS, token}, wide);
}
#endif
