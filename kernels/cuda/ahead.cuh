// Loops that ask for several steps before they use the first.
#pragma once
#include "stream.cuh"

// From `i` on in steps of `stride`: `AHEAD` steps at a time where so many are left, each time `work(i, steps)` with the number of steps as a type, so that
// it asks for everything before it uses anything; then one by one. Unrolling does not do that: the compiler leaves a jump out of the loop between two
// steps, and volatile loads do not pass it.
template <u32 N> struct Steps { static constexpr u32 COUNT = N; };
template <u32 AHEAD, typename I, typename Work> __device__ __forceinline__ void ahead(I i, I end, I stride, Work&& work) {
    for (; i + (AHEAD - 1) * stride < end; i += AHEAD * stride) work(i, Steps<AHEAD>());
    if constexpr (AHEAD > 1)
        for (; i < end; i += stride) work(i, Steps<1>());
}
