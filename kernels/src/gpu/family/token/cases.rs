//! What proves what is around the products: norms in front of them, the residual stream, the gate behind. fp64 on the exact stored operands, rounded
//! where the row and the stream are.

use super::{GROUP, Kept, Made, Product, Then, Weights, launch};
use crate::gpu::family::operand::{encode, nan, noise, normal, rounding_limit, words};
use crate::gpu::family::stream::{NOWHERE, Path, Places, Streamed, product, store, streamed_cases};
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Launch, Plan, Slot};
use crate::model::EPSILON;

/// How the parts of a matrix are weights.
pub(super) trait OneToken: Streamed {
    /// Places of its parts.
    fn weights(places: &Places<'_>) -> Weights;
}

/// What a case is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum About {
    /// A token of the vocabulary.
    Known,
    /// One that is not: all is NaN.
    Unknown,
    /// The norms between two blocks.
    Between,
    /// The same, of fp32.
    BetweenWide,
    /// The same, with an infinity in what a block computed: NaN in one place of the stream, and everywhere behind it.
    Infinite,
}

/// Rows of the embedding, and of them the one that is taken.
const VOCAB: u32 = 5;
const TOKEN: u32 = 3;

/// Results, columns (rounded up to what a path takes), multiprocessors: threads with two eights of a row, and blocks with several turns.
const SIZES: [(u32, u32, u32); 2] = [(32, 2600, 80), (144, 300, 1)];

struct Trial<'a> {
    path: &'static Path,
    facts: &'a DeviceFacts,
    about: About,
    kept: Kept,
    /// Rows of the matrix, and columns.
    size: [usize; 2],
}

/// Places of the buffers of a case.
const X: usize = 0;
const GAINS: usize = 1;
const STREAM: usize = 2;
const SUM: usize = 3;
const NEXT: usize = 4;
const WORD: usize = 5;
const Y: usize = 6;
const PARTS: usize = 7;

/// Those of the product as it is, and these.
pub(super) fn cases<S: OneToken>(facts: &DeviceFacts) -> Vec<Case> {
    use About::{Between, BetweenWide, Infinite, Known, Unknown};
    let mut all = streamed_cases::<S>(facts);
    for path in S::PATHS {
        // Packed storages are multiplied in steps of 128 columns, dense ones normed in eights.
        let multiple = if path.multiple > 8 { GROUP } else { 8 };
        let wide = path.formats.output != path.formats.input;
        let kept = if wide { Kept::Wide } else { Kept::Same };
        let between = if wide { BetweenWide } else { Between };
        let mut asked = vec![(between, kept), (Known, kept), (Unknown, kept), (Infinite, kept)];
        if !wide {
            asked.extend([(Between, Kept::Gated), (Infinite, Kept::Gated)]);
        }
        for ((about, kept), &(n, k, sms)) in
            asked.iter().flat_map(|one| SIZES.iter().map(move |size| (*one, size)))
        {
            let facts = DeviceFacts { sms, ..facts.clone() };
            let rows = if kept == Kept::Gated { 2 * n } else { n };
            let size = [rows, k.next_multiple_of(multiple)].map(|size| size as usize);
            all.extend(Trial { path, facts: &facts, about, kept, size }.case::<S>().ok());
        }
    }
    all
}

/// `x / √(mean(x²) + ε) · gain`.
fn norm(x: &[f64], gains: &[f64]) -> Vec<f64> {
    let mean = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
    let factor = (mean + EPSILON).sqrt().recip();
    x.iter().zip(gains).map(|(v, gain)| v * factor * gain).collect()
}

/// Numbers as a format has them.
fn rounded(element: Element, values: &[f64]) -> Vec<f64> {
    element.values(&store(element, values))
}

/// Small gains, so that what they scale has results of unit order.
fn gains(k: usize, seed: u64) -> Vec<u8> {
    encode(Element::F32, (0..k).map(|i| normal(i, seed) / 16.0))
}

