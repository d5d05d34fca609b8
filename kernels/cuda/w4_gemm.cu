// K22: products of 4-bit weights with many tokens.
// Classes: 75 80.
//
// A block has eight warps: each 32 rows of weights, straight from memory to registers, and `parts` of them the same rows, a run of the groups each.
// Activations of TILES × 8 tokens pass through shared memory, in stages of 64 columns for each part. Integers are exact in 16 bits, sums and
// scales fp32. The parts add up in the order of their columns.
//
// The groups of all tiles, one tile behind the other, are split evenly (stream-K): as many blocks as tiles have one each, others cut tiles. A block that
// ends last of those that share a tile adds up what each of them left in memory, in the order of their columns: results do not depend on which it is.
#include "stream_k.cuh"
#include "mma.cuh"
#include "w4_fragment.cuh"
#include "w4_run.cuh"

// 16-byte chunks of a token in a stage.
constexpr u32 CHUNKS = COLUMNS * 2 / 16;

// Where a chunk of a token is in a part's stage: neighbouring tokens have theirs swapped, so that the lanes of a load do not meet in the same banks.
__device__ __forceinline__ u32 chunk_at(u32 token, u32 chunk) { return token * CHUNKS + (chunk ^ (token & 1)); }

// What a thread moves of the activations of its part: a chunk of every `apart`-th token. `tokens` and `steps` of 64 columns are there; for the
// rest nothing is read, and it becomes zero.
template <typename T> struct Chunks {
    const T* from;
    u32 to, k, apart, first, tokens, steps;
};

#if __CUDA_ARCH__ >= 800
constexpr u32 STAGES = 3;

template <u32 M, typename T> struct Copies : Chunks<T> {
    __device__ __forceinline__ explicit Copies(const Chunks<T>& chunks) : Chunks<T>(chunks) {}
    __device__ __forceinline__ void stage(u32 slot, u32 step) {
        const u32 there = step < this->steps ? this->tokens : 0;
#pragma unroll 1
        for (u32 j = this->first; j < M; j += this->apart)
            cp_async16(this->to + slot + j * (CHUNKS * 16), this->from + u64(j) * this->k, j < there ? 16 : 0);
        cp_async_commit();
        this->from += COLUMNS;
        pin(this->from);
    }
    static __device__ __forceinline__ void land() { cp_async_wait<STAGES - 2>(); }
    static __device__ __forceinline__ void end() { cp_async_wait<0>(); }
};
#else
constexpr u32 STAGES = 2;

// By registers: what is stored into one stage was loaded as the one before was.
template <u32 M, typename T> struct Copies : Chunks<T> {
    // Tokens times parts are 128 at most.
    static constexpr u32 MOST = 4;
    uint4 held[MOST];

    __device__ __forceinline__ explicit Copies(const Chunks<T>& chunks) : Chunks<T>(chunks) { load(0); }
    __device__ __forceinline__ void load(u32 step) {
        const u32 there = step < this->steps ? min(this->tokens, M) : 0;
#pragma unroll
        for (u32 i = 0; i < MOST; i++) {
            const u32 j = this->first + i * this->apart;
            held[i] = make_uint4(0, 0, 0, 0);
            if (j < there) held[i] = load_shared_by_all(this->from + u64(j) * this->k);
        }
        this->from += COLUMNS;
    }
    __device__ __forceinline__ void stage(u32 slot, u32 step) {
#pragma unroll
        for (u32 i = 0; i < MOST; i++) {
            const u32 j = this->first + i * this->apart;
            if (j < M) store_shared16(this->to + slot + j * (CHUNKS * 16), held[i]);
        }
        load(step + 1);
    }
    static __device__ __forceinline__ void land() {}
    static __device__ __forceinline__ void end() {}
};
#endif

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

// Operands of a launch, and where blocks leave what they have of a tile that others share: two tiles each, in fp32, and a count for every tile, zero
// in front of a launch and behind it.
template <typename T> struct Call {
    const uint4* words;
    const u32* scales;
    const T* x;
    void* y;
    uint4* left;
    u32* arrivals;
    u32 m, n, k, wide, parts;
};

// Where a block's piece of a tile is: tokens from `token` on and tiles of rows from `rows` on. Blocks of neighbouring tiles share rows.
template <u32 M> struct Own : Piece {
    u32 sharing, part, rows, token;

    template <typename T>
    __device__ __forceinline__ Own(const Call<T>& call, u32 at)
        : Piece(ceil_div(call.n, 2 * ROWS * (WARPS / call.parts)) * ceil_div(call.m, M), call.k / GROUP, at), sharing(WARPS / call.parts) {
        const u32 warp = uniform(warp_id()), across = ceil_div(call.m, M);
        part = warp / sharing, rows = (tile / across * sharing + warp % sharing) * 2, token = tile % across * M;
    }
    // Where a thread of the last part leaves its sums.
    __device__ __forceinline__ uint4* left_at(uint4* left, u32 place) const {
        return left + place * (M / 4 * WARP * sharing) + warp_id() % sharing * WARP + lane_id();
    }
};

