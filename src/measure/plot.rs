//! Line plots as SVG, written by hand: a few shapes and words, no fonts and no libraries.
//!
//! The colours follow the reader's light or dark scheme, and the plot brings its own background, so
//! that it can be read wherever it is put.

/// An axis, with what it shows: `name [unit]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// It begins at 0 unless all values are far from it.
    Linear(&'static str),
    /// Logarithmic; points that are not positive are left out.
    Log(&'static str),
    /// Linear; only whole numbers are marked, as for threads.
    Whole(&'static str),
}

impl Axis {
    fn label(&self) -> &'static str {
        match self {
            Self::Linear(label) | Self::Log(label) | Self::Whole(label) => label,
        }
    }

    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!matches!(self, Self::Log(_)) || value > 0.0)
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
#[derive(Clone, Debug, PartialEq)]
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
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}.thin{stroke-width:1}
.dash{stroke-dasharray:7 4}
.mark{fill:currentColor}.ref{color:#6e7781;stroke-width:1.5;stroke-dasharray:3 4}.alt{stroke-dasharray:10 3 2 3}
.c0{color:#0969da}.c1{color:#cf4a00}.c2{color:#1a7f37}.c3{color:#a626a4}
.c4{color:#9a6700}.c5{color:#0e8a8a}.c6{color:#cf222e}.c7{color:#57606a}
@media (prefers-color-scheme:dark){
.back{fill:#0d1117}.text{fill:#e6edf3}.soft{fill:#9da7b3}
.grid{stroke:#262c36}.frame{stroke:#6e7681}.ref{color:#8b949e}
.c0{color:#58a6ff}.c1{color:#ff8f4d}.c2{color:#4ac764}.c3{color:#d58bff}
.c4{color:#e3b341}.c5{color:#3ad0d0}.c6{color:#ff7b72}.c7{color:#b1bac4}
}";

/// An SVG document of a size (px), with a title that begins at `left`.
pub(crate) fn document(title: &str, left: f64, size: [f64; 2], content: &str) -> String {
    let ([width, height], heading, title) = (size, heading(title, left), escaped(title));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n\
         {heading}{content}</svg>\n"
    )
}

fn heading(title: &str, left: f64) -> String {
    let title = escaped(title);
    format!(
        "<text class=\"text\" x=\"{left}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{title}</text>\n"
    )
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

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
    pub fn add(
        &mut self,
        name: impl ToString,
        points: impl IntoIterator<Item = [f64; 2]>,
        mark: Mark,
    ) {
        let points: Vec<[f64; 2]> = points.into_iter().collect();
        if points.iter().any(|p| p[0].is_finite() && p[1].is_finite()) {
            self.series.push(Series {
                name: name.to_string(),
                points,
                mark,
            });
        }
    }

    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        document(&self.title, AREA[0], SIZE, &self.content())
    }

    /// What is within the document, but for its title.
    fn content(&self) -> String {
        let [left, top, right, bottom] = AREA;
        let x = Scale::new(self.x, self.values(0), [left, right]);
        let y = Scale::new(self.y, self.values(1), [bottom, top]);
        let mut out = String::new();
        self.axes(&mut out, &x, &y);
        // Its place among those of its kind is a series' colour or its dashes.
        let mut looks = [0; 2];
        for (k, series) in self.series.iter().enumerate() {
            let look = &mut looks[usize::from(series.mark == Mark::Reference)];
            let legend = [right + 18.0, top + 12.0 + 22.0 * k as f64];
            series.draw(&mut out, *look, &x, &y, legend);
            *look += 1;
        }
        out
    }

    /// All values along one axis that can be shown.
    fn values(&self, axis: usize) -> Vec<f64> {
        let shown = |p: &&[f64; 2]| self.x.shows(p[0]) && self.y.shows(p[1]);
        let points = self.series.iter().flat_map(|s| &s.points);
        points.filter(shown).map(|p| p[axis]).collect()
    }

    fn axes(&self, out: &mut String, x: &Scale, y: &Scale) {
        let [left, top, right, bottom] = AREA;
        for (value, label) in x.ticks() {
            let at = x.place(value);
            line(out, "grid", [at, top, at, bottom]);
            text(out, "soft", "middle", [at, bottom + 19.0], &label);
        }
        for (value, label) in y.ticks() {
            let at = y.place(value);
            line(out, "grid", [left, at, right, at]);
            text(out, "soft", "end", [left - 8.0, at + 4.5], &label);
        }
        let middle = [0.5 * (left + right), 0.5 * (top + bottom)];
        let (width, height, turned) = (right - left, bottom - top, middle[1]);
        *out += &format!(
            "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>\n\
             <g transform=\"translate(20 {turned}) rotate(-90)\">\n"
        );
        text(out, "text", "middle", [0.0; 2], self.y.label());
        out.push_str("</g>\n");
        let below = [middle[0], bottom + 43.0];
        text(out, "text", "middle", below, self.x.label());
    }
}

/// Plots below each other, as one SVG document with the first one's title at its top.
pub fn column(plots: &[Plot]) -> String {
    let [width, height] = SIZE;
    let mut out = String::new();
    for (k, plot) in plots.iter().enumerate() {
        out += &format!("<g transform=\"translate(0 {})\">\n", height * k as f64);
        if k > 0 {
            out += &heading(&plot.title, AREA[0]);
        }
        out += &plot.content();
        out.push_str("</g>\n");
    }
    let title = plots.first().map_or("", |plot| &plot.title);
    document(title, AREA[0], [width, height * plots.len() as f64], &out)
}

fn line(out: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    *out += &format!(
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
    );
}

fn text(out: &mut String, class: &str, anchor: &str, [x, y]: [f64; 2], words: &str) {
    let words = escaped(words);
    *out += &format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n"
    );
}

impl Series {
    /// Colour and dashes.
    fn class(&self, look: usize) -> String {
        match self.mark {
            Mark::Reference if look % 2 == 1 => "ref alt".into(),
            Mark::Reference => "ref".into(),
            _ if look >= COLORS => format!("dash c{}", look % COLORS),
            _ => format!("c{look}"),
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
        let class = self.class(look);
        *out += &format!("<path class=\"mark {class}\" d=\"{shape}\"/>\n");
    }

    fn draw(&self, out: &mut String, look: usize, x: &Scale, y: &Scale, [left, at]: [f64; 2]) {
        let class = format!("line {}", self.class(look));
        let name = escaped(&self.name);
        *out += &format!("<g class=\"series\"><title>{name}</title>\n");
        // A point that cannot be shown leaves a gap.
        let hidden = |p: &[f64; 2]| !(x.axis.shows(p[0]) && y.axis.shows(p[1]));
        for run in self.points.split(hidden).filter(|run| !run.is_empty()) {
            let places = run.iter().map(|p| [x.place(p[0]), y.place(p[1])]);
            if self.mark != Mark::Points {
                let path = places.clone().map(|[x, y]| format!("{x:.1},{y:.1}"));
                let path = path.collect::<Vec<String>>().join(" ");
                *out += &format!("<polyline class=\"{class}\" points=\"{path}\"/>\n");
            }
            places.for_each(|place| self.marker(out, look, place));
        }
        out.push_str("</g>\n");
        if self.mark != Mark::Points {
            line(out, &class, [left, at, left + 26.0, at]);
        }
        self.marker(out, look, [left + 13.0, at]);
        text(out, "text", "start", [left + 34.0, at + 4.5], &self.name);
    }
}

/// From values to places on the picture.
struct Scale {
    axis: Axis,
    /// Smallest and largest value shown.
    range: [f64; 2],
    /// Where these are (px).
    places: [f64; 2],
}

impl Scale {
    fn new(axis: Axis, values: Vec<f64>, places: [f64; 2]) -> Self {
        let low = values.iter().copied().reduce(f64::min).unwrap_or(1.0);
        let high = values.iter().copied().reduce(f64::max).unwrap_or(10.0);
        let range = match axis {
            Axis::Log(_) => match [round(low, false), round(high, true)] {
                [low, high] if low >= high => [low / 2.0, high * 2.0],
                range => range,
            },
            Axis::Whole(_) => {
                let pad = 0.04 * (high - low).max(1.0);
                [low - pad, high + pad]
            }
            Axis::Linear(_) => {
                let [low, high] = match [low, high] {
                    [low, high] if low == high => [low - 0.5, high + 0.5],
                    [low, high] if low > 0.0 && low < 0.7 * high => [0.0, high],
                    range => range,
                };
                let step = nice_step(high - low);
                [
                    (low / step).floor() * step,
                    (high / step - 1e-9).ceil() * step,
                ]
            }
        };
        Self {
            axis,
            range,
            places,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let of = |v: f64| {
            if matches!(self.axis, Axis::Log(_)) {
                v.ln()
            } else {
                v
            }
        };
        let [from, to] = self.range.map(of);
        let share = (of(value) - from) / (to - from);
        self.places[0] + share * (self.places[1] - self.places[0])
    }

    /// Values to mark, with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let [from, to] = self.range;
        let step = match (self.axis, nice_step(to - from)) {
            (Axis::Log(_), _) => return log_ticks(from, to),
            // Every number of a few threads is of interest.
            (Axis::Whole(_), _) if to - from < 16.0 => 1.0,
            (Axis::Whole(_), step) => step.ceil(),
            (Axis::Linear(_), step) => step,
        };
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

    fn ticks(axis: Axis, values: &[f64]) -> Vec<String> {
        let scale = Scale::new(axis, values.to_vec(), [0.0, 100.0]);
        scale.ticks().into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let linear = Axis::Linear("time [ms]");
        assert_eq!(ticks(linear, &[0.3, 4.7]), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(
            ticks(linear, &[101.0, 103.0]),
            ["101.0", "101.5", "102.0", "102.5", "103.0"]
        );
        assert_eq!(ticks(Axis::Whole("threads"), &[1.0, 2.0]), ["1", "2"]);
        let log = Axis::Log("residual [m/s]");
        assert_eq!(
            ticks(log, &[3.0, 70.0]),
            ["2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(
            ticks(log, &[1e-7, 1.0]),
            ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "1"]
        );
    }

    #[test]
    fn values_are_placed_within_the_axes() {
        let axis = Axis::Log("x");
        let scale = Scale::new(axis, vec![1.0, 100.0], [10.0, 210.0]);
        assert!((scale.place(10.0) - 110.0).abs() < 1e-9);
        assert!(!axis.shows(0.0) && !axis.shows(f64::NAN));
    }
}
