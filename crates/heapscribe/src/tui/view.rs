//! The screen, from the top: who it is, what it does, curves, rows, keys. Made for 80 columns and 24
//! lines, and wider where there is room.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

use super::history::{History, Rates};
use super::look::Look;
use super::rows::{By, Row, Sort};
use super::state::State;
use crate::live_estimate;
use heapscribe_analyze::answer::Bounds;
use heapscribe_session::heap_statistics::HeapStatistics;
use heapscribe_symbols::NamedFrame;
use heapscribe_units::{about, count, counted, duration, percent_cell, short_bytes};
use heapscribe_views::text::resident;

pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Columns of curves: one for each look, and nobody reads more.
const CURVES: u16 = 160;

/// The columns in which nothing is cut.
pub(super) fn needed_columns(state: &State) -> u16 {
    let all = state.look.live.live.bytes;
    let row = |row: &Row| line(row, state.growth_a_second(row), all).chars().count();
    let longest = state.rows.iter().map(row).chain(header(state).iter().map(Line::width)).max();
    u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX)
}

/// Draws all.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State) {
    let head = header(state);
    let parts = [head.len() as u16, 3, 1].map(Constraint::Length);
    let rest = [Constraint::Min(1), Constraint::Length(1)];
    let [top, curves, titles, rows, keys] =
        Layout::vertical(parts.into_iter().chain(rest)).areas(frame.area());
    frame.render_widget(Paragraph::new(head), top);
    let curves = Rect { width: curves.width.min(CURVES), ..curves };
    draw_curves(frame, ["heap", "program's RSS"], &state.history, curves);
    match &state.opened {
        Some(frames) => {
            let title = Line::styled(format!("Stack of {}, innermost call first", chosen(state)), BOLD);
            frame.render_widget(Paragraph::new(title), titles);
            frame.render_widget(Paragraph::new(stack(frames, rows)), rows);
        }
        None => {
            frame.render_widget(Paragraph::new(Line::styled(columns(state), BOLD)), titles);
            frame.render_widget(Paragraph::new(lines(state, rows)), rows);
        }
    }
    frame.render_widget(Paragraph::new(help(state)), keys);
}

fn chosen(state: &State) -> String {
    let row = state.rows.get(state.selected);
    row.map(|row| format!("{} in {}", short_bytes(row.live.bytes), counted(row.live.blocks, "block")))
        .unwrap_or_default()
}

fn header(state: &State) -> Vec<Line<'static>> {
    let look = &state.look;
    let program = look.exe.rsplit('/').next().unwrap_or(&look.exe).to_owned();
    let mut about = format!(" ({}), recorded: {}", look.pid, look.mode);
    if !look.is_alive {
        about.push_str(", ended");
    } else if look.lag_ns > 0 {
        about.push_str(&format!(", recording lags {} behind", duration(look.lag_ns)));
    }
    if state.is_paused {
        about.push_str(", paused");
    }
    let heap = in_all(look) + &in_pools(look);
    let rates = state.rates().map_or_else(
        || "no rates yet".to_owned(),
        |rates| {
            let [allocated, freed] =
                [rates.allocated_bytes, rates.freed_bytes].map(|bytes| short_bytes(bytes as u64));
            let blocks = counted(rates.allocated_blocks as u64, "block");
            if let Some(mean_bytes) = look.mean_bytes {
                return by_samples(&rates, mean_bytes);
            }
            format!("per second: {allocated} allocated in {blocks}, {freed} freed")
        },
    );
    let exact = match &look.inexact {
        Some(why) => format!("; not a single instant: {why}"),
        None if look.is_alive => format!("; paused {}", duration(look.held_ns)),
        None => String::new(),
    };
    let heap_line = look.heap.as_ref().map(|heap| Line::raw(pool(heap)));
    let lines = [
        Line::from(vec![Span::styled(program, BOLD), Span::raw(about)]),
        Line::raw(heap),
        Line::raw(format!("{rates}{exact}")),
    ];
    let memory = look.memory.as_ref().map(resident::lines).unwrap_or_default();
    lines.into_iter().chain(heap_line).chain(memory.into_iter().map(Line::raw)).collect()
}

/// What is live; of blocks that were sampled an estimate.
fn in_all(look: &Look) -> String {
    if let Some(Bounds { blocks, bytes }) = look.live.bounds() {
        let (bytes, blocks) = (short_bytes(bytes.low), counted(blocks.low, "block"));
        return format!("live at least {bytes} in {blocks}{}", not_followed(look));
    }
    let live = look.live.live;
    let (bytes, blocks) = (short_bytes(live.bytes), counted(live.blocks, "block"));
    match live_estimate::of(&look.live) {
        None => format!("live {bytes} in {blocks}"),
        Some((_, 0)) => format!("live {0} {bytes} in {0} {blocks}", about()),
        Some((_, exact)) => {
            let exact = counted(exact, "block");
            format!("live {0} {bytes} in {0} {blocks}; {exact} recorded without sampling", about())
        }
    }
}

