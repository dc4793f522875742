//! `moreau bench`, and the tables and plots it is made of.

use crate::program::{moreau, scratch, text};
use moreau::measure::plot::{Axis, Mark, Plot};
use moreau::papers::measure::bandwidth;
use serde_json::Value;

/// Whether a document's elements are closed in the order in which they were opened.
fn is_well_formed(xml: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        if rest[..start].contains('>') {
            return false;
        }
        let Some(length) = rest[start..].find('>') else {
            return false;
        };
        let tag = &rest[start + 1..start + length];
        rest = &rest[start + length + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap_or(""));
        }
        if !tag.matches('"').count().is_multiple_of(2) {
            return false;
        }
    }
    // Every & begins an entity.
    let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
    let named = xml.matches('&').count();
    let known: usize = entities.iter().map(|e| xml.matches(e).count()).sum();
    open.is_empty() && named == known
}

#[test]
fn an_unknown_suite_is_refused_with_the_list() {
    let output = moreau(&["bench", "spehres"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    for suite in [
        "grid", "pile", "spheres", "pyramid", "machines", "heaps", "survey",
    ] {
        assert!(message.contains(suite), "{message}");
    }
    assert_eq!(moreau(&["bench"]).status.code(), Some(2));
    let output = moreau(&["bench", "grid", "--threads", "many"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_at_once() {
    let file = scratch("a-file");
    std::fs::write(&file, "").expect("a file");
    let folder = file.join("plots");
    let folder = folder.to_str().expect("a readable path");
    let output = moreau(&["bench", "grid", "--plot", folder]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the plots cannot be written"));
}

#[test]
fn the_pyramid_suite_reports_beside_the_paper() {
    let folder = scratch("plots");
    let folder_name = folder.to_str().expect("a readable path");
    let output = moreau(&[
        "bench",
        "pyramid",
        "--quick",
        "--threads",
        "2",
        "--report",
        "json",
        "--plot",
        folder_name,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["suite"], "pyramid");
    assert_eq!(report["quick"], true);
    assert_eq!(report["threads"], 2);
    let tables = report["tables"].as_array().expect("tables");
    let table = |id: &str| {
        let found = tables.iter().find(|t| t["id"] == id);
        let rows = found.and_then(|t| t["rows"].as_array());
        rows.unwrap_or_else(|| panic!("no table {id}")).as_slice()
    };

    // The triad of one and of two threads.
    let triad = table("machine").iter().filter(|r| r["quantity"] == "triad");
    assert!(triad.clone().all(|r| r["here"].as_f64() > Some(0.0)));
    assert_eq!(triad.count(), 2);

    // 3n/2·(n − 1) contacts, in the paper and here.
    let contacts: Vec<&Value> = table("munksgaard-kaiser-problems")
        .iter()
        .filter(|r| r["quantity"] == "contacts between discs")
        .collect();
    assert!(contacts.iter().all(|r| r["ratio"] == 1.0));
    let eight = contacts.iter().find(|r| r["case"]["layers"] == "8");
    assert_eq!(eight.map(|r| &r["paper"]), Some(&Value::from(84.0)));

    // Gauss–Seidel needs fewer iterations than Jacobi relaxed by 1/degree.
    let iterations = |method: &str| {
        let mut rows = table("munksgaard-kaiser-disc-pyramid-loaded").iter();
        let found = rows.find(|r| {
            r["quantity"] == "iterations"
                && r["case"]["layers"] == "4"
                && r["case"]["method"] == method
        });
        found.and_then(|r| r["here"].as_f64())
    };
    let (by_degree, sequential) = (iterations("jacobi 1/degree"), iterations("gauss-seidel"));
    assert!(sequential.is_some() && sequential < by_degree, "{report:#}");

    // Bare Jacobi diverges without relaxation, and does not with it.
    let growth = |quantity: &str| {
        let mut rows = table("munksgaard-kaiser-bare").iter();
        let found = rows.find(|r| {
            r["quantity"] == quantity
                && r["case"]["layers"] == "8"
                && r["case"]["problem"] == "gravity, friction"
        });
        found.and_then(|r| r["here"].as_f64()).expect("a growth")
    };
    assert!(growth("growth, none") > 1.05);
    assert!(growth("growth, 1/degree") < 1.01);

    let plots = report["plots"].as_array().expect("plots");
    assert_eq!(plots.len(), 4);
    for path in plots {
        let svg = std::fs::read_to_string(path.as_str().expect("a path")).expect("a plot");
        assert!(is_well_formed(&svg), "{path}");
        assert!(svg.contains("<title>gauss-seidel</title>"), "{path}");
    }
    // Remove what this test wrote; nothing depends on it.
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn the_machines_suite_reports_beside_the_thesis() {
    let folder = scratch("machines");
    let folder_name = folder.to_str().expect("a readable path");
    let output = moreau(&[
        "bench",
        "machines",
        "--quick",
        "--only",
        "winch",
        "--threads",
        "1",
        "--report",
        "json",
        "--plot",
        folder_name,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["suite"], "machines");
    let tables = report["tables"].as_array().expect("tables");
    let row = |id: &str, quantity: &str, key: &str, value: &str| {
        let table = tables.iter().find(|t| t["id"] == id);
        let rows = table.and_then(|t| t["rows"].as_array());
        let mut rows = rows.unwrap_or_else(|| panic!("no table {id}")).iter();
        let found = rows.find(|r| r["quantity"] == quantity && r["case"][key] == value);
        found.unwrap_or_else(|| panic!("no {quantity} of {value} in {id}"))
    };
    let here = |row: &Value| row["here"].as_f64().expect("a number");

    // A drum of 400 kg and links of 1 kg, in the thesis and here.
    let ratio = row("lefebvre-2.2", "mass ratio", "scene", "winch");
    assert_eq!(ratio["paper"], 400.0);
    assert!((here(ratio) - 400.0).abs() < 1.0, "{ratio}");

    // Every factorisation solved the same problems, and says how fast.
    for name in ["full", "downdate, always", "skyline, always"] {
        let time = row("lefebvre-2.3", "mean time", "factorisation", name);
        assert!(here(time) > 0.0 && time["paper"].as_f64() > Some(0.0));
    }
    for name in ["downdate", "skyline", "cached", "sparse"] {
        assert!(here(row("factorisations", name, "start", "all free")) > 0.0);
        assert!(here(row("factorisations", name, "start", "last step")) > 0.0);
    }

    // Downdating leaves hardly any error.
    let error = row("lefebvre-2.4", "max", "factorisation", "skyline");
    assert!((0.0..1e-6).contains(&here(error)), "{error}");

    // Both good orders fill less than the thesis's whole triangle.
    let rows = here(row("patterns", "rows", "scene", "winch"));
    for order in ["reverse Cuthill–McKee", "minimum degree (AMD)"] {
        let l = here(row("patterns", "non-zeros of L", "order", order));
        assert!(l < 0.5 * rows * rows, "{order}: {l}");
    }

    // Figure 4.1: the tree of the narrow order is high, that of the sparse one is not.
    let height = |order| {
        here(row(
            "patterns",
            "height of the elimination tree",
            "order",
            order,
        ))
    };
    assert!(height("minimum degree (AMD)") < 0.8 * height("reverse Cuthill–McKee"));

    // Few tight rows are removed faster than the rest is factored again.
    assert!(here(row("lefebvre-figure-2.4", "speed-up", "rows", "200")) > 1.0);
    assert!(here(row("cholesky", "ours", "rows", "400")) > 0.0);

    let plots = report["plots"].as_array().expect("plots");
    let names = [
        "machines-tight",
        "machines-winch",
        "machines-winch-pattern",
        "machines-winch-trees",
        "downdating-random",
    ];
    for name in names {
        let path = folder.join(format!("{name}.svg"));
        let svg = std::fs::read_to_string(&path).expect("a picture");
        assert!(is_well_formed(&svg), "{name}");
    }
    assert_eq!(plots.len(), names.len());
    let _ = std::fs::remove_dir_all(&folder);
}

/// A suite's report in JSON, and the number of a quantity in the row of one of its tables with these keys.
struct Report(Value);

impl Report {
    fn of(arguments: &[&str]) -> Self {
        let common = ["--quick", "--threads", "2", "--report", "json"];
        let all: Vec<&str> = ["bench"]
            .iter()
            .chain(arguments)
            .chain(&common)
            .copied()
            .collect();
        let output = moreau(&all);
        assert!(output.status.success(), "{}", text(&output.stderr));
        Self(serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    fn here(&self, table: &str, quantity: &str, keys: &[(&str, &str)]) -> f64 {
        let tables = self.0["tables"].as_array().expect("tables");
        let found = tables.iter().find(|t| t["id"] == table);
        let rows = found.and_then(|t| t["rows"].as_array());
        let mut rows = rows.unwrap_or_else(|| panic!("no table {table}")).iter();
        let is_it = |row: &&Value| {
            row["quantity"] == quantity
                && keys.iter().all(|(key, value)| row["case"][*key] == **value)
        };
        let number = rows.find(is_it).and_then(|row| row["here"].as_f64());
        number.unwrap_or_else(|| panic!("no {quantity} of {keys:?} in {table}"))
    }
}

#[test]
fn the_grid_suite_has_the_thesis_s_solvers_under_their_own_names() {
    let report = Report::of(&["grid", "--only", "ball_grid_8"]);
    // Table 3.3, with the thesis's R.
    let quality = [
        ("method", "gauss-seidel, his R"),
        ("problem", "ball grid 8³"),
    ];
    let found = report.here("poulsen-3.3", "quality γ", &quality);
    assert!((found - 247.0).abs() < 0.5, "{found}");

    // The ground takes 64 colours, 58 of which are merged.
    let colors = |of: &str, quantity: &str| {
        report.here(
            "poulsen-7-colours-ball-grid-8",
            quantity,
            &[("colouring", of)],
        )
    };
    assert_eq!(colors("greedy relaxed", "colours"), 7.0);
    assert_eq!(colors("greedy relaxed", "smallest"), 58.0);
    assert_eq!(colors("greedy, the ground without colours", "colours"), 6.0);

    // The merged colour costs iterations where it reads those of before.
    let iterations = |of: &str| {
        let keys = [("there", of)];
        report.here("poulsen-7-ball-grid-8", "iterations", &keys)
    };
    let (rigid, relaxed) = (
        iterations("CSP greedy rigid factorized"),
        iterations("CSP greedy relaxed T"),
    );
    assert!(rigid < relaxed, "{rigid} and {relaxed}");

    // Naive parts: as in the thesis, undamped, and as we damp them.
    let parts = |family: &str| {
        let keys = [("R", family), ("parts", "8")];
        report.here("poulsen-7.1", "γ after 50 iterations", &keys)
    };
    assert!((290.0..310.0).contains(&parts("his R, undamped")));
    assert!(parts("local R, undamped") < parts("local R, damped"));

    // With T, and over channels: times are not asserted, but are there.
    for threads in ["1", "2"] {
        let keys = [("threads", threads)];
        let speed_up = "speed-up on its own sequential, with T";
        assert!(report.here("colored-t-ball-grid-8", speed_up, &keys) > 0.0);
        let keys = [
            ("workers", threads),
            ("messages", "extreme: one contact a task"),
        ];
        assert!(report.here("poulsen-6.1-6.2", "over sequential", &keys) > 0.0);
    }
    let rows = [("method", "colored-gs T"), ("problem", "ball grid 8³")];
    assert_eq!(report.here("poulsen-spin", "rows of a contact", &rows), 4.0);
}

#[test]
fn the_pile_suite_races_coloured_t_against_its_own_sequential() {
    let report = Report::of(&["pile", "--only", "ball_pile_40"]);
    for threads in ["1", "2"] {
        let keys = [("threads", threads)];
        for speed_up in [
            "speed-up on its own sequential, with T",
            "speed-up on sequential, factorized",
        ] {
            assert!(report.here("colored-t-ball-pile-40", speed_up, &keys) > 0.0);
        }
    }
}

#[test]
fn a_suite_is_restricted_to_what_it_has() {
    for suite in ["grid", "pyramid", "splitting", "survey"] {
        let output = moreau(&["bench", suite, "--quick", "--only", "tower_crane"]);
        assert_eq!(output.status.code(), Some(2), "{suite}");
        let message = text(&output.stderr);
        assert!(
            message.contains("tower_crane") && message.contains("it has: "),
            "{message}"
        );
    }
}

#[test]
fn a_machine_that_is_none_is_refused_with_the_list() {
    let output = moreau(&["bench", "machines", "--quick", "--only", "tower_crane"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("tower_crane") && message.contains("winch"));
}

#[test]
fn a_plot_has_its_series_and_its_words() {
    let title = "Time < quality & \"more\"";
    let mut plot = Plot::new(title, Axis::Whole("threads"), Axis::Log("residual [m/s]"));
    plot.add(
        "one",
        vec![[1.0, 1e-3], [2.0, 1e-6], [3.0, 0.0]],
        Mark::Line,
    );
    plot.add("two", vec![[1.0, f64::NAN], [2.0, 0.5]], Mark::Points);
    plot.add("paper", vec![[1.0, 1.0], [8.0, 1.0]], Mark::Reference);
    plot.add("nothing", Vec::new(), Mark::Line);
    let svg = plot.svg();
    assert!(is_well_formed(&svg), "{svg}");
    assert!(svg.contains("Time &lt; quality &amp; &quot;more&quot;"));
    assert!(svg.contains("residual [m/s]") && svg.contains(">threads</text>"));
    assert_eq!(svg.matches("<g class=\"series\">").count(), 3);
    assert_eq!(svg.matches("<polyline").count(), 2, "points have no line");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    // Zero has no place on a logarithmic axis: two of the three points are drawn.
    let line = svg.split("<title>one</title>").nth(1).expect("the series");
    let points = line.split('"').nth(3).expect("its points");
    assert_eq!(points.split(' ').count(), 2, "{points}");
}

#[test]
fn a_plot_of_nothing_is_still_a_picture() {
    let mut plot = Plot::new("", Axis::Log("x"), Axis::Linear("y"));
    assert!(is_well_formed(&plot.svg()));
    plot.add("constant", vec![[5.0, 2.0]], Mark::Line);
    let svg = plot.svg();
    assert!(is_well_formed(&svg) && !svg.contains("NaN"), "{svg}");
}

#[test]
fn the_triad_is_measured_for_every_pool() {
    let pool = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
        pool.expect("a thread pool")
    };
    let (one, two) = (pool(1), pool(2));
    let found = bandwidth::triad(&[&one, &two], 1, 1);
    assert_eq!(found.len(), 2);
    // Any machine moves more than 10 MB/s and less than 100 TB/s.
    assert!(found.iter().all(|b| (1e7..1e14).contains(b)), "{found:?}");
}
