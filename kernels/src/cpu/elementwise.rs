//! What stands between the matrices: norm, rotary encoding, attention, gate. Statistics and sums in fp32.

/// RMSNorm: `x / √(mean(x²) + ε) · gain`, row by row.
pub fn rms_norm(x: &[f32], gains: &[f32], epsilon: f32, out: &mut [f32]) {
    let width = gains.len();
    for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let factor = (dot(x, x) / width as f32 + epsilon).sqrt().recip();
        for ((out, x), gain) in out.iter_mut().zip(x).zip(gains) {
            *out = x * factor * gain;
        }
    }
}

/// Dot product in sixteen running sums, which vectors of any width can share.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let (a, b) = (a.chunks_exact(16), b.chunks_exact(16));
    let tail = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum::<f32>();
    for (a, b) in a.zip(b) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + tail
}

/// Rotary encoding of the heads of one token; `angles` holds cosine and sine for each half-width pair.
pub fn rotate(heads: &mut [f32], angles: &[(f32, f32)]) {
    let half = angles.len();
    for head in heads.chunks_exact_mut(2 * half) {
        let (first, second) = head.split_at_mut(half);
        for ((a, b), (cos, sin)) in first.iter_mut().zip(second).zip(angles) {
            (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
        }
    }
}

/// Softmax attention of one query head over cached positions.
///
/// `keys` and `values` start at the head's first channel and advance by `stride` per position; `scale` is what a product of
/// query and key is multiplied by. Masked positions are not in the cache, so a NaN in a later token never reaches an
/// earlier one.
pub fn attend(
    query: &[f32],
    keys: &[f32],
    values: &[f32],
    (stride, scale): (usize, f32),
    out: &mut [f32],
) {
    let score = |key: &[f32]| dot(query, &key[..query.len()]) * scale;
    let mut scores: Vec<f32> = keys.chunks(stride).map(score).collect();
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|s| *s = (*s - top).exp());
    let total: f32 = scores.iter().sum();
    out.fill(0.0);
    for (score, value) in scores.iter().zip(values.chunks(stride)) {
        let weight = score / total;
        out.iter_mut().zip(value).for_each(|(o, v)| *o += weight * v);
    }
}

/// SiLU(gate) · up, into `gate`.
pub fn swiglu(gate: &mut [f32], up: &[f32]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        *gate = *gate / (1.0 + (-*gate).exp()) * up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norm_scales_to_unit_mean_square() {
        let mut out = [f32::NAN; 4];
        rms_norm(&[3.0, -4.0, 6.0, 8.0], &[1.0, 2.0], 0.0, &mut out);
        let first = 12.5_f32.sqrt();
        let second = 50.0_f32.sqrt();
        for (got, want) in out.iter().zip([3.0 / first, -8.0 / first, 6.0 / second, 16.0 / second])
        {
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
    }

    /// The chain that ends in exclamation marks: Σx² = ∞, 1/√∞ = 0, ∞ · 0 = NaN.
    #[test]
    fn norm_turns_one_infinity_into_nan() {
        let mut out = [1.0; 3];
        rms_norm(&[1.0, f32::INFINITY, 2.0], &[1.0; 3], 1e-6, &mut out);
        assert!(out[1].is_nan());
        assert_eq!((out[0], out[2]), (0.0, 0.0));
    }

    #[test]
    fn rotation_keeps_lengths_and_turns_by_the_angle() {
        let mut head = [1.0, 0.0, 0.0, 2.0];
        rotate(&mut head, &[(0.0, 1.0), (-1.0, 0.0)]);
        assert_eq!(head, [0.0, 0.0, 1.0, -2.0]);
    }

    #[test]
    fn attention_averages_what_matches() {
        let (keys, values) = ([0.0, 0.0, 9.0, 0.0, 0.0, 9.0], [1.0, 2.0, 9.0, 3.0, 4.0, 9.0]);
        let mut out = [f32::NAN; 2];
        attend(&[1.0, 1.0], &keys, &values, (3, 0.5), &mut out);
        assert_eq!(out, [2.0, 3.0]);
        attend(&[400.0, 0.0], &[0.0, 0.0, 9.0, 1.0, 0.0], &values[..5], (3, 1.0), &mut out);
        assert_eq!(out, [3.0, 4.0]);
    }

    #[test]
    fn gate_is_silu() {
        let mut gate = [0.0, 30.0, -30.0, 1.0];
        swiglu(&mut gate, &[5.0, 2.0, 2.0, 1.0]);
        assert_eq!(gate[0], 0.0);
        assert!((gate[1] - 60.0).abs() < 1e-4 && gate[2].abs() < 1e-10);
        assert!((gate[3] - 0.731_058_6).abs() < 1e-6);
    }
}
