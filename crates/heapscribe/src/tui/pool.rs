//! The screen of a process that only runs with another heap (`heapscribe run`): the statistics of its pool.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::Frame;
use ratatui::crossterm::event;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::history::{History, Point};
use super::run::{COLUMNS, key, need_terminal, print};
use super::state::Key;
use super::view::{BOLD, DIM, draw_curves};
use heapscribe_session::heap_statistics::{self, HeapStatisticsFile};
use heapscribe_session::inspect::SearchPath;
use heapscribe_session::{Memory, monotonic_ns};
use heapscribe_units::duration;
use heapscribe_views::text::heap;

/// A process and the statistics of its heap so far.
#[derive(Debug)]
pub(crate) struct Pool {
    heap: HeapStatisticsFile,
    is_alive: bool,
    /// Bytes in use, and resident ones.
    history: History,
}

impl Pool {
    /// The living process of this number, or of this program when there is but one.
    pub(crate) fn find(wanted: &str, place: &SearchPath) -> Option<Pool> {
        let name = |exe: &str| exe.rsplit('/').next() == Some(wanted);
        let mut all = heap_statistics::all(place);
        all.retain(|told| wanted.parse() == Ok(told.pid) || name(&told.exe));
        let [told] = &all[..] else { return None };
        let heap = HeapStatisticsFile::open(&told.path)?;
        let mut pool = Pool { heap, is_alive: true, history: History::default() };
        pool.look();
        Some(pool)
    }

    fn look(&mut self) {
        self.is_alive = self.heap.statistics.is_alive();
        if !self.is_alive {
            return; // it does not change any more; its last picture stays
        }
        self.heap.look();
        let rss_bytes = Memory::of(self.heap.statistics.pid).sample().map_or(0, |sample| sample.rss_bytes);
        self.history.push(Point { heap_bytes: self.heap.statistics.update.counts.used_bytes, rss_bytes });
    }

    /// Shows it until the user has seen enough.
    pub(crate) fn run(&mut self, interval: Duration) -> Result<()> {
        need_terminal("use --once to print one screen, or `heapscribe ps --json` in scripts")?;
        let mut terminal = ratatui::try_init()?;
        let outcome = self.watch(&mut terminal, interval);
        ratatui::restore();
        outcome
    }

    fn watch(&mut self, terminal: &mut ratatui::DefaultTerminal, interval: Duration) -> Result<()> {
        let mut next_look = Instant::now() + interval;
        loop {
            terminal.draw(|frame| self.draw(frame))?;
            if event::poll(next_look.saturating_duration_since(Instant::now()))?
                && matches!(key(&event::read()?), Some(Key::Char('q') | Key::Escape))
            {
                return Ok(());
            }
            if Instant::now() >= next_look {
                self.look();
                next_look = Instant::now() + interval;
            }
        }
    }

    /// Prints one screen as text.
    pub(crate) fn once(&self, out: &mut dyn Write) -> Result<()> {
        print(out, COLUMNS, |frame| self.draw(frame))
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let lines = self.lines();
        let parts = [lines.len() as u16, 3].map(Constraint::Length);
        let rest = [Constraint::Min(0), Constraint::Length(1)];
        let [top, curves, _, keys] = Layout::vertical(parts.into_iter().chain(rest)).areas(frame.area());
        frame.render_widget(Paragraph::new(lines), top);
        draw_curves(frame, ["in use", "resident"], &self.history, curves);
        frame.render_widget(Paragraph::new(Line::styled("q quit", DIM)), keys);
    }

    fn lines(&self) -> Vec<Line<'static>> {
        let told = &self.heap.statistics;
        let program = told.exe.rsplit('/').next().unwrap_or(&told.exe).to_owned();
        let ended = if self.is_alive { "" } else { ", ended" };
        let about = format!(" ({}), not recorded, heap {}{ended}", told.pid, told.name);
        let mut lines = vec![Line::from(vec![Span::styled(program, BOLD), Span::raw(about)])];
        let counts = &told.update.counts;
        if told.is_passing || counts.pool_bytes == 0 {
            lines.push(Line::raw("no statistics of its pool"));
            return lines;
        }
        lines.push(Line::raw(heap::size(counts)));
        let rest = heap::rest(counts).unwrap_or_default();
        lines.extend(rest.split("; ").map(|part| Line::raw(part.to_owned())));
        let age_ns = monotonic_ns().saturating_sub(told.update.mono_ns);
        lines.push(Line::raw(format!("updated {} ago; {}", duration(age_ns), told.configuration)));
        lines
    }
}
