//! Writes a memtrace file, the same bytes that memtrace writes of the same events.

use std::io::{self, Write};

use super::domain::{DomainWriter, Shared};
use super::event::{Alloc, Info, ObjectId};
use super::header::Packet;
use super::info;
use super::layout::IDS_PER_CHUNK;
use super::locations::Locations;

/// How the events of several domains are put into one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Each domain has a packet of its own open, as in a program that traces itself. Domains are
    /// independent of each other, and a reader that wants their events in order has to merge them.
    #[default]
    Direct,
    /// The same, but events of different domains are written in any order: a domain begins at the time of its
    /// first event, however late others are. For a caller that has the threads one after the other.
    Apart,
    /// One domain has a packet open; it is written out when an event of another comes, so that the file
    /// is in the order of the calls. memtrace's tools that copy traces do this.
    Multiplexed,
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// How domains are put together.
    pub order: Order,
    /// How many object numbers a domain takes at a time.
    pub ids_per_chunk: i64,
    /// Gives the pid of the process that writes, asked before a packet is written. When it is no longer that of the trace, which is so in a
    /// forked child, nothing more is written.
    pub pid: Option<fn() -> i64>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions { order: Order::Direct, ids_per_chunk: IDS_PER_CHUNK, pid: None }
    }
}

/// Writes a trace packet by packet, each with one write. Its memory is a packet and caches of about 0.4 MiB
/// for each domain, and the deepest stack; nothing is allocated for an event.
///
/// All calls must be given the same [`Locations`], which may have grown between them. A code that it does
/// not know is not written: it may be defined later, and must not have two meanings.
#[derive(Debug)]
pub struct Writer<W> {
    shared: Shared<W>,
    options: WriteOptions,
    start_us: i64,
    domains: Vec<DomainWriter>,
    /// The domain that had the last call, by its place.
    last: usize,
    steps_back: u64,
    skipped_promotions: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace: writes its first packet.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn create(sink: W, info: &Info, options: WriteOptions) -> io::Result<Writer<W>> {
        let mut shared = Shared {
            sink,
            pid: info.pid,
            current_pid: options.pid,
            next_chunk: 0,
            ids_per_chunk: options.ids_per_chunk.max(1),
            locations_packet: Packet::new(),
        };
        info::encode(info, &mut shared.locations_packet);
        shared.sink.write_all(shared.locations_packet.written())?;
        let first = DomainWriter::new(info.domain, info.start_us, &mut shared);
        Ok(Writer {
            shared,
            options,
            start_us: info.start_us,
            domains: vec![first],
            last: 0,
            steps_back: 0,
            skipped_promotions: 0,
        })
    }

    /// Writes an allocation and returns its number. `alloc.id` and `alloc.common` are ignored;
    /// `alloc.reused_frames` is trusted. `time_us` is since 1970.
    ///
    /// # Errors
    /// Those of the sink; [`io::ErrorKind::Other`] in a forked child.
    #[inline]
    pub fn alloc(
        &mut self,
        domain: u16,
        time_us: i64,
        alloc: &Alloc<'_>,
        locations: &Locations,
    ) -> io::Result<ObjectId> {
        let (at, time_us) = self.turn_to(domain, time_us, locations)?;
        let writer = &mut self.domains[at];
        if self.options.order == Order::Multiplexed && writer.next_id().is_none() {
            let now_us = writer.time_end_us;
            writer.flush(&mut self.shared, now_us, locations)?;
        }
        writer.alloc(&mut self.shared, time_us, alloc, locations)
    }

    /// Writes that an object was promoted. A promotion that no reader could decode is skipped and counted: the
    /// object is of another domain and has a larger number than this one's next.
    ///
    /// # Errors
    /// Those of the sink; [`io::ErrorKind::Other`] in a forked child.
    pub fn promote(
        &mut self,
        domain: u16,
        time_us: i64,
        id: ObjectId,
        locations: &Locations,
    ) -> io::Result<()> {
        let (at, time_us) = self.turn_to(domain, time_us, locations)?;
        if !self.domains[at].can_promote(id) {
            self.skipped_promotions += 1;
            return Ok(());
        }
        self.domains[at].promote(&mut self.shared, time_us, id, locations)
    }

