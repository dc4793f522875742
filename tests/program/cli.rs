//! The program as its users call it.

use std::path::Path;

use crate::program::{bad, good, moreau, scratch, text};
use serde_json::Value;

#[test]
fn the_json_report_has_its_names() {
    let little = "solver.parameters={\"work\": 1}";
    let report = good(&[
        "run",
        "ball_grid_8",
        "--steps",
        "3",
        "--report",
        "json",
        "--set",
        little,
    ]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    for pointer in [
        "/scene",
        "/solver",
        "/threads",
        "/dt",
        "/steps",
        "/bodies",
        "/contacts/mean",
        "/contacts/max",
        "/iterations/mean",
        "/iterations/max",
        "/residual/mean",
        "/residual/max",
        "/status/converged",
        "/status/budget",
        "/status/failed",
        "/penetration/mean",
        "/penetration/max",
        "/joint_error/mean",
        "/joint_error/max",
        "/islands_by_method/swept/max",
        "/velocity_estimate",
        "/worst_step/step",
        "/worst_step/velocity_estimate",
        "/worst_step/advice/wrong",
        "/worst_step/advice/better/residual",
        "/energy/before/gravity",
        "/energy/flows/impact",
        "/energy/remainder",
        "/energy/throughput",
        "/kinetic_energy",
        "/potential_energy",
        "/state_hash",
    ] {
        assert!(
            report.pointer(pointer).is_some(),
            "{pointer} is missing in {report:#}"
        );
    }
    for stage in [
        "step",
        "broadphase",
        "narrowphase",
        "assemble",
        "prepare",
        "solve",
        "integrate",
    ] {
        for statistic in ["mean", "median", "p95", "max"] {
            let pointer = format!("/timings_ms/{stage}/{statistic}");
            assert!(
                report.pointer(&pointer).is_some_and(Value::is_number),
                "{pointer}"
            );
        }
    }
    assert_eq!(report["scene"], "ball_grid_8");
    assert_eq!(report["bodies"], 513);
    assert_eq!(report["steps"], 3);
    assert_eq!(report["contacts"]["first"], 1408);
    assert_eq!(report["contacts"]["first_dynamic"], 1344);
    assert_eq!(report["state_hash"].as_str().map(str::len), Some(16));
    // The worst step may be another one.
    let off = report["velocity_estimate"].as_f64().expect("an estimate");
    let residual = report["residual"]["max"].as_f64().expect("a residual");
    assert!(
        off > 0.0 && off < 100.0 * residual,
        "{off} and {residual} m/s"
    );
    let island = &report["worst_step"]["largest_islands"][0];
    assert_eq!(island["method"], "swept");
    assert_eq!(island["bodies"], 512);
    assert_eq!(island["residual"], report["residual"]["max"]);
}

#[test]
fn a_scene_goes_by_name_and_by_path_and_runs_the_same_on_any_threads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/ball_grid_8.ron");
    let path = path.to_str().expect("a plain path");
    let hash = |scene: &str, threads: &str| {
        let report = good(&[
            "run",
            scene,
            "--steps",
            "5",
            "--threads",
            threads,
            "--report",
            "json",
        ]);
        let report: Value = serde_json::from_str(&report).expect("JSON");
        report["state_hash"].clone()
    };
    assert_eq!(hash("ball_grid_8", "1"), hash(path, "2"));
}

