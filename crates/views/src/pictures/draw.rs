//! From a picture to SVG.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::picture::{Clock, Panel, Picture, Series, Style, Unit};
use heapscribe_units as units;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, Scale>>;

/// Units of the picture: its width, and the height of its head and of each panel.
const WIDTH: u32 = 1000;
const HEAD_HEIGHT: u32 = 64;
const PANEL_HEIGHT: u32 = 300;
/// Of that, the line with a panel's title and what its series are: inside they lay over the data.
const TITLE_HEIGHT: u32 = 30;
const LABELS_WIDTH: u32 = 84;
const MARGIN: u32 = 24;
const LABELS_HEIGHT: u32 = 36;

/// The colours of Okabe and Ito's palette, which those who see few colours can tell apart, and which
/// have different greys in print.
const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const GREY: RGBColor = RGBColor(90, 90, 90);

/// The family of the fonts that `form` has.
pub(super) const FONT: &str = "Ubuntu";

/// Draws it.
pub fn svg(picture: &Picture) -> Result<String> {
    let mut text = String::new();
    let height = HEAD_HEIGHT + PANEL_HEIGHT * picture.panels.len() as u32;
    draw(picture, &SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area())
        .map_err(|e| anyhow!("cannot draw the plot: {e}"))?;
    Ok(text)
}

type Drawn<'a> = std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw<'a>(picture: &Picture, area: &Area<'a>) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let (head, panels) = area.split_vertically(HEAD_HEIGHT);
    head.draw_text(&shortened(&picture.title, 90), &(FONT, 20).into_text_style(&head), (16, 12))?;
    let small = (FONT, 14).into_text_style(&head).color(&GREY);
    head.draw_text(&shortened(&picture.subtitle, 140), &small, (16, 40))?;
    let areas = panels.split_evenly((picture.panels.len().max(1), 1));
    for (panel, area) in picture.panels.iter().zip(&areas) {
        draw_panel(panel, picture, area)?;
    }
    area.present()
}

/// Names of programs are long; their end says more than their middle.
fn shortened(text: &str, most: usize) -> String {
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    let (begin, end): (String, String) =
        (text.chars().take(most / 2).collect(), text.chars().skip(chars - most / 2).collect());
    format!("{begin} ... {end}")
}

fn draw_panel<'a>(panel: &Panel, picture: &Picture, area: &Area<'a>) -> Drawn<'a> {
    let values = || panel.series.iter().flat_map(|s| s.points.iter().filter_map(|p| p.1));
    let top = values().fold(0.0, f64::max).max(1.0) * 1.08;
    let scale = Scale::new(panel.unit, values().fold(top, f64::min), top);
    let end = picture.seconds.max(1e-9);
    let (title, area) = area.split_vertically(TITLE_HEIGHT);
    draw_title(panel, &title)?;
    let mut chart = ChartBuilder::on(&area)
        .margin_right(MARGIN)
        .margin_left(8)
        .x_label_area_size(LABELS_HEIGHT)
        .y_label_area_size(LABELS_WIDTH)
        .build_cartesian_2d(0.0..end, scale.clone())?;
    let unit = panel.unit;
    let mut mesh = chart.configure_mesh();
    if picture.clock == Clock::Calls {
        mesh.x_desc("calls");
    }
    let at = |seconds: &f64| on_axis(*seconds, picture.clock);
    mesh.light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .y_labels(6)
        .label_style((FONT, 13))
        .y_label_formatter(&|value| in_words(*value, unit))
        .x_label_formatter(&at)
        .draw()?;
    for series in &panel.series {
        draw_series(series, scale.bottom, &mut chart)?;
    }
    for (seconds, name) in &picture.marks {
        draw_mark(*seconds, name, &scale, &mut chart)?;
    }
    Ok(())
}

/// The title at the left, and at the right what the series are, unless the only one is what the title says.
fn draw_title<'a>(panel: &Panel, area: &Area<'a>) -> Drawn<'a> {
    const BASE: i32 = 20;
    let text_at = |size| (FONT, size).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Bottom));
    area.draw_text(&panel.title, &text_at(16), (LABELS_WIDTH as i32 + 8, BASE))?;
    if let [only] = &panel.series[..]
        && only.name.eq_ignore_ascii_case(&panel.title)
    {
        return Ok(());
    }
    let style = text_at(13);
    let mut right = (WIDTH - MARGIN) as i32;
    for series in panel.series.iter().rev() {
        let name = shortened(&series.name, 30);
        let left = right - area.estimate_text_size(&name, &style)?.0 as i32;
        area.draw_text(&name, &style, (left, BASE))?;
        for (from, to, height) in key(series.style) {
            let (x, y) = (left - KEY_WIDTH - 6, BASE - 7);
            let corners = [(x + from, y - height), (x + to, y + height)];
            area.draw(&Rectangle::new(corners, fill(series.style).filled()))?;
        }
        right = left - KEY_WIDTH - 6 - 24;
    }
    Ok(())
}

