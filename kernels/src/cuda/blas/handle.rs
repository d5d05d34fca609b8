//! Handles of the libraries, and products by them. Each handle is given back when it is dropped, before its library and context are.
#![expect(unsafe_code, reason = "handles of cuBLAS and products by addresses of the device")]

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;

use super::library::{Cublas, CublasLt, Guess, Handle};
use super::product::{Compute, Kind, Product};
use super::status::BlasError;
use crate::cuda::CudaMachine;
use crate::cuda::context::Context;
use crate::gpu::{MachineError, Slot};

/// `CUBLAS_OP_N` and `CUBLAS_OP_T`.
const AS_IT_LIES: u32 = 0;
const TRANSPOSED: u32 = 1;
/// `CUBLAS_GEMM_DEFAULT_TENSOR_OP`, which torch asks for.
const TENSOR_OP: c_int = 99;
/// `CUBLASLT_MATMUL_DESC_TRANSA`.
const TRANSPOSE_A: u32 = 3;
/// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`, a byte.
const FAST_SUMS: u32 = 25;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`.
const MAX_WORKSPACE: u32 = 1;
/// `CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES` and its like for B, C and D; what is not set counts as 256.
const MIN_ALIGNMENT: [u32; 4] = [5, 6, 7, 8];
/// Alignment that no algorithm asks more than.
const BEST_ALIGNMENT: u64 = 256;

/// cuBLAS on a device.
pub struct Blas {
    handle: Handle,
    blas: Cublas,
    lt: Result<Lt, BlasError>,
    path: PathBuf,
    _context: Rc<Context>,
}

/// cuBLASLt on a device.
struct Lt {
    handle: Handle,
    library: CublasLt,
}

impl Blas {
    /// Loads `libcublas` from a file, with the `libcublasLt` beside it, for a device. A stand-in for the device takes stand-ins
    /// for the libraries only.
    pub fn open(path: &Path, machine: &CudaMachine) -> Result<Self, BlasError> {
        // cuBLAS needs the other one and takes what was loaded under its name before.
        let lt = Lt::open(path, machine.simulated());
        let blas = Cublas::load(path)?;
        same_world(path, blas.simulated, machine.simulated())?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is written; the machine's context is bound to this thread.
        unsafe { blas.create(&raw mut handle) }?;
        let context = Rc::clone(machine.context());
        let path = path.to_owned();
        let open = Self { handle, blas, lt, path, _context: context };
        // SAFETY: handle and stream live.
        unsafe { open.blas.stream(handle, machine.stream_pointer()) }?;
        Ok(open)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `12.4.1`, as the library itself says.
    pub fn version(&self) -> Result<String, BlasError> {
        let mut number = 0;
        // SAFETY: `number` is written; the handle lives.
        unsafe { self.blas.version(self.handle, &raw mut number) }?;
        Ok(version_text(number))
    }

    /// One product by `cublasGemmEx`.
    pub fn gemm_ex(&self, machine: &mut CudaMachine, product: &Product) -> Result<(), BlasError> {
        let put = self.put_gemm_ex(machine, product);
        waited(machine, put)
    }

    /// The same, put into the stream and not waited for: in a recording, for one.
    pub fn put_gemm_ex(&self, machine: &CudaMachine, product: &Product) -> Result<(), BlasError> {
        let [a, b, c] = places(machine, product)?;
        let [m, n, k, stride_a, stride_b, stride_c] = product.numbers()?;
        let (from, to) = (product.from as u32, product.to as u32);
        let [one, zero] = product.compute.factors();
        let (one, zero) = (one.as_ptr().cast::<c_void>(), zero.as_ptr().cast::<c_void>());
        // SAFETY: the handle lives; the operands lie in buffers, which live until the stream was waited for; the factors have the
        // format that goes with what is computed in.
        unsafe {
            self.blas.gemm_ex(
                self.handle,
                if product.transposed { TRANSPOSED } else { AS_IT_LIES },
                AS_IT_LIES,
                m,
                n,
                k,
                one,
                a,
                from,
                stride_a,
                b,
                from,
                stride_b,
                zero,
                c,
                to,
                stride_c,
                product.compute as u32,
                TENSOR_OP,
            )
        }
    }

    /// One product by `cublasHgemm`, binary16 throughout.
    pub fn hgemm(&self, machine: &mut CudaMachine, product: &Product) -> Result<(), BlasError> {
        if (product.from, product.to) != (Kind::F16, Kind::F16) || !product.transposed {
            return Err(
                MachineError::refused("cublasHgemm is asked for C = Aᵀ·B in 16F only").into()
            );
        }
        let [a, b, c] = places(machine, product)?;
        let [m, n, k, stride_a, stride_b, stride_c] = product.numbers()?;
        let [one, zero] = Compute::F16.factors();
        let (one, zero) = (one.as_ptr().cast::<c_void>(), zero.as_ptr().cast::<c_void>());
        // SAFETY: as above.
        let put = unsafe {
            self.blas.hgemm(
                self.handle,
                TRANSPOSED,
                AS_IT_LIES,
                m,
                n,
                k,
                one,
                a,
                stride_a,
                b,
                stride_b,
                zero,
                c,
                stride_c,
            )
        };
        waited(machine, put)
    }

    /// One product by `cublasLtMatmul`, with the algorithm the library thinks best and no workspace.
    pub fn lt_matmul(&self, machine: &mut CudaMachine, product: &Product) -> Result<(), BlasError> {
        self.prepare(machine, product, None)?.run(machine)
    }

    /// A product by `cublasLtMatmul` with the algorithm the library thinks best where it may use so much memory, chosen once for any number of times.
    pub fn prepare(
        &self,
        machine: &CudaMachine,
        product: &Product,
        workspace: Option<Workspace>,
    ) -> Result<Prepared<'_>, BlasError> {
        let mut all = self.prepare_all(machine, product, workspace, 1)?;
        Ok(all.swap_remove(0))
    }

    /// The same with up to so many algorithms, the one the library thinks best first; at least one.
    pub fn prepare_all(
        &self,
        machine: &CudaMachine,
        product: &Product,
        workspace: Option<Workspace>,
        most: usize,
    ) -> Result<Vec<Prepared<'_>>, BlasError> {
        let lt = self.lt.as_ref().map_err(Clone::clone)?;
        if !product.transposed {
            return Err(MachineError::refused("cublasLtMatmul is asked for C = Aᵀ·B only").into());
        }
        let room = workspace.map_or(0, |workspace| workspace.bytes);
        let described = Described::new(&lt.library, product, room)?;
        described.promise(places(machine, product)?.map(alignment))?;
        let algorithms = lt.algorithms(&described, room, most)?;
        let described = Rc::new(described);
        let prepared = |algorithm| Prepared {
            lt,
            described: Rc::clone(&described),
            algorithm,
            product: product.clone(),
            workspace,
        };
        Ok(algorithms.into_iter().map(prepared).collect())
    }
}

/// Memory of the device that a library may use while it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Where it begins.
    pub place: Slot,
    /// How much it is.
    pub bytes: u64,
}

/// A product of cuBLASLt that was chosen an algorithm.
pub struct Prepared<'b> {
    lt: &'b Lt,
    described: Rc<Described<'b>>,
    algorithm: [u64; 8],
    product: Product,
    workspace: Option<Workspace>,
}

impl Prepared<'_> {
    /// Computes it once.
    pub fn run(&self, machine: &mut CudaMachine) -> Result<(), BlasError> {
        let put = self.put(machine);
        waited(machine, put)
    }

    /// Puts it into the stream and does not wait for it: in a recording, for one.
    pub fn put(&self, machine: &CudaMachine) -> Result<(), BlasError> {
        let [a, b, c] = places(machine, &self.product)?;
        let workspace = match self.workspace {
            Some(Workspace { place, bytes }) => (machine.place(place, bytes)?, bytes as usize),
            None => (0, 0),
        };
        let [one, zero] = self.product.compute.factors();
        let (one, zero) = (one.as_ptr().cast::<c_void>(), zero.as_ptr().cast::<c_void>());
        let Described { description, layouts: [of_a, of_b, of_c], .. } = *self.described;
        // SAFETY: handles live; operands and workspace lie in buffers, which live until the stream was waited for; the algorithm was
        // chosen for this very product and wants no more than that workspace.
        unsafe {
            self.lt.library.matmul(
                self.lt.handle,
                description,
                one,
                a,
                of_a,
                b,
                of_b,
                zero,
                c,
                of_c,
                c,
                of_c,
                &raw const self.algorithm,
                workspace.0,
                workspace.1,
                machine.stream_pointer(),
            )
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once.
        let _nobody_to_tell = unsafe { self.blas.destroy(self.handle) };
    }
}

impl Lt {
    /// The `libcublasLt` beside a `libcublas`.
    fn open(blas: &Path, simulated: bool) -> Result<Self, BlasError> {
        let name = blas.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let path = blas.with_file_name(name.replacen("libcublas", "libcublasLt", 1));
        let library = CublasLt::load(&path)?;
        same_world(&path, library.simulated, simulated)?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is written; a context is bound to this thread.
        unsafe { library.create(&raw mut handle) }?;
        Ok(Self { handle, library })
    }

    /// The algorithms for a product, the one the library thinks best first; that it knows none is its refusal.
    fn algorithms(
        &self,
        described: &Described<'_>,
        room: u64,
        most: usize,
    ) -> Result<Vec<[u64; 8]>, BlasError> {
        const CALL: &str = "cublasLtMatmulAlgoGetHeuristic";
        const NOT_SUPPORTED: u32 = 15;
        let Described { description, layouts: [a, b, c], preference, .. } = *described;
        let (mut guesses, mut count) = (vec![Guess::NONE; most.max(1)], 0);
        let wanted = c_int::try_from(guesses.len()).unwrap_or(1);
        let (guesses_out, count_out) = (guesses.as_mut_ptr(), &raw mut count);
        // SAFETY: handles live; there is room for as many guesses as are wanted, and the count is written.
        unsafe {
            self.library.guess(
                self.handle,
                description,
                a,
                b,
                c,
                c,
                preference,
                wanted,
                guesses_out,
                count_out,
            )
        }?;
        guesses.truncate(usize::try_from(count).unwrap_or(0));
        let refusal = guesses.first().and_then(|guess| u32::try_from(guess.state).ok());
        let fits = |guess: &Guess| guess.state == 0 && guess.workspace as u64 <= room;
        let algorithms: Vec<_> =
            guesses.into_iter().filter(fits).map(|guess| guess.algorithm).collect();
        if algorithms.is_empty() {
            let code = refusal.filter(|code| *code > 0).unwrap_or(NOT_SUPPORTED);
            return Err(BlasError::Status { call: CALL, code });
        }
        Ok(algorithms)
    }
}

impl Drop for Lt {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once.
        let _nobody_to_tell = unsafe { self.library.destroy(self.handle) };
    }
}

/// A product as cuBLASLt wants it described.
struct Described<'l> {
    library: &'l CublasLt,
    description: Handle,
    layouts: [Handle; 3],
    preference: Handle,
}

impl<'l> Described<'l> {
    fn new(library: &'l CublasLt, product: &Product, room: u64) -> Result<Self, BlasError> {
        let none = ptr::null_mut();
        // What was made so far is given back when a later step fails.
        let mut made = Self { library, description: none, layouts: [none; 3], preference: none };
        let (compute, scale) = (product.compute as u32, product.compute.scale() as u32);
        // SAFETY: the description is written.
        unsafe { library.describe(&raw mut made.description, compute, scale) }?;
        let transposed = TRANSPOSED.to_ne_bytes();
        let transposed = transposed.as_ptr().cast::<c_void>();
        // SAFETY: the description lives; the value has four bytes.
        unsafe { library.describe_more(made.description, TRANSPOSE_A, transposed, 4) }?;
        if product.fast_sums {
            let yes = 1_i8;
            let yes = (&raw const yes).cast::<c_void>();
            // SAFETY: the description lives; the value has one byte.
            unsafe { library.describe_more(made.description, FAST_SUMS, yes, 1) }?;
        }
        product.numbers()?;
        let (m, n, k) = (product.m.into(), product.n.into(), product.k.into());
        let lie = [(product.from, k, m), (product.from, k, n), (product.to, m, n)];
        for (at, (kind, rows, columns)) in lie.into_iter().enumerate() {
            let stride = product.strides[at].into();
            let out = &raw mut made.layouts[at];
            // SAFETY: the layout is written.
            unsafe { library.layout(out, kind as u32, rows, columns, stride) }?;
        }
        // SAFETY: the preference is written.
        unsafe { library.preference(&raw mut made.preference) }?;
        let room = room.to_ne_bytes();
        let room = room.as_ptr().cast::<c_void>();
        // SAFETY: the preference lives; the value has eight bytes.
        unsafe { library.prefer(made.preference, MAX_WORKSPACE, room, 8) }?;
        Ok(made)
    }
}

impl Described<'_> {
    /// Says how the operands are aligned: algorithms that load more at once than that do not come into question.
    fn promise(&self, [a, b, c]: [u32; 3]) -> Result<(), BlasError> {
        MIN_ALIGNMENT.into_iter().zip([a, b, c, c]).try_for_each(|(attribute, alignment)| {
            let value = (&raw const alignment).cast::<c_void>();
            // SAFETY: the preference lives; the value has four bytes.
            unsafe { self.library.prefer(self.preference, attribute, value, 4) }
        })
    }
}

impl Drop for Described<'_> {
    fn drop(&mut self) {
        // SAFETY: each was created and is destroyed once; what was not is null.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _nobody_to_tell = self.library.layout_end(layout);
            }
            if !self.preference.is_null() {
                let _nobody_to_tell = self.library.preference_end(self.preference);
            }
            if !self.description.is_null() {
                let _nobody_to_tell = self.library.describe_end(self.description);
            }
        }
    }
}

/// A real library would not know what to make of a stand-in for the driver.
fn same_world(path: &Path, library: bool, machine: bool) -> Result<(), BlasError> {
    if library == machine {
        return Ok(());
    }
    let why = "a fake and a real library cannot be combined";
    Err(BlasError::Load(format!("{}: {why}", path.display())))
}

/// Waits for a call. What ended the context counts before the status of the call, which may only be a consequence of it.
fn waited(machine: &mut CudaMachine, put: Result<(), BlasError>) -> Result<(), BlasError> {
    machine.wait()?;
    put
}

/// The largest power of two that divides an address, as far as algorithms care.
fn alignment(address: u64) -> u32 {
    1 << (address | BEST_ALIGNMENT).trailing_zeros()
}

/// Addresses of the operands, each with all it takes inside its buffer.
fn places(machine: &CudaMachine, product: &Product) -> Result<[u64; 3], BlasError> {
    let [a, b, c] = product.bytes();
    let [of_a, of_b, of_c] = product.places;
    Ok([machine.place(of_a, a)?, machine.place(of_b, b)?, machine.place(of_c, c)?])
}

/// `12.4.5` of 120405.
fn version_text(number: c_int) -> String {
    let number = number.max(0);
    format!("{}.{}.{}", number / 10_000, number % 10_000 / 100, number % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_divides_the_address() {
        for (address, want) in [
            (0, 256),
            (0x7f00_0000_0200, 256),
            (0x7f00_0000_0100, 256),
            (0x7f00_0000_0110, 16),
            (0x7f00_0000_0202, 2),
            (0x7f00_0000_0201, 1),
        ] {
            assert_eq!(alignment(address), want, "{address:x}");
        }
    }

    /// `cublas_api.h`: `CUBLAS_VERSION` is 10000·major + 100·minor + patch: of 12.4.5 120405, of 11.11.3 111103.
    #[test]
    fn versions_are_those_of_the_header() {
        assert_eq!(version_text(120_405), "12.4.5");
        assert_eq!(version_text(111_103), "11.11.3");
        assert_eq!(version_text(130_200), "13.2.0");
        assert_eq!(version_text(-1), "0.0.0");
    }
}
