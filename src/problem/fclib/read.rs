//! FCLIB's groups from an HDF5 file.

use hdf5_pure::{DType, Dataset, File, Layout};

use super::{FclibError, FclibProblem};
use crate::check::{Invalid, demand, finite};
use crate::problem::{Laws, Masses, MatrixProblem, Sparse};

/// Most bytes that a byte of a compressed file may stand for: what deflate can do.
const INFLATION: u64 = 1032;
/// Most numbers of a compressed array, whatever the file's length: each takes eight bytes once it is read.
const MOST: u64 = 1 << 27;

/// The problem of a file.
pub fn problem(bytes: Vec<u8>) -> Result<FclibProblem, FclibError> {
    let size = bytes.len() as u64;
    let file = File::from_bytes(bytes)?;
    let root = Folder {
        file: &file,
        path: String::new(),
        size,
    };
    let name = ["fclib_local", "fclib_global"].into_iter();
    let mut there = name.filter(|name| root.has_folder(name).unwrap_or(false));
    let Some(name) = there.next() else {
        return Err(FclibError::Missing(
            "group fclib_local or fclib_global".into(),
        ));
    };
    let group = root.folder(name)?;
    let dimension = group.integer("spacedim")?;
    let is_known = dimension == 2 || dimension == 3;
    demand(is_known, &group.name("spacedim"), "2 or 3", dimension)?;
    let space = Space(dimension as usize);
    let problem = if name == "fclib_local" {
        local(&group, space)?
    } else {
        global(&group, space)?
    };
    let text = |name: &str| {
        let info = group.folder("info").ok()?;
        Some(info.text(name)?.trim().to_owned())
    };
    Ok(FclibProblem {
        title: text("title").unwrap_or_default(),
        description: text("description").unwrap_or_default(),
        guess: guess(&root, space, &problem)?,
        problem,
    })
}

/// u = W r + V λ + q, 0 = Vᵀ r + R λ + s.
fn local(group: &Folder, space: Space) -> Result<MatrixProblem, FclibError> {
    let vectors = group.folder("vectors")?;
    let q = vectors.numbers("q", None)?;
    let mu = vectors.numbers("mu", Some(space.contacts_of(&q, &vectors.name("q"))?))?;
    let has_rows = group.has_folder("R")?;
    if has_rows != group.has_folder("V")? {
        let [there, other] = if has_rows { ["R", "V"] } else { ["V", "R"] };
        return Err(FclibError::Missing(format!(
            "{}, which {there} asks for",
            group.name(other)
        )));
    }
    let s = if has_rows {
        vectors.numbers("s", None)?
    } else {
        Vec::new()
    };
    let first = 3 * mu.len() as u32;
    let mut entries = Vec::new();
    for (r, c, v) in group.matrix("W", [q.len(); 2])? {
        entries.push((space.row(r), space.row(c), v));
    }
    if has_rows {
        for (r, c, v) in group.matrix("V", [q.len(), s.len()])? {
            entries.extend([(space.row(r), first + c, v), (first + c, space.row(r), v)]);
        }
        let own = group.matrix("R", [s.len(); 2])?.into_iter();
        entries.extend(own.map(|(r, c, v)| (first + r, first + c, v)));
    }
    let laws = Laws::new(mu, s.len());
    let mut b = space.widened(&q);
    b.extend(s);
    let a = Sparse::from_triplets(b.len(), b.len(), &entries);
    let problem = MatrixProblem::from_matrix(laws, &a, b);
    Ok(problem.map_err(|e| e.inside(&group.path))?)
}

/// M v = H r + G λ + f, u = Hᵀ v + w, 0 = Gᵀ v + b.
fn global(group: &Folder, space: Space) -> Result<MatrixProblem, FclibError> {
    let vectors = group.folder("vectors")?;
    let f = vectors.numbers("f", None)?;
    let w = vectors.numbers("w", None)?;
    let mu = vectors.numbers("mu", Some(space.contacts_of(&w, &vectors.name("w"))?))?;
    let has_rows = group.has_folder("G")?;
    let b = if has_rows {
        vectors.numbers("b", None)?
    } else {
        Vec::new()
    };
    let n = f.len();
    let first = 3 * mu.len() as u32;
    let mut jacobian = Vec::new();
    for (v, row, x) in group.matrix("H", [n, w.len()])? {
        jacobian.push((space.row(row), v, x));
    }
    if has_rows {
        let rows = group.matrix("G", [n, b.len()])?.into_iter();
        jacobian.extend(rows.map(|(v, row, x)| (first + row, v, x)));
    }
    let mut mass = group.matrix("M", [n; 2])?;
    mirror(&mut mass);
    let laws = Laws::new(mu, b.len());
    let mut bias = space.widened(&w);
    bias.extend(b);
    let rows = bias.len();
    let masses = Masses {
        mass: Sparse::from_triplets(n, n, &mass),
        jacobian: Sparse::from_triplets(rows, n, &jacobian),
        momentum: f,
        bias,
        compliance: vec![0.0; rows],
    };
    let problem = MatrixProblem::from_masses(laws, masses);
    Ok(problem.map_err(|e| e.inside(&group.path))?)
}

