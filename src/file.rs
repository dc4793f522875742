//! Files that say what they are: magic, version, length and checksum in front of the data.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 8 + 4 + 8 + 8;

/// A kind of file.
#[derive(Debug)]
pub struct FileKind {
    /// What it is called: "snapshot".
    pub name: &'static str,
    /// How it begins.
    pub magic: &'static [u8; 8],
    /// Version of its format; another one is refused.
    pub version: u32,
}

/// Why a file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It does not begin like one.
    #[error("this is not a Moreau {0}")]
    Foreign(&'static str),
    /// Another version wrote it.
    #[error("the {name} has version {found}, this program reads version {known}")]
    Version {
        /// What it is called.
        name: &'static str,
        /// Its version.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// The checksum does not fit, the data end early, or they say what cannot be.
    #[error("the {0} is damaged: {1}")]
    Damaged(&'static str, String),
}

impl FileKind {
    /// The file that holds `data`.
    pub fn write(&self, data: &impl Serialize) -> Vec<u8> {
        let data = postcard::to_allocvec(data).expect("plain data always serialises");
        let mut bytes = Vec::with_capacity(HEADER + data.len());
        bytes.extend_from_slice(self.magic);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&xxh3_64(&data).to_le_bytes());
        bytes.extend_from_slice(&data);
        bytes
    }

    /// What [`FileKind::write`] was given.
    ///
    /// # Errors
    /// Bytes of another kind or version, or damaged ones. What they say is still to be checked: a checksum
    /// can be made by anybody.
    pub fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, FileError> {
        if !bytes.starts_with(self.magic) {
            return Err(FileError::Foreign(self.name));
        }
        let Some((header, data)) = bytes.split_at_checked(HEADER) else {
            return Err(self.damaged("it ends within its header"));
        };
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
        let found = u32::from_le_bytes(header[8..12].try_into().expect("4 bytes"));
        if found != self.version {
            return Err(FileError::Version {
                name: self.name,
                found,
                known: self.version,
            });
        }
        if data.len() as u64 != word(12) {
            let (is, was) = (data.len(), word(12));
            return Err(self.damaged(format!("{is} bytes of data where {was} were written")));
        }
        if xxh3_64(data) != word(20) {
            return Err(self.damaged("the checksum differs"));
        }
        match postcard::take_from_bytes(data) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(self.damaged(format!("{} bytes too many", rest.len()))),
            Err(error) => Err(self.damaged(error)),
        }
    }

    /// Says that a file of this kind is damaged.
    pub fn damaged(&self, what: impl Display) -> FileError {
        FileError::Damaged(self.name, what.to_string())
    }
}

/// Writes a file as a whole or not at all: beside it first, then renamed.
///
/// # Errors
/// It cannot be written; what stood there before stays.
pub fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, path))
        .inspect_err(|_| {
            // Nothing more can be done where this fails too.
            let _ = std::fs::remove_file(&beside);
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: FileKind = FileKind {
        name: "list",
        magic: b"MOREAUXX",
        version: 3,
    };

    #[test]
    fn what_is_written_is_read() {
        let data = vec![1.5, -0.0, f64::INFINITY];
        let read: Vec<f64> = KIND.read(&KIND.write(&data)).unwrap();
        assert_eq!(read, data);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let bytes = KIND.write(&vec![1u64, 2, 3]);
        for end in 0..bytes.len() {
            assert!(
                KIND.read::<Vec<u64>>(&bytes[..end]).is_err(),
                "cut at {end}"
            );
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(KIND.read::<Vec<u64>>(&changed).is_err(), "byte {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(KIND.read::<Vec<u64>>(&longer).is_err());
    }

    #[test]
    fn another_kind_or_version_is_named() {
        let other = FileKind { version: 4, ..KIND };
        let error = other.read::<u64>(&KIND.write(&7u64)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the list has version 3, this program reads version 4"
        );
        let error = KIND.read::<u64>(b"# a scene").unwrap_err();
        assert_eq!(error.to_string(), "this is not a Moreau list");
        // More data than the type takes.
        let long = KIND.write(&[1u64, 2]);
        assert!(KIND.read::<u64>(&long).is_err());
    }
}
