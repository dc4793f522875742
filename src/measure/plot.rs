//! Line plots as SVG, written by hand: a few shapes and words, no fonts and no libraries.
//!
//! The colours follow the reader's light or dark scheme, and the plot brings its own background, so
//! that it can be read wherever it is put.

use std::fmt::Write as _;

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Unit, "-" for none.
    pub unit: String,
    /// Whether it is logarithmic; points that are not positive are then left out.
    pub log: bool,
    /// Whether only whole numbers may be marked, as for threads.
    pub whole: bool,
}

impl Axis {
    /// A linear axis. It begins at 0 unless all values are far from it.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Self {
            log: true,
            ..Self::linear(label, unit)
        }
    }

    /// A linear axis of whole numbers.
    pub fn whole(label: &str) -> Self {
        Self {
            whole: true,
            ..Self::linear(label, "-")
        }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// A line, with markers where there are few points.
    #[default]
    Line,
    /// A dashed grey line, for a paper's numbers and for limits.
    Reference,
    /// Markers alone, for points in no order.
    Points,
}

/// A named series of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The points, in the order of the line.
    pub points: Vec<[f64; 2]>,
    /// How it is drawn.
    pub mark: Mark,
}

/// A plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Title.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
}

/// Size of the picture and of the margins around the axes (px); the legend is on the right.
const SIZE: [f64; 2] = [860.0, 460.0];
const LEFT: f64 = 78.0;
const RIGHT: f64 = 270.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 58.0;
/// Lines of more points have no markers.
const MOST_MARKERS: usize = 24;
/// Colours that can be told apart, also by the colour-blind; then they start again with dashes.
const COLORS: usize = 8;

