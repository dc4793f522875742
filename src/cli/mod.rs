//! The command line; one file per command.

mod bench;
mod choices;
mod compare;
mod completions;
mod contestants;
mod energy;
mod export;
mod interrupt;
mod limits;
mod man;
mod outputs;
mod record;
#[cfg(feature = "viewer")]
mod render;
mod replay;
mod rows;
mod run;
mod scenes;
#[cfg(feature = "viewer")]
mod sheet;
mod solve;
mod solvers;
mod validate;
mod verify;
#[cfg(feature = "viewer")]
mod view;
mod worst;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use moreau::check::nearest;
use moreau::file::{self, Content};
use moreau::papers;
use moreau::scene::{Scene, SceneError, library};
use moreau::solve::ConfigError;
use moreau::step::StepError;
#[cfg(feature = "viewer")]
use moreau::viewer::RenderError;
#[cfg(feature = "viewer")]
use {render::run as render_pictures, view::run as open_viewer};

/// What the help of the program ends with.
const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 the work failed (a step was not taken, a solver failed, a limit was exceeded, a replay \
differs, a law does not hold); 2 bad arguments or a bad file; 130, or 128 and the signal's number, interrupted: what was done until then is written.";

/// A rigid-body simulator whose contact solvers are the point.
#[derive(Debug, Parser)]
#[command(
    name = "moreau",
    version,
    about,
    after_help = AFTER_HELP,
    max_term_width = 80,
    args_conflicts_with_subcommands = true
)]
struct Cli {
    #[command(flatten)]
    view: ViewArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate a scene without a window and report on it
    Run(run::RunArgs),
    /// Solve the same steps of scenes with several solvers, and compare them under one residual
    Compare(compare::CompareArgs),
    /// Solve a problem file with one solver or several
    Solve(solve::SolveArgs),
    /// Take the steps of a recording again, and say where they differ
    Replay(replay::ReplayArgs),
    /// Write the problem of a step to a file that `moreau solve` reads
    Export(export::ExportArgs),
    /// Solve the papers' problems and print their tables with our figures beside theirs
    Bench(bench::BenchArgs),
    /// Draw a scene off screen, without a window, as one picture or a sequence
    Render(RenderArgs),
    /// Try laws of mechanics whose answer is known: what was expected, what was found, and the order in h
    Verify(verify::VerifyArgs),
    /// Check scene files without running them
    Validate(validate::ValidateArgs),
    /// List the scenes
    Scenes(scenes::ScenesArgs),
    /// List the solvers with their parameters
    Solvers(solvers::SolversArgs),
    /// Write the completions of a shell to standard output
    ///
    /// bash: moreau completions bash > ~/.local/share/bash-completion/completions/moreau
    ///
    /// zsh: moreau completions zsh > FOLDER/_moreau, into a folder of $fpath
    ///
    /// fish: moreau completions fish > ~/.config/fish/completions/moreau.fish
    Completions(completions::CompletionsArgs),
    /// Write a manual page to standard output
    ///
    /// To read it: moreau man run | man -l -
    ///
    /// To keep it: moreau man run > FOLDER/man1/moreau-run.1, into a folder of MANPATH
    Man(man::ManArgs),
}

/// Which scene, and what is changed in it.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("solver", |arg| arg.alias("solvers")))]
pub struct SceneArgs {
    /// A scene file, or the name of a shipped scene (see `moreau scenes`)
    pub scene: String,
    #[command(flatten)]
    pub changes: Changes,
}

/// What is changed in a scene before it is used.
#[derive(Args, Clone, Debug, Default)]
pub struct Changes {
    /// Use this solver, with its own default parameters and the scene's budget; a direct one gets as many
    /// iterations as it needs, and one that follows a direct one the default
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,
    /// Set any value of the scene or solver: generators.0.size=24, solver.budget.iterations=200
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

/// Arguments of the viewer.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// A scene file, or the name of a shipped scene; opens the viewer
    pub scene: Option<String>,
    #[cfg(feature = "viewer")]
    #[command(flatten)]
    window: view::WindowArgs,
}

/// Arguments of `render`.
#[derive(Args, Clone, Debug)]
pub struct RenderArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Simulated time at which the picture is taken, or that the sequence covers (s)
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// Width and height in pixels
    #[arg(long, default_value = "1280x720", value_name = "WxH", value_parser = size)]
    pub size: (u32, u32),
    /// Where to write: a file ending in .png for one picture, or a folder, made if there is none, for a sequence
    #[arg(long, value_name = "PNG|DIR", value_parser = pictures)]
    pub out: Pictures,
}

/// Where pictures go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// One picture, into this file.
    One(PathBuf),
    /// A sequence, into this folder.
    Sequence(PathBuf),
}