/// An axis whose numbers are round, which of bytes are powers of two. It begins at 0; that of times at a
/// power of ten and goes by magnitude: the longest call is a thousand times as long as most.
#[derive(Clone)]
struct Scale {
    bottom: f64,
    top: f64,
    unit: Unit,
}

impl Scale {
    fn new(unit: Unit, least: f64, top: f64) -> Scale {
        match unit {
            Unit::Bytes | Unit::Count => Scale { bottom: 0.0, top, unit },
            Unit::Time => {
                let bottom = 10f64.powf(least.max(1.0).log10().floor());
                Scale { bottom, top: top.max(10.0 * bottom), unit }
            }
        }
    }

    /// Where a value is between both ends, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        match self.unit {
            Unit::Bytes | Unit::Count => value / self.top,
            Unit::Time => (value.max(self.bottom) / self.bottom).ln() / (self.top / self.bottom).ln(),
        }
    }

    /// The value at a place between both ends.
    fn value(&self, share: f64) -> f64 {
        match self.unit {
            Unit::Bytes | Unit::Count => self.top * share,
            Unit::Time => self.bottom * (self.top / self.bottom).powf(share),
        }
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        low + (self.share(*value) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        const MOST: f64 = 6.0;
        let steps: Vec<f64> = match self.unit {
            Unit::Bytes => (0..63).map(|power| f64::from(power).exp2()).collect(),
            Unit::Count => (0..19).flat_map(|p| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(p))).collect(),
            Unit::Time => {
                let powers = (0..19).map(|power| 10f64.powi(power));
                return powers.filter(|at| (self.bottom..=self.top).contains(at)).collect();
            }
        };
        let step = steps.into_iter().find(|step| self.top / step <= MOST).unwrap_or(self.top);
        (0..).map(|n| f64::from(n) * step).take_while(|&at| at <= self.top).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.bottom..self.top
    }
}

fn on_axis(seconds: f64, clock: Clock) -> String {
    let billionths = seconds * 1e9;
    match clock {
        Clock::Seconds => units::duration(billionths as u64),
        Clock::Calls => units::count(billionths.round() as u64),
    }
}

fn in_words(value: f64, unit: Unit) -> String {
    let whole = value.max(0.0) as u64;
    match unit {
        Unit::Bytes => units::short_bytes(whole),
        Unit::Count => units::count(whole),
        Unit::Time => units::duration(whole),
    }
}

/// The parts of a series without a gap.
fn runs(series: &Series) -> Vec<Vec<(f64, f64)>> {
    let parts = series.points.split(|(_, value)| value.is_none());
    let known = |part: &[(f64, Option<f64>)]| part.iter().filter_map(|&(x, y)| Some((x, y?))).collect();
    parts.map(known).filter(|run: &Vec<_>| !run.is_empty()).collect()
}

fn draw_series<'c, 'b: 'c>(series: &Series, bottom: f64, chart: &mut Chart<'c, 'b>) -> Drawn<'b> {
    let colour = colour(series.style);
    let stroke = colour.stroke_width(2);
    for run in runs(series) {
        match series.style {
            Style::Area => {
                chart.draw_series(AreaSeries::new(run, bottom, colour.mix(0.3)).border_style(stroke))?
            }
            Style::Dashed => chart.draw_series(DashedLineSeries::new(run, 7, 4, stroke))?,
            Style::Line => chart.draw_series(LineSeries::new(run, stroke))?,
        };
    }
    Ok(())
}

const fn colour(style: Style) -> RGBColor {
    match style {
        Style::Area => BLUE,
        Style::Line => GREEN,
        Style::Dashed => VERMILION,
    }
}

/// Of what stands before a series' name.
fn fill(style: Style) -> RGBAColor {
    if style == Style::Area { colour(style).mix(0.2) } else { colour(style).to_rgba() }
}

const KEY_WIDTH: i32 = 18;

/// What stands before a series' name, a piece of how it is drawn: from, to, half the height.
const fn key(style: Style) -> [(i32, i32, i32); 2] {
    match style {
        Style::Area => [(0, 18, 5), (0, 18, 5)],
        Style::Line => [(0, 9, 1), (9, 18, 1)],
        Style::Dashed => [(0, 7, 1), (11, 18, 1)],
    }
}

fn draw_mark<'c, 'b: 'c>(seconds: f64, name: &str, scale: &Scale, chart: &mut Chart<'c, 'b>) -> Drawn<'b> {
    let line = [(seconds, scale.bottom), (seconds, scale.top)];
    chart.draw_series(DashedLineSeries::new(line, 2, 3, GREY.stroke_width(1)))?;
    let style = (FONT, 12).into_font().color(&GREY);
    chart.draw_series([Text::new(shortened(name, 24), (seconds, scale.value(0.97)), style)])?;
    Ok(())
}
