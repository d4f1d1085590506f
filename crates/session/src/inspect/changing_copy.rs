//! Copies a live table while its process changes it, and holds operations back only to copy what has changed meanwhile:
//! by the marks that `heapscribe_wire::live` describes.
//!
//! ```text
//!   hold     each mark CHANGED becomes UNCHANGED            some 10 us
//!   run      all units are copied                           threads change some, whose marks become CHANGED
//!   hold     those: they are few, copy them; that is it     or their marks become UNCHANGED,
//!   run                                                     and they are copied, and once more
//! ```
//! As often as there are fewer each time. A program that changes all of its heap all the time is held for as long as the
//! copy of all of it takes, as it was before there were marks.

use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use heapscribe_wire::limits::LIVE_UNITS_MAX;
use heapscribe_wire::live::{CHANGED, MARKS_OFFSET, UNCHANGED};
use heapscribe_wire::operation::Record;

use super::copied::{Copied, Exactness, Failed, refused};
use super::hold::{Holding, Inexact, Turn};
use super::image::Image;
use super::moment::Moment;
use super::reader::{HeadCopy, SessionReader};
use super::source::Writers;
use crate::files::read_up_to;

/// So many changed units are copied while threads wait: 512 KiB, some 100 us.
const UNITS_HELD: usize = 32;
/// How often what has changed is copied while threads run.
const ROUNDS: usize = 6;
const PAGE_BYTES: usize = 4096;

/// Copies the table of a process that lives, as it is at one instant.
pub(super) fn copy_changing(session: &SessionReader, image: &mut Image) -> Result<Copied, Failed> {
    let turn = Turn::wait(session);
    if !turn.is_alone() || !session.is_live_writable {
        return copy_held(&turn, session, image);
    }
    let (units, mut held) = begin(&turn, session)?;
    image.read(&session.live, units, Writers::Held).map_err(failed)?;
    let mut before = units as usize;
    for left in (0..ROUNDS).rev() {
        let instant = Instant::begin(&turn, session)?;
        let changed = instant.marks.changed();
        let is_last = changed.len() <= UNITS_HELD || left == 0 || changed.len() > before / 2;
        let units = instant.head.get().live_units;
        if is_last {
            image.renew(&session.live, units, &changed).map_err(failed)?;
            return instant.end(held);
        }
        held += instant.release(session)?;
        image.renew(&session.live, units, &changed).map_err(failed)?;
        before = changed.len();
    }
    Err(Inexact::LostHold.into())
}

/// Copies it while operations are held back, all of it.
fn copy_held(turn: &Turn<'_>, session: &SessionReader, image: &mut Image) -> Result<Copied, Failed> {
    let instant = Instant::begin(turn, session)?;
    image.read(&session.live, instant.head.get().live_units, Writers::Held).map_err(failed)?;
    instant.end(Duration::ZERO)
}

/// Asks for what will be changed: of how many units, and for how long operations were held back for that.
fn begin(turn: &Turn<'_>, session: &SessionReader) -> Result<(u32, Duration), Failed> {
    let instant = Instant::begin(turn, session)?;
    let units = instant.head.get().live_units;
    Ok((units, instant.release(session)?))
}

/// What is known of an instant, while operations are held back.
struct Instant<'s> {
    holding: Holding<'s>,
    moment: Moment,
    head: HeadCopy,
    records: Vec<Record>,
    marks: Marks,
}

impl<'s> Instant<'s> {
    fn begin(turn: &Turn<'s>, session: &'s SessionReader) -> Result<Instant<'s>, Failed> {
        let holding = Holding::begin(turn)?;
        let moment = Moment::now();
        let head = session.head().map_err(Failed::For)?;
        let (records, marks) = (session.records(&head.get()), Marks::read(session, head.get().live_units));
        Ok(Instant { holding, moment, head, records, marks })
    }

    /// Lets threads go on, whose changes are noted from now on: how long they were held.
    fn release(mut self, session: &SessionReader) -> Result<Duration, Failed> {
        self.marks.set_unchanged(session).map_err(failed)?;
        // Marks that threads made meanwhile would be lost; then the hold was, too.
        Ok(self.holding.end()?)
    }

    /// What was copied is of this instant, if threads were held all the time.
    fn end(self, held_before: Duration) -> Result<Copied, Failed> {
        let Instant { holding, moment, head, records, .. } = self;
        let held = held_before + holding.end()?;
        Ok(Copied { head, records, moment, exactness: Exactness::Instant, held })
    }
}

/// The marks of all units.
struct Marks(Vec<u8>);

impl Marks {
    fn read(session: &SessionReader, units: u32) -> Marks {
        let mut marks = vec![0; units.min(LIVE_UNITS_MAX as u32) as usize];
        let n = read_up_to(&session.live, &mut marks, MARKS_OFFSET as u64);
        marks.truncate(n);
        Marks(marks)
    }

    /// The units that are changed, or that nobody has asked for.
    fn changed(&self) -> Vec<u32> {
        let changed = self.0.iter().zip(0..).filter(|(mark, _)| **mark == CHANGED);
        changed.map(|(_, unit)| unit).collect()
    }

    /// Makes all of them unchanged. Only those that have pages are written.
    fn set_unchanged(&mut self, session: &SessionReader) -> io::Result<()> {
        for (nth, page) in self.0.chunks_mut(PAGE_BYTES).enumerate() {
            let mut is_any = false;
            for mark in page.iter_mut().filter(|mark| **mark == CHANGED) {
                (*mark, is_any) = (UNCHANGED, true);
            }
            if is_any {
                session.live.write_all_at(page, (MARKS_OFFSET + nth * PAGE_BYTES) as u64)?;
            }
        }
        Ok(())
    }
}

fn failed(e: io::Error) -> Failed {
    Failed::For(refused(e))
}
