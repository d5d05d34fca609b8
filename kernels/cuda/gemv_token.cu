// K20 of one token in a chain of launches: what is between the products is in them.
// Classes: 60, 80 (loads that pass by the first-level cache, bf16 rounding by instruction), 90 (starts early).
#include "mma.cuh"
#include "prologue.cuh"

// Threads of a block; steps of 512 bytes that a warp takes at a time, two such chunks of which are on their way: 64 KiB of a multiprocessor, twice what
// its share of the memory of a Hopper GPU needs.
constexpr u32 THREADS = 512;
constexpr u32 WARPS = THREADS / WARP;
constexpr u32 CHUNK = 4;
constexpr u32 CHUNKS = 2;

// What is on its way to a thread, and read by nobody else. In shared memory it is so before the row is there, and no register waits for it.
#if __CUDA_ARCH__ >= 800
struct Ring {
    const uint4* slots;

    __device__ __forceinline__ explicit Ring(const uint4* behind) : slots(behind + warp_id() * CHUNKS * CHUNK * WARP + lane_id()) {}
    __device__ __forceinline__ void ask(u32 at, const void* from) { cp_async16(u32(__cvta_generic_to_shared(slots + at * WARP)), from, 16); }
    __device__ __forceinline__ void commit() { cp_async_commit(); }
    __device__ __forceinline__ void wait() { cp_async_wait<CHUNKS - 1>(); }
    __device__ __forceinline__ uint4 take(u32 at) const { return slots[at * WARP]; }
};
#else
struct Ring {
    uint4 held[CHUNKS * CHUNK];

    __device__ __forceinline__ explicit Ring(const uint4*) {}
    __device__ __forceinline__ void ask(u32 at, const void* from) { held[at] = load_once(from); }
    __device__ __forceinline__ void commit() {}
    __device__ __forceinline__ void wait() {}
    __device__ __forceinline__ uint4 take(u32 at) const { return held[at]; }
};
#endif

// What a warp reads, chunk by chunk: its rows one behind the other, of a gate the row that goes through it behind it, n rows further on. A chunk ends
// with its row. A row that is missing is the last one, of which nothing is stored.
template <typename T> struct Walk {
    const T* w;
    const T* row;
    u32 n, k, vectors, stride, begin, at, unit, apart, pairs, up, left;

    __device__ __forceinline__ void enter() {
        row = w + u64(min(unit, n - 1) + up * n) * k;
        at = left > 0 ? begin : vectors;
    }
    template <typename Act> __device__ __forceinline__ void each(Act&& act) const {
#pragma unroll
        for (u32 j = 0; j < CHUNK; j++)
            if (at + j * stride < vectors) act(j, row + (at + j * stride) * WIDE<T>);
    }
    // To the next chunk, for all lanes alike.
    __device__ __forceinline__ void advance() {
        at += CHUNK * stride;
        if (at - lane_id() < vectors || left == 0) return;
        left--;
        unit += up == pairs ? apart : 0;
        up ^= pairs;
        enter();
    }
};

// A block on each multiprocessor, with the row once, and room for one of the launch behind; `split` warps share a row, every split-th 512 bytes of it. What a warp has on its way goes on from
// row to row: only where rows are shared do warps meet, and loads are on their way meanwhile.
template <typename T> __device__ __forceinline__ void product(const T* w, const Row<T>& row, void* y, u32 n, u32 split, u32 kept) {
    extern __shared__ uint4 staged[];
    // Twice, so that a turn is stored while the next is summed.
    __shared__ float parts[2][WARPS][2];
    constexpr u32 V = WIDE<T>;
    const u32 groups = WARPS / split, warp = uniform(warp_id()), pairs = kept == GATED, apart = gridDim.x * groups;
    const u32 vectors = row.width / V, stride = split * WARP, begin = warp % split * WARP + lane_id();
    // Warps that share rows meet as often as the first of the block has rows.
    u32 unit = blockIdx.x * groups + warp / split;
    const u32 first = split > 1 ? blockIdx.x * groups : unit;
    u32 turns = first < n ? ceil_div(n - first, apart) : 0;
    Walk<T> ahead{w, w, n, row.width, vectors, stride, begin, 0, unit, apart, pairs, 0, turns << pairs};
    ahead.enter();
    Ring ring(staged + vectors);
    const auto ask = [&](u32 chunk) {
        ahead.each([&](u32 j, const T* place) { ring.ask(chunk * CHUNK + j, place); });
        ring.commit();
        ahead.advance();
    };
#pragma unroll
    for (u32 i = 0; i < CHUNKS; i++) ask(i);
    stage<1>(row, staged, ahead.left > 0);
    if (turns == 0) return;
    u32 at = begin, up = 0, half = 0;
    float sum[2] = {}, gate = 0.0f;
    // Adds a chunk, asks for the one after next, and says whether it was the last.
    const auto step = [&](u32 chunk) {
        ring.wait();
#pragma unroll
        for (u32 j = 0; j < CHUNK; j++)
            if (at + j * stride < vectors) {
                float a[V], b[V];
                widen<T>(staged[at + j * stride], a);
                widen<T>(ring.take(chunk * CHUNK + j), b);
#pragma unroll
                for (u32 v = 0; v < V; v++) sum[v % 2] += a[v] * b[v];
            }
        const bool more = ahead.left > 0;
        ask(chunk);
        if (more && ahead.left == 0) make_way(row);
        at += CHUNK * stride;
        if (at - lane_id() < vectors) return false;
        at = begin;
        const float all = warp_sum(sum[0] + sum[1]);
        sum[0] = sum[1] = 0.0f;
        up ^= pairs;
        if (up != 0) {
            gate = all;
            return false;
        }
        float total = pairs ? gate : all, through = all;
        u32 mine = unit;
        bool stores = lane_id() == 0;
        if (split > 1) {
            if (stores) parts[half][warp][0] = total, parts[half][warp][1] = through;
            __syncthreads();
            total = through = 0.0f;
            stores = threadIdx.x < groups;
            mine += threadIdx.x - warp / split;
            for (u32 s = 0; s < split && stores; s++) {
                total += parts[half][threadIdx.x * split + s][0];
                through += parts[half][threadIdx.x * split + s][1];
            }
            half ^= 1;
        }
        if (stores && mine < n) keep<T>(y, mine, total, through, kept);
        unit += apart;
        return --turns == 0;
    };
    while (!step(0) && !step(1)) {}
}

// Where launches start early, two blocks share a multiprocessor.
#if __CUDA_ARCH__ >= 900
constexpr u32 BLOCKS = 2;
#else
constexpr u32 BLOCKS = 1;
#endif
#define GEMV_TOKEN(name, T)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const T* w, ROW(T), u32 split, LATER) {                   \
        product<T>(w, MADE(T), y, n, split, kept);                                                                    \
    }
GEMV_TOKEN(gemv_token_f16, f16)
GEMV_TOKEN(gemv_token_bf16, bf16)
GEMV_TOKEN(gemv_token_f32, float)