/// What is live in pools; of blocks that were sampled an estimate.
fn in_pools(look: &Look) -> String {
    let live = &look.live;
    if live.pools.bytes == 0 {
        return String::new();
    }
    let bytes = short_bytes(live.pool_bounds().map_or(live.pools.bytes, |bounds| bounds.bytes.low));
    let sign = match (live.pool_bounds(), &live.pools_estimate) {
        (Some(_), _) => "at least ".to_owned(),
        (None, Some(_)) => format!("{} ", about()),
        (None, None) => String::new(),
    };
    format!(", and pools of the program {sign}{bytes}")
}

/// What may be live besides.
fn not_followed(look: &Look) -> String {
    let most = look.live.bounds().and_then(|bounds| bounds.bytes.high);
    let most = most.map_or_else(String::new, |most| format!(", at most {}", short_bytes(most)));
    let (untracked, lost) = (look.live.untracked(), look.live.lost_events());
    let untracked =
        (untracked > 0).then(|| format!("; {} not followed (table full)", counted(untracked, "block")));
    let lost = (lost > 0).then(|| format!("; {} lost", counted(lost, "event")));
    format!("{most}{}{}", untracked.unwrap_or_default(), lost.unwrap_or_default())
}

/// What was allocated a second, by samples. Of frees samples do not tell what they are of.
fn by_samples(rates: &Rates, mean_bytes: u64) -> String {
    let bytes = live_estimate::rate(rates.allocated_blocks, rates.allocated_bytes, mean_bytes);
    let samples = counted(rates.allocated_blocks.round() as u64, "sample");
    format!("per second: {} {} allocated, by {samples}", about(), short_bytes(bytes as u64))
}

/// The heap under the program.
fn pool(heap: &HeapStatistics) -> String {
    let (name, c) = (&heap.name, &heap.update.counts);
    if heap.is_passing || c.pool_bytes == 0 {
        return format!("heap {name}: no statistics of its pool");
    }
    let [used, pool, largest] = [c.used_bytes, c.pool_bytes, c.largest_free_bytes].map(short_bytes);
    format!("heap {name}: {used} of {pool} used, largest free {largest}, {} failed", count(c.failures))
}

/// Two curves beside each other: the heap and the resident memory.
pub(super) fn draw_curves(frame: &mut Frame<'_>, names: [&str; 2], history: &History, area: Rect) {
    let halves = Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]);
    let [left, right] = halves.spacing(2).areas(area);
    let (heap, resident) = (history.curve(|point| point.heap_bytes), history.curve(|point| point.rss_bytes));
    for (name, values, area) in [(names[0], heap, left), (names[1], resident, right)] {
        let [title, curve] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
        let now = values.last().copied().unwrap_or(0);
        let most = values.iter().copied().max().unwrap_or(0);
        let text = format!("{name} {}, peak {}", short_bytes(now), short_bytes(most));
        frame.render_widget(Paragraph::new(Line::styled(text, DIM)), title);
        let shown = &values[values.len().saturating_sub(usize::from(curve.width))..];
        frame.render_widget(Sparkline::default().data(shown).max(most.max(1)), curve);
    }
}

fn columns(state: &State) -> String {
    let mark = |sort: Sort| if state.sort == sort { "*" } else { "" };
    let what = match state.by {
        By::Stack => "STACK",
        By::Function => "FUNCTION AND ALL BELOW IT",
        By::Thread => "THREAD THAT ALLOCATED",
    };
    let live = format!("LIVE{}", mark(Sort::Bytes));
    let blocks = format!("BLOCKS{}", mark(Sort::Blocks));
    let (growth, oldest) =
        (format!("GROWTH/s{}", mark(Sort::Growth)), format!("OLDEST{}", mark(Sort::Oldest)));
    format!("{live:>9} {:>7} {blocks:>9} {growth:>10} {oldest:>8}  {what}", "SHARE")
}

fn lines(state: &State, area: Rect) -> Vec<Line<'static>> {
    let height = usize::from(area.height);
    let first = state.selected.saturating_sub(height.saturating_sub(1));
    let all = state.look.live.live.bytes;
    let row = |(number, row): (usize, &Row)| {
        let style = if number == state.selected { CHOSEN } else { Style::default() };
        Line::styled(cut(&line(row, state.growth_a_second(row), all), area.width), style)
    };
    let mut lines: Vec<_> = state.rows.iter().enumerate().skip(first).take(height).map(row).collect();
    let (left_out, bytes) = state.left_out();
    if left_out > 0 && lines.len() < height {
        let text =
            format!("{:>9} in {} not shown", short_bytes(bytes), counted(left_out as u64, "smaller stack"));
        lines.push(Line::styled(text, DIM));
    }
    lines
}

