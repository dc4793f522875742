//! What the program reads and writes, and how it ends: nothing is overwritten unasked, lost at an early end, or kept for ever.

use std::path::Path;
#[cfg(unix)]
use std::process::{Child, Command, Stdio};

use super::program::{bad, good, scratch};
#[cfg(unix)]
use super::program::{moreau, text};

/// A scene of two bodies, whose steps take microseconds.
const SMALL: &str = "(bodies: [(kind: Fixed, shape: HalfSpace(normal: (0, 1, 0))), \
                     (position: (0, 1, 0), shape: Ball(radius: 0.5))])";

fn path_of(name: &str) -> String {
    scratch(name).to_str().expect("plain").to_owned()
}

fn scene(name: &str) -> String {
    let path = path_of(name);
    std::fs::write(&path, SMALL).expect("written");
    path
}

/// The sides of a NumPy array of doubles that can be loaded: its numbers are all there.
fn shape(path: &Path) -> Vec<usize> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let header = String::from_utf8_lossy(&bytes[10..128]).into_owned();
    let (_, sides) = header.split_once("'shape': (").expect("a header");
    let (sides, _) = sides.split_once(')').expect("a header");
    let sides = sides.split(',').map(str::trim).filter(|s| !s.is_empty());
    let sides: Vec<usize> = sides.map(|s| s.parse().expect("a number")).collect();
    assert!(bytes.len() >= 128 + 8 * sides.iter().product::<usize>());
    sides
}