impl Trial<'_> {
    fn element(&self) -> Element {
        self.path.formats.input
    }

    /// How the results are stored.
    fn output(&self) -> Element {
        if self.kept == Kept::Gated { self.element() } else { self.path.formats.output }
    }

    /// How what a block computed is.
    fn input(&self) -> Element {
        if self.about == About::BetweenWide { Element::F32 } else { self.element() }
    }

    fn is_embedded(&self) -> bool {
        matches!(self.about, About::Known | About::Unknown)
    }

    fn x(&self) -> Vec<u8> {
        let [_, k] = self.size;
        let rows = if self.is_embedded() { VOCAB as usize } else { 1 };
        let mut x = Element::values(self.input(), &noise(self.input(), rows * k, 21));
        if self.about == About::Infinite {
            x[k / 3] = f64::INFINITY;
        }
        store(self.input(), &x)
    }

    fn launch<S: OneToken>(&self, at: &[Slot]) -> Result<Option<Launch>, String> {
        let then = Then { sum: at[SUM], gains: at[NEXT] };
        let made = if self.is_embedded() {
            Made::Embedded { table: at[X], token: at[WORD], vocab: VOCAB, then }
        } else {
            let (x, gains, stream) = (at[X], at[GAINS], at[STREAM]);
            Made::Normed { x, input: self.input(), gains, stream, then }
        };
        let [rows, k] = self.size.map(|size| size as u32);
        let places = Places { x: at[X], weights: &at[PARTS..], scratch: &[], y: at[Y] };
        let (element, weights, kept) = (self.element(), S::weights(&places), self.kept);
        launch(self.facts, &Product { made, element, weights, rows, k, kept, y: at[Y] })
    }

    /// The stream and the results, in fp64.
    fn reference(
        &self,
        x: &[u8],
        stream: &[u8],
        [gains, next]: [&[u8]; 2],
        w: &[f64],
    ) -> [Vec<f64>; 2] {
        let ([_, k], element) = (self.size, self.element());
        let x = self.input().values(x);
        let [gains, next] = [gains, next].map(|bytes| Element::F32.values(bytes));
        let sum = if self.is_embedded() {
            x[TOKEN as usize * k..][..k].to_vec()
        } else {
            let rescued = rounded(element, &norm(&x, &gains));
            let sum =
                element.values(stream).iter().zip(&rescued).map(|(s, r)| s + r).collect::<Vec<_>>();
            rounded(element, &sum)
        };
        let y = product(&rounded(element, &norm(&sum, &next)), w, k);
        if self.kept != Kept::Gated {
            return [sum, y];
        }
        let y = rounded(element, &y);
        let (gate, up) = y.split_at(y.len() / 2);
        let silu = |g: f64| g / (1.0 + (-g).exp());
        [sum, gate.iter().zip(up).map(|(gate, up)| silu(*gate) * up).collect()]
    }

    /// How the stream is judged, and how the results are.
    fn judges(&self, stream: &[u8], reference: [Vec<f64>; 2]) -> [Judge; 2] {
        let (element, output, [_, k]) = (self.element(), self.output(), self.size);
        let [sum, y] = reference;
        let all_nan = |element: Element, count: usize| Judge::Bits(nan(element).repeat(count));
        match self.about {
            About::Unknown => [all_nan(element, k), all_nan(output, y.len())],
            About::Infinite => {
                // 0 · gain is added everywhere else.
                let mut sum = stream.to_vec();
                let size = element.bytes();
                sum[k / 3 * size..][..size].copy_from_slice(&nan(element));
                [Judge::Bits(sum), all_nan(output, y.len())]
            }
            About::Known => [Judge::Bits(store(element, &sum)), self.near(y)],
            About::Between | About::BetweenWide => {
                let limit = 2.0 * rounding_limit(element);
                [Judge::Near { reference: sum, limit }, self.near(y)]
            }
        }
    }

    /// What the product may be off by, and a rounding more of the row; the gate's two factors are rounded too.
    fn near(&self, reference: Vec<f64>) -> Judge {
        let limit = self.path.limit + 2.0 * rounding_limit(self.element());
        let factor = if self.kept == Kept::Gated { 2.0 } else { 1.0 };
        Judge::Near { reference, limit: factor * limit }
    }

    fn case<S: OneToken>(&self) -> Result<Case, String> {
        let ([rows, k], element) = (self.size, self.element());
        let weights: Vec<f32> = (0..rows * k).map(|i| normal(i, 22)).collect();
        let stored = (self.path.store)(rows, k, &weights)?;
        let (x, stream) = (self.x(), noise(element, k, 23));
        let [of_x, next] = [gains(k, 24), gains(k, 25)];
        let reference = self.reference(&x, &stream, [&of_x, &next], &stored.values);
        let results = reference[1].len();
        let [sum, y] = self.judges(&stream, reference);
        let token = if self.about == About::Unknown { VOCAB } else { TOKEN };
        let mut buffers: Vec<Content> = [x, of_x, stream].into_iter().map(Content::Bytes).collect();
        buffers.push(Content::Poison(k * element.bytes()));
        buffers.extend([next, words([token])].map(Content::Bytes));
        buffers.push(Content::Poison(results * self.output().bytes()));
        buffers.extend(stored.parts.into_iter().map(Content::Bytes));
        self.launch::<S>(&vec![NOWHERE; buffers.len()])?.ok_or("no such kernel")?;
        let expect = vec![
            Expect { buffer: SUM, element, judge: sum },
            Expect { buffer: Y, element: self.output(), judge: y },
        ];
        Ok(Case { name: self.name(), buffers, plan: self.plan::<S>(), expect })
    }

    fn name(&self) -> String {
        let Self { path, facts, about, kept, size: [rows, k] } = self;
        format!("{} {rows}×{k} {about:?} {kept:?}, {} multiprocessors", path.id, facts.sms)
    }

    fn plan<S: OneToken>(&self) -> Plan {
        let Self { path, about, kept, size, .. } = *self;
        let facts = self.facts.clone();
        Box::new(move |at| {
            let trial = Trial { path, facts: &facts, about, kept, size };
            let launch = trial.launch::<S>(at).ok().flatten();
            vec![launch.expect("it was possible elsewhere")]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::KERNELS;
    use super::*;
    use crate::Sm;
    use crate::gpu::{Route, TunedConfigs};

    /// A size that no kernel takes is left out of the cases: none of these may be.
    #[test]
    fn wherever_a_kernel_is_every_way_to_make_and_to_keep_a_row_has_cases() {
        for (major, minor) in [(6, 0), (7, 0), (7, 5), (8, 0), (9, 0), (12, 0)] {
            let facts = DeviceFacts {
                name: String::new(),
                sm: Sm::new(major, minor),
                sms: 80,
                shared_per_block: 48 << 10,
                shared_per_block_optin: 64 << 10,
                l2_bytes: 1 << 20,
                memory_bytes: 1 << 30,
                driver_cuda: 12_080,
                simulated: true,
                tuned: TunedConfigs::default(),
            };
            for kernel in KERNELS {
                let cases = (kernel.cases)(&facts);
                if let Route::Absent { .. } = (kernel.route)(&facts) {
                    assert!(cases.is_empty(), "{} on {}", kernel.id, facts.sm);
                    continue;
                }
                let abouts = ["whole", "random", "overflow", "Known Same", "Unknown Same"];
                let gated = ["Between Same", "Infinite Same", "Between Gated", "Infinite Gated"];
                for about in abouts.into_iter().chain(gated) {
                    let found = cases.iter().filter(|case| case.name.contains(about)).count();
                    assert!(found > 0, "{} on {}: {about}", kernel.id, facts.sm);
                }
            }
        }
    }
}
