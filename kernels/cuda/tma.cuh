// What sm_90 has to move tiles without occupying threads: tensor maps and bulk copies, barriers in shared memory that count
// bytes, clusters of blocks. One function, one instruction. Shared memory goes by its 32-bit address.
#pragma once

#include "mma.cuh"

// CUtensorMap: what the copy engine has to know of a matrix. Encoded by the driver, opaque here.
struct alignas(64) TensorMap { u64 opaque[16]; };

// The whole of a map is fetched once, ahead of the first copy.
__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// A box of a matrix into shared memory, zeros where it passes the edges; `barrier` counts its bytes. With a mask, to the same
// address in every block of the cluster that it names, and to the barrier there.
__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, u32 col, u32 row, u32 barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(col), "r"(row), "r"(barrier) : "memory");
}
__device__ __forceinline__ void load_box_to(u16 mask, u32 to, const TensorMap& map, u32 col, u32 row, u32 barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(&map), "r"(col), "r"(row), "r"(barrier), "h"(mask) : "memory");
}

// A box out of shared memory; what passes the edges is not written. Groups of these are waited for by the thread that issued them.
__device__ __forceinline__ void store_box(const TensorMap& map, u32 col, u32 row, u32 from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(col), "r"(row), "r"(from) : "memory");
}
__device__ __forceinline__ void commit_boxes() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until all but so many groups have read their shared memory.
template <u32 PENDING> __device__ __forceinline__ void wait_boxes_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
// Between stores to shared memory and a copy or a product that reads them.
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// A barrier: 8 bytes of shared memory, a phase that ends when so many arrived and every byte expected came.
__device__ __forceinline__ void init_barrier(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void arrive_expecting(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_in_cluster(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Until the phase of this parity has ended; the hardware waits a while before it says no. A phase that never ends, for a byte that was expected and does
// not come, would hang the device: two seconds after the first no the kernel stops itself. One piece of assembly, since the compiler spills registers
// around the same loop in C++; loops around it say that they are not to be unrolled, which a loop within them would say, too.
__device__ __forceinline__ void wait_barrier(u32 barrier, u32 parity) {
    asm volatile("{ .reg .pred p; .reg .u32 began, now; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra ENDED; mov.u32 began, %%globaltimer_lo; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra ENDED; mov.u32 now, %%globaltimer_lo; sub.u32 now, now, began; setp.gt.u32 p, now, %2; @p trap; bra AGAIN; ENDED: }" ::"r"(barrier), "r"(parity), "n"(2000000000) : "memory");
}

// Which of several stages is next and in which phase its barriers are.
template <u32 STAGES> struct Turn {
    u32 stage = 0;
    u32 parity = 0;
    __device__ __forceinline__ void next() {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    __device__ __forceinline__ u32 last() const { return stage == 0 ? STAGES - 1 : stage - 1; }
};

// The same address in another block of the cluster.
__device__ __forceinline__ u32 in_block(u32 at, u32 rank) {
    u32 out;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(at), "r"(rank));
    return out;
}
// Sixteen bytes of shared memory of any block of the cluster.
__device__ __forceinline__ void load_in_cluster(float (&out)[4], u32 at) {
    asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(out[0]), "=f"(out[1]), "=f"(out[2]), "=f"(out[3]) : "r"(at) : "memory");
}
// Four of them.
__device__ __forceinline__ float load_in_cluster(u32 at) {
    float x;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}
// Until all threads of the cluster are here, and see what any of them wrote before.
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
// Until all are here and no more: where a block must not begin before barriers are there (`fence_init` publishes those), or leave before others have
// read. A release would wait for every store of the block to reach the whole device.
__device__ __forceinline__ void meet_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// Four matrices of 8 rows × 16 bytes; lane 8·i + r names row r of matrix i.
__device__ __forceinline__ void stmatrix_x4(u32 at, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
