// K20 of one token in a chain of launches: what is between the products is in them.
// Classes: 60 (CUDA cores), 80 (tensor cores, memory past the registers), 90 (starts early).
#include "mma.cuh"
#include "prologue.cuh"

// On CUDA cores: threads of a block; steps of 512 bytes that a warp takes at a time, two such chunks of which are on their way: 64 KiB of a multiprocessor, twice what
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
        if (more && ahead.left == 0) let_successor_start();
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

#if __CUDA_ARCH__ >= 800
// On tensor cores: units of eight rows, of a gated product four and the four that go through them. The warps of a block share their columns, 64 at a
// time, and of these items each has so many on their way: half of them fill what a block has of its first units. Several blocks are on a multiprocessor,
// so that one is at work while another makes its row. Results of a batch of units are summed at once.
constexpr u32 ROWS = 8, COLUMNS = 64, ITEM = ROWS * COLUMNS * 2, ITEMS = 8, BATCH = 4;
constexpr u32 TENSOR_THREADS = 256, TENSOR_WARPS = TENSOR_THREADS / WARP;

// A row, once in each of eight rows of a tile, times eight rows of weights: sixteen columns.
__device__ __forceinline__ void multiply(float (&sum)[4], f16, u32 x0, u32 x1, u32 w0, u32 w1) { mma_m16n8k16_f16(sum, {x0, 0, x1, 0}, {w0, w1}); }
__device__ __forceinline__ void multiply(float (&sum)[4], bf16, u32 x0, u32 x1, u32 w0, u32 w1) { mma_m16n8k16_bf16(sum, {x0, 0, x1, 0}, {w0, w1}); }

// What a warp asks for, item by item: each lane sixteen bytes of a row of the lower half and of one of the upper, `apart` rows on. An item is stored by rows
// of 128 bytes, their eights turned by the row so that banks do not collide; rows and columns that are missing are zeros.
template <typename T> struct Items {
    const T *w, *at;
    u32 n, k, outputs, unit, units, column;

    __device__ __forceinline__ Items(const T* w, u32 n, u32 k, u32 outputs, u32 units)
        : w(w), n(n), k(k), outputs(outputs), unit(uniform(warp_id()) * COLUMNS < k ? blockIdx.x : units), units(units) {
        enter();
    }
    __device__ __forceinline__ bool more() const { return unit < units; }
    __device__ __forceinline__ u32 row() const { return unit * outputs + lane_id() / 8; }
    __device__ __forceinline__ void enter() {
        column = warp_id() * COLUMNS + lane_id() % 8 * 8;
        at = w + u64(row()) * k + column;
    }
    __device__ __forceinline__ void load(u32 to, const T* from, bool there) const { cp_async16(to, there ? from : w, there ? 16 : 0); }
    __device__ __forceinline__ void ask(u32 slot) {
        if (more()) {
            const u32 low = lane_id() / 8, to = slot + low * (COLUMNS * 2), eight = lane_id() % 8 ^ low;
            const u32 apart = outputs < ROWS ? n : ROWS / 2;
            load(to + eight * 16, at, column < k && row() < n);
            load(to + ROWS / 2 * (COLUMNS * 2) + (eight ^ ROWS / 2) * 16, at + u64(apart) * k, column < k && row() + (outputs < ROWS ? 0 : ROWS / 2) < n);
            column += TENSOR_WARPS * COLUMNS, at += TENSOR_WARPS * COLUMNS;
            if (column - lane_id() % 8 * 8 >= k) {
                unit += gridDim.x;
                enter();
            }
        }
        cp_async_commit();
    }
};

