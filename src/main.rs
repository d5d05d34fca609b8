//! The binary: hands over to the library.

fn main() -> std::process::ExitCode {
    warpscope::cli::main()
}
