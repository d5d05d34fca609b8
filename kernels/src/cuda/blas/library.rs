//! Functions of cuBLAS and cuBLASLt, found by name in a file somebody chose.
#![expect(unsafe_code, reason = "cuBLAS is a C library, and its functions are found by name")]

use std::ffi::{c_float, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::status::{BlasError, check};

/// The symbol only a stand-in has.
const SIMULATED: &[u8] = b"warpscope_simulated\0";

/// What the library gives out and wants back.
pub(super) type Handle = *mut c_void;

/// A guess of cuBLASLt: `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Guess {
    pub(super) algorithm: [u64; 8],
    pub(super) workspace: usize,
    pub(super) state: c_int,
    waves: c_float,
    reserved: [c_int; 4],
}

impl Guess {
    pub(super) const NONE: Self =
        Self { algorithm: [0; 8], workspace: 0, state: 0, waves: 0.0, reserved: [0; 4] };
}

/// Declares a library: its functions by our name and its own, with their parameters.
macro_rules! library {
    ($(#[$about:meta])* $type:ident { $($(#[$note:meta])* $name:ident [$symbol:literal] ($($arg:ident: $kind:ty),* $(,)?);)* }) => {
        $(#[$about])*
        pub(super) struct $type {
            $($name: unsafe extern "C" fn($($kind),*) -> u32,)*
            /// Whether it is a stand-in.
            pub(super) simulated: bool,
            /// Never unloaded: handlers it left with the process would outlive its code.
            _library: ManuallyDrop<Library>,
        }

        impl $type {
            /// Loads a file and finds everything in it.
            pub(super) fn load(path: &Path) -> Result<Self, BlasError> {
                let library = open(path)?;
                Ok(Self {
                    // SAFETY: the types are those of these names in NVIDIA's header; the library stays loaded.
                    $($name: unsafe { find(&library, path, $symbol) }?,)*
                    // SAFETY: nothing is read through the pointer.
                    simulated: unsafe { library.get::<*const c_void>(SIMULATED) }.is_ok(),
                    _library: ManuallyDrop::new(library),
                })
            }

            $(
                $(#[$note])*
                ///
                /// # Safety
                /// Pointers and handles are what the library's documentation asks for, and alive; addresses of the device lie in
                /// buffers that are large enough.
                pub(super) unsafe fn $name(&self, $($arg: $kind),*) -> Result<(), BlasError> {
                    // SAFETY: the caller vouches for the arguments.
                    check($symbol, unsafe { (self.$name)($($arg),*) })
                }
            )*
        }
    };
}

fn open(path: &Path) -> Result<Library, BlasError> {
    // SAFETY: loading runs the initialisers of NVIDIA's library, in a process that is there to be lost.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    library
        .map_err(|error| BlasError::Load(format!("{} cannot be loaded: {error}", path.display())))
}

/// # Safety
/// `F` is the type of what the name stands for.
unsafe fn find<F: Copy>(library: &Library, path: &Path, name: &str) -> Result<F, BlasError> {
    // SAFETY: the caller vouches for the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found
        .map(|found| *found)
        .map_err(|_| BlasError::Load(format!("{} has no {name}", path.display())))
}

library! {
    /// cuBLAS, from major version 11 on.
    Cublas {
        /// A handle for the context of this thread.
        create ["cublasCreate_v2"] (out: *mut Handle);
        /// Gives a handle back.
        destroy ["cublasDestroy_v2"] (handle: Handle);
        /// Where it puts its work.
        stream ["cublasSetStream_v2"] (handle: Handle, stream: *mut c_void);
        /// `120401` of 12.4.1.
        version ["cublasGetVersion_v2"] (handle: Handle, out: *mut c_int);
        /// A product of any formats.
        #[expect(clippy::too_many_arguments, reason = "as the library declares it")]
        gemm_ex ["cublasGemmEx"] (
            handle: Handle, op_a: u32, op_b: u32, m: c_int, n: c_int, k: c_int, alpha: *const c_void,
            a: u64, kind_a: u32, stride_a: c_int, b: u64, kind_b: u32, stride_b: c_int,
            beta: *const c_void, c: u64, kind_c: u32, stride_c: c_int, compute: u32, algorithm: c_int,
        );
        /// A product in binary16 throughout.
        #[expect(clippy::too_many_arguments, reason = "as the library declares it")]
        hgemm ["cublasHgemm"] (
            handle: Handle, op_a: u32, op_b: u32, m: c_int, n: c_int, k: c_int, alpha: *const c_void,
            a: u64, stride_a: c_int, b: u64, stride_b: c_int, beta: *const c_void, c: u64, stride_c: c_int,
        );
    }
}

library! {
    /// cuBLASLt, from major version 11 on.
    CublasLt {
        /// A handle for the context of this thread.
        create ["cublasLtCreate"] (out: *mut Handle);
        /// Gives a handle back.
        destroy ["cublasLtDestroy"] (handle: Handle);
        /// The description of a product.
        describe ["cublasLtMatmulDescCreate"] (out: *mut Handle, compute: u32, scale: u32);
        /// Sets one of its attributes.
        describe_more ["cublasLtMatmulDescSetAttribute"]
            (description: Handle, attribute: u32, value: *const c_void, bytes: usize);
        /// Gives it back.
        describe_end ["cublasLtMatmulDescDestroy"] (description: Handle);
        /// The layout of a matrix.
        layout ["cublasLtMatrixLayoutCreate"]
            (out: *mut Handle, kind: u32, rows: u64, columns: u64, stride: i64);
        /// Gives it back.
        layout_end ["cublasLtMatrixLayoutDestroy"] (layout: Handle);
        /// What algorithms may take; nothing at first.
        preference ["cublasLtMatmulPreferenceCreate"] (out: *mut Handle);
        /// Sets one of its attributes.
        prefer ["cublasLtMatmulPreferenceSetAttribute"]
            (preference: Handle, attribute: u32, value: *const c_void, bytes: usize);
        /// Gives it back.
        preference_end ["cublasLtMatmulPreferenceDestroy"] (preference: Handle);
        /// The algorithms that should do.
        #[expect(clippy::too_many_arguments, reason = "as the library declares it")]
        guess ["cublasLtMatmulAlgoGetHeuristic"] (
            handle: Handle, description: Handle, a: Handle, b: Handle, c: Handle, d: Handle, preference: Handle,
            wanted: c_int, out: *mut Guess, count: *mut c_int,
        );
        /// A product.
        #[expect(clippy::too_many_arguments, reason = "as the library declares it")]
        matmul ["cublasLtMatmul"] (
            handle: Handle, description: Handle, alpha: *const c_void, a: u64, layout_a: Handle, b: u64, layout_b: Handle,
            beta: *const c_void, c: u64, layout_c: Handle, d: u64, layout_d: Handle, algorithm: *const [u64; 8],
            workspace: u64, workspace_bytes: usize, stream: *mut c_void,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cublasLt.h`: 64 bytes of algorithm, a size, a status, a float, four reserved numbers.
    #[test]
    fn a_guess_is_as_large_as_the_library_writes() {
        assert_eq!(size_of::<Guess>(), 96);
    }

    #[test]
    fn what_is_no_library_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("libcublas.so.12");
        let said = |path: &Path| Cublas::load(path).err().map(|error| error.to_string());
        assert!(said(&path).is_some_and(|said| said.contains("libcublas.so.12 cannot be loaded")));
        std::fs::write(&path, b"no library").expect("writes");
        assert!(said(&path).is_some_and(|said| said.contains("cannot be loaded")));
    }
}
