//! FCLIB's groups into an HDF5 file.

use hdf5_pure::{FileBuilder, GroupBuilder};

use super::FclibError;
use crate::problem::{Form, FrictionLaw, Sparse};

/// Which of FCLIB's two forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// W, q; where there are bilateral rows V, R, s.
    Local,
    /// M, H, f, w; where there are bilateral rows G, b.
    #[default]
    Global,
}

/// Writes a problem of any form, with the impulses to begin with.
///
/// # Errors
/// FCLIB knows contacts with the Coulomb friction of a disc and bilateral rows only, and its global form no
/// compliance.
///
/// # Panics
/// If `guess` is not as long as the problem has rows.
pub fn to_bytes(
    problem: &impl Form,
    group: Group,
    title: &str,
    description: &str,
    guess: Option<&[f64]>,
) -> Result<Vec<u8>, FclibError> {
    check_laws(problem)?;
    let mut file = FileBuilder::new();
    let mut mu = Vec::new();
    mu.extend((0..problem.contact_count()).map(|c| problem.friction_of(c).mu[0]));
    let name = match group {
        Group::Local => "fclib_local",
        Group::Global => "fclib_global",
    };
    let mut out = file.create_group(name);
    integer(&mut out, "spacedim", 3)?;
    match group {
        Group::Local => write_local(problem, &mut out, &mu)?,
        Group::Global => write_global(problem, &mut out, &mu)?,
    }
    let mut info = out.create_group("info");
    for (name, text) in [
        ("title", title),
        ("description", description),
        ("math_info", "unknown"),
    ] {
        // HDF5 has no strings of length 0.
        let text = if text.is_empty() { " " } else { text };
        let strings = info.create_dataset(name).with_strings(&[text]);
        strings
            .map_err(|e| FclibError::Hdf5(e.to_string()))?
            .with_shape(&[]);
    }
    out.add_group(info.finish());
    file.add_group(out.finish());
    if let Some(guess) = guess {
        write_guess(problem, group, &mut file, guess)?;
    }
    Ok(file.finish()?)
}

/// Whether FCLIB has these laws.
fn check_laws(problem: &impl Form) -> Result<(), FclibError> {
    for c in 0..problem.contact_count() {
        let friction = problem.friction_of(c);
        if friction.law != FrictionLaw::Disc {
            return Err(FclibError::Unsupported(format!(
                "contact {c} has the friction law \"{}\", and FCLIB's contacts are discs; the scene's \
                 settings.friction_law, or its material, asks for it",
                friction.law
            )));
        }
    }
    let rows = problem.general_rows();
    for r in 0..rows.len() {
        let [lo, hi] = problem.bounds_of(r);
        if [lo, hi] != [f64::NEG_INFINITY, f64::INFINITY] {
            return Err(FclibError::Unsupported(format!(
                "row {r} of its joints allows impulses from {lo} to {hi} N s, as a limit, a motor or joint friction \
                 does, and FCLIB's rows are bilateral"
            )));
        }
    }
    Ok(())
}

fn write_local(problem: &impl Form, out: &mut GroupBuilder, mu: &[f64]) -> Result<(), FclibError> {
    let a = dense_rows(problem);
    let first = problem.general_rows().start as u32;
    let rows = problem.general_rows().len();
    let mut parts: [Vec<(u32, u32, f64)>; 3] = Default::default();
    for (r, c, v) in a {
        match (r < first, c < first) {
            (true, true) => parts[0].push((r, c, v)),
            (true, false) => parts[1].push((r, c - first, v)),
            (false, false) => parts[2].push((r - first, c - first, v)),
            // Vᵀ is V's mirror image.
            (false, true) => {}
        }
    }
    let mut b = vec![0.0; problem.row_count()];
    problem.product(&vec![0.0; b.len()], &mut b);
    let (q, s) = b.split_at(first as usize);
    let mut vectors = out.create_group("vectors");
    vectors.create_dataset("q").with_f64_data(q);
    vectors.create_dataset("mu").with_f64_data(mu);
    let [w, v, r] = parts;
    matrix(out, "W", &Sparse::from_triplets(q.len(), q.len(), &w))?;
    if rows > 0 {
        matrix(out, "V", &Sparse::from_triplets(q.len(), rows, &v))?;
        matrix(out, "R", &Sparse::from_triplets(rows, rows, &r))?;
        vectors.create_dataset("s").with_f64_data(s);
    }
    out.add_group(vectors.finish());
    Ok(())
}

