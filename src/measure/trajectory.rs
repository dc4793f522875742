//! Trajectories as NumPy arrays (format version 1.0, f64, little endian).

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::file::Pending;
use crate::measure::energy::Balance;
use crate::world::World;

/// Numbers per body and step: position (3), quaternion x y z w (4), velocity (3), angular velocity (3).
const PER_BODY: usize = 13;
/// Length of the header; NumPy wants a multiple of 64, and this leaves room for any shape.
const HEADER: usize = 128;

/// Writes a trajectory while it happens.
///
/// All files are written under other names and take their own when they are complete. At any moment they can be read
/// under the other names too, and hold all but what came since the last megabyte or second.
pub struct Trajectory {
    states: Array,
    times: Array,
    /// A row of [`Balance::names`] per step; none where a step has no account.
    energies: Option<Array>,
}

impl Trajectory {
    /// The files of a trajectory: the states, the times beside them, and the energies.
    pub fn files(path: &Path) -> [PathBuf; 3] {
        let beside = |extension| path.with_extension(extension);
        [path.to_owned(), beside("times.npy"), beside("energy.npy")]
    }

    /// Begins the trajectory of a world.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn create(path: &Path, world: &World) -> io::Result<Self> {
        let [states, times, energies] = Self::files(path);
        Ok(Self {
            states: Array::create(&states, &[world.bodies.len(), PER_BODY])?,
            times: Array::create(&times, &[])?,
            energies: Some(Array::create(&energies, &[Balance::COLUMNS])?),
        })
    }

    /// Adds the present state, and where the step's energy went, if that was kept.
    ///
    /// # Errors
    /// A full disk, for instance. What was written before can be read.
    pub fn add(&mut self, world: &World, energy: Option<&Balance>) -> io::Result<()> {
        let b = &world.bodies;
        for slot in b.iter() {
            let (x, q, u) = (
                &b.position[slot],
                &b.rotation[slot].coords,
                &b.velocity[slot],
            );
            let parts = [
                x.as_slice(),
                q.as_slice(),
                u.linear.as_slice(),
                u.angular.as_slice(),
            ];
            self.states.add(parts.into_iter().flatten().copied());
        }
        self.times.add([world.time]);
        match (energy, &mut self.energies) {
            (Some(energy), Some(energies)) => energies.add(energy.row()),
            _ => self.energies = None,
        }
        let mut all = [
            Some(&mut self.states),
            Some(&mut self.times),
            self.energies.as_mut(),
        ];
        all.iter_mut()
            .flatten()
            .try_for_each(|array| array.end_row())
    }

    /// Completes the files.
    ///
    /// # Errors
    /// A full disk, for instance.
    pub fn finish(mut self) -> io::Result<()> {
        // All are whole before the first one takes its name.
        let all = [Some(self.states), Some(self.times), self.energies.take()];
        let mut all: Vec<Array> = all.into_iter().flatten().collect();
        all.iter_mut().try_for_each(Array::flush)?;
        all.into_iter().try_for_each(|array| array.pending.finish())
    }

    /// Leaves what can be read of it under the names of unfinished files; returns that of the states, and how many steps
    /// it has.
    pub fn leave(mut self) -> (PathBuf, u64) {
        let all = [
            Some(&mut self.states),
            Some(&mut self.times),
            self.energies.as_mut(),
        ];
        for array in all.into_iter().flatten() {
            // It may fail for the reason that the trajectory is left for.
            let _ = array.flush();
            array.pending.keep();
        }
        let states = &self.states;
        (states.pending.beside().to_owned(), states.written)
    }
}

/// An array whose rows are written as they come.
struct Array {
    pending: Pending,
    /// Sides of a row.
    row: Vec<usize>,
    rows: u64,
    /// Rows that are in the file and its header.
    written: u64,
    buffer: Vec<u8>,
    flushed: Instant,
}

/// After so many bytes, and so much time, what is kept is written.
const MOST_KEPT: usize = 1 << 20;
const LONGEST_KEPT: Duration = Duration::from_secs(1);

impl Array {
    fn create(path: &Path, row: &[usize]) -> io::Result<Self> {
        let mut array = Self {
            pending: Pending::create(path)?,
            row: row.to_vec(),
            rows: 0,
            written: 0,
            buffer: Vec::new(),
            flushed: Instant::now(),
        };
        let header = array.header();
        array.pending.file().write_all(&header)?;
        Ok(array)
    }

    fn header(&self) -> Vec<u8> {
        let sides: Vec<usize> = [self.rows as usize]
            .iter()
            .chain(&self.row)
            .copied()
            .collect();
        header(&sides)
    }

    fn add(&mut self, numbers: impl IntoIterator<Item = f64>) {
        self.buffer
            .extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.rows += 1;
        match self.buffer.len() >= MOST_KEPT || self.flushed.elapsed() >= LONGEST_KEPT {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what is kept, and only then a header that counts it. Nothing is lost where it fails: it begins again behind
    /// the rows that the header counts.
    fn flush(&mut self) -> io::Result<()> {
        let row = 8 * self.row.iter().product::<usize>() as u64;
        let end = HEADER as u64 + self.written * row;
        let header = self.header();
        let file = self.pending.file();
        file.seek(SeekFrom::Start(end))?;
        file.write_all(&self.buffer)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)?;
        self.written = self.rows;
        self.buffer.clear();
        self.flushed = Instant::now();
        Ok(())
    }
}

/// Magic, version 1.0, length of the rest, and a Python dictionary padded with spaces.
fn header(shape: &[usize]) -> Vec<u8> {
    let sides: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let text = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}",
        sides.trim_end()
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(HEADER as u16 - 10).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(HEADER - 1, b' ');
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_length_that_numpy_wants() {
        let longest = header(&[usize::MAX, usize::MAX, PER_BODY]);
        assert_eq!(longest.len(), HEADER);
        let text = String::from_utf8_lossy(&header(&[5])[10..]).into_owned();
        assert!(text.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }"));
        assert!(text.ends_with('\n'));
    }
}
