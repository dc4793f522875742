//! What panels are made of: grids, rows, tables, and numbers in few characters.

use bevy_egui::egui;

use super::theme;

pub fn grid(
    ui: &mut egui::Ui,
    id: impl std::hash::Hash + std::fmt::Debug,
    rows: impl FnOnce(&mut egui::Ui),
) {
    egui::Grid::new(id)
        .num_columns(2)
        .spacing([8.0, 3.0])
        .min_col_width(104.0)
        .show(ui, rows);
}

/// One row of it, whose value can be changed.
pub fn row(
    ui: &mut egui::Ui,
    name: &str,
    hint: &str,
    value: impl FnOnce(&mut egui::Ui) -> egui::Response,
) {
    ui.label(name).on_hover_text(hint);
    value(ui).on_hover_text(hint);
    ui.end_row();
}

pub fn table(
    ui: &mut egui::Ui,
    id: impl std::hash::Hash + std::fmt::Debug,
    lines: impl IntoIterator<Item = (impl Into<String>, String, &'static str)>,
) {
    egui::Grid::new(id)
        .num_columns(2)
        .spacing([8.0, 2.0])
        .min_col_width(104.0)
        .striped(true)
        .show(ui, |ui| {
            for (name, value, hint) in lines {
                let (name, value) = (ui.label(name.into()), ui.monospace(value));
                if !hint.is_empty() {
                    _ = (name.on_hover_text(hint), value.on_hover_text(hint));
                }
                ui.end_row();
            }
        });
}

pub fn choice<T: PartialEq>(
    ui: &mut egui::Ui,
    id: &str,
    chosen: &mut T,
    options: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> String,
) -> egui::Response {
    let mut changed = false;
    let mut response = egui::ComboBox::from_id_salt(id)
        .selected_text(name(chosen))
        .show_ui(ui, |ui| {
            for option in options {
                let name = name(&option);
                changed |= ui.selectable_value(chosen, option, name).changed();
            }
        })
        .response;
    if changed {
        response.mark_changed();
    }
    response
}

/// A number that may be very small, and zero.
pub fn small(ui: &mut egui::Ui, value: &mut f64) -> egui::Response {
    // Dragging moves by a share of the value, so that 1e-9 can be reached from 1.
    let speed = if *value > 0.0 { *value * 0.02 } else { 1e-7 };
    let drag = egui::DragValue::new(value).range(0.0..=1e8).speed(speed);
    let drag = drag.max_decimals(16).custom_parser(number_or_off);
    ui.add(drag.custom_formatter(|v, _| off_or(v, |v| format!("{v:.1e}"))))
}

/// Zero as "off", and everything else as `format` says.
pub fn off_or(value: f64, format: impl Fn(f64) -> String) -> String {
    if value == 0.0 {
        "off".into()
    } else {
        format(value)
    }
}

/// What is typed for such a number.
pub fn number_or_off(text: &str) -> Option<f64> {
    match text.trim() {
        "off" => Some(0.0),
        text => text.parse().ok(),
    }
}

/// A time in seconds that is shown and changed in milliseconds.
pub fn milliseconds(
    ui: &mut egui::Ui,
    seconds: &mut f64,
    range: std::ops::RangeInclusive<f64>,
    speed: f64,
) -> egui::Response {
    let mut ms = *seconds * 1e3;
    let drag = egui::DragValue::new(&mut ms).range(range).speed(speed);
    let response = ui.add(drag.max_decimals(3));
    if response.changed() {
        *seconds = ms / 1e3;
    }
    response
}

/// A text in just so many lines, its end left out where it is longer: what comes and goes moves nothing.
pub fn lines(
    ui: &mut egui::Ui,
    text: &str,
    style: egui::TextStyle,
    color: egui::Color32,
    count: usize,
) -> egui::Response {
    let height = count as f32 * ui.text_style_height(&style);
    let size = egui::vec2(ui.available_width(), height);
    let (rect, response) = ui.allocate_exact_size(size, egui::Sense::hover());
    let font = style.resolve(ui.style());
    let mut job = egui::text::LayoutJob::simple(text.to_owned(), font, color, rect.width());
    job.wrap.max_rows = count;
    let galley = ui.painter().layout_job(job);
    ui.painter().galley(rect.min, galley, color);
    response
}

/// Two tables side by side, of as many rows as high as each other's: what the first one shows is never clipped, and the
/// second one is scrolled sideways under it.
pub fn pinned(
    ui: &mut egui::Ui,
    id: &str,
    first: impl FnOnce(&mut egui::Ui),
    rest: impl FnOnce(&mut egui::Ui),
) {
    let grid = |part| {
        egui::Grid::new((id, part))
            .striped(true)
            .spacing([10.0, 2.0])
            .min_row_height(18.0)
    };
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 10.0;
        grid("first").show(ui, first);
        egui::ScrollArea::horizontal()
            .id_salt((id, "scrolled"))
            .min_scrolled_width(0.0)
            .show(ui, |ui| grid("rest").show(ui, rest));
    });
}

