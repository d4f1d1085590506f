//! The loop: look, draw, handle keys.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::{Frame, Terminal};

use super::look::Look;
use super::state::{Key, Next, State};
use super::view;
use heapscribe_diagnostics::Problem;
use heapscribe_session::inspect::SessionReader;
use heapscribe_symbols::Resolver;

/// The size of the screen that [`once`] prints: as wide as the terminal; in a pipe, as wide as its rows, for `grep`.
pub(super) const COLUMNS: u16 = 80;
const COLUMNS_MAX: u16 = 2000;
const ROWS: u16 = 24;

/// Shows a process until the user has seen enough, each look after an interval, at its pages, too, if asked.
pub(crate) fn run(
    session: &SessionReader,
    (interval, with_pages): (Duration, bool),
    resolver: &Resolver,
) -> Result<()> {
    need_terminal(
        "use --once to print one screen, or `heapscribe snapshot` to write the live blocks to a file",
    )?;
    crate::progress::draw_no_progress();
    let mut state = State::default();
    state.take(Look::at(session, with_pages)?, resolver);
    let mut terminal = ratatui::try_init()?;
    let outcome = watch(&mut terminal, &mut state, session, (interval, with_pages), resolver);
    ratatui::restore();
    outcome
}

pub(super) fn need_terminal(hint: &str) -> Result<()> {
    match std::io::stdout().is_terminal() {
        true => Ok(()),
        false => Err(Problem::new("standard output is not a terminal", hint).into()),
    }
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    state: &mut State,
    session: &SessionReader,
    (interval, with_pages): (Duration, bool),
    resolver: &Resolver,
) -> Result<()> {
    let mut next_look = Instant::now() + interval;
    loop {
        terminal.draw(|frame| view::draw(frame, state))?;
        if event::poll(next_look.saturating_duration_since(Instant::now()))?
            && let Some(key) = key(&event::read()?)
            && state.press(key) == Next::Quit
        {
            return Ok(());
        }
        if Instant::now() >= next_look {
            // A process that has ended does not change any more; its last picture stays.
            if !state.is_paused && state.look.is_alive {
                state.take(Look::at(session, with_pages)?, resolver);
            }
            next_look = Instant::now() + interval;
        }
    }
}

pub(super) fn key(event: &Event) -> Option<Key> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Char('q'),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

/// Prints one screen as text, after two looks, so that it has rates.
pub(crate) fn once(
    session: &SessionReader,
    (interval, with_pages): (Duration, bool),
    resolver: &Resolver,
    out: &mut dyn Write,
) -> Result<()> {
    let mut state = State::default();
    state.take(Look::at(session, with_pages)?, resolver);
    if state.look.is_alive {
        std::thread::sleep(interval);
        state.take(Look::at(session, with_pages)?, resolver);
    }
    let columns = if std::io::stdout().is_terminal() {
        ratatui::crossterm::terminal::size().map_or(COLUMNS, |(columns, _)| columns)
    } else {
        view::needed_columns(&state)
    };
    print(out, columns, |frame| view::draw(frame, &state))
}

/// Prints a screen of so many columns as text.
pub(super) fn print(out: &mut dyn Write, columns: u16, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
    let columns = columns.clamp(COLUMNS, COLUMNS_MAX);
    let mut terminal = Terminal::new(TestBackend::new(columns, ROWS))?;
    terminal.draw(draw)?;
    let buffer = terminal.backend().buffer();
    for row in buffer.content().chunks(usize::from(columns)) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
