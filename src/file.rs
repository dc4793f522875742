//! Files that say what they are: magic, version, length and checksum in front of the data.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
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
#[non_exhaustive]
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

/// Where something is written, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A regular file, which is replaced as a whole, or made.
    File(PathBuf),
    /// A pipe or a device, which is written into: /dev/stdout.
    Stream(PathBuf),
}

impl Target {
    /// What a path names.
    ///
    /// # Errors
    /// A folder, a disk, a socket, links in a circle, or what cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it has no name"));
        }
        let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
        let is_own = streams.iter().any(|own| path.starts_with(own));
        match std::fs::metadata(path) {
            Ok(found) if is_own || is_stream(&found) => Ok(Self::Stream(path.to_owned())),
            Ok(found) if found.is_file() => std::fs::canonicalize(path).map(Self::File),
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => Err(io::Error::other("it is no regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::of_new(path),
            Err(error) => Err(error),
        }
    }

    /// Of a path where nothing is, perhaps behind a link.
    fn of_new(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        match std::fs::read_link(path) {
            Ok(next) => Self::of(&folder.join(next)),
            Err(_) => {
                let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
                std::fs::canonicalize(folder).map(|folder| Self::File(folder.join(name)))
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Stream(path) => path,
        }
    }

    /// Whether something can be written there; nothing is.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> io::Result<()> {
        match self {
            Self::File(path) => Pending::at(path.clone()).map(drop),
            // To open a pipe is to wait for its reader.
            Self::Stream(_) => Ok(()),
        }
    }
}

#[cfg(unix)]
fn is_stream(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_char_device() || found.file_type().is_fifo()
}

#[cfg(not(unix))]
fn is_stream(_: &std::fs::Metadata) -> bool {
    false
}

/// A regular file that is being written: beside its place and under another name, until it is complete. What is dropped
/// before is removed.
#[derive(Debug)]
pub struct Pending {
    file: File,
    beside: PathBuf,
    place: PathBuf,
    is_kept: bool,
}

/// Names that are tried for a file that is being written.
const MOST_PENDING: u32 = 100;

impl Pending {
    /// Begins a file; links are followed.
    ///
    /// # Errors
    /// It cannot be made, or what is there is no regular file, or may not be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        match Target::of(path)? {
            Target::File(place) => Self::at(place),
            Target::Stream(_) => Err(io::Error::other("it is no regular file")),
        }
    }

    fn at(place: PathBuf) -> io::Result<Self> {
        // What may not be written is not replaced either.
        let there = match OpenOptions::new().write(true).open(&place) {
            Ok(file) => Some(file.metadata()?.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let named = |k: u32| {
            let mut name = place.as_os_str().to_owned();
            match k {
                1 => name.push(".part"),
                k => name.push(format!(".{k}.part")),
            }
            PathBuf::from(name)
        };
        for beside in (1..=MOST_PENDING).map(named) {
            let created = File::create_new(&beside);
            let file = match created {
                // Another run writes it, or one that was killed has left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            if let Some(permissions) = there {
                // Some file systems know none.
                let _ = file.set_permissions(permissions);
            }
            return Ok(Self {
                file,
                beside,
                place,
                is_kept: false,
            });
        }
        let last = named(MOST_PENDING);
        let message = format!("there are unfinished ones up to {}", last.display());
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Its name until it is complete.
    pub fn beside(&self) -> &Path {
        &self.beside
    }

    /// Leaves what there is under that name.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// It cannot be written; what stood there before stays.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.beside, &self.place)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nothing more can be done where this fails too.
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}

/// Writes a file as a whole or not at all; a pipe or a device is written into.
///
/// # Errors
/// It cannot be written; a file that stood there before stays.
pub fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match Target::of(path)? {
        Target::File(place) => {
            let mut pending = Pending::at(place)?;
            pending.file.write_all(bytes)?;
            pending.finish()
        }
        Target::Stream(path) => OpenOptions::new().write(true).open(path)?.write_all(bytes),
    }
}

/// What is read from files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// A scene.
    Scene,
    /// A mesh.
    Mesh,
    /// What a program remembers from run to run.
    Settings,
    /// A problem, of our own or of FCLIB.
    Problem,
    /// A recording.
    Recording,
    /// A state.
    State,
}