#[test]
fn a_trajectory_is_a_numpy_array_with_its_times_beside_it() {
    let file = scratch("fall.npy");
    let scene = scratch("fall.ron");
    std::fs::write(
        &scene,
        r#"(settings: (step: 0.01), bodies: [
            (name: "floor", kind: Fixed, shape: HalfSpace(), position: (0, -100, 0)),
            (name: "ball", shape: Ball(radius: 0.5), velocity: (1, 0, 0)),
        ])"#,
    )
    .expect("written");
    let (scene, path) = (
        scene.to_str().expect("plain"),
        file.to_str().expect("plain"),
    );
    good(&["run", scene, "--seconds", "0.2", "--trajectory", path]);

    let bytes = std::fs::read(&file).expect("the trajectory");
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    let header = text(&bytes[10..128]);
    assert!(
        header.contains("'descr': '<f8'") && header.contains("(20, 2, 13,)"),
        "{header}"
    );
    let numbers: Vec<f64> = bytes[128..]
        .chunks_exact(8)
        .map(|c| f64::from_le_bytes(c.try_into().expect("8 bytes")))
        .collect();
    assert_eq!(numbers.len(), 20 * 2 * 13);
    // The last state of the second body: x = t, identity quaternion, v = (1, −g t, 0).
    let last = &numbers[39 * 13..];
    assert!((last[0] - 0.2).abs() < 1e-12);
    assert_eq!(&last[3..7], [0.0, 0.0, 0.0, 1.0]);
    assert!((last[8] + 9.81 * 0.2).abs() < 1e-12);

    let times = std::fs::read(scratch("fall.times.npy")).expect("the times");
    assert!(text(&times[10..128]).contains("(20,)"));
    let first = f64::from_le_bytes(times[128..136].try_into().expect("8 bytes"));
    assert!((first - 0.01).abs() < 1e-15);
    let energies = std::fs::read(scratch("fall.energy.npy")).expect("the energies");
    assert!(text(&energies[10..128]).contains("(20, 16,)"));
    let numbers: Vec<f64> = energies[128..]
        .chunks_exact(8)
        .map(|c| f64::from_le_bytes(c.try_into().expect("8 bytes")))
        .collect();
    // Of the last step: kinetic and gravity, and what nothing explains.
    let mass = 1000.0 * std::f64::consts::PI / 6.0;
    let speed = 9.81 * 0.2;
    let kinetic = 0.5 * mass * (1.0 + speed * speed);
    let last = &numbers[19 * 16..];
    assert!((last[0] / kinetic - 1.0).abs() < 1e-12, "{}", last[0]);
    assert!((last[0] + last[1] - 0.5 * mass).abs() < 1e-9 * kinetic);
    assert!(last[15].abs() < 1e-9 * kinetic);
    assert!(!scratch("fall.npy.part").exists());
}

#[test]
fn text_and_csv_reports_are_for_people_and_tables() {
    let report = good(&["run", "box_stack", "--steps", "4"]);
    assert!(
        report.contains("residual [m/s]") && report.contains("state hash"),
        "{report}"
    );
    assert!(report.contains("the worst one: 1 kept"), "{report}");
    assert!(report.contains("| nothing explains"), "{report}");
    assert!(!report.contains("misses its law"), "{report}");
    let little = "solver.parameters={\"work\": 1}";
    let report = good(&["run", "ball_grid_8", "--steps", "2", "--set", little]);
    let words = [
        "estimate beyond the work",
        "misses its law",
        "With iterations 500",
    ];
    assert!(words.iter().all(|w| report.contains(w)), "{report}");
    let report = good(&["run", "box_stack", "--steps", "4", "--report", "csv"]);
    let lines: Vec<_> = report.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].starts_with("step,time,contacts,"));
    let mut names: Vec<_> = lines[0].split(',').collect();
    names.sort_unstable();
    assert!(names.array_windows().all(|[a, b]| a != b), "{}", lines[0]);
    let columns = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|l| columns(l) == columns(lines[0])));
}

#[test]
fn a_csv_report_has_the_coulomb_residual_and_the_solvers_own_numbers() {
    let run = |format: &str| {
        let law = "settings.friction_law=Box";
        good(&[
            "run", "wall", "--steps", "3", "--set", law, "--report", format,
        ])
    };
    let (csv, json) = (run("csv"), run("json"));
    let rows: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let largest = |name: &str| {
        let column = rows[0].iter().position(|n| *n == name);
        let column = column.unwrap_or_else(|| panic!("no column {name} in {csv}"));
        let cells = rows[1..]
            .iter()
            .map(|row| row[column].parse::<f64>().expect(name));
        cells.fold(0.0, f64::max)
    };
    // Nothing was rounded, but that serde_json may be off by a last bit when it reads.
    let same = |name: &str, max: &Value| {
        let (found, max) = (largest(name), max.as_f64().expect("a number"));
        assert!(
            (found - max).abs() <= 4e-16 * max,
            "{name}: {found} and {max}"
        );
    };
    for name in ["residual", "residual_coulomb", "penetration"] {
        same(name, &json[name]["max"]);
    }
    let statistics = json["statistics"].as_object().expect("an object");
    assert!(!statistics.is_empty());
    for (name, of) in statistics {
        same(name, &of["max"]);
    }
}