/// M is symmetric. Where a file holds one of its triangles only, as those of LMGC90 do, the other is its mirror image.
fn mirror(entries: &mut Vec<(u32, u32, f64)>) {
    let is_half = |below: bool| {
        let mut others = entries.iter().filter(|(r, c, v)| r != c && *v != 0.0);
        others.all(|(r, c, _)| (r > c) == below)
    };
    if is_half(true) || is_half(false) {
        let others = entries.iter().filter(|(r, c, _)| r != c);
        let mirrored: Vec<_> = others.map(|(r, c, v)| (*c, *r, *v)).collect();
        entries.extend(mirrored);
    }
}

/// The first guess of r and λ, if there is one.
fn guess(
    root: &Folder,
    space: Space,
    problem: &MatrixProblem,
) -> Result<Option<Vec<f64>>, FclibError> {
    if !root.has_folder("guesses")? || !root.folder("guesses")?.has_folder("1")? {
        return Ok(None);
    }
    let first = root.folder("guesses")?.folder("1")?;
    if !first.has("r")? {
        return Ok(None);
    }
    let rows = problem.bounds().len();
    let r = first.numbers("r", Some(space.0 * problem.mu().len()))?;
    let mut guess = space.widened(&r);
    match first.has("l")? {
        true => guess.extend(first.numbers("l", Some(rows))?),
        false => guess.resize(guess.len() + rows, 0.0),
    }
    Ok(Some(guess))
}

/// The dimension of space. In the plane a contact has the rows N and T; here its T2 stays empty.
#[derive(Clone, Copy)]
struct Space(usize);

impl Space {
    /// The row of Λ for a row of the file.
    fn row(self, r: u32) -> u32 {
        let d = self.0 as u32;
        3 * (r / d) + r % d
    }

    /// A vector of the file's rows over the rows of Λ.
    fn widened(self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; x.len() / self.0 * 3];
        for (r, x) in (0..).zip(x) {
            out[self.row(r) as usize] = *x;
        }
        out
    }

    /// Number of contacts of a vector.
    fn contacts_of(self, x: &[f64], name: &str) -> Result<usize, Invalid> {
        let expected = format!("as long as {} times the contacts", self.0);
        let is_whole = x.len().is_multiple_of(self.0);
        demand(
            is_whole,
            name,
            &expected,
            format_args!("{} numbers", x.len()),
        )?;
        Ok(x.len() / self.0)
    }
}

/// A group of the file.
struct Folder<'a> {
    file: &'a File,
    path: String,
    /// Bytes of the file, which nothing in it can be longer than.
    size: u64,
}

