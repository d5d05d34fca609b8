//! Whether the kernel started this process with rights its caller has not.
#![expect(unsafe_code, reason = "the auxiliary vector is read by a function of the C library")]

/// `AT_SECURE`: the program is setuid or setgid, has capabilities from its file, or a security module says so.
pub(super) fn is_secure() -> bool {
    // SAFETY: the function takes any number and reads what the kernel left to this process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