#[test]
fn lists_name_every_scene_and_every_parameter() {
    let scenes = good(&["scenes"]);
    for id in moreau::scene::library::shipped_names() {
        assert!(scenes.contains(id), "{id}");
    }
    let json: Value = serde_json::from_str(&good(&["scenes", "--report", "json"])).expect("JSON");
    assert!(json.as_array().is_some_and(|list| list.len() >= 19));
    let solvers = good(&["solvers"]);
    for solver in moreau::solve::SOLVERS {
        assert!(solvers.contains(solver.name) && solvers.contains(solver.source));
        assert!(solver.parameters.iter().all(|p| solvers.contains(p.name)));
    }
    let one = good(&["solvers", "colored-gs"]);
    assert!(
        one.contains("fixed_bodies") && !one.contains("relaxed-sor"),
        "{one}"
    );
    let (code, said) = bad(&["solvers", "coloured-gs"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("\"colored-gs\""), "{said}");
    let names: Vec<_> = moreau::scene::library::shipped_names().collect();
    let validated = good(&[&["validate"], names.as_slice()].concat());
    assert_eq!(validated.lines().count(), names.len());
}

#[test]
fn a_law_is_verified_by_name() {
    let report = good(&["verify", "momentum-linear", "--report", "json"]);
    let outcomes: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(outcomes.as_array().map(Vec::len), Some(1), "{report}");
    let outcome = &outcomes[0];
    assert_eq!(outcome["row"], "momentum-linear");
    assert_eq!(outcome["holds"], true);
    assert!(outcome["got"].as_f64().unwrap() <= outcome["tolerance"].as_f64().unwrap());
    assert!(good(&["verify", "momentum-linear"]).contains("| momentum-linear |"));
    let csv = good(&["verify", "momentum-linear", "--report", "csv"]);
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let (code, said) = bad(&["verify", "momentum-lineal"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("did you mean \"momentum-linear\"?"), "{said}");
}

#[test]
fn bad_arguments_and_files_end_with_2_and_say_what_was_expected() {
    let file = scratch("bad.ron");
    std::fs::write(&file, "(\n    name: \"x\",\n    gravity: 3,\n)").expect("written");
    let path = file.to_str().expect("plain");
    for args in [
        &["run", path][..],
        &["validate", path],
        &["render", path, "--out", "x.png"],
    ] {
        let (code, message) = bad(args);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(&format!("{path}:3:5: ")), "{message}");
        assert!(message.contains("expected one of `name`"), "{message}");
    }
    for (args, expected) in [
        (
            &["run", "no_such_scene"][..],
            "no_such_scene: there is no such file",
        ),
        (
            &["run", "no/such.ron"],
            "no/such.ron: the scene cannot be read",
        ),
        (
            &["run", "wall", "--solver", "magic"],
            "there is no solver \"magic\"; there are: ",
        ),
        (
            &["run", "wall", "--set", "a=1"],
            "a scene has no \"a\"; it has: name",
        ),
        (&["run", "wall", "--set", "a"], "expected PATH=VALUE"),
        (&["run", "wall", "--steps", "-3"], "-3"),
        (
            &["run", "wall", "--steps", "3", "--seconds", "1"],
            "cannot be used with",
        ),
        (&["run", "wall", "--seconds", "nan"], "expected a time"),
        (
            &["run", "wall", "--set", "solver.budget.time=0.1"],
            "wall-time budget",
        ),
        (
            &[
                "run",
                "wall",
                "--steps",
                "1",
                "--trajectory",
                "/no/such/folder/x.npy",
            ],
            "cannot be written",
        ),
        (
            &["render", "wall", "--out", "x.png", "--size", "big"],
            "expected WIDTHxHEIGHT",
        ),
        (
            &["render", "wall", "--out", "moreau-test.jpg"],
            "expected a file ending in .png for one picture",
        ),
        (&["completions", "zhs"], "possible values: bash"),
        (
            &["run", "wall", "--steps", "-3"],
            "a whole number of steps is expected, 0 or more",
        ),
        (&["run", "wall", "--seconds", "-3"], "-3"),
        (
            &["man", "rnu"],
            "there is no command \"rnu\"; there are: run, compare",
        ),
        (&["fly"], "there are: ball_grid_loose"),
    ] {
        let (code, message) = bad(args);
        assert_eq!(code, Some(2), "{args:?}: {message}");
        assert!(message.contains(expected), "{args:?}: {message}");
    }
    assert!(!std::env::temp_dir().join("moreau-test.jpg").exists());
}

#[test]
fn slips_of_the_pen_are_answered_with_what_was_meant() {
    let scene = scratch("tower.ron");
    std::fs::write(&scene, "(name: \"t\")").expect("written");
    let path = scene.display().to_string();
    let wrong_path = path.replace("tower", "towre");
    for (args, expected) in [
        (
            &["run", "crnae"][..],
            "no shipped scene of this name; did you mean \"crane\"?",
        ),
        (&["compare", "wlal"], "did you mean \"wall\"?"),
        (
            &["validate", &wrong_path],
            &*format!("did you mean {path:?}?"),
        ),
        (&["crnae"], "did you mean \"crane\"?"),
        (&["crain"], "did you mean \"crane\"?"),
        (&["rnu"], "did you mean the command `run`?"),
        (&["rnu", "wall"], "did you mean the command `run`"),
        (
            &["comapre", "--steps", "2"],
            "did you mean the command `compare`",
        ),
        (&["run", "--stesp", "2", "wall"], "'--steps'"),
        (
            &["run", "wall", "--solver", "bbp"],
            ", bpp, hybrid, reference, gpu-jor, gpu-sor; did you mean \"bpp\"?",
        ),
        (
            &[
                "run",
                "wall",
                "--solver",
                "colored-gs",
                "--set",
                "solver.parameters.alhpa=1",
            ],
            "did you mean \"alpha\"?",
        ),
        (
            &["run", "wall", "--set", "solver.budget.iteratons=1"],
            "did you mean \"iterations\"?",
        ),
    ] {
        let (code, message) = bad(args);
        assert_eq!(code, Some(2), "{args:?}: {message}");
        assert!(message.contains(expected), "{args:?}: {message}");
    }
}

/// The commands that the program's help lists.
fn commands() -> Vec<String> {
    let help = good(&["--help"]);
    let list = help.split_once("Commands:\n").expect("a list").1;
    let lines = list.lines().take_while(|line| !line.is_empty());
    // What begins farther to the right goes on with the line before.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !["", "help"].contains(name));
    names.map(str::to_owned).collect()
}

#[test]
fn every_help_fits_into_80_columns() {
    let commands = commands();
    assert!(commands.len() > 11, "{commands:?}");
    let of_commands = commands.iter().map(|command| vec![command.as_str()]);
    for command in of_commands.chain([Vec::new()]) {
        for flag in ["--help", "-h"] {
            let help = good(&[&command[..], &[flag]].concat());
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{command:?} {flag}: {line}");
            }
        }
    }
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = good(&["completions", shell]);
        for name in commands().iter().chain(["trajectory".to_owned()].iter()) {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        assert!(script.contains("colored-gs"), "{shell}: solvers");
    }
    assert!(good(&["completions", "bash"]).contains("house_of_cards"));
    for command in commands() {
        let page = good(&["man", &command]);
        assert!(page.contains(&format!(".TH moreau-{command} 1 ")), "{page}");
    }
    assert!(good(&["man"]).contains("Exit codes"));
}

