//! The same product by cuBLAS, beside which a kernel's time says something.

use std::path::PathBuf;

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::cuda::blas::{Blas, BlasError, Compute, Kind, Product};
use warpscope_kernels::gpu::{BufferId, Element, GraphId, MachineError, Slot};
use warpscope_probes::trust::as_named;

use crate::tuner::contract::Work;

/// A library that does the same work.
pub(super) struct Vendor {
    blas: Blas,
    /// With nowhere to lie.
    product: Product,
    /// Bytes from a copy's start to each factor and the result.
    offsets: [u64; 3],
}

impl Vendor {
    /// The first library that loads, where one does this work. `offset` tells where an operand lies in each copy.
    pub(super) fn find(
        machine: &CudaMachine,
        paths: &[PathBuf],
        work: Work,
        (sizes, element): (&[u32], Element),
        offset: impl Fn(&str) -> Option<u64>,
    ) -> Option<Self> {
        let (product, names) = product(work, sizes, kind(element)?)?;
        let [a, b, c] = names.map(offset);
        let offsets = [a?, b?, c?];
        let open = |path| Blas::open(&as_named(path).ok()?, machine).ok();
        let blas = paths.iter().find_map(|path: &PathBuf| open(path))?;
        Some(Self { blas, product, offsets })
    }

    /// `cuBLAS-12.4.1`.
    pub(super) fn name(&self) -> String {
        self.blas
            .version()
            .map_or_else(|_| "cuBLAS".to_owned(), |version| format!("cuBLAS-{version}"))
    }

    /// Its product of the operands of one copy.
    pub(super) fn run(
        &self,
        machine: &mut CudaMachine,
        copy: BufferId,
    ) -> Result<(), MachineError> {
        self.blas.gemm_ex(machine, &self.placed(copy)).map_err(told)
    }

    /// So many of its products, the copies in turn.
    pub(super) fn record(
        &self,
        machine: &mut CudaMachine,
        copies: &[BufferId],
        launches: usize,
    ) -> Result<GraphId, MachineError> {
        machine.record_calls(|machine| {
            let turns = copies.iter().cycle().take(launches);
            turns
                .map(|copy| self.placed(*copy))
                .try_for_each(|product| self.blas.put_gemm_ex(machine, &product).map_err(told))
        })
    }

    fn placed(&self, buffer: BufferId) -> Product {
        let places = self.offsets.map(|offset| Slot { buffer, offset });
        Product { places, ..self.product.clone() }
    }
}

fn told(error: BlasError) -> MachineError {
    match error {
        BlasError::Machine(error) => error,
        other => MachineError::Refused { why: other.to_string() },
    }
}

fn kind(element: Element) -> Option<Kind> {
    match element {
        Element::F32 => Some(Kind::F32),
        Element::F16 => Some(Kind::F16),
        Element::Bf16 => Some(Kind::Bf16),
        _ => None,
    }
}

/// A contract as cuBLAS sees it, to whom what lies row by row is transposed; and its operands by name.
fn product(work: Work, sizes: &[u32], kind: Kind) -> Option<(Product, [&'static str; 3])> {
    let ([m, n, k], transposed, strides, names) = match (work, sizes) {
        (Work::Gemv, &[n, k]) => ([n, 1, k], true, [k, k, n], ["w", "x", "y"]),
        // Cᵀ = Bᵀ·Aᵀ
        (Work::Gemm, &[m, n, k]) => ([n, m, k], false, [n, k, n], ["b", "a", "c"]),
        _ => return None,
    };
    let places = [Slot { buffer: BufferId(0), offset: 0 }; 3];
    let (from, to, compute) = (kind, kind, Compute::F32);
    let fast_sums = false;
    Some((Product { m, n, k, transposed, from, to, compute, fast_sums, strides, places }, names))
}
