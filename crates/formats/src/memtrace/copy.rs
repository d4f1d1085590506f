//! Copies the events of a trace into another one, all of them or some.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;

use super::error::MemtraceError;
use super::event::{Alloc, Event, Info, Moment, ObjectId};
use super::locations::Locations;
use super::read::Reader;
use super::write::{WriteOptions, Writer};
use crate::source::Source;

/// Why a copy is incomplete.
#[derive(Debug)]
pub enum CopyError {
    /// What is copied cannot be read.
    Read(MemtraceError),
    /// The copy cannot be written.
    Write(io::Error),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyError::Read(e) => e.fmt(f),
            CopyError::Write(e) => write!(f, "the copy cannot be written: {e}"),
        }
    }
}

impl std::error::Error for CopyError {}

/// What to change in the copy.
pub struct Changes<'c> {
    /// The trace as a whole.
    pub info: Info,
    /// The locations of codes in the copy, when they differ.
    pub locations: Option<&'c Locations>,
    /// How many samples of an object to copy; 0 drops it with its promotion and its end.
    pub samples: &'c dyn Fn(&Moment<'_>, &Alloc<'_>) -> i64,
    /// Whether to copy promotions and ends of this moment.
    pub ends: &'c dyn Fn(&Moment<'_>) -> bool,
    /// Filled in: promotions that were left out, as no reader could read them.
    pub skipped_promotions: u64,
}

impl Changes<'_> {
    /// Nothing is changed.
    pub fn none(info: &Info) -> Changes<'static> {
        Changes {
            info: info.clone(),
            locations: None,
            samples: &|_, alloc| alloc.samples,
            ends: &|_| true,
            skipped_promotions: 0,
        }
    }
}

impl fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("info", &self.info).finish_non_exhaustive()
    }
}

/// What a copy knows of the objects and stacks that it has written.
#[derive(Default)]
struct Renumbering {
    /// Numbers in the copy of the live objects.
    objects: HashMap<ObjectId, ObjectId>,
    /// For a domain whose last stacks were left out: how many outermost frames all of them share with the last
    /// one that was written.
    reused_frames: HashMap<u16, usize>,
}

/// Copies the events that are still to be read. Objects are numbered anew as the writer does it; memory
/// grows with the objects that are there at a time.
///
/// # Errors
/// When reading or writing fails. When it is reading, the copy has all events before that, and is finished.
pub fn copy<S: Source, W: Write>(
    reader: &mut Reader<S>,
    sink: W,
    options: WriteOptions,
    changes: &mut Changes<'_>,
) -> Result<W, CopyError> {
    let start_us = reader.info().start_us;
    let mut writer = Writer::create(sink, &changes.info, options).map_err(CopyError::Write)?;
    let mut ids = Renumbering::default();
    let read =
        reader.for_each(|moment, event| match put(&mut writer, &mut ids, start_us, changes, moment, event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ControlFlow::Break(e),
        });
    if let Ok(Some(e)) = read {
        return Err(CopyError::Write(e));
    }
    changes.skipped_promotions = writer.skipped_promotions();
    let sink = writer.finish(changes.locations.unwrap_or(reader.locations())).map_err(CopyError::Write)?;
    read.map_err(CopyError::Read)?;
    Ok(sink)
}

/// Copies all events as they are.
///
/// # Errors
/// As [`copy`].
pub fn copy_all<S: Source, W: Write>(
    reader: &mut Reader<S>,
    sink: W,
    options: WriteOptions,
) -> Result<W, CopyError> {
    let mut changes = Changes::none(reader.info());
    copy(reader, sink, options, &mut changes)
}

fn put<W: Write>(
    writer: &mut Writer<W>,
    ids: &mut Renumbering,
    start_us: i64,
    changes: &mut Changes<'_>,
    moment: &Moment<'_>,
    event: &Event<'_>,
) -> io::Result<()> {
    let locations = changes.locations.unwrap_or(moment.locations);
    let (domain, time_us) = (moment.domain, start_us.saturating_add(moment.time_us));
    match event {
        Event::Alloc(alloc) => {
            let samples = (changes.samples)(moment, alloc);
            let reused_frames =
                ids.reused_frames.remove(&domain).unwrap_or(usize::MAX).min(alloc.reused_frames);
            if samples == 0 {
                ids.reused_frames.insert(domain, reused_frames);
                return Ok(());
            }
            let id = writer.alloc(domain, time_us, &Alloc { samples, reused_frames, ..*alloc }, locations)?;
            ids.objects.insert(alloc.id, id);
            Ok(())
        }
        Event::Promote(id) => match ids.objects.get(id).filter(|_| (changes.ends)(moment)) {
            Some(id) => writer.promote(domain, time_us, *id, locations),
            None => Ok(()),
        },
        Event::Collect(id) => match ids.objects.remove(id).filter(|_| (changes.ends)(moment)) {
            Some(id) => writer.collect(domain, time_us, id, locations),
            None => Ok(()),
        },
    }
}
