//! The program `moreau`: the viewer, and the same without a window.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
