// y = W·x in fp32, a warp for each row, ROWS rows in a block: a kernel to begin with. Tuned by gemv.toml.

extern "C" __global__ void gemv(const float* w, const float* x, float* y, unsigned n, unsigned k) {
    const unsigned row = blockIdx.x * ROWS + threadIdx.y;
    if (row >= n) {
        return;
    }
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < k; i += 32) {
        sum += w[static_cast<size_t>(row) * k + i] * x[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    }
    if (threadIdx.x == 0) {
        y[row] = sum;
    }
}