#[test]
fn convergence_can_be_required() {
    let short = [
        "run",
        "wall",
        "--solver",
        "colored-gs",
        "--steps",
        "2",
        "--set",
        "solver.budget.iterations=1",
    ];
    assert!(moreau(&short).status.success());
    let (code, message) = bad(&[&short[..], &["--require-convergence"]].concat());
    assert_eq!(code, Some(1));
    assert!(
        message.contains("2 of 2 steps ran out of budget"),
        "{message}"
    );
}

#[test]
fn a_run_fails_on_what_it_was_told_to() {
    let run = ["run", "wall", "--steps", "3"];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    good(&with(&[
        "--fail-on",
        "residual>1e9, penetration>1,failed",
        "--fail-on",
        "joint_error>0",
    ]));
    let limits = ["--fail-on", "residual>1e-30,penetration>1e-30", "--fail-on"];
    let (code, message) = bad(&with(&[&limits[..], &["residual_coulomb>1e-30"]].concat()));
    assert_eq!(code, Some(1), "{message}");
    for name in ["residual", "penetration", "residual_coulomb"] {
        let line = message
            .lines()
            .find(|l| l.starts_with(&format!("moreau: {name} was ")));
        let line = line.unwrap_or_else(|| panic!("{name}: {message}"));
        assert!(
            line.contains(" in step ") && line.contains("above the limit of 1e-30 m"),
            "{line}"
        );
    }
    for (wrong, expected) in [
        ("residual", "expected NAME>NUMBER with one of residual, "),
        ("residual>much", "the number must be 0 or more"),
        ("penetraton>1", "did you mean \"penetration\"?"),
    ] {
        let (code, message) = bad(&with(&["--fail-on", wrong]));
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let (code, message) = bad(&with(&["--residual", "off", "--fail-on", "residual>1"]));
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("--residual every or last"), "{message}");
}

