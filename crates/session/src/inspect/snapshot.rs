//! What was live in a process at a moment, and how sure that is.

use std::time::Duration;

use anyhow::{Context, Result};
use heapscribe_formats::model::ModeChange;
use heapscribe_wire::live::ticks_ahead;
use heapscribe_wire::live::walk::{Live, TableError, Units, seen_words, walk};
use heapscribe_wire::operation::Record;

use super::changing_copy::copy_changing;
use super::copied::{Copied, Exactness, Failed, refused};
use super::hold::Inexact;
use super::image::Image;
use super::moment::Moment;
use super::pages::SnapshotPages;
use super::reader::{HeadCopy, SessionReader};
use super::source::Writers;

/// How often a copy of one instant is tried for.
const TRIES: usize = 4;

/// What was live in a process.
#[derive(Debug)]
pub struct Snapshot {
    /// The process.
    pub head: HeadCopy,
    /// What its program called it, when it took it itself.
    pub name: Option<String>,
    /// When.
    pub moment: Moment,
    /// How true it is.
    pub exactness: Exactness,
    /// What its threads had done by then.
    pub records: Vec<Record>,
    /// What the numbers in it mean.
    pub definitions: Vec<u8>,
    /// What names code in them that the process's runtime has compiled, when that was asked for.
    pub jit_names: Vec<u8>,
    /// What was recorded of the process, when that was nothing for a time.
    pub modes: Vec<ModeChange>,
    /// How long the process's threads were held back.
    pub held: Duration,
    /// What the process had mapped, when that was asked for.
    pub pages: Option<SnapshotPages>,
    /// The table.
    pub(super) image: Image,
}

impl Snapshot {
    /// Takes one of a session: exact, whenever that can be had.
    pub fn take(session: &SessionReader) -> Result<Snapshot> {
        Self::take_then(session, || ()).map(|(snapshot, ())| snapshot)
    }

    /// The same; `then` looks at the process in another way as soon as its threads run again.
    pub fn take_then<T>(session: &SessionReader, then: impl FnOnce() -> T) -> Result<(Snapshot, T)> {
        let mut image = Image::default();
        let Copied { head, records, moment, exactness, held } = copy(session, &mut image)
            .with_context(|| session.directory().join("live").display().to_string())?;
        let seen = then();
        image.index();
        let (chunks, definitions) = {
            let head = session.head()?;
            (session.chunks(&head.get()), session.definitions(0, head.get().defs_committed))
        };
        let moment = moment.with_ticks(&head.get(), &chunks);
        let (modes, name, jit_names, pages) = (session.modes(&head.get()), None, Vec::new(), None);
        let mut snapshot = Snapshot {
            head,
            name,
            moment,
            exactness,
            records,
            definitions,
            jit_names,
            modes,
            held,
            pages,
            image,
        };
        snapshot.not_before_its_blocks();
        Ok((snapshot, seen))
    }

    /// The same with names of what the process's runtime has compiled so far.
    pub fn with_jit_names(mut self, session: &SessionReader) -> Snapshot {
        self.jit_names = session.jit_names(&self.definitions);
        self
    }

    /// The moment in ticks is an estimate where the clock is a counter of unknown rate: no block may be
    /// younger than that, or its age would be that of the universe.
    pub(super) fn not_before_its_blocks(&mut self) {
        let now = self.moment.ticks;
        let mut ahead = 0;
        let _ = self.for_each(|found| {
            if let Ok(block) = found {
                ahead = ahead.max(ticks_ahead(now, block.slot.birth_ticks));
            }
        });
        self.moment.ticks += ahead;
    }

    /// Refuses a table in which anything makes no sense, though nobody changed it while it was copied: its blocks are any
    /// blocks, and those that are missing are not known.
    ///
    /// # Errors
    /// What makes no sense first.
    pub fn undamaged(self) -> Result<Snapshot> {
        if matches!(self.exactness, Exactness::Inexact(_)) {
            return Ok(self);
        }
        let mut first = None;
        let walked = self.for_each(|found| {
            if first.is_none() {
                first = found.err();
            }
        });
        walked.err().or(first).map_or(Ok(self), |damage| Err(damage.into()))
    }

    /// Hands each block to `visit`, and what makes no sense.
    ///
    /// # Errors
    /// When there is no table.
    pub fn for_each(&self, visit: impl FnMut(Result<Live, TableError>)) -> Result<(), TableError> {
        let mut seen = vec![0; seen_words(self.image.units())];
        walk(&self.image, self.head.get().live_granule_shift, &mut seen, visit)
    }
}

fn copy(session: &SessionReader, image: &mut Image) -> Result<Copied> {
    let units = |head: &HeadCopy| head.get().live_units;
    if session.living_pid().is_none() {
        let head = session.head()?;
        image.read(&session.live, units(&head), Writers::Held).map_err(refused)?;
        return Ok(done(session, head, Moment::now(), Exactness::Ended, Duration::ZERO));
    }
    let records = session.records(&session.head()?.get());
    let sum = |of: fn(&Record) -> u64| records.iter().map(of).fold(0, u64::wrapping_add);
    let blocks = sum(|record| record.allocated_blocks).saturating_sub(sum(|record| record.freed_blocks));
    image.provide(&session.live, blocks).map_err(refused)?;
    let mut why = Inexact::LostHold;
    for _ in 0..TRIES {
        match copy_changing(session, image) {
            Ok(copied) => return Ok(copied),
            Err(Failed::Inexact(because)) => why = because,
            Err(Failed::For(e)) => return Err(e),
        }
        if !matches!(why, Inexact::LostHold | Inexact::Busy(_)) || session.living_pid().is_none() {
            break; // it will be the same again
        }
    }
    let (head, moment) = (session.head()?, Moment::now());
    image.read(&session.live, units(&head), Writers::Running).map_err(refused)?;
    let has_ended = session.living_pid().is_none();
    let exactness = if has_ended { Exactness::Ended } else { Exactness::Inexact(why) };
    if has_ended {
        image.read(&session.live, units(&session.head()?), Writers::Held).map_err(refused)?;
    }
    Ok(done(session, head, moment, exactness, Duration::ZERO))
}

fn done(
    session: &SessionReader,
    head: HeadCopy,
    moment: Moment,
    exactness: Exactness,
    held: Duration,
) -> Copied {
    let records = session.records(&head.get());
    Copied { head, records, moment, exactness, held }
}
