//! When a graphics processor pays: Nützi's dense variants (2011, 6.1) beside our solvers on it, by the number of contacts; and
//! what a million spheres take.

mod dense;
mod million;
mod sparse;
pub mod variants;

use crate::papers::measure::Bench;
use crate::papers::measure::table::Columns;
use crate::papers::{Error, Findings, Result};
use crate::solve::gpu;

/// Bytes of the buffer that is copied: more than four times the last cache of any card of today.
const COPIED: u64 = 512 << 20;
/// The same for a program that stands for a card, and has the processor's caches.
const COPIED_BY_SOFTWARE: u64 = 128 << 20;

/// How long a card is kept busy before its time is taken (s): half a minute for all variants and sizes. After a long rest it
/// needs up to a second, which the sweeps of a million are given.
const WARM_UP: f64 = 0.15;

/// The device that is measured.
struct Card {
    name: String,
    is_software: bool,
    /// Bytes that it reads and writes per second where it copies (bytes/s).
    copy: f64,
}

impl Card {
    fn open(bench: &Bench, findings: &mut Findings) -> Result<Self> {
        if let Some(reason) = gpu::obstacle() {
            return Err(Error::NoDevice(reason));
        }
        let name = gpu::device_name().unwrap_or_default();
        let is_software = gpu::is_software();
        let bytes = if is_software {
            COPIED_BY_SOFTWARE
        } else {
            COPIED
        };
        bench.say(format!("{name}: copying"));
        let [command, kernel] = gpu::copy_bandwidth(bytes).map_err(Error::NoDevice)?;
        let rows = [("command", command), ("kernel", kernel)];
        let caveat = if is_software {
            "This is no card but a program that stands for one: its figures, here and below, say nothing about cards."
        } else {
            "Reading and writing are counted both. Shares below are of the larger one."
        };
        findings.table(
            Columns::new(
                "gpu-copy",
                format!("{name}: its own copy of {} MB", bytes >> 20),
                "",
                &rows,
            )
            .key("copied by", |(by, _)| by)
            .column("bandwidth [GB/s]", |(_, b)| 1e-9 * b)
            .note(caveat),
        );
        Ok(Self {
            name,
            is_software,
            copy: command.max(kernel),
        })
    }

    /// How long it is kept busy before its time is taken (s): one that has rested begins at a fraction of its clock.
    fn warm_up(&self) -> f64 {
        if self.is_software { 0.0 } else { WARM_UP }
    }

    /// A table's title, which says where its figures come from.
    fn title(&self, what: impl std::fmt::Display) -> String {
        let mark = if self.is_software {
            ", a program that stands for a card: not meaningful"
        } else {
            ""
        };
        format!("{what} ({}{mark})", self.name)
    }
}

/// All that there is to measure.
///
/// # Errors
/// No device, or a scene or a solver that cannot be used.
pub fn gpu(bench: &Bench, findings: &mut Findings) -> Result<()> {
    let parts: [(&str, Part); 6] = [
        ("dense", dense::dense),
        ("contacts", sparse::by_contacts),
        ("box", sparse::in_a_box),
        ("simulation", sparse::in_a_simulation),
        ("pyramid", sparse::pyramid),
        ("million", million::growth),
    ];
    bench.check_only(parts.iter().map(|(name, _)| *name))?;
    let card = Card::open(bench, findings)?;
    for (name, part) in parts {
        if bench.wants(name) {
            part(bench, &card, findings)?;
        }
    }
    Ok(())
}

type Part = fn(&Bench, &Card, &mut Findings) -> Result<()>;