/// A box over the picture, which moves nothing else; false once it has been closed.
pub fn floating(
    ctx: &egui::Context,
    title: &str,
    at: egui::Pos2,
    free: egui::Rect,
    add: impl FnOnce(&mut egui::Ui),
) -> bool {
    let mut open = true;
    egui::Window::new(title)
        .open(&mut open)
        .resizable(false)
        .default_width(280.0)
        .default_pos(at)
        .constrain_to(free)
        .show(ctx, |ui| {
            egui::ScrollArea::vertical()
                .max_height((free.height() - 80.0).max(80.0))
                .show(ui, add);
        });
    open
}

pub fn swatch(ui: &mut egui::Ui, color: egui::Color32) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(8.0, 8.0), egui::Sense::hover());
    ui.painter().rect_filled(rect, 2.0, color);
}

/// Columns as high as their counts.
pub fn columns(ui: &mut egui::Ui, counts: &[u32]) {
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f32;
    let size = egui::vec2(ui.available_width().min(260.0), 28.0);
    let (rect, response) = ui.allocate_exact_size(size, egui::Sense::hover());
    let width = rect.width() / counts.len().max(1) as f32;
    for (k, count) in counts.iter().enumerate() {
        let left = rect.left() + k as f32 * width;
        let high = rect.bottom() - rect.height() * *count as f32 / most;
        let right = left + (width - 1.0).max(0.5 * width);
        let column = egui::Rect::from_x_y_ranges(left..=right, high..=rect.bottom());
        ui.painter().rect_filled(column, 0.0, theme::of(ui).accent);
    }
    let pointed = response
        .hover_pos()
        .map(|p| ((p.x - rect.left()) / width) as usize);
    if let Some((k, count)) = pointed.and_then(|k| Some((k, counts.get(k)?))) {
        response.on_hover_text(format!("{}: {count}", k + 1));
    }
}

/// A number with three significant digits, at least.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = (2 - size.log10().floor() as i32).clamp(0, 5) as usize;
        format!("{value:.digits$}")
    }
}

/// A number with its unit: counts as they are, times in milliseconds.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "s" => format!("{} ms", number(1e3 * value)),
        "-" | "" if value.fract() == 0.0 && value.abs() < 1e9 => format!("{value:.0}"),
        "-" | "" => number(value),
        unit => format!("{} {unit}", number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (9.80665, "9.81"),
            (-123.456, "-123"),
            (0.00123456, "0.00123"),
            (54321.0, "54321"),
            (1.5e7, "1.50e7"),
            (2.5e-6, "2.50e-6"),
        ] {
            assert_eq!(number(value), text);
        }
        for (value, unit, text) in [
            (1_234_567.0, "-", "1234567"),
            (0.25, "-", "0.250"),
            (0.012, "s", "12.0 ms"),
            (4096.0, "B", "4096 B"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }
}
