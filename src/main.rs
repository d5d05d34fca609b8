//! The binary: hands over to the library.

fn main() -> std::process::ExitCode {
    warpscope::commands::main()
}