fn line(row: &Row, growth: f64, all: u64) -> String {
    let growth = match growth as i64 {
        0 => "-".to_owned(),
        grown @ 1.. => format!("+{}", short_bytes(grown as u64)),
        shrunk => format!("-{}", short_bytes(shrunk.unsigned_abs())),
    };
    let oldest = if row.oldest_ns == 0 { "-".to_owned() } else { duration(row.oldest_ns) };
    let (live, share) = (short_bytes(row.live.bytes), percent_cell(row.live.bytes, all));
    format!("{live:>9} {share:>7} {:>9} {growth:>10} {oldest:>8}  {}", count(row.live.blocks), row.label)
}

fn cut(text: &str, width: u16) -> String {
    text.chars().take(usize::from(width)).collect()
}

fn stack(frames: &[NamedFrame], area: Rect) -> Vec<Line<'static>> {
    let line = |frame: &NamedFrame| {
        let place = frame.place().map(|place| format!("  {place}")).unwrap_or_default();
        Line::raw(cut(&format!("  {}{place}", frame.shown_name()), area.width))
    };
    frames.iter().take(usize::from(area.height)).map(line).collect()
}

fn help(state: &State) -> Line<'static> {
    let text = if state.is_typing {
        format!("filter: {}_  (Enter keeps it, Esc clears it)", state.filter)
    } else if state.opened.is_some() {
        "Esc back  q quit".to_owned()
    } else {
        let filter = if state.filter.is_empty() { String::new() } else { format!("[{}] ", state.filter) };
        format!("{filter}s stacks f functions t threads | sort b n g o | / filter Enter open q quit")
    };
    Line::styled(text, DIM)
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::memory::PartName;
    use heapscribe_formats::ResidentSample;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::state::Key;
    use super::super::state::tests::{look, seen};
    use super::*;

    fn screen(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content().chunks(usize::from(width));
        let line = |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect::<String>();
        rows.map(|row| line(row).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_screen_of_80_columns_and_24_lines() {
        let mut state = seen((0..6).map(|i| look(i, [100_000, 300_000 * (i + 1), 2000])));
        insta::assert_snapshot!("stacks", screen(&state, 80, 24));
        state.press(Key::Enter);
        insta::assert_snapshot!("opened", screen(&state, 80, 24));
        state.press(Key::Escape);
        for c in "f/0x".chars() {
            state.press(Key::Char(c));
        }
        insta::assert_snapshot!("functions", screen(&state, 80, 24));
    }

    #[test]
    fn a_screen_can_be_wide_enough_for_each_row() {
        let state = seen((0..6).map(|i| look(i, [100_000, 300_000, 2000])));
        let whole = "0 B       -      3 s  app+0x30 < app+0x20 < app+0x10";
        let width = needed_columns(&state);
        assert!(
            screen(&state, width, 24).lines().any(|line| line.ends_with("app+0x30 < app+0x20 < app+0x10"))
        );
        assert!(!screen(&state, width - 1, 24).contains(whole));
    }

    #[test]
    fn of_what_memory_is_made_stands_above_the_rows() {
        let mut with_pages = look(1, [1000, 3000, 2000]);
        let mut sample = ResidentSample { resident_bytes: 40 << 20, ..ResidentSample::default() };
        sample.parts[PartName::FreePages as usize] = 30 << 20;
        sample.parts[PartName::Recorder as usize] = 9 << 20;
        with_pages.memory = Some(sample);
        let screen = screen(&seen([look(0, [1000, 3000, 2000]), with_pages]), 80, 24);
        let lines: Vec<_> = screen.lines().skip(3).take(2).collect();
        let expected = [
            "resident 40.0 MiB: live 0 B, headers 0 B, not heap 0 B, recorder 9.00 MiB",
            "free in the heap: 0 B in pages with live blocks, 30.0 MiB in others",
        ];
        assert_eq!(lines, expected, "{screen}");
    }

    #[test]
    fn small_screens_show_less() {
        let state = seen([look(0, [1000, 3000, 2000])]);
        let rows =
            |width, height| screen(&state, width, height).lines().filter(|line| line.contains('%')).count();
        assert_eq!([rows(80, 24), rows(40, 12), rows(40, 10), rows(40, 9)], [3, 3, 2, 1]);
        let narrow = screen(&state, 40, 12);
        assert!(narrow.starts_with("app (4711), recorded: full\n"), "{narrow}");
        assert!(!narrow.contains("STACK") && screen(&state, 80, 24).contains("STACK"), "{narrow}");
        assert_eq!([rows(10, 8), rows(80, 1), rows(1, 1)], [0, 1, 0], "a row is the last to go");
    }
}
