// K40 to K43 norms, RoPE and elementwise operations between the products of a decoder. Storage f32, f16 or bf16; all arithmetic in fp32.
// The position of the current token is read from device memory, so that one recorded graph serves every token.
// Every entry takes its turn behind the launch in front of it, so that a chain of them may be launched early.
#include "eights.cuh"
#include "silu.cuh"

constexpr u32 BLOCK = 256;
constexpr u32 GROUP = 128;
constexpr u64 GAMMA = 0x9e3779b97f4a7c15ull;
constexpr u64 SCALES = 1ull << 31;

// What a decoder keeps between tokens: kernels/src/gpu/family/elementwise names the same words.
struct State {
    u32 token;
    u32 position;
    u32 step;
    u32 best;
};

// What the scans of one stored tensor found: step and index of the first non-finite number, and how many there were.
struct Found {
    u64 first;
    u64 count;
};

__device__ __forceinline__ u32 thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ bool finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }

// 1/√(mean(x²) + ε). An infinity makes it 0, and 0·∞ is NaN: how one overflow becomes a row of NaN.
template <typename In>
__device__ __forceinline__ float norm_factor(const In* x, u32 width, float epsilon) {
    __shared__ float scratch[BLOCK / WARP];
    float sum = 0.0f;
    for (u32 i = threadIdx.x; i < width; i += BLOCK) sum = fmaf(to_f32(x[i]), to_f32(x[i]), sum);
    return 1.0f / sqrtf(block_sum(sum, scratch) / float(width) + epsilon);
}

// One block per row.
template <typename In, typename Out>
__device__ __forceinline__ void rms_norm(const In* x, const float* gains, Out* out, u32 width, float epsilon) {
    x += u64(blockIdx.x) * width;
    out += u64(blockIdx.x) * width;
    float factor = norm_factor(x, width, epsilon);
    for (u32 i = threadIdx.x; i < width; i += BLOCK) out[i] = from_f32<Out>(to_f32(x[i]) * factor * gains[i]);
}

// The sandwich: the norm behind a block is stored, and added to the residual stream.
template <typename In, typename Out>
__device__ __forceinline__ void rms_norm_add(const In* x, const float* gains, Out* normed, Out* residual, u32 width,
                                             float epsilon) {
    u64 row = u64(blockIdx.x) * width;
    float factor = norm_factor(x + row, width, epsilon);
    for (u32 i = threadIdx.x; i < width; i += BLOCK) {
        Out rescued = from_f32<Out>(to_f32(x[row + i]) * factor * gains[i]);
        normed[row + i] = rescued;
        residual[row + i] = from_f32<Out>(to_f32(residual[row + i]) + to_f32(rescued));
    }
}

// Both norms between two blocks: the sandwich's, whose result is added to the residual stream, and the next block's. One block per row of at
// most MOST_NEXT numbers, which stay in registers: one trip to memory instead of four, and gains are there before the row is.
constexpr u32 NEXT_EIGHTS = 2;
template <typename In, typename Out>
__device__ __forceinline__ void rms_norm_next(const In* x, const float* gains, Out* out, Out* residual, const float* next,
                                              u32 width, float epsilon) {
    __shared__ float scratch[BLOCK / WARP];
    u64 row = u64(blockIdx.x) * width;
    float gain[NEXT_EIGHTS][8], then[NEXT_EIGHTS][8], value[NEXT_EIGHTS][8] = {}, stream[NEXT_EIGHTS][8] = {}, sum = 0.0f;
    auto each = [&](auto&& work) {
#pragma unroll
        for (u32 e = 0; e < NEXT_EIGHTS; e++) {
            u32 at = (e * BLOCK + threadIdx.x) * 8;
            if (at < width) work(e, at);
        }
    };
    each([&](u32 e, u32 at) {
        load8(gains + at, gain[e]);
        load8(next + at, then[e]);
    });
    take_turn();
    each([&](u32 e, u32 at) {
        load8(x + row + at, value[e]);
        load8(residual + row + at, stream[e]);
    });
#pragma unroll
    for (u32 e = 0; e < NEXT_EIGHTS; e++)
#pragma unroll
        for (u32 i = 0; i < 8; i++) sum = fmaf(value[e][i], value[e][i], sum);
    float factor = 1.0f / sqrtf(block_sum(sum, scratch) / float(width) + epsilon);
    sum = 0.0f;
    each([&](u32 e, u32 at) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) {
            float rescued = to_f32(from_f32<Out>(value[e][i] * factor * gain[e][i]));
            stream[e][i] = to_f32(from_f32<Out>(stream[e][i] + rescued));
            sum = fmaf(stream[e][i], stream[e][i], sum);
        }
        store8(residual + row + at, stream[e]);
    });
    factor = 1.0f / sqrtf(block_sum(sum, scratch) / float(width) + epsilon);
    each([&](u32 e, u32 at) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) value[e][i] = stream[e][i] * factor * then[e][i];
        store8(out + row + at, value[e]);
    });
}

