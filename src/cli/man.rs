//! `moreau man`: manual pages.

use clap::{Args, Command};
use clap_mangen::Man;

use super::{Failure, print};

/// Arguments of `man`.
#[derive(Args, Clone, Debug)]
pub struct ManArgs {
    /// The command whose page is written, such as `run` [default: the program's own page]
    command: Option<String>,
}

/// Writes a page.
pub fn run(args: &ManArgs, mut program: Command) -> Result<(), Failure> {
    // Names the commands' pages as `man` looks for them: moreau-run.
    program.build();
    let command = match &args.command {
        None => &program,
        Some(name) => program.find_subcommand(name).ok_or_else(|| {
            let names = program.get_subcommands().map(Command::get_name);
            let names = names.filter(|name| *name != "help").collect::<Vec<_>>();
            Failure::Input(format!(
                "there is no command \"{name}\"; there are: {}",
                names.join(", ")
            ))
        })?,
    };
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}
