// Clocks of the multiprocessors: a block on each says where it is, how many cycles its multiprocessor has counted, and the device's time; and a wait
// by the same counter.
// Nothing is included, so that this kernel stays what it is when others change.

using u32 = unsigned int;
using u64 = unsigned long long;

// Three words a block: multiprocessor, cycles, nanoseconds.
extern "C" __global__ void __launch_bounds__(32) clock_read(u64* to) {
    u32 multiprocessor;
    u64 cycles, time;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    // Both as one: nothing may move in between.
    asm volatile("mov.u64 %0, %%globaltimer;\n\tmov.u64 %1, %%clock64;" : "=l"(time), "=l"(cycles));
    if (threadIdx.x == 0) {
        to[3 * blockIdx.x] = multiprocessor;
        to[3 * blockIdx.x + 1] = cycles;
        to[3 * blockIdx.x + 2] = time;
    }
}

// One thread waits until its multiprocessor has counted so many cycles, and says how many it was.
extern "C" __global__ void __launch_bounds__(1) clock_hold(u64* to, u32 cycles) {
    u64 start, now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
    } while (now - start < cycles);
    to[0] = now - start;
}
