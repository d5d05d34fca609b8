// Where products read activations: in memory, or in a block's own copy of them.
#pragma once
#include "stream.cuh"

// By its address in shared memory, from which compilers reach further with constants.
struct Staged {
    u32 from;
    __device__ __forceinline__ Staged operator+(u32 by) const { return Staged{from + 2 * by}; }
    __device__ __forceinline__ void advance(u32 by) {
        from += 2 * by;
        asm volatile("" : "+r"(from));
    }
};

// Eight neighbours of 16 bits.
template <typename T> __device__ __forceinline__ uint4 eight(const T* from, u32 at) { return load_shared_by_all(from + at); }
__device__ __forceinline__ uint4 eight(Staged x, u32 at) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(x.from + 2 * at));
    return v;
}
