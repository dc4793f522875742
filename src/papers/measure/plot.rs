//! Line plots as SVG, written by hand: a few shapes and words, no fonts and no libraries.
//!
//! The colours follow the reader's light or dark scheme, and the plot brings its own background, so
//! that it can be read wherever it is put.

use std::fmt::Write as _;

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows, `name [unit]`.
    pub label: String,
    /// Whether it is logarithmic; points that are not positive are then left out.
    pub log: bool,
    /// Whether only whole numbers may be marked, as for threads.
    pub whole: bool,
}

impl Axis {
    /// A linear axis. It begins at 0 unless all values are far from it.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            log: true,
            ..Self::linear(label)
        }
    }

    /// A linear axis of whole numbers.
    pub fn whole(label: impl Into<String>) -> Self {
        Self {
            whole: true,
            ..Self::linear(label)
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

/// Size of the picture (px).
const SIZE: [f64; 2] = [860.0, 460.0];
/// Left, top, right and bottom end of the axes (px); the legend is on the right of them.
const AREA: [f64; 4] = [78.0, 46.0, 590.0, 402.0];
/// Lines of more points have no markers.
const MOST_MARKERS: usize = 24;
/// Colours that can be told apart, also by the colour-blind; then they start again with dashes.
const COLORS: usize = 8;

const STYLE: &str = "\
svg{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
.back{fill:#ffffff}.text{fill:#24292f}.soft{fill:#57606a}
.grid{stroke:#d8dee4;stroke-width:1}.frame{stroke:#8c959f;stroke-width:1;fill:none}
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}.dash{stroke-dasharray:7 4}
.mark{fill:currentColor}.ref{color:#6e7781;stroke-width:1.5;stroke-dasharray:3 4}.alt{stroke-dasharray:10 3 2 3}
.c0{color:#0969da}.c1{color:#cf4a00}.c2{color:#1a7f37}.c3{color:#a626a4}
.c4{color:#9a6700}.c5{color:#0e8a8a}.c6{color:#cf222e}.c7{color:#57606a}
@media (prefers-color-scheme:dark){
.back{fill:#0d1117}.text{fill:#e6edf3}.soft{fill:#9da7b3}
.grid{stroke:#262c36}.frame{stroke:#6e7681}.ref{color:#8b949e}
.c0{color:#58a6ff}.c1{color:#ff8f4d}.c2{color:#4ac764}.c3{color:#d58bff}
.c4{color:#e3b341}.c5{color:#3ad0d0}.c6{color:#ff7b72}.c7{color:#b1bac4}
}";

impl Plot {
    /// A plot without series.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
        }
    }

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
        let [left, top, right, bottom] = AREA;
        let x = Scale::new(&self.x, self.values(0), [left, right]);
        let y = Scale::new(&self.y, self.values(1), [bottom, top]);
        let title = escaped(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"text\" x=\"{left}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{title}</text>\n"
        );
        self.axes(&mut out, &x, &y);
        for (k, series) in self.series.iter().enumerate() {
            // Its place among those of its kind is its colour or its dashes.
            let is_reference = |s: &Series| s.mark == Mark::Reference;
            let before = self.series[..k].iter();
            let look = before
                .filter(|s| is_reference(s) == is_reference(series))
                .count();
            series.draw(&mut out, look, &x, &y);
            series.legend(&mut out, look, [right + 18.0, top + 12.0 + 22.0 * k as f64]);
        }
        out + "</svg>\n"
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

    fn axes(&self, out: &mut String, x: &Scale, y: &Scale) {
        let [left, top, right, bottom] = AREA;
        for (value, label) in x.ticks() {
            let at = x.place(value);
            line(out, "grid", [at, top, at, bottom]);
            text(
                out,
                "soft",
                &format!(
                    "x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\"",
                    bottom + 19.0
                ),
                &label,
            );
        }
        for (value, label) in y.ticks() {
            let at = y.place(value);
            line(out, "grid", [left, at, right, at]);
            text(
                out,
                "soft",
                &format!(
                    "x=\"{}\" y=\"{:.1}\" text-anchor=\"end\"",
                    left - 8.0,
                    at + 4.5
                ),
                &label,
            );
        }
        let (width, height) = (right - left, bottom - top);
        let _ = writeln!(
            out,
            "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
        );
        let place = format!(
            "x=\"{}\" y=\"{}\" text-anchor=\"middle\"",
            left + 0.5 * width,
            bottom + 43.0
        );
        text(out, "text", &place, &self.x.label);
        let turned = format!(
            "transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\"",
            top + 0.5 * height
        );
        text(out, "text", &turned, &self.y.label);
    }
}

fn line(out: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(out: &mut String, class: &str, place: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(out, "<text class=\"{class}\" {place}>{words}</text>");
}

pub(in crate::papers) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl Series {
    /// Colour and dashes of its line.
    fn class(&self, look: usize) -> String {
        match self.mark {
            Mark::Reference if look % 2 == 1 => "line ref alt".into(),
            Mark::Reference => "line ref".into(),
            _ if look >= COLORS => format!("line dash c{}", look % COLORS),
            _ => format!("line c{look}"),
        }
    }

    /// A marker whose shape goes with its colour, for those who cannot tell the colours apart; lines of
    /// many points have none.
    fn marker(&self, out: &mut String, look: usize, [x, y]: [f64; 2]) {
        if self.mark != Mark::Points && self.points.len() > MOST_MARKERS {
            return;
        }
        let shape = match look % 4 {
            _ if self.mark == Mark::Reference => format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0),
            0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
            1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
            2 => format!("M{x:.1} {:.1}l4.8 8.4h-9.6z", y - 5.4),
            _ => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
        };
        let color = match self.mark {
            Mark::Reference => "ref".to_owned(),
            _ => format!("c{}", look % COLORS),
        };
        let _ = writeln!(out, "<path class=\"mark {color}\" d=\"{shape}\"/>");
    }

    fn draw(&self, out: &mut String, look: usize, x: &Scale, y: &Scale) {
        let name = escaped(&self.name);
        let _ = writeln!(out, "<g class=\"series\"><title>{name}</title>");
        // A point that cannot be shown leaves a gap.
        let runs = self.points.split(|p| !(x.shows(p[0]) && y.shows(p[1])));
        for run in runs.filter(|run| !run.is_empty()) {
            let places = run.iter().map(|p| [x.place(p[0]), y.place(p[1])]);
            if self.mark != Mark::Points {
                let path: Vec<String> = places
                    .clone()
                    .map(|[x, y]| format!("{x:.1},{y:.1}"))
                    .collect();
                let (class, path) = (self.class(look), path.join(" "));
                let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{path}\"/>");
            }
            for place in places {
                self.marker(out, look, place);
            }
        }
        out.push_str("</g>\n");
    }

    fn legend(&self, out: &mut String, look: usize, [left, at]: [f64; 2]) {
        if self.mark != Mark::Points {
            line(out, &self.class(look), [left, at, left + 26.0, at]);
        }
        self.marker(out, look, [left + 13.0, at]);
        text(
            out,
            "text",
            &format!("x=\"{}\" y=\"{}\"", left + 34.0, at + 4.5),
            &self.name,
        );
    }
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
        let low = values.iter().copied().reduce(f64::min);
        let high = values.iter().copied().reduce(f64::max);
        let [mut low, mut high] = match low.zip(high) {
            Some((low, high)) => [low, high],
            None if axis.log => [1.0, 10.0],
            None => [0.0, 1.0],
        };
        if axis.log {
            [low, high] = [round(low, false), round(high, true)];
            if low >= high {
                [low, high] = [low / 2.0, high * 2.0];
            }
        } else if axis.whole {
            let pad = 0.04 * (high - low).max(1.0);
            [low, high] = [low - pad, high + pad];
        } else {
            if low > 0.0 && low < 0.7 * high {
                low = 0.0;
            }
            if low == high {
                [low, high] = [low - 0.5, high + 0.5];
            }
            let step = nice_step(high - low);
            low = (low / step).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        Self {
            log: axis.log,
            whole: axis.whole,
            range: [low, high],
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
        let label = |v: f64| match v != 0.0 && (v.abs() >= 1e5 || step < 1e-4) {
            true => format!("{v:e}"),
            false => format!("{v:.decimals$}"),
        };
        let ticks = (first..=last).map(|k| k as f64 * step);
        ticks.map(|v| (v, label(v))).collect()
    }
}

/// The next 1, 2 or 5 times a power of ten, above or below.
fn round(value: f64, up: bool) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let mut steps = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter();
    match up {
        true => steps
            .find(|s| *s >= value * (1.0 - 1e-9))
            .unwrap_or(10.0 * power),
        false => steps.rfind(|s| *s <= value * (1.0 + 1e-9)).unwrap_or(power),
    }
}

/// A step of 1, 2 or 5 times a power of ten that divides a range into about five.
fn nice_step(range: f64) -> f64 {
    round(0.999 * range / 5.0, true)
}

fn log_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    let decades = (to / from).log10();
    let factors: &[f64] = match decades <= 2.5 {
        true => &[1.0, 2.0, 5.0],
        false => &[1.0],
    };
    // At most about eight labels.
    let every = (decades / 8.0).ceil().max(1.0) as i32;
    let powers = (from.log10().floor() as i32 - 1)..=(to.log10().ceil() as i32);
    powers
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| factors.iter().map(move |factor| (*factor, power)))
        .map(|(factor, power)| (factor * 10f64.powi(power), log_label(factor, power)))
        .filter(|(v, _)| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(v))
        .collect()
}

fn log_label(factor: f64, power: i32) -> String {
    let value = factor * 10f64.powi(power);
    match power {
        -3..=-1 => format!("{value:.*}", power.unsigned_abs() as usize),
        0..=4 => format!("{value}"),
        _ => {
            let raised = |c: char| match c.to_digit(10) {
                Some(digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize).unwrap_or(c),
                None => '⁻',
            };
            let superscript: String = power.to_string().chars().map(raised).collect();
            match factor {
                1.0 => format!("10{superscript}"),
                factor => format!("{factor}·10{superscript}"),
            }
        }
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
        let linear = Axis::linear("time [ms]");
        assert_eq!(ticks(&linear, &[0.3, 4.7]), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(
            ticks(&linear, &[101.0, 103.0]),
            ["101.0", "101.5", "102.0", "102.5", "103.0"]
        );
        assert_eq!(ticks(&Axis::whole("threads"), &[1.0, 2.0]), ["1", "2"]);
        let log = Axis::log("residual [m/s]");
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
        let scale = Scale::new(&Axis::log("x"), vec![1.0, 100.0], [10.0, 210.0]);
        assert!((scale.place(10.0) - 110.0).abs() < 1e-9);
        assert!(!scale.shows(0.0) && !scale.shows(f64::NAN));
    }
}
