//! Random numbers that are the same on every machine, so that a comparison read twice says the same twice.

/// SplitMix64 (Steele, Lea, Flood 2014): a counter through a mixing function.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in (0, 1), never either end.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal, by the polar method of Marsaglia.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                return u * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// Gamma of unit scale for a shape of at least one (Marsaglia and Tsang 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let cube = (1.0 + c * x).powi(3);
            if cube > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * cube + d * cube.ln() {
                return d * cube;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First values for seed 1234567, as published with the reference code.
    #[test]
    fn bits_are_those_of_the_reference() {
        let mut random = SplitMix::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    /// Mean and variance of a gamma of shape k are both k; of a normal 0 and 1.
    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = SplitMix::new(7);
        for shape in [1.0, 2.5, 40.0] {
            let (mean, variance) = moments((0..40_000).map(|_| random.gamma(shape)));
            assert!((mean / shape - 1.0).abs() < 0.03, "{shape}: mean {mean}");
            assert!((variance / shape - 1.0).abs() < 0.06, "{shape}: variance {variance}");
        }
        let (mean, variance) = moments((0..40_000).map(|_| random.normal()));
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }

    fn moments(values: impl Iterator<Item = f64>) -> (f64, f64) {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n)
    }
}