/// The entries of A, blocks filled up.
fn dense_rows(problem: &impl Form) -> Vec<(u32, u32, f64)> {
    let a = problem.delassus();
    let (contacts, general) = (problem.contact_count(), problem.general_rows());
    let first_row = |source: u32| match (source as usize).checked_sub(contacts) {
        None => problem.rows_of(source as usize).start,
        Some(r) => general.start + r,
    };
    let mut out = Vec::with_capacity(a.value.len());
    for b in 0..a.blocks() {
        let (first, height) = (first_row(a.source[b]), a.rows(b).len());
        let mut at = a.value_start[b];
        for c in &a.column[a.start[b]..a.start[b + 1]] {
            let width = a.rows(*c as usize).len();
            let left = first_row(a.source[*c as usize]);
            for k in 0..height * width {
                let (r, c) = (first + k / width, left + k % width);
                out.push((r as u32, c as u32, a.value[at + k]));
            }
            at += height * width;
        }
    }
    out
}

fn write_global(problem: &impl Form, out: &mut GroupBuilder, mu: &[f64]) -> Result<(), FclibError> {
    let Some(masses) = problem.masses() else {
        return Err(FclibError::Unsupported(
            "its masses are not known, and the global form consists of them; the local form (W) does not".into(),
        ));
    };
    let compliant = masses.compliance.iter().position(|c| *c > 0.0);
    let general = problem.general_rows();
    if let Some(row) = compliant {
        let what = if row < general.start {
            "contact"
        } else {
            "joint"
        };
        return Err(FclibError::Unsupported(format!(
            "row {row}, of a {what}, has a compliance, and the global form (M, H, G) has no place for it; the local \
             form has: the diagonal of W or R"
        )));
    }
    let n = masses.mass.columns;
    let part = |rows: std::ops::Range<usize>| {
        let entries = rows.clone().flat_map(|r| {
            let row = masses.jacobian.row(r);
            row.map(move |(v, x)| (v as u32, r as u32, x))
        });
        let shifted: Vec<_> = entries
            .map(|(v, r, x)| (v, r - rows.start as u32, x))
            .collect();
        Sparse::from_triplets(n, rows.len(), &shifted)
    };
    matrix(out, "M", &masses.mass)?;
    matrix(out, "H", &part(0..general.start))?;
    let mut vectors = out.create_group("vectors");
    let (w, b) = masses.bias.split_at(general.start);
    vectors.create_dataset("f").with_f64_data(&masses.momentum);
    vectors.create_dataset("w").with_f64_data(w);
    vectors.create_dataset("mu").with_f64_data(mu);
    if !general.is_empty() {
        matrix(out, "G", &part(general))?;
        vectors.create_dataset("b").with_f64_data(b);
    }
    out.add_group(vectors.finish());
    Ok(())
}

/// One guess with all that FCLIB's own reader asks for: r, u = A r + q, l, and v in the global form.
fn write_guess(
    problem: &impl Form,
    group: Group,
    file: &mut FileBuilder,
    guess: &[f64],
) -> Result<(), FclibError> {
    let mut velocity = vec![0.0; problem.row_count()];
    problem.product(guess, &mut velocity);
    let first = problem.general_rows().start;
    let mut guesses = file.create_group("guesses");
    integer(&mut guesses, "number_of_guesses", 1)?;
    let mut one = guesses.create_group("1");
    one.create_dataset("r").with_f64_data(&guess[..first]);
    one.create_dataset("u").with_f64_data(&velocity[..first]);
    if first < guess.len() {
        one.create_dataset("l").with_f64_data(&guess[first..]);
    }
    if group == Group::Global
        && let Some(masses) = problem.masses()
    {
        one.create_dataset("v")
            .with_f64_data(&masses.velocities(guess)?);
    }
    guesses.add_group(one.finish());
    file.add_group(guesses.finish());
    Ok(())
}

fn integer(out: &mut GroupBuilder, name: &str, value: usize) -> Result<(), FclibError> {
    out.create_dataset(name).with_i32_data(&[as_int(value)?]);
    Ok(())
}

/// FCLIB's integers have 32 bits.
fn as_int(value: usize) -> Result<i32, FclibError> {
    i32::try_from(value).map_err(|_| {
        FclibError::Unsupported(format!("{value} does not fit into its integers of 32 bits"))
    })
}

/// A matrix in compressed rows.
fn matrix(out: &mut GroupBuilder, name: &str, a: &Sparse) -> Result<(), FclibError> {
    let mut group = out.create_group(name);
    for (name, value) in [("m", a.rows()), ("n", a.columns), ("nzmax", a.value.len())] {
        integer(&mut group, name, value)?;
    }
    group.create_dataset("nz").with_i32_data(&[-2]);
    let p: Vec<i32> = a
        .start
        .iter()
        .map(|s| as_int(*s))
        .collect::<Result<_, _>>()?;
    let i: Vec<i32> = a
        .column
        .iter()
        .map(|c| as_int(*c as usize))
        .collect::<Result<_, _>>()?;
    group.create_dataset("p").with_i32_data(&p);
    group.create_dataset("i").with_i32_data(&i);
    group.create_dataset("x").with_f64_data(&a.value);
    out.add_group(group.finish());
    Ok(())
}
