//! NVIDIA's compiler of CUDA C++, NVRTC, loaded from a file named by the caller.
#![expect(unsafe_code, reason = "NVRTC is a C library")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use libloading::{Library, Symbol};

/// An `nvrtcProgram`.
type Program = *mut u8;
/// `nvrtcGetPTXSize` and `nvrtcGetProgramLogSize`.
type SizeOf = unsafe extern "C" fn(Program, *mut usize) -> c_int;
/// `nvrtcGetPTX` and `nvrtcGetProgramLog`.
type TextOf = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
/// `nvrtcCreateProgram`.
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// PTX, for a virtual architecture: `--gpu-architecture=compute_90`.
    Ptx,
    /// An image, for a real one: `--gpu-architecture=sm_90`.
    Cubin,
}

/// The loaded library.
pub struct Nvrtc {
    library: Library,
}

/// A source text and what it includes, by name: without options that name folders no path reaches the compiler, so none can
/// reach its output.
pub struct Unit<'a> {
    /// Name of the source.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Names and texts of headers.
    pub headers: &'a [(String, String)],
}

impl Nvrtc {
    /// Loads the library.
    pub fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: what NVRTC runs when it is loaded has no precondition; the path is the one the developer named.
        let library = unsafe { Library::new(path) };
        Ok(Self { library: library.map_err(|error| format!("{}: {error}", path.display()))? })
    }

    /// Compiles; the compiler's own words where it does not.
    pub fn compile(
        &self,
        unit: &Unit<'_>,
        options: &[&str],
        output: Output,
    ) -> Result<Vec<u8>, String> {
        let program = self.create(unit)?;
        let result = self.compile_program(program, options, output);
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        let destroy = self.symbol::<Destroy>("nvrtcDestroyProgram")?;
        let mut program = program;
        // SAFETY: the program was created above, is destroyed once, and `result` owns its text.
        unsafe { destroy(&raw mut program) };
        result
    }

    fn create(&self, unit: &Unit<'_>) -> Result<Program, String> {
        let name = c_string(unit.name)?;
        let text = c_string(unit.text)?;
        let all = |part: fn(&(String, String)) -> &str| {
            let strings = unit.headers.iter().map(|header| c_string(part(header)));
            strings.collect::<Result<Vec<_>, _>>()
        };
        let (names, texts) = (all(|header| &header.0)?, all(|header| &header.1)?);
        let (name_list, text_list) = (pointers(&names), pointers(&texts));
        let count = c_int::try_from(names.len()).map_err(|_| "too many headers")?;
        let create = self.symbol::<Create>("nvrtcCreateProgram")?;
        let mut program = ptr::null_mut();
        let (text, name) = (text.as_ptr(), name.as_ptr());
        let (texts, names) = (text_list.as_ptr(), name_list.as_ptr());
        // SAFETY: both lists have `count` pointers to strings that end with zero and outlive the call, which copies them.
        let status = unsafe { create(&raw mut program, text, name, count, texts, names) };
        if status == 0 { Ok(program) } else { Err(self.error(status)) }
    }

    fn compile_program(
        &self,
        program: Program,
        options: &[&str],
        output: Output,
    ) -> Result<Vec<u8>, String> {
        let options =
            options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let list = pointers(&options);
        let count = c_int::try_from(list.len()).map_err(|_| "too many options")?;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        let compile = self.symbol::<Compile>("nvrtcCompileProgram")?;
        // SAFETY: the program is alive and the list has `count` pointers to strings that end with zero.
        let status = unsafe { compile(program, count, list.as_ptr()) };
        if status != 0 {
            let log = self.bytes(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
            let log = String::from_utf8_lossy(text(&log)).trim().to_owned();
            return Err(format!("{}\n{log}", self.error(status)).trim_end().to_owned());
        }
        match output {
            Output::Ptx => {
                let ptx = self.bytes(program, "nvrtcGetPTXSize", "nvrtcGetPTX")?;
                Ok(text(&ptx).to_vec())
            }
            Output::Cubin => self.bytes(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN"),
        }
    }

    /// Something of a program, by the function that tells its size and the one that writes it.
    fn bytes(&self, program: Program, size: &str, text: &str) -> Result<Vec<u8>, String> {
        let (size_of, text_of) = (self.symbol::<SizeOf>(size)?, self.symbol::<TextOf>(text)?);
        let mut bytes = 0;
        // SAFETY: the program is alive and the size is written to a local.
        let status = unsafe { size_of(program, &raw mut bytes) };
        if status != 0 {
            return Err(self.error(status));
        }
        let mut buffer = vec![0_u8; bytes.max(1)];
        // SAFETY: the buffer has as many bytes as the library has just said it writes, the zero included.
        let status = unsafe { text_of(program, buffer.as_mut_ptr().cast()) };
        if status != 0 {
            return Err(self.error(status));
        }
        buffer.truncate(bytes);
        Ok(buffer)
    }

    fn symbol<T>(&self, name: &str) -> Result<Symbol<'_, T>, String> {
        // SAFETY: callers name a function of nvrtc.h and its type as declared there.
        unsafe { self.library.get(name.as_bytes()) }.map_err(|error| error.to_string())
    }

    fn error(&self, status: c_int) -> String {
        type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;
        let Ok(error_text) = self.symbol::<ErrorText>("nvrtcGetErrorString") else {
            return format!("NVRTC returned {status}");
        };
        // SAFETY: takes any number and returns a constant string.
        let text = unsafe { CStr::from_ptr(error_text(status)) };
        format!("NVRTC returned {status} ({})", text.to_string_lossy())
    }
}

/// A text without the zero at its end.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| "the source holds a zero byte".to_owned())
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).collect()
}