template <typename T> __device__ __forceinline__ void tensor_product(const T* w, const Row<T>& row, void* y, u32 n, u32 kept) {
    extern __shared__ __align__(128) uint4 tiles[];
    // Twice, so that a batch is stored while the next is summed.
    __shared__ float parts[2][BATCH][TENSOR_WARPS][ROWS];
    const u32 outputs = kept == GATED ? ROWS / 2 : ROWS, k = row.width, warp = uniform(warp_id()), chunks = ceil_div(k, COLUMNS);
    const u32 x = shared_address(tiles), ring = x + chunks * (COLUMNS * 2) + warp * (ITEMS * ITEM);
    const u32 units = ceil_div(n, outputs);
    Items<T> ahead(w, n, k, outputs, units);
#pragma unroll 1
    for (u32 i = 0; i < ITEMS; i++) ahead.ask(ring + i * ITEM);
    for (u32 i = k / 8 + threadIdx.x; i < chunks * (COLUMNS / 8); i += TENSOR_THREADS) tiles[i] = uint4{};
    stage<2>(row, tiles, ahead.more());

    const u32 mine = ring + lane_id() % 8 * (COLUMNS * 2) + (lane_id() / 8 ^ lane_id() % 8) * 16, across = x + lane_id() / 8 * 16;
    u32 slot = 0, half = 0, turn = 0, batch = blockIdx.x;
    for (u32 unit = blockIdx.x; unit < units; unit += gridDim.x) {
        float sum[4] = {};
        for (u32 chunk = warp; chunk < chunks; chunk += TENSOR_WARPS) {
            cp_async_wait<ITEMS - 1>();
            __syncwarp();
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                u32 a[4], b[4];
                ldmatrix_x4(a, across + chunk * (COLUMNS * 2) + h * 64);
                ldmatrix_x4(b, (mine + slot) ^ h * 64);
                multiply(sum, T{}, a[0], a[1], b[0], b[1]);
                multiply(sum, T{}, a[2], a[3], b[2], b[3]);
            }
            __syncwarp();
            const bool asks = ahead.more();
            ahead.ask(ring + slot);
            if (asks && !ahead.more()) let_successor_start();
            slot = slot == (ITEMS - 1) * ITEM ? 0 : slot + ITEM;
        }
        if (lane_id() < ROWS / 2) parts[half][turn][warp][2 * lane_id()] = sum[0], parts[half][turn][warp][2 * lane_id() + 1] = sum[1];
        if (++turn < BATCH && unit + gridDim.x < units) continue;
        __syncthreads();
        const u32 of = threadIdx.x / outputs, output = threadIdx.x % outputs, at = (batch + of * gridDim.x) * outputs + output;
        if (of < turn && at < n) {
            float total = 0.0f, through = 0.0f;
#pragma unroll
            for (u32 s = 0; s < TENSOR_WARPS; s++) {
                total += parts[half][of][s][output];
                through += parts[half][of][s][output + ROWS - outputs];
            }
            keep<T>(y, at, total, through, kept);
        }
        half ^= 1, turn = 0, batch = unit + gridDim.x;
    }
}
#endif

// Blocks that share a multiprocessor: where launches start early, one of the next launch too.
#if __CUDA_ARCH__ >= 900
constexpr u32 BLOCKS = 2, TENSOR_BLOCKS = 3;
#else
constexpr u32 BLOCKS = 1, TENSOR_BLOCKS = 2;
#endif
#define GEMV_TOKEN(name, T)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const T* w, ROW(T), u32 split) {               \
        product<T>(w, MADE(T), y, n, split, kept);                                                                    \
    }
#define GEMV_TOKEN_MMA(name, T)                                                                                       \
    extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, TENSOR_BLOCKS) name(const T* w, ROW(T)) {    \
        tensor_product<T>(w, MADE(T), y, n, kept);                                                                    \
    }
#if __CUDA_ARCH__ >= 800
GEMV_TOKEN_MMA(gemv_token_mma_f16, f16)
GEMV_TOKEN_MMA(gemv_token_mma_bf16, bf16)
#else
GEMV_TOKEN(gemv_token_f16, f16)
GEMV_TOKEN(gemv_token_bf16, bf16)
#endif
GEMV_TOKEN(gemv_token_f32, float)
