//! `moreau completions`: what a shell needs to complete commands, options and values.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;
use moreau::scene::library;
use moreau::solve::SOLVERS;

use super::{Failure, print};

/// Arguments of `completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes a shell's script.
pub fn run(args: &CompletionsArgs, program: Command) -> Result<(), Failure> {
    let mut program = program
        .mut_args(|arg| with_names(arg, args.shell))
        .mut_subcommands(|command| command.mut_args(|arg| with_names(arg, args.shell)));
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "moreau", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Offers the names of solvers and scenes.
fn with_names(arg: clap::Arg, shell: Shell) -> clap::Arg {
    match arg.get_id().as_str() {
        "solver" => arg.value_parser(PossibleValuesParser::new(SOLVERS.iter().map(|s| s.name))),
        // Only bash goes on to files where no name fits; elsewhere names would be all that there is.
        "scene" | "scenes" if shell == Shell::Bash => {
            arg.value_parser(PossibleValuesParser::new(library::shipped_names()))
        }
        _ => arg,
    }
}
