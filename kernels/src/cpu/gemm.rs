//! Matrix products of many tokens, by the `gemm` crate.
#![expect(unsafe_code, reason = "the gemm crate takes raw pointers")]

/// `y = x · Wᵀ`: `x` is `m × k`, `weights` `n × k`, `y` `m × stride` of which the first `n` columns are written.
pub fn gemm_f32(x: &[f32], weights: &[f32], y: &mut [f32], k: usize, stride: usize) {
    if k == 0 || stride == 0 {
        return y.fill(0.0);
    }
    let (m, n) = (x.len() / k, weights.len() / k);
    assert!(x.len() == m * k && weights.len() == n * k && n <= stride);
    assert!(m == 0 || y.len() >= (m - 1) * stride + n);
    let (k_step, stride_step) = (k.cast_signed(), stride.cast_signed());
    // SAFETY: all three matrices lie within their slices, as asserted; y is borrowed mutably and overlaps neither.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            y.as_mut_ptr(),
            1,
            stride_step,
            false,
            x.as_ptr(),
            1,
            k_step,
            weights.as_ptr(),
            k_step,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