/// How a command writes what it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Tables for people
    #[default]
    Text,
    /// One JSON value
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// Why a command ends with an exit code other than 0.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A bad scene, or changes that do not fit it.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A solver or parameters that there are not.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Other bad arguments and files.
    #[error("{0}")]
    Input(String),
    /// An experiment that cannot be done.
    #[error(transparent)]
    Paper(#[from] papers::Error),
    /// A step that was not taken.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A picture that cannot be drawn.
    #[cfg(feature = "viewer")]
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Values that make no table.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A file that cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Other work that failed.
    #[error("{0}")]
    Work(String),
    /// Work that Ctrl-C or another signal ended before it was done.
    #[error("interrupted after step {0} of {1}")]
    Interrupted(u64, u64),
}

impl Failure {
    /// 2 for bad arguments and bad files, 1 for work that failed, another for work that was interrupted.
    fn exit_code(&self) -> u8 {
        use papers::Error::{Config, NoScene, Scene};
        match self {
            Self::Scene(_) | Self::Config(_) | Self::Input(_) => 2,
            Self::Paper(Scene(_) | Config(_) | NoScene(..)) => 2,
            Self::Interrupted(..) => interrupt::exit_code(),
            _ => 1,
        }
    }
}

/// Writes a file as a whole or not at all.
fn save(what: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let saved = file::save(path, bytes);
    saved.map_err(|e| Failure::Input(unwritable(what, path, &e)))
}

/// Reads a file, and what is in it.
fn load<T, E: Display>(
    path: &Path,
    content: Content,
    read: impl FnOnce(Vec<u8>) -> Result<T, E>,
) -> Result<T, Failure> {
    let unreadable = |e: &dyn Display| Failure::Input(format!("{}: {e}", path.display()));
    let bytes = content.read(path).map_err(|e| unreadable(&e))?;
    read(bytes).map_err(|e| unreadable(&e))
}

/// Says that a file or folder that was asked for cannot be made.
fn unwritable(what: &str, path: &Path, error: &io::Error) -> String {
    format!("{}: the {what} cannot be written: {error}", path.display())
}

/// Reads the arguments, runs the command, and turns its outcome into the exit code.
pub fn main() -> ExitCode {
    // clap ends the program itself, with 2 on bad arguments.
    // What is below zero is refused as a value, and not taken for an option.
    let command = Cli::command().mut_subcommands(|command| command.allow_negative_numbers(true));
    let parsed = command.try_get_matches();
    let parsed = parsed.and_then(|found| Cli::from_arg_matches(&found));
    let cli = parsed.unwrap_or_else(|error| with_command(error).exit());
    let outcome = match &cli.command {
        None => open_viewer(&cli.view),
        Some(Command::Run(args)) => run::run(args),
        Some(Command::Compare(args)) => compare::run(args),
        Some(Command::Solve(args)) => solve::run(args),
        Some(Command::Replay(args)) => replay::run(args),
        Some(Command::Export(args)) => export::run(args),
        Some(Command::Bench(args)) => bench::run(args),
        Some(Command::Render(args)) => render_pictures(args),
        Some(Command::Verify(args)) => verify::run(args),
        Some(Command::Validate(args)) => validate::run(args),
        Some(Command::Scenes(args)) => scenes::run(args),
        Some(Command::Solvers(args)) => solvers::run(args),
        Some(Command::Completions(args)) => completions::run(args, Cli::command()),
        Some(Command::Man(args)) => man::run(args, Cli::command()),
    };
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    // Nothing more can be done when standard error is closed too.
    let _ = writeln!(io::stderr(), "moreau: {failure}");
    ExitCode::from(failure.exit_code())
}

/// The command that somebody meant who wrote `word`. A word that is no command is taken for a scene.
fn meant_command(word: &str) -> Option<String> {
    let cli = Cli::command();
    let names = cli.get_subcommands().map(clap::Command::get_name);
    nearest(word, names).map(str::to_owned)
}