#[test]
fn inputs_and_doubles_are_refused_before_the_first_step() {
    let scene = scene("refused.ron");
    let (npy, link) = (path_of("refused.npy"), path_of("refused_link"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&scene, &link).expect("a link");
    #[cfg(not(unix))]
    std::fs::copy(&scene, &link).expect("a copy");
    let times = path_of("refused.times.npy");
    let folder = std::env::temp_dir().to_str().expect("plain").to_owned();
    let endless = "10000000";
    let run = |more: &[&str]| {
        let args = [&["run", scene.as_str(), "--steps", endless], more].concat();
        let (code, said) = bad(&args);
        assert_eq!(code, Some(2), "{said}");
        said
    };
    assert!(run(&["--trajectory", &scene]).contains("would overwrite what is read"));
    if cfg!(unix) {
        assert!(run(&["--record", &link]).contains("would overwrite what is read"));
    }
    let both = run(&["--trajectory", &npy, "--record", &npy]);
    assert!(both.contains("would overwrite the trajectory, "), "{both}");
    let both = run(&["--trajectory", &npy, "--record", &times]);
    assert!(
        both.contains("would overwrite the trajectory's times"),
        "{both}"
    );
    assert!(run(&["--record", &folder]).contains("cannot be written"));
    assert!(run(&["--record", "/no/such/folder/x"]).contains("cannot be written"));
    assert!(!Path::new(&npy).exists());
    let (code, said) = bad(&["export", &scene, "--out", &scene]);
    assert!(
        code == Some(2) && said.contains("would overwrite"),
        "{said}"
    );
    let (code, said) = bad(&["compare", &scene, "--plot", &scene]);
    assert!(
        code == Some(2) && said.contains("would overwrite"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&scene).expect("it is there"), SMALL);

    // A mesh is read too.
    let [mesh, named] = ["refused.obj", "refused_mesh.ron"].map(path_of);
    let solid = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    std::fs::write(&mesh, solid).expect("written");
    let text =
        "(bodies: [(shape: Compound(parts: [(shape: ConvexHullFile(file: \"refused.obj\"))]))])";
    std::fs::write(&named, text).expect("written");
    let (code, said) = bad(&["run", &named, "--record", &mesh]);
    assert!(
        code == Some(2) && said.contains("would overwrite what is read"),
        "{said}"
    );
    good(&["run", &named, "--steps", "2"]);
}

/// A device is written into, and stays one; a recording of more steps than memory holds is refused.
#[test]
fn outputs_may_be_devices_and_recordings_have_a_bound() {
    let scene = scene("device.ron");
    if cfg!(unix) {
        good(&["run", &scene, "--steps", "2", "--record", "/dev/null"]);
        let problem = moreau_bytes(&["export", &scene, "--at-step", "2", "--out", "/dev/stdout"]);
        assert!(problem.starts_with(b"MOREAU"), "a problem");
        let (code, said) = bad(&["run", &scene, "--steps", "2", "--trajectory", "/dev/null"]);
        assert!(
            code == Some(2) && said.contains("no regular file"),
            "{said}"
        );
    }
    let recording = path_of("too_long.rec");
    let (code, said) = bad(&[
        "run",
        &scene,
        "--steps",
        "1000000000",
        "--record",
        &recording,
    ]);
    assert!(code == Some(2) && said.contains("has at most"), "{said}");
}

fn moreau_bytes(args: &[&str]) -> Vec<u8> {
    super::program::moreau(args).stdout
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_not_read_to_its_end() {
    for args in [
        ["run", "/dev/zero"],
        ["solve", "/dev/zero"],
        ["replay", "/dev/zero"],
    ] {
        let output = moreau(&args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("it is larger than"), "{said}");
    }
    let scene = scene("limited.ron");
    let limited = |most: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_moreau"))
            .args(["run", &scene, "--steps", "1"])
            .env("MOREAU_MAX_FILE_BYTES", most)
            .output();
        run.expect("the program starts")
    };
    assert!(limited("1000").status.success());
    let said = text(&limited("10").stderr);
    assert!(
        said.contains("it is larger than 10 bytes; MOREAU_MAX_FILE_BYTES=N"),
        "{said}"
    );
    let said = text(&limited("64M").stderr);
    assert!(
        said.contains("MOREAU_MAX_FILE_BYTES must be a whole number, not 64M"),
        "{said}"
    );
}

/// An endless run; with `ignored`, as `nohup` begins it.
#[cfg(unix)]
fn endless(args: &[&str], ignored: bool) -> Child {
    let program = env!("CARGO_BIN_EXE_moreau");
    let mut command = Command::new(if ignored { "nohup" } else { program });
    if ignored {
        command.arg(program);
    }
    let spawned = command
        .args(args)
        .args(["--steps", "10000000", "--report", "json", "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    spawned.expect("the program starts")
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(status.expect("kill is there").success());
}

#[cfg(unix)]
fn wait_until_larger(path: &Path, bytes: u64) {
    let begin = std::time::Instant::now();
    while std::fs::metadata(path).map_or(0, |f| f.len()) < bytes {
        assert!(
            begin.elapsed().as_secs() < 120,
            "{} does not grow",
            path.display()
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_is_told_to_end_writes_what_it_did() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let name = |end: &str| format!("told{signal}.{end}");
        let scene = scene(&name("ron"));
        let [npy, recording] = ["npy", "rec"].map(|end| path_of(&name(end)));
        let child = endless(
            &["run", &scene, "--trajectory", &npy, "--record", &recording],
            false,
        );
        wait_until_larger(Path::new(&format!("{npy}.part")), 2_000_000);
        send(signal, &child);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        let steps = report["steps"].as_u64().expect("a number") as usize;
        assert_eq!(shape(Path::new(&npy)), [steps, 2, 13]);
        assert_eq!(shape(&scratch(&name("times.npy"))), [steps]);
        assert_eq!(shape(&scratch(&name("energy.npy")))[0], steps);
        good(&["replay", &recording, "--check"]);
    }
}

/// Waits until a program has used so much computing time (s).
#[cfg(target_os = "linux")]
fn wait_until_busy_for(seconds: u64, child: &Child) {
    let begin = std::time::Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
        let used = stat
            .split(' ')
            .nth(13)
            .and_then(|ticks| ticks.parse::<u64>().ok());
        if used.expect("a number") >= 100 * seconds {
            return;
        }
        assert!(begin.elapsed().as_secs() < 120, "it does nothing: {stat}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_comparison_that_is_told_to_end_says_what_it_found() {
    let scene = scene("compared.ron");
    let child = endless(
        &["compare", &scene, "--solvers", "newton", "--every", "100"],
        false,
    );
    wait_until_busy_for(1, &child);
    send("-INT", &child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let steps: Vec<_> = report
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["step"].as_u64())
        .collect();
    assert!(steps.len() > 1, "{steps:?}");
    assert!(
        (1..)
            .map(|k| Some(100 * k))
            .zip(&steps)
            .all(|(is, step)| is == *step),
        "{steps:?}"
    );
    assert!(text(&output.stderr).contains("interrupted after step"));
}

/// SIGKILL cannot be seen; what was written until then can be read.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_arrays_that_load_and_nohup_outlives_its_terminal() {
    let scene = scene("killed.ron");
    let npy = path_of("killed.npy");
    let part = scratch("killed.npy.part");
    let mut child = endless(&["run", &scene, "--trajectory", &npy], true);
    wait_until_larger(&part, 3_000_000);
    send("-HUP", &child);
    let now = std::fs::metadata(&part).expect("it is there").len();
    wait_until_larger(&part, now + 2_000_000);
    send("-KILL", &child);
    child.wait().expect("it ends");
    let sides = shape(&part);
    assert!(sides[0] >= 10_000 && sides[1..] == [2, 13], "{sides:?}");
    assert!(!Path::new(&npy).exists());
}

/// The disk is full after some hundred kilobytes of one file: the signal that would say so is ignored, as
/// where a file system has a quota.
#[cfg(unix)]
#[test]
fn a_full_disk_costs_what_did_not_fit_and_nothing_else() {
    let scene = scene("full.ron");
    let [npy, recording, problem] = ["full.npy", "full.rec", "full.problem"].map(path_of);
    let limited = |blocks: u32, args: &str| {
        let program = env!("CARGO_BIN_EXE_moreau");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{program}' {args}");
        let shell = Command::new("bash").args(["-c", &script]).output();
        shell.expect("a shell")
    };
    let args = format!(
        "run '{scene}' --steps 20000 --report json --trajectory '{npy}' --record '{recording}'"
    );
    let output = limited(2000, &args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let steps = report["steps"].as_u64().expect("a number");
    assert!((1..20_000).contains(&steps), "{steps}");
    let sides = shape(&scratch("full.npy.part"));
    let left = format!("its first {} steps are in ", sides[0]);
    assert!(sides[0] > 1000 && said.contains(&left), "{said}");
    good(&["replay", &recording, "--check"]);

    std::fs::write(&problem, "before").expect("written");
    let output = limited(
        0,
        &format!("export '{scene}' --at-step 3 --out '{problem}'"),
    );
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(&problem).expect("it stays"), b"before");
    assert!(!scratch("full.problem.part").exists(), "a stub is left");
    let output = limited(
        2000,
        &format!("run '{scene}' --steps 99 --report csv > /dev/full"),
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// The largest memory of a run (kB).
#[cfg(target_os = "linux")]
fn peak_memory(args: &[&str]) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_moreau"))
        .args(args)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("a process").is_none() {
        let now = std::fs::read_to_string(&status).unwrap_or_default();
        let now = now.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let now = now.and_then(|l| l.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    peak
}

/// A report on every step takes some kilobytes: 60,000 of them would be seen.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_run_does_not_grow_with_its_steps() {
    let scene = scene("long.ron");
    for report in ["json", "csv"] {
        let peak = |steps: &str| {
            let args = [
                "run",
                &scene,
                "--steps",
                steps,
                "--threads",
                "1",
                "--report",
                report,
            ];
            peak_memory(&args)
        };
        let [short, long] = ["15000", "75000"].map(peak);
        assert!(short > 1000, "it was measured: {short} kB");
        assert!(
            long < short + 2000,
            "{report}: {short} kB, and {long} of five times as many steps"
        );
    }
}