const STYLE: &str = "\
svg{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
.back{fill:#ffffff}.text{fill:#24292f}.soft{fill:#57606a}
.grid{stroke:#d8dee4;stroke-width:1}.frame{stroke:#8c959f;stroke-width:1;fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.dash{stroke-dasharray:7 4}
.ref{fill:none;stroke:#6e7781;stroke-width:1.5;stroke-dasharray:3 4}.alt{stroke-dasharray:10 3 2 3}.refmark{fill:#6e7781}
.c0{stroke:#0969da}.c1{stroke:#cf4a00}.c2{stroke:#1a7f37}.c3{stroke:#a626a4}
.c4{stroke:#9a6700}.c5{stroke:#0e8a8a}.c6{stroke:#cf222e}.c7{stroke:#57606a}
.f0{fill:#0969da}.f1{fill:#cf4a00}.f2{fill:#1a7f37}.f3{fill:#a626a4}
.f4{fill:#9a6700}.f5{fill:#0e8a8a}.f6{fill:#cf222e}.f7{fill:#57606a}
@media (prefers-color-scheme:dark){
.back{fill:#0d1117}.text{fill:#e6edf3}.soft{fill:#9da7b3}
.grid{stroke:#262c36}.frame{stroke:#6e7681}
.ref{stroke:#8b949e}.refmark{fill:#8b949e}
.c0{stroke:#58a6ff}.c1{stroke:#ff8f4d}.c2{stroke:#4ac764}.c3{stroke:#d58bff}
.c4{stroke:#e3b341}.c5{stroke:#3ad0d0}.c6{stroke:#ff7b72}.c7{stroke:#b1bac4}
.f0{fill:#58a6ff}.f1{fill:#ff8f4d}.f2{fill:#4ac764}.f3{fill:#d58bff}
.f4{fill:#e3b341}.f5{fill:#3ad0d0}.f6{fill:#ff7b72}.f7{fill:#b1bac4}
}";

impl Plot {
    /// Adds a series, unless it has no point. A point that is not finite leaves a gap in the line.
    pub fn add(&mut self, name: impl Into<String>, points: Vec<[f64; 2]>, mark: Mark) {
        if points.iter().any(|p| p[0].is_finite() && p[1].is_finite()) {
            self.series.push(Series {
                name: name.into(),
                points,
                mark,
            });
        }
    }

    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        let [width, height] = SIZE;
        let area = [LEFT, TOP, width - RIGHT, height - BOTTOM];
        let x = Scale::new(&self.x, self.values(0), [area[0], area[2]]);
        let y = Scale::new(&self.y, self.values(1), [area[3], area[1]]);
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"text\" x=\"{}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{}</text>\n",
            escaped(&self.title),
            area[0],
            escaped(&self.title),
        );
        self.axes(&mut out, &x, &y, area);
        for (k, series) in self.series.iter().enumerate() {
            draw(&mut out, series, self.look(k), &x, &y);
        }
        self.legend(&mut out, area);
        out.push_str("</svg>\n");
        out
    }

    /// All values along one axis that can be shown.
    fn values(&self, axis: usize) -> Vec<f64> {
        let log = [self.x.log, self.y.log];
        let points = self.series.iter().flat_map(|s| &s.points);
        points
            .filter(|p| (0..2).all(|k| p[k].is_finite() && (!log[k] || p[k] > 0.0)))
            .map(|p| p[axis])
            .collect()
    }

    /// The series' place among those of its kind, references or not: its colour or its dashes.
    fn look(&self, series: usize) -> usize {
        let is_reference = |s: &Series| s.mark == Mark::Reference;
        let own = is_reference(&self.series[series]);
        let before = &self.series[..series];
        before.iter().filter(|s| is_reference(s) == own).count()
    }

    fn axes(&self, out: &mut String, x: &Scale, y: &Scale, area: [f64; 4]) {
        let [left, top, right, bottom] = area;
        for (value, label) in x.ticks() {
            let at = x.place(value);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\n\
                 <text class=\"soft\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\n",
                bottom + 19.0
            );
        }
        for (value, label) in y.ticks() {
            let at = y.place(value);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\n\
                 <text class=\"soft\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                left - 8.0,
                at + 4.5
            );
        }
        let (across, up) = (0.5 * (left + right), 0.5 * (top + bottom));
        let _ = write!(
            out,
            "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/>\n\
             <text class=\"text\" x=\"{across}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text class=\"text\" transform=\"translate(20 {up}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            right - left,
            bottom - top,
            bottom + 43.0,
            escaped(&label(&self.x)),
            escaped(&label(&self.y)),
        );
    }

    fn legend(&self, out: &mut String, area: [f64; 4]) {
        let left = area[2] + 18.0;
        for (k, series) in self.series.iter().enumerate() {
            let at = area[1] + 12.0 + 22.0 * k as f64;
            let look = self.look(k);
            let middle = [left + 13.0, at];
            if series.mark != Mark::Points {
                let _ = writeln!(
                    out,
                    "<line class=\"{}\" x1=\"{left}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\"/>",
                    line_class(series.mark, look),
                    left + 26.0
                );
            }
            if has_markers(series) {
                marker(out, series.mark, look, middle);
            }
            let _ = writeln!(
                out,
                "<text class=\"text\" x=\"{}\" y=\"{}\">{}</text>",
                left + 34.0,
                at + 4.5,
                escaped(&series.name)
            );
        }
    }
}

fn label(axis: &Axis) -> String {
    match axis.unit.as_str() {
        "-" | "" => axis.label.clone(),
        unit => format!("{} [{unit}]", axis.label),
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn line_class(mark: Mark, look: usize) -> String {
    match mark {
        Mark::Reference if look % 2 == 1 => "ref alt".into(),
        Mark::Reference => "ref".into(),
        _ if look >= COLORS => format!("line dash c{}", look % COLORS),
        _ => format!("line c{look}"),
    }
}

fn has_markers(series: &Series) -> bool {
    series.mark == Mark::Points || series.points.len() <= MOST_MARKERS
}

/// A marker whose shape goes with its colour, for those who cannot tell the colours apart.
fn marker(out: &mut String, mark: Mark, look: usize, [x, y]: [f64; 2]) {
    let class = match mark {
        Mark::Reference => "refmark".to_owned(),
        _ => format!("f{}", look % COLORS),
    };
    let shape = match look % 4 {
        _ if mark == Mark::Reference => format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0),
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.8 8.4h-9.6z", y - 5.4),
        _ => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
    };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{shape}\"/>");
}

fn draw(out: &mut String, series: &Series, look: usize, x: &Scale, y: &Scale) {
    // A point that cannot be shown leaves a gap.
    let shown = |p: &[f64; 2]| x.shows(p[0]) && y.shows(p[1]);
    let runs: Vec<Vec<[f64; 2]>> = series
        .points
        .split(|p| !shown(p))
        .filter(|run| !run.is_empty())
        .map(|run| run.iter().map(|p| [x.place(p[0]), y.place(p[1])]).collect())
        .collect();
    let _ = writeln!(
        out,
        "<g class=\"series\"><title>{}</title>",
        escaped(&series.name)
    );
    for run in runs {
        if series.mark != Mark::Points {
            let path: Vec<String> = run.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                out,
                "<polyline class=\"{}\" points=\"{}\"/>",
                line_class(series.mark, look),
                path.join(" ")
            );
        }
        if has_markers(series) {
            for point in run {
                marker(out, series.mark, look, point);
            }
        }
    }
    out.push_str("</g>\n");
}

/// From values to places on the picture.
struct Scale {
    log: bool,
    whole: bool,
    /// Smallest and largest value shown.
    range: [f64; 2],
    /// Where these are (px).
    places: [f64; 2],
}

impl Scale {
    fn new(axis: &Axis, values: Vec<f64>, places: [f64; 2]) -> Self {
        let mut range = [f64::INFINITY, f64::NEG_INFINITY];
        for v in values {
            range = [range[0].min(v), range[1].max(v)];
        }
        if range[0] > range[1] {
            range = if axis.log { [1.0, 10.0] } else { [0.0, 1.0] };
        }
        if axis.log {
            // To the next 1, 2 or 5.
            range = [log_step(range[0], false), log_step(range[1], true)];
            if range[0] >= range[1] {
                range = [range[0] / 2.0, range[1] * 2.0];
            }
        } else if axis.whole {
            let pad = 0.04 * (range[1] - range[0]).max(1.0);
            range = [range[0] - pad, range[1] + pad];
        } else {
            if range[0] > 0.0 && range[0] < 0.7 * range[1] {
                range[0] = 0.0;
            }
            if range[0] == range[1] {
                range = [range[0] - 0.5, range[1] + 0.5];
            }
            let step = nice_step(range[1] - range[0]);
            range = [
                (range[0] / step).floor() * step,
                (range[1] / step - 1e-9).ceil() * step,
            ];
        }
        Self {
            log: axis.log,
            whole: axis.whole,
            range,
            places,
        }
    }

    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    fn place(&self, value: f64) -> f64 {
        let of = |v: f64| if self.log { v.ln() } else { v };
        let [from, to] = self.range.map(of);
        let share = (of(value) - from) / (to - from);
        self.places[0] + share * (self.places[1] - self.places[0])
    }

    /// Values to mark, with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let [from, to] = self.range;
        if self.log {
            return log_ticks(from, to);
        }
        let mut step = nice_step(to - from);
        if self.whole {
            // Every number of a few threads is of interest.
            step = if to - from < 16.0 { 1.0 } else { step.ceil() };
        }
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let label = |v: f64| {
            if v != 0.0 && (v.abs() >= 1e5 || step < 1e-4) {
                format!("{v:e}")
            } else {
                format!("{v:.decimals$}")
            }
        };
        let ticks = (first..=last).map(|k| k as f64 * step);
        ticks.map(|v| (v, label(v))).collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten that divides a range into about five.
fn nice_step(range: f64) -> f64 {
    let rough = range / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0];
    let best = factor.into_iter().find(|f| f * power >= 0.999 * rough);
    best.unwrap_or(10.0) * power
}

/// The next 1, 2 or 5 times a power of ten, above or below.
fn log_step(value: f64, up: bool) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|f| f * power);
    if up {
        let found = steps.into_iter().find(|s| *s >= value * (1.0 - 1e-9));
        found.unwrap_or(10.0 * power)
    } else {
        let found = steps.into_iter().rev().find(|s| *s <= value * (1.0 + 1e-9));
        found.unwrap_or(power)
    }
}

fn log_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    let decades = (to / from).log10();
    let factors: &[f64] = if decades <= 2.5 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    // At most about eight labels.
    let every = (decades / 8.0).ceil().max(1.0) as i32;
    let mut ticks = Vec::new();
    for power in (from.log10().floor() as i32 - 1)..=(to.log10().ceil() as i32) {
        if power.rem_euclid(every) != 0 {
            continue;
        }
        for factor in factors {
            let value = factor * 10f64.powi(power);
            if value >= from * (1.0 - 1e-9) && value <= to * (1.0 + 1e-9) {
                ticks.push((value, log_label(*factor, power)));
            }
        }
    }
    ticks
}

fn log_label(factor: f64, power: i32) -> String {
    match power {
        -3..=-1 => format!(
            "{:.*}",
            power.unsigned_abs() as usize,
            factor * 10f64.powi(power)
        ),
        0..=4 => format!("{}", factor * 10f64.powi(power)),
        _ => {
            let superscript: String = power.to_string().chars().map(raised).collect();
            if factor == 1.0 {
                format!("10{superscript}")
            } else {
                format!("{factor}·10{superscript}")
            }
        }
    }
}

fn raised(c: char) -> char {
    match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + (c as u32 - '0' as u32)).unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis, values: &[f64]) -> Vec<String> {
        let scale = Scale::new(axis, values.to_vec(), [0.0, 100.0]);
        scale.ticks().into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let linear = Axis::linear("time", "ms");
        assert_eq!(ticks(&linear, &[0.3, 4.7]), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(
            ticks(&linear, &[101.0, 103.0]),
            ["101.0", "101.5", "102.0", "102.5", "103.0"]
        );
        assert_eq!(ticks(&Axis::whole("threads"), &[1.0, 2.0]), ["1", "2"]);
        let log = Axis::log("residual", "m/s");
        assert_eq!(
            ticks(&log, &[3.0, 70.0]),
            ["2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(
            ticks(&log, &[1e-7, 1.0]),
            ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "1"]
        );
    }

    #[test]
    fn values_are_placed_within_the_axes() {
        let scale = Scale::new(&Axis::log("x", "-"), vec![1.0, 100.0], [10.0, 210.0]);
        assert!((scale.place(10.0) - 110.0).abs() < 1e-9);
        assert!(!scale.shows(0.0) && !scale.shows(f64::NAN));
    }
}