// Rotates queries and keys in place, pairing channel i with i + half, and appends keys and values to the cache.
// Block (token, head), with the query heads first, then the key heads, then the value heads.
template <typename T>
__device__ __forceinline__ void rope(T* q, T* k, const T* v, T* keys, T* values, const float* table,
                                     const State* state, u32 heads, u32 kv_heads, u32 capacity) {
    u32 half = blockDim.x, width = 2 * half, head = blockIdx.y;
    u32 position = state->position + blockIdx.x;
    if (position >= capacity) return;
    u32 low = threadIdx.x, high = low + half;
    u64 cached = u64(position) * kv_heads * width;
    if (head >= heads + kv_heads) {
        head -= heads + kv_heads;
        v += (u64(blockIdx.x) * kv_heads + head) * width;
        values += cached + head * width;
        values[low] = v[low];
        values[high] = v[high];
        return;
    }
    bool query = head < heads;
    T* row = query ? q + (u64(blockIdx.x) * heads + head) * width
                   : k + (u64(blockIdx.x) * kv_heads + head - heads) * width;
    const float* angle = table + (u64(position) * half + low) * 2;
    float a = to_f32(row[low]), b = to_f32(row[high]), cosine = angle[0], sine = angle[1];
    T first = from_f32<T>(a * cosine - b * sine), second = from_f32<T>(a * sine + b * cosine);
    row[low] = first;
    row[high] = second;
    if (query) return;
    keys += cached + (head - heads) * width;
    keys[low] = first;
    keys[high] = second;
}

template <typename T>
__device__ __forceinline__ void swiglu(const T* gate, const T* up, T* out, u32 count) {
    for (u32 i = thread_index(); i < count; i += gridDim.x * blockDim.x)
        out[i] = from_f32<T>(silu(to_f32(gate[i])) * to_f32(up[i]));
}

// One block per token. A token outside the vocabulary gives a row of NaN.
template <typename T>
__device__ __forceinline__ void embed(const T* table, const u32* tokens, T* out, u32 width, u32 vocab) {
    u32 token = tokens[blockIdx.x];
    out += u64(blockIdx.x) * width;
    for (u32 i = threadIdx.x; i < width; i += BLOCK)
        out[i] = token < vocab ? table[u64(token) * width + i] : from_f32<T>(float_of(0x7fffffffu));
}