/// A run that would go on for days, and is in the middle of it.
#[cfg(unix)]
fn endless(name: &str, more: &[&str]) -> (std::process::Child, std::path::PathBuf) {
    use std::process::{Command, Stdio};
    let file = scratch(name);
    let child = Command::new(env!("CARGO_BIN_EXE_moreau"))
        .args([
            "run",
            "ball_grid_8",
            "--steps",
            "20000000",
            "--report",
            "json",
        ])
        .arg("--trajectory")
        .arg(&file)
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut unfinished = file.clone().into_os_string();
    unfinished.push(".part");
    wait_until(|| Path::new(&unfinished).exists());
    (child, file)
}

#[cfg(unix)]
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed().as_secs() < 120, "this takes too long");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[cfg(unix)]
fn press_ctrl_c(child: &std::process::Child) {
    let kill = ["-INT".to_owned(), child.id().to_string()];
    let status = std::process::Command::new("kill").args(kill).status();
    assert!(status.expect("kill is there").success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_after_its_step_and_keeps_what_there_is() {
    let recording = scratch("interrupted.recording").display().to_string();
    let (child, file) = endless("interrupted.npy", &["--record", &recording]);
    let unfinished = scratch("interrupted.npy.part");
    // A step of 513 bodies takes 53 kB.
    wait_until(|| std::fs::metadata(&unfinished).is_ok_and(|f| f.len() > 200_000));
    press_ctrl_c(&child);
    let output = child.wait_with_output().expect("it ends");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let steps = report["steps"].as_u64().expect("a number");
    assert!(steps > 2);
    assert_eq!(
        message,
        format!("moreau: interrupted after step {steps} of 20000000\n")
    );

    let bytes = std::fs::read(&file).expect("the trajectory has its name");
    let header = text(&bytes[10..128]);
    assert!(header.contains(&format!("({steps}, 513, 13,)")), "{header}");
    assert_eq!(bytes.len() as u64, 128 + 8 * 13 * 513 * steps);
    let times = std::fs::read(scratch("interrupted.times.npy")).expect("the times");
    assert_eq!(times.len() as u64, 128 + 8 * steps);
    let replayed = good(&["replay", &recording, "--check"]);
    let hash = report["state_hash"].as_str().expect("a hash");
    let expected = format!("ball_grid_8: {steps} steps, the same as recorded; state hash {hash}\n");
    assert_eq!(replayed, expected);
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_a_run_within_its_step() {
    let budget = [
        "--set",
        "solver.budget.iterations=4000000000",
        "--set",
        "solver.budget.tolerance=0",
        "--solver",
        "colored-gs",
    ];
    let (mut child, file) = endless("twice.npy", &budget);
    press_ctrl_c(&child);
    // The first one is not enough: the step goes on.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(child.try_wait().expect("a process"), None);
    press_ctrl_c(&child);
    let mut status = None;
    wait_until(|| {
        status = child.try_wait().expect("a process");
        status.is_some()
    });
    assert_eq!(status.and_then(|s| s.code()), Some(130));
    assert!(!file.exists(), "nothing was finished");
}

#[cfg(not(feature = "viewer"))]
#[test]
fn without_the_viewer_its_commands_say_what_there_is_instead() {
    let (code, message) = bad(&["wall"]);
    assert_eq!(code, Some(2));
    assert!(
        message.contains("moreau run wall") && message.contains("moreau render"),
        "{message}"
    );
}

#[test]
fn solvers_are_compared_on_a_step() {
    let [plot, history] = ["compare.svg", "compare.csv"].map(scratch);
    let [plot_path, history_path] = [&plot, &history].map(|path| path.display().to_string());
    let report = good(&[
        "compare",
        "box_stack",
        "--solvers",
        "jacobi,colored-gs:precision=f64,nncg,bpp,auto",
        "--at-step",
        "20",
        "--rounds",
        "1",
        "--report",
        "json",
        "--plot",
        &plot_path,
        "--history",
        &history_path,
    ]);
    let rows: Value = serde_json::from_str(&report).expect("JSON");
    let rows = rows.as_array().expect("a list");
    let solvers: Vec<&str> = rows.iter().filter_map(|r| r["solver"].as_str()).collect();
    assert_eq!(
        solvers,
        ["jacobi", "colored-gs:precision=f64", "nncg", "bpp", "auto"]
    );
    assert_eq!(rows[4]["largest_islands"][0]["bodies"], 10);
    assert!(rows[0]["largest_islands"].is_null());
    for row in rows {
        assert!(row["natural_map"].is_null() && row["step"] == 20, "{row:#}");
        assert!(
            row["iterations"].is_u64() && row["residual"].is_number(),
            "{row:#}"
        );
        assert!(row["residual_coulomb"].is_number() && row["status"].is_string());
    }
    let svg = std::fs::read_to_string(&plot).expect("a plot");
    assert!(svg.contains("Residual by iteration: box_stack, step 20") && svg.contains("nncg"));
    assert_eq!(svg.matches("class=\"series\"").count(), 10);
    let csv = std::fs::read_to_string(&history).expect("a history");
    assert!(
        csv.starts_with(
            "scene,step,solver,iteration,time_ms,residual,delta\nbox_stack,20,jacobi,1,"
        )
    );
}

/// Where only one of the two spellings has a meaning, or stands alone, the other is taken as it.
#[test]
fn one_solver_or_several_are_named_by_either_word() {
    let problem = scratch("either-word.problem").display().to_string();
    good(&["export", "box_stack", "--at-step", "2", "--out", &problem]);
    for compared in [
        &["solve", problem.as_str(), "--solver", "bpp"][..],
        &["solve", problem.as_str(), "--solver", "bpp,nncg"],
        &["compare", "box_stack", "--at-step", "2", "--solver", "bpp"],
    ] {
        let report = good(&[compared, &["--rounds", "1", "--report", "json"]].concat());
        let rows: Value = serde_json::from_str(&report).expect("JSON");
        let rows = rows.as_array().expect("a list").iter();
        let solvers: Vec<&str> = rows.filter_map(|r| r["solver"].as_str()).collect();
        assert_eq!(solvers.join(","), *compared.last().expect("a name"));
    }
    // With both, one drives the scene and the others are compared.
    let both = [
        "compare",
        "box_stack",
        "--at-step",
        "2",
        "--solver",
        "bpp",
        "--solvers",
        "nncg",
        "--report",
        "json",
    ];
    let rows: Value = serde_json::from_str(&good(&both)).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    assert_eq!(rows[0]["solver"], "nncg");
    let run = ["run", "box_stack", "--steps", "2", "--report", "json"];
    let report: Value =
        serde_json::from_str(&good(&[&run[..], &["--solvers", "bpp"]].concat())).expect("JSON");
    assert_eq!(report["solver"], "bpp");
}

#[test]
fn a_plot_is_drawn_as_png_where_there_is_what_draws_it() {
    let plot = scratch("compare.png");
    let path = plot.display().to_string();
    let args = ["compare", "box_stack", "--solvers", "bpp", "--plot", &path];
    if cfg!(feature = "viewer") {
        good(&args);
        let bytes = std::fs::read(&plot).expect("a picture");
        assert!(bytes.starts_with(b"\x89PNG"));
    } else {
        let (code, message) = bad(&args);
        assert_eq!(code, Some(2));
        assert!(message.contains("name it .svg"), "{message}");
    }
}

#[test]
fn a_problem_is_exported_and_solved() {
    let file = scratch("crane.problem");
    let path = file.display().to_string();
    let out = good(&["export", "crane", "--at-step", "10", "--out", &path]);
    assert!(out.contains("crane, step 10"), "{out}");
    let of_file = good(&[
        "solve",
        &path,
        "--solvers",
        "bpp",
        "--rounds",
        "1",
        "--report",
        "json",
    ]);
    let of_scene = good(&[
        "compare",
        "crane",
        "--solvers",
        "bpp",
        "--at-step",
        "10",
        "--rounds",
        "1",
        "--report",
        "json",
    ]);
    let residual = |report: &str| {
        let rows: Value = serde_json::from_str(report).expect("JSON");
        rows[0]["residual"].as_f64().expect("a number")
    };
    assert_eq!(residual(&of_file).to_bits(), residual(&of_scene).to_bits());

    let mut bytes = std::fs::read(&file).expect("the problem");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, &bytes).expect("a file");
    let (code, error) = bad(&["solve", &path]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("the problem is damaged: the checksum differs"),
        "{error}"
    );
    let (code, error) = bad(&["solve", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!(code, Some(2));
    assert!(error.contains("this is not a Moreau problem"), "{error}");
    let (code, error) = bad(&["compare", "box_stack", "--solvers", "nncg:fast"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("\"fast\" is no parameter"), "{error}");
    let (code, error) = bad(&["compare", "box_stack", "--solvers", "magic"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("there is no solver \"magic\""), "{error}");
}

/// What is solved on a graphics processor, or by the CPU twin where there is none, says so, also in recordings.
#[test]
fn a_recording_says_whose_hashes_it_has() {
    let path = scratch("gpu.recording").display().to_string();
    let solved = ["--solver", "gpu-sor", "--steps", "3"];
    let run = [&["run", "box_stack"], &solved[..], &["--record", &path]].concat();
    let said = good(&run);
    assert!(said.contains("solved on "), "{said}");
    assert!(said.contains("gpu-sor's hashes are those of "), "{said}");
    let replayed = good(&["replay", &path, "--check"]);
    assert!(
        replayed.contains("; gpu-sor's hashes are those of "),
        "{replayed}"
    );
    let json = good(&[&["run", "box_stack", "--report", "json"], &solved[..]].concat());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let remark = json["remarks"][0].as_str().expect("a remark");
    assert!(remark.starts_with("solved on "), "{remark}");
}

#[test]
fn a_run_is_recorded_and_taken_again() {
    let file = scratch("crane.recording");
    let path = file.display().to_string();
    let out = good(&["run", "crane", "--steps", "12", "--record", &path]);
    let hash = out
        .lines()
        .find_map(|line| line.strip_prefix("state hash"))
        .expect("a hash")
        .trim();
    let replayed = good(&["replay", &path, "--check", "--threads", "1"]);
    let expected = format!("crane: 12 steps, the same as recorded; state hash {hash}\n");
    assert_eq!(replayed, expected);

    let (code, error) = bad(&[
        "run",
        "crane",
        "--steps",
        "1",
        "--record",
        "/nowhere/at/all",
    ]);
    assert_eq!(code, Some(2));
    assert!(error.contains("the recording cannot be written"), "{error}");
    let mut bytes = std::fs::read(&file).expect("the recording");
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&file, &bytes).expect("a file");
    let (code, error) = bad(&["replay", &path]);
    assert_eq!(code, Some(2));
    assert!(error.contains("the recording is damaged"), "{error}");
}