    /// Writes that an object was collected.
    ///
    /// # Errors
    /// Those of the sink; [`io::ErrorKind::Other`] in a forked child.
    pub fn collect(
        &mut self,
        domain: u16,
        time_us: i64,
        id: ObjectId,
        locations: &Locations,
    ) -> io::Result<()> {
        let (at, time_us) = self.turn_to(domain, time_us, locations)?;
        self.domains[at].collect(&mut self.shared, time_us, id, locations)
    }

    /// Writes out the open packet of a domain.
    ///
    /// # Errors
    /// Those of the sink; [`io::ErrorKind::Other`] in a forked child.
    pub fn flush(&mut self, domain: u16, locations: &Locations) -> io::Result<()> {
        match self.domains.iter().position(|writer| writer.domain == domain) {
            Some(at) => self.flush_place(at, locations),
            None => Ok(()),
        }
    }

    /// Writes out the open packets of all domains that have events in them: who reads the file now sees
    /// all that was written.
    ///
    /// # Errors
    /// Those of the sink; [`io::ErrorKind::Other`] in a forked child.
    pub fn flush_all(&mut self, locations: &Locations) -> io::Result<()> {
        for at in 0..self.domains.len() {
            if self.domains[at].has_events() {
                self.flush_place(at, locations)?;
            }
        }
        Ok(())
    }

    /// Writes out the open packets, and returns the sink.
    ///
    /// # Errors
    /// Those of the sink; [`io::ErrorKind::Other`] in a forked child.
    pub fn finish(mut self, locations: &Locations) -> io::Result<W> {
        match self.options.order {
            Order::Multiplexed => self.flush_place(self.last, locations)?,
            Order::Direct | Order::Apart => {
                for at in 0..self.domains.len() {
                    self.flush_place(at, locations)?;
                }
            }
        }
        Ok(self.shared.sink)
    }

    /// How many events had an earlier time than the event before in their domain; they were written with that
    /// one's time, because readers refuse times that decrease.
    pub fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// How many promotions were skipped.
    pub fn skipped_promotions(&self) -> u64 {
        self.skipped_promotions
    }

    /// What is written to.
    pub fn sink(&mut self) -> &mut W {
        &mut self.shared.sink
    }

    /// The place of a domain, and a time that does not go back there.
    #[inline]
    fn turn_to(&mut self, domain: u16, time_us: i64, locations: &Locations) -> io::Result<(usize, i64)> {
        if self.domains[self.last].domain != domain {
            self.switch(domain, time_us, locations)?;
        }
        let end_us = self.domains[self.last].time_end_us;
        if time_us < end_us {
            self.steps_back += 1;
        }
        Ok((self.last, time_us.max(end_us)))
    }

    fn switch(&mut self, domain: u16, time_us: i64, locations: &Locations) -> io::Result<()> {
        let start_us = match self.options.order {
            Order::Apart => time_us.max(self.start_us),
            Order::Direct => self.domains[0].time_end_us,
            Order::Multiplexed => {
                self.flush_place(self.last, locations)?;
                self.start_us
            }
        };
        self.last = match self.domains.iter().position(|writer| writer.domain == domain) {
            Some(at) => at,
            None => {
                self.domains.push(DomainWriter::new(domain, start_us, &mut self.shared));
                self.domains.len() - 1
            }
        };
        Ok(())
    }

    fn flush_place(&mut self, at: usize, locations: &Locations) -> io::Result<()> {
        let now_us = self.domains[at].time_end_us;
        self.domains[at].flush(&mut self.shared, now_us, locations)
    }
}