impl<'a> Folder<'a> {
    fn name(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        }
    }

    fn handle(&self) -> Result<hdf5_pure::Group, FclibError> {
        Ok(match self.path.as_str() {
            "" => self.file.root(),
            path => self.file.group(path)?,
        })
    }

    fn has_folder(&self, name: &str) -> Result<bool, FclibError> {
        Ok(self.handle()?.groups()?.iter().any(|n| n == name))
    }

    fn has(&self, name: &str) -> Result<bool, FclibError> {
        Ok(self.handle()?.datasets()?.iter().any(|n| n == name))
    }

    fn folder(&self, name: &str) -> Result<Self, FclibError> {
        let path = self.name(name);
        if !self.has_folder(name)? {
            return Err(FclibError::Missing(format!("group {path}")));
        }
        Ok(Self { path, ..*self })
    }

    /// An array of numbers of a kind, with its length; refuses what the file cannot hold.
    fn array(
        &self,
        name: &str,
        kind: &str,
        fits: fn(&DType) -> bool,
    ) -> Result<Dataset, FclibError> {
        let path = self.name(name);
        if !self.has(name)? {
            return Err(FclibError::Missing(path));
        }
        let array = self.file.dataset(&path)?;
        let found = array.dtype()?;
        demand(fits(&found), &path, kind, &found)?;
        let shape = array.shape()?;
        demand(
            shape.len() <= 1,
            &path,
            "a list",
            format_args!("{} dimensions", shape.len()),
        )?;
        let bytes = shape
            .iter()
            .try_fold(array.element_size()?, |n, s| n.checked_mul(*s));
        let most = match array.layout()? {
            Layout::Chunked { .. } => {
                (self.size.saturating_mul(INFLATION)).min(MOST * array.element_size()?)
            }
            _ => self.size,
        };
        let expected = format!("of at most {most} bytes");
        let found = bytes.map_or_else(|| "more".into(), |n| n.to_string());
        demand(bytes.is_some_and(|n| n <= most), &path, &expected, found)?;
        Ok(array)
    }

    /// A list of finite numbers, as long as asked for.
    fn numbers(&self, name: &str, length: Option<usize>) -> Result<Vec<f64>, FclibError> {
        let is_number = |t: &DType| matches!(t, DType::F64 | DType::F32);
        let numbers = self
            .array(name, "of floating-point numbers", is_number)?
            .read_f64()?;
        let path = self.name(name);
        if let Some(length) = length {
            let found = numbers.len();
            demand(found == length, &path, &format!("{length} numbers"), found)?;
        }
        finite(&path, &numbers)?;
        Ok(numbers)
    }

    /// A list of integers.
    fn integers(&self, name: &str) -> Result<Vec<i64>, FclibError> {
        let is_integer = |t: &DType| {
            use DType::{I8, I16, I32, I64, U8, U16, U32};
            matches!(t, I8 | I16 | I32 | I64 | U8 | U16 | U32)
        };
        Ok(self.array(name, "of integers", is_integer)?.read_i64()?)
    }

    /// One integer. How many there are is known before they are read.
    fn integer(&self, name: &str) -> Result<i64, FclibError> {
        let path = self.name(name);
        let one = "one integer";
        if let Ok(array) = self.file.dataset(&path) {
            let shape = array.shape()?;
            let count = shape.iter().fold(1, |n: u64, s| n.saturating_mul(*s));
            demand(count == 1, &path, one, count)?;
        }
        let first = self.integers(name)?.first().copied();
        Ok(first.ok_or_else(|| Invalid::new(&path, one, "none"))?)
    }

    /// A text for people; none where it cannot be had.
    fn text(&self, name: &str) -> Option<String> {
        let is_text = |t: &DType| matches!(t, DType::String);
        let text = self.array(name, "text", is_text).ok()?.read_string().ok()?;
        text.into_iter().next()
    }

    /// The entries (row, column, value) of a matrix of a size that is known.
    ///
    /// `nz` −2: compressed rows, `p` the first entry of each row in `i`, the columns. −1: compressed columns, the same
    /// with rows and columns exchanged. From 0 on: so many triplets, `i` the rows and `p` the columns; those of the
    /// same place add up.
    fn matrix(&self, name: &str, size: [usize; 2]) -> Result<Vec<(u32, u32, f64)>, FclibError> {
        let group = self.folder(name)?;
        for (field, size) in ["m", "n"].into_iter().zip(size) {
            let found = group.integer(field)?;
            demand(
                found == size as i64,
                &group.name(field),
                &size.to_string(),
                found,
            )?;
        }
        let kind = group.integer("nz")?;
        let expected = "−2 (compressed rows), −1 (compressed columns) or the number of triplets";
        demand(kind >= -2, &group.name("nz"), expected, kind)?;
        let [p, i] = [group.integers("p")?, group.integers("i")?];
        let x = group.numbers("x", None)?;
        let count = match kind {
            -2 => group.check_pointers(&p, size[0])?,
            -1 => group.check_pointers(&p, size[1])?,
            count => usize::try_from(count).unwrap_or(usize::MAX),
        };
        let lengths = [("i", i.len()), ("x", x.len()), ("p", p.len())];
        let of_entries = if kind < 0 { 2 } else { 3 };
        for (field, found) in lengths.into_iter().take(of_entries) {
            let expected = format!("at least {count} numbers");
            demand(found >= count, &group.name(field), &expected, found)?;
        }
        let index = |field: &str, k: i64, size: usize| match usize::try_from(k) {
            Ok(at) if at < size => Ok(at as u32),
            _ => Err(Invalid::new(
                &group.name(field),
                format!("from 0 to below {size}"),
                k,
            )),
        };
        let mut entries = Vec::with_capacity(count);
        match kind {
            -2 | -1 => {
                let across = size[if kind == -2 { 1 } else { 0 }];
                for (line, ends) in (0..).zip(p.windows(2)) {
                    for k in ends[0] as usize..ends[1] as usize {
                        let at = index("i", i[k], across)?;
                        entries.push(if kind == -2 {
                            (line, at, x[k])
                        } else {
                            (at, line, x[k])
                        });
                    }
                }
            }
            _ => {
                for ((i, p), x) in i.iter().zip(&p).zip(&x).take(count) {
                    entries.push((index("i", *i, size[0])?, index("p", *p, size[1])?, *x));
                }
            }
        }
        Ok(entries)
    }

    /// Refuses pointers that do not begin at 0 or do not ascend; the number of entries.
    fn check_pointers(&self, p: &[i64], lines: usize) -> Result<usize, Invalid> {
        let name = self.name("p");
        demand(
            p.len() == lines + 1,
            &name,
            &format!("{} numbers", lines + 1),
            p.len(),
        )?;
        demand(p[0] == 0, &name, "0 at first", p[0])?;
        let down = p.windows(2).find(|ends| ends[0] > ends[1]);
        let found = format_args!("{:?}", down.unwrap_or_default());
        demand(down.is_none(), &name, "ascending", found)?;
        Ok(p[lines] as usize)
    }
}
