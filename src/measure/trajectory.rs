//! Trajectories as NumPy arrays (format version 1.0, f64, little endian).

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::measure::energy::Balance;
use crate::world::World;

/// Numbers per body and step: position (3), quaternion x y z w (4), velocity (3), angular velocity (3).
const PER_BODY: usize = 13;
/// Length of the header; NumPy wants a multiple of 64, and this leaves room for any shape.
const HEADER: usize = 128;

/// Writes a trajectory while it happens.
///
/// All files are written under other names and take their own when they are complete.
pub struct Trajectory {
    path: PathBuf,
    file: BufWriter<File>,
    times: Vec<f64>,
    /// A row of [`Balance::names`] per step.
    energies: Vec<f64>,
    bodies: usize,
}

impl Trajectory {
    /// Begins the trajectory of a world.
    pub fn create(path: &Path, world: &World) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(unfinished(path))?);
        // The number of steps is filled in at the end.
        file.write_all(&header(&[0, world.bodies.len(), PER_BODY]))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            times: Vec::new(),
            energies: Vec::new(),
            bodies: world.bodies.len(),
        })
    }

    /// Adds the present state, and where the step's energy went, if that was kept.
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
            for number in parts.into_iter().flatten() {
                self.file.write_all(&number.to_le_bytes())?;
            }
        }
        self.times.push(world.time);
        self.energies
            .extend(energy.into_iter().flat_map(Balance::row));
        Ok(())
    }

    /// Completes the files: the states, the times beside them, and the energies if all steps have them.
    pub fn finish(mut self) -> io::Result<()> {
        let steps = self.times.len();
        self.file.seek(SeekFrom::Start(0))?;
        self.file
            .write_all(&header(&[steps, self.bodies, PER_BODY]))?;
        self.file.flush()?;
        std::fs::rename(unfinished(&self.path), &self.path)?;

        beside(&self.path, "times.npy", &[steps], &self.times)?;
        let shape = [steps, Balance::COLUMNS];
        match self.energies.len() == steps * Balance::COLUMNS {
            true => beside(&self.path, "energy.npy", &shape, &self.energies),
            false => Ok(()),
        }
    }
}

/// Writes an array beside the trajectory.
fn beside(path: &Path, extension: &str, shape: &[usize], numbers: &[f64]) -> io::Result<()> {
    let path = path.with_extension(extension);
    let mut bytes = header(shape);
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(unfinished(&path), bytes)?;
    std::fs::rename(unfinished(&path), &path)
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
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