/// Adds the command that was meant where a slip of the pen made it a scene, and its arguments too many.
fn with_command(mut error: clap::Error) -> clap::Error {
    let is_of_scene = [ErrorKind::UnknownArgument, ErrorKind::ArgumentConflict];
    let first = std::env::args().nth(1).unwrap_or_default();
    if is_of_scene.contains(&error.kind())
        && let Some(command) = meant_command(&first).filter(|command| *command != first)
    {
        let tip = format!("did you mean the command `{command}` where it says `{first}`?");
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// Opens the viewer's scene. What is neither a scene nor a command may be meant as a command.
fn open_scene(name: &str) -> Result<Scene, Failure> {
    library::open(name).map_err(|error| match (&error, meant_command(name)) {
        (SceneError::Read { .. }, Some(command)) => Failure::Input(format!(
            "{name}: there is neither a scene nor a command of this name; did you mean the command `{command}`?"
        )),
        _ => error.into(),
    })
}

#[cfg(not(feature = "viewer"))]
fn open_viewer(args: &ViewArgs) -> Result<(), Failure> {
    let scene = args.scene.as_deref().unwrap_or(library::DEFAULT_SCENE);
    // A bad scene is worth more words than a missing viewer.
    open_scene(scene)?;
    Err(Failure::Input(format!(
        "this build has no viewer (feature \"viewer\"). Without a window, `moreau run {scene}` simulates \
         the scene; a build with the viewer also has `moreau render {scene} --out picture.png`"
    )))
}

#[cfg(not(feature = "viewer"))]
fn render_pictures(args: &RenderArgs) -> Result<(), Failure> {
    args.scene.open()?;
    let RenderArgs {
        seconds,
        size: (width, height),
        out: Pictures::One(path) | Pictures::Sequence(path),
        ..
    } = args;
    Err(Failure::Input(format!(
        "this build has no viewer (feature \"viewer\"), so that it cannot draw {seconds} s at \
         {width}x{height} into {}; `moreau run` simulates without drawing",
        path.display()
    )))
}

impl SceneArgs {
    /// Opens the scene with the changes made.
    ///
    /// # Errors
    /// A bad scene, or changes that do not fit it.
    pub fn open(&self) -> Result<Scene, Failure> {
        let mut scene = library::open(&self.scene)?;
        self.changes.apply(&mut scene)?;
        Ok(scene)
    }
}

impl Changes {
    /// Makes the changes: the solver first, then the values in the order given.
    ///
    /// # Errors
    /// An unknown solver, a path that leads nowhere, or a value that does not fit.
    pub fn apply(&self, scene: &mut Scene) -> Result<(), Failure> {
        if let Some(name) = &self.solver {
            scene.solver.switch(name);
            scene.solver.check()?;
        }
        let set: Vec<_> = self
            .set
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        Ok(scene.set_all(&set)?)
    }
}

/// Writes to standard output. A reader that has gone away (`| head`) is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => {
            Ok((path.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected PATH=VALUE, such as generators.0.size=24".into()),
    }
}

/// A length of simulated time, from 0 to a year.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(t) if (0.0..=3.2e7).contains(&t) => Ok(t),
        _ => Err("expected a time in seconds, 0 or more".into()),
    }
}

/// A file ending in .png, or a folder. A folder that there is not yet has no extension, or a slash at the end:
/// whoever writes `a.jpg` wants a picture.
fn pictures(text: &str) -> Result<Pictures, String> {
    let path = PathBuf::from(text);
    let is_folder = path.is_dir() || text.ends_with(std::path::is_separator);
    match path.extension() {
        Some(png) if !is_folder && png.eq_ignore_ascii_case("png") => Ok(Pictures::One(path)),
        Some(other) if !is_folder => Err(format!(
            ".{} cannot be written; expected a file ending in .png for one picture, or a folder for a sequence \
             (with a slash at the end if its name has a dot)",
            other.display()
        )),
        _ => Ok(Pictures::Sequence(path)),
    }
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text
        .split_once('x')
        .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    match sides {
        Some((w, h)) if (1..=16384).contains(&w) && (1..=16384).contains(&h) => Ok((w, h)),
        _ => Err("expected WIDTHxHEIGHT in pixels, each from 1 to 16384, such as 1280x720".into()),
    }
}

#[cfg(test)]
mod tests {
    use moreau::solve::{self, Budget};

    use super::*;

    #[test]
    fn arguments_are_declared_consistently() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn values_are_read_as_documented() {
        assert_eq!(size("640x480"), Ok((640, 480)));
        assert!(size("640").is_err() && size("0x1").is_err());
        assert_eq!(assignment("a.b = c=d"), Ok(("a.b".into(), "c=d".into())));
        assert!(assignment("novalue").is_err());
        assert!(seconds("-1").is_err() && seconds("nan").is_err());
        let folder = std::env::temp_dir();
        let folder = folder.to_str().unwrap();
        for name in ["a.png", "b/a.PNG"] {
            assert_eq!(pictures(name), Ok(Pictures::One(name.into())));
        }
        for name in ["frames", "v1.2/", "a.png/", ".hidden", "..", folder] {
            assert_eq!(pictures(name), Ok(Pictures::Sequence(name.into())));
        }
        for name in ["a.jpg", "b/a.gif", "v1.2"] {
            assert!(pictures(name).is_err(), "{name}");
        }
    }

    #[test]
    fn another_solver_gets_the_iterations_that_it_needs() {
        let changed = |scene: &str, solver: &str, set: &[(&str, &str)]| {
            let mut scene = library::shipped(scene).unwrap();
            let set = set.iter().map(|(k, v)| ((*k).into(), (*v).into()));
            let changes = Changes {
                solver: Some(solver.into()),
                set: set.collect(),
            };
            changes.apply(&mut scene).unwrap();
            scene.solver.budget.iterations
        };
        let own = |scene: &str| library::shipped(scene).unwrap().solver.budget.iterations;
        let needed = solve::find("bpp").unwrap().least_iterations;
        assert_eq!(changed("wall", "bpp", &[]), needed);
        let by_hand = [("solver.budget.iterations", "7")];
        assert_eq!(changed("wall", "bpp", &by_hand), 7);
        assert_eq!(changed("wall", "jacobi", &[]), own("wall"));
        let default = Budget::default().iterations;
        assert_eq!(changed("crane", "gauss-seidel", &[]), default);
        assert_eq!(changed("crane", "bpp", &[]), own("crane"));
    }
}
