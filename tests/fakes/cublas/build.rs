//! Gives the library the name by which programs ask for cuBLAS.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcublas.so.12");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