/// The environment variable that sets how many bytes of a file are read, of whatever content.
pub const MOST_BYTES: &str = "MOREAU_MAX_FILE_BYTES";

impl Content {
    /// The most that is read of one file (bytes): enough for 64,000 bodies, 188,800 contacts and a day's steps, and
    /// less than fills a memory where a file never ends.
    ///
    /// # Errors
    /// [`MOST_BYTES`] is set to something else than a number of bytes.
    pub fn most_bytes(self) -> io::Result<u64> {
        let Some(set) = std::env::var_os(MOST_BYTES) else {
            return Ok(match self {
                Self::Scene | Self::Mesh => 64 << 20,
                Self::Settings => 1 << 20,
                Self::Problem | Self::Recording | Self::State => 1 << 30,
            });
        };
        let bytes = set.to_str().and_then(|text| text.parse().ok());
        let message = || format!("{MOST_BYTES} must be a whole number, not {}", set.display());
        bytes.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, message()))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is larger than [`Content::most_bytes`], or what sets that is no number.
    pub fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_from(File::open(path)?)
    }

    /// Reads a file of text.
    ///
    /// # Errors
    /// As [`Content::read`], and text that is not UTF-8.
    pub fn read_text(self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path)?).map_err(|e| {
            let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|b| **b == b'\n').count();
            let message = format!("it is not UTF-8 text, in line {line}");
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }

    fn read_from(self, file: File) -> io::Result<Vec<u8>> {
        let most = self.most_bytes()?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        if length <= most {
            bytes.reserve_exact(length as usize);
            file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        }
        if length.max(bytes.len() as u64) <= most {
            return Ok(bytes);
        }
        let message =
            format!("it is larger than {most} bytes; {MOST_BYTES}=N sets how many are read");
        Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
    }
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

    /// A folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("moreau-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_are_replaced_as_a_whole_and_nothing_else_is_touched() {
        let folder = Folder::new("save");
        let path = folder.0.join("a");
        std::fs::write(folder.0.join("a.part"), "somebody's").unwrap();
        save(&path, b"one").unwrap();
        save(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(
            std::fs::read(folder.0.join("a.part")).unwrap(),
            b"somebody's"
        );
        drop(Pending::create(&path).unwrap());
        assert_eq!(folder.names(), ["a", "a.part"]);
        let mut kept = Pending::create(&path).unwrap();
        kept.keep();
        drop(kept);
        assert_eq!(folder.names(), ["a", "a.2.part", "a.part"]);
        assert!(save(&folder.0, b"").is_err(), "a folder");
        assert!(save(&folder.0.join("none/a"), b"").is_err(), "no folder");
        assert!(save(Path::new(""), b"").is_err(), "no name");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_are_written_into() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let folder = Folder::new("links");
        let (target, link, new) = (
            folder.0.join("target"),
            folder.0.join("link"),
            folder.0.join("to_new"),
        );
        std::fs::write(&target, "old").unwrap();
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("target", &link).unwrap();
        symlink("new", &new).unwrap();
        save(&link, b"x").unwrap();
        save(&new, b"y").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"x");
        let mode = std::fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(std::fs::read(folder.0.join("new")).unwrap(), b"y");
        assert_eq!(folder.names(), ["link", "new", "target", "to_new"]);

        save(Path::new("/dev/null"), b"z").unwrap();
        let null = std::fs::metadata("/dev/null").unwrap().file_type();
        assert!(null.is_char_device());
        assert!(Pending::create(Path::new("/dev/null")).is_err());
        symlink("loop", folder.0.join("loop")).unwrap();
        assert!(save(&folder.0.join("loop"), b"").is_err());
        for content in [Content::Scene, Content::Recording] {
            let error = content.read(Path::new("/dev/zero")).unwrap_err();
            let most = content.most_bytes().unwrap();
            assert!(
                error
                    .to_string()
                    .contains(&format!("than {most} bytes; MOREAU_"))
            );
        }
        let sparse = File::create(&target).unwrap();
        sparse.set_len(1 << 40).unwrap();
        assert!(Content::Mesh.read(&target).is_err());
        std::fs::write(&target, b"a\n\xff").unwrap();
        let error = Content::Scene.read_text(&target).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8 text, in line 2");
    }
}
