//! Gives the library the name by which programs ask for cuBLAS.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcublas.so.12");
        // It finds its own functions itself, so that a test can cut a name out of it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