// AHEAD groups are loaded before the first is used. The sums are in the registers of the last part.
template <u32 TILES, u32 AHEAD, typename T>
__device__ __forceinline__ void multiply_piece(float (&sum)[2][TILES][4], const Call<T>& call, const Own<TILES * 8>& place, uint4* staged) {
    constexpr u32 M = TILES * 8;
    const u32 warp = uniform(warp_id()), parts = call.parts, sharing = place.sharing, part = place.part, k = call.k;
    const u32 first = part * place.count / parts, count = (part + 1) * place.count / parts - first;
    const u32 most = ceil_div(place.count, parts), begin = place.first + first;
    Run<2> run(call.words, call.scales, place.rows, call.n, k / GROUP, begin);
    Part<2> ring[AHEAD];
#pragma unroll
    for (u32 d = 0; d < AHEAD; d++)
        if (d < count) run.load(ring[d], d);
    const u32 mine = warp % sharing * WARP + lane_id(), chunk = mine % CHUNKS, stage = M * CHUNKS * parts;
    Copies<M, T> copies(Chunks<T>{
        call.x + u64(place.token) * k + begin * GROUP + chunk * 8, shared_address(staged + part * (M * CHUNKS) + (chunk ^ (mine / CHUNKS & 1))), k,
        sharing * WARP / CHUNKS, mine / CHUNKS, call.m - place.token, 2 * count});
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) copies.stage(s * stage * 16, s);
    u32 here = 0, next = (STAGES - 1) * stage;
    float dot[2][TILES][4] = {};
    for (u32 group = 0; group < most; group += AHEAD) {
#pragma unroll
        for (u32 d = 0; d < AHEAD; d++) {
            if (group + d >= most) break;
#pragma unroll
            for (u32 half = 0; half < 2; half++) {
                copies.land();
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
    copies.end();
    add_parts<TILES>(sum, reinterpret_cast<float*>(staged) + warp % sharing * (2 * TILES * 4 * WARP), part, parts);
}

// Stores the results of a tile.
template <u32 TILES, typename T>
__device__ __forceinline__ void store_tile(const float (&sum)[2][TILES][4], const Call<T>& call, const Own<TILES * 8>& place) {
#pragma unroll
    for (u32 r = 0; r < 2; r++)
#pragma unroll
        for (u32 i = 0; i < TILES; i++)
#pragma unroll
            for (u32 c = 0; c < 4; c++) {
                const u32 row = (place.rows + r) * ROWS + lane_id() / 4 + c / 2 * 8, j = place.token + 8 * i + lane_id() % 4 * 2 + c % 2;
                if (row < call.n && j < call.m) put<T>(call.y, u64(j) * call.n + row, sum[r][i][c], call.wide);
            }
}

// Leaves the sums of a piece; whether this block was the last to do so, and has those of the whole tile.
template <u32 TILES, typename T>
__device__ __forceinline__ bool combine(float (&sum)[2][TILES][4], const Call<T>& call, const Own<TILES * 8>& place, uint4* staged) {
    constexpr u32 COUNT = 2 * TILES * 4;
    float(&sums)[COUNT] = reinterpret_cast<float(&)[COUNT]>(sum);
    const bool holds = place.part + 1 == call.parts;
    const u32 apart = WARP * place.sharing;
    if (holds) leave(sums, place.left_at(call.left, place.place()), apart);
    if (!place.arrives_last(call.arrivals, reinterpret_cast<u32*>(staged))) return false;
    if (holds) add_pieces(sums, place.pieces(), [&](u32 piece) { return place.left_at(call.left, place.place(piece)); }, apart);
    return true;
}

template <u32 TILES, u32 AHEAD, typename T> __device__ __forceinline__ void gemm(const Call<T>& call) {
    extern __shared__ uint4 staged[];
    using Tile = Own<TILES * 8>;
    u32 at = Tile(call, 0).split.begin(blockIdx.x);
#pragma unroll 1
    do {
        float sum[2][TILES][4] = {};
        multiply_piece<TILES, AHEAD>(sum, call, Tile(call, at), staged);
        const Tile place(call, at);
        const bool complete = place.whole() || combine<TILES>(sum, call, place, staged);
        if (complete && place.part + 1 == call.parts) store_tile<TILES>(sum, call, place);
        __syncthreads();
        at += place.count;
    } while (at < Tile(call, at).split.begin(blockIdx.x + 1));
}

#define W4_GEMM(name, TILES, AHEAD, T, blocks)                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks) name(                                                \
        const uint4* words, const u32* scales, const T* x, void* y, uint4* left, u32* arrivals, u32 m, u32 n, u32 k,  \
        u32 wide, u32 parts) {                                                                                         \
        gemm<TILES, AHEAD>(Call<T>{words, scales, x, y, left, arrivals, m, n, k, wide, parts});                        \
    }
#if __CUDA_ARCH__ >= 800
// Products take longer than weights need to arrive where tokens are many.
#define W4_GEMM_TOKENS(name, T)                                                                                       \
    W4_GEMM(name##_m16, 2, 2, T, 2) W4_GEMM(name##_m32, 4, 2, T, 1) W4_GEMM(name##_m64, 8, 1, T, 1)
W4_GEMM_TOKENS(w4_gemm_bf16, bf16)
#else
#define W4_GEMM_TOKENS(name, T)                                                                                       \
    W4_GEMM(name##_m16, 2, 1, T, 2) W4_GEMM(name##_m32, 4, 1, T, 1) W4_GEMM(name##_m64, 8, 1, T, 1)
#endif
W4_GEMM_TOKENS(w4_gemm_f16, f16)