// Orders floats as unsigned integers; both zeros are equal.
__device__ __forceinline__ u32 ordered(float x) {
    u32 bits = x == 0.0f ? 0u : bits_of(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ u64 warp_max(u64 key) {
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        u64 other = u64(shuffle_xor(u32(key >> 32), step)) << 32 | shuffle_xor(u32(key), step);
        key = other > key ? other : key;
    }
    return key;
}

// Index of the largest of `count`, the first of equals; the first NaN wins, as with torch.argmax. One block.
__device__ __forceinline__ void argmax(const float* logits, u32* best, u32 count) {
    __shared__ u64 scratch[BLOCK / WARP];
    u64 top = 0;
    for (u32 i = threadIdx.x; i < count; i += BLOCK) {
        float x = logits[i];
        u32 rank = x != x ? ALL : ordered(x);
        u64 key = u64(rank) << 32 | (ALL - i);
        top = key > top ? key : top;
    }
    top = warp_max(top);
    if (lane_id() == 0) scratch[warp_id()] = top;
    __syncthreads();
    if (warp_id() > 0) return;
    top = warp_max(lane_id() < BLOCK / WARP ? scratch[lane_id()] : 0ull);
    if (lane_id() == 0) *best = ALL - u32(top);
}

// Non-finite numbers of a tensor: one atomic pair a block, none where all is well.
template <typename T>
__device__ __forceinline__ void scan(const T* x, const State* state, Found* found, u32 count) {
    __shared__ float scratch[BLOCK / WARP];
    u32 bad = 0, first = ALL;
    for (u32 i = thread_index(); i < count; i += gridDim.x * blockDim.x) {
        if (finite(to_f32(x[i]))) continue;
        first = bad == 0 ? i : first;
        bad += 1;
    }
    if (bad > 0) atomicMin(&found->first, u64(state->step) << 32 | first);
    float total = block_sum(float(bad), scratch);
    if (threadIdx.x == 0 && total > 0.0f) atomicAdd(&found->count, u64(total));
}

// SplitMix64 at position stream·2³² + index, as in kernels/src/model/grid.rs.
__device__ __forceinline__ u64 hash(u64 stream, u64 index) { return mix(((stream << 32) + index + 1) * GAMMA); }

// Sum of four 2-bit fields less 6.
__device__ __forceinline__ i32 bell(u32 byte) {
    return i32((byte & 3) + (byte >> 2 & 3) + (byte >> 4 & 3) + (byte >> 6 & 3)) - 6;
}

__device__ __forceinline__ float group_scale(u64 tensor, u64 group, i32 exponent) {
    float quarters = float(4 + u32(hash(tensor, SCALES + group) & 3));
    return quarters * float_of(u32(exponent - 2 + 127) << 23);
}

// The weights of a grid, row by row; eight a thread.
template <typename T>
__device__ __forceinline__ void grid_weights(T* out, u32 tensor, u32 exponent, u32 eights) {
    for (u32 at = thread_index(); at < eights; at += gridDim.x * blockDim.x) {
        u64 word = hash(tensor, at);
        float scale = group_scale(tensor, at / (GROUP / 8), i32(exponent));
#pragma unroll
        for (u32 i = 0; i < 8; i++) out[u64(at) * 8 + i] = from_f32<T>(float(bell(u32(word >> 8 * i) & 255)) * scale);
    }
}

#define NORMS(name, In, Out)                                                                                          \
    extern "C" __global__ void __launch_bounds__(BLOCK) rms_norm_##name(const In* x, const float* gains, Out* out,    \
                                                                        u32 width, float epsilon) {                   \
        take_turn();                                                                                                  \
        rms_norm(x, gains, out, width, epsilon);                                                                      \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK) rms_norm_add_##name(                                          \
        const In* x, const float* gains, Out* normed, Out* residual, u32 width, float epsilon) {                      \
        take_turn();                                                                                                  \
        rms_norm_add(x, gains, normed, residual, width, epsilon);                                                     \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK) rms_norm_next_##name(                                         \
        const In* x, const float* gains, Out* out, Out* residual, const float* next, u32 width, float epsilon) {      \
        rms_norm_next(x, gains, out, residual, next, width, epsilon);                                                 \
    }

#define OF_STORAGE(T)                                                                                                 \
    NORMS(T, T, T)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(BLOCK) rope_##T(T* q, T* k, const T* v, T* keys, T* values,          \
                                                                 const float* table, const State* state, u32 heads,   \
                                                                 u32 kv_heads, u32 capacity) {                        \
        take_turn();                                                                                                  \
        rope(q, k, v, keys, values, table, state, heads, kv_heads, capacity);                                         \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK) swiglu_##T(const T* gate, const T* up, T* out, u32 count) {   \
        take_turn();                                                                                                  \
        swiglu(gate, up, out, count);                                                                                 \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK) embed_##T(const T* table, const u32* tokens, T* out,          \
                                                                  u32 width, u32 vocab) {                             \
        take_turn();                                                                                                  \
        embed(table, tokens, out, width, vocab);                                                                      \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK) scan_##T(const T* x, const State* state, Found* found,        \
                                                                 u32 count) {                                         \
        take_turn();                                                                                                  \
        scan(x, state, found, count);                                                                                 \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(BLOCK) grid_##T(T* out, u32 tensor, u32 exponent, u32 eights) {      \
        take_turn();                                                                                                  \
        grid_weights(out, tensor, exponent, eights);                                                                  \
    }

using f32 = float;
OF_STORAGE(f32)
OF_STORAGE(f16)
OF_STORAGE(bf16)
NORMS(f32_f16, float, f16)

extern "C" __global__ void __launch_bounds__(BLOCK) argmax_f32(const float* logits, u32* best, u32 count) {
    take_turn();
    argmax(logits, best, count);
}

// Ends a step of `tokens` tokens: keeps its logits, writes the chosen token to the tape and makes it the next input.
// What lies past the end of tape or history is not written. One block.
extern "C" __global__ void __launch_bounds__(BLOCK) advance(State* state, u32* tape, const float* logits,
                                                            float* history, u32 kept, u32 capacity, u32 tokens) {
    take_turn();
    u32 step = state->step;
    __syncthreads();
    if (step < capacity)
        for (u32 i = threadIdx.x; i < kept; i += BLOCK) history[u64(step) * kept + i] = logits[i];
    if (threadIdx.x > 0) return;
    if (step < capacity) tape[step] = state->best;
    state->token = state->best;
    state->position += tokens;
    state->step = step + 1;
}
