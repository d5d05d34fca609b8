//! Attention of many queries once more, in fp32 arithmetic whatever the storage: what a fast kernel should have computed at the size it was timed at. The
//! kernel that does so shares no code with those of tensor cores but the layout of its operands, and is itself held against fp64 by the self-test.

use super::attention::{Attention, Engine};
use super::cases::prefill_limit;
use super::prefill::prefill;
use super::registry::{HEADS, attention};
use super::tile::id;
use crate::gpu::{DeviceFacts, Element, Launch, Shape, Slot};

/// Attention that can be computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attended {
    /// What queries, keys, values and result are stored in.
    pub element: Element,
}

/// That of a kernel; nothing of one that is no attention of many queries on tensor cores.
pub fn attended(kernel: &str) -> Option<Attended> {
    let all = [Element::F16, Element::Bf16];
    all.into_iter().find(|element| id(*element) == kernel).map(|element| Attended { element })
}

impl Attended {
    /// Largest relative distance of two right results.
    pub fn limit(self) -> f64 {
        2.0 * prefill_limit(self.element)
    }

    /// Numbers of a result.
    pub fn count(self, shape: Shape) -> u64 {
        u64::from(shape.m) * u64::from(HEADS.heads * HEADS.head)
    }

    /// Where the result of a work lies among its slots.
    pub fn result(self, slots: &[Slot]) -> Slot {
        attention(slots).out
    }

    /// Computes it from the operands of a work, to somewhere else.
    pub fn launch(
        self,
        facts: &DeviceFacts,
        shape: Shape,
        slots: &[Slot],
        to: Slot,
    ) -> Result<Launch, String> {
        let at = Attention { out: to, ..attention(slots) };
        prefill(facts, Engine::Plain, self.element, &at, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_of_many_queries_on_tensor_cores_can_be_computed_again() {
        for (kernel, limit) in [("attn.prefill.f16", 3e-3), ("attn.prefill.bf16", 1.2e-2)] {
            let it = attended(kernel).expect(kernel);
            assert!((it.limit() - limit).abs() < 1e-9, "{kernel}: {}", it.limit());
            assert_eq!(it.count(Shape { m: 4096, ..Shape::default() }), 4096 * 2048);
        }
        for other in ["attn.prefill.f32", "attn.decode.f16", "gemm.f16"] {
            assert_eq!(attended(other), None, "{other}");
        }
    }
}
