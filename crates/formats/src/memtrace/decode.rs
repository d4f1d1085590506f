//! Decodes the events of packets, with the state of each domain.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::backtrace::read::{StackReader, skip};
use super::error::Fault;
use super::event::{Alloc, Event, Heap, Info, Moment, ObjectId};
use super::fields::{Cursor, int};
use super::header::Header;
use super::layout::{
    EVENT_ALLOC, EVENT_COLLECT, EVENT_INFO, EVENT_LOCATION, EVENT_PROMOTE, EVENT_SHORT, SHORT_WORDS_MAX,
    TIME_BITS,
};
use super::location_event::Recent;
use super::locations::Locations;
use super::time;

/// Bytes that the state of a domain takes: a file must be long enough for its domains.
const DOMAIN_BYTES: u64 = 200 << 10;
/// What all domains of any file may take.
const DOMAINS_FREE_BYTES: u64 = 64 << 20;
/// Bytes of domains' state for each byte of the file.
const DOMAIN_BYTES_PER_BYTE: u64 = 16;

/// Bytes of the shortest event that allocates: its time and code, how many calls it shares, and how many words follow.
const ALLOC_BYTES_MIN: u64 = 6;

/// A domain as it is after its last packet.
#[derive(Debug)]
struct Domain {
    recent: Recent,
    stacks: StackReader,
    last_us: i64,
    next_id: Option<i64>,
}

/// A packet of a file: its header, the bytes behind that, and its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'p> {
    pub(crate) header: Header,
    pub(crate) content: &'p [u8],
    pub(crate) offset: u64,
}

/// An invalid packet: the fault and its byte in the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadContent {
    pub(crate) at: usize,
    pub(crate) fault: Fault,
}

/// Turns packets into events.
#[derive(Debug)]
pub(crate) struct Decoder {
    start_us: i64,
    /// Its objects are numbered from 0 on.
    first_domain: u16,
    domains: HashMap<u16, Domain>,
    pub(crate) locations: Locations,
    pub(crate) gap_objects: u64,
    /// The first packet before which object numbers are missing.
    pub(crate) gap_at: Option<u64>,
}

impl Decoder {
    pub(crate) fn new(info: &Info) -> Self {
        let (start_us, first_domain) = (info.start_us, info.domain);
        Decoder {
            start_us,
            first_domain,
            domains: HashMap::new(),
            locations: Locations::default(),
            gap_objects: 0,
            gap_at: None,
        }
    }

    /// Reads the events of a packet.
    pub(crate) fn packet<B>(
        &mut self,
        packet: &Packet<'_>,
        stacks: bool,
        visit: &mut impl FnMut(&Moment<'_>, &Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, BadContent> {
        let Packet { header, content, offset } = packet;
        self.check_domains(header.domain, *offset).map_err(|fault| BadContent { at: 0, fault })?;
        let start_us = self.start_us;
        let domain = self.domains.entry(header.domain).or_insert_with(|| Domain::new(start_us));
        if header.domain == self.first_domain {
            domain.next_id.get_or_insert(0);
        }
        if let (true, Some(verifier)) = (stacks, header.verifier) {
            domain.stacks.verify(verifier).map_err(|fault| BadContent { at: 0, fault })?;
        }
        let gap_objects = domain.gap(header);
        self.gap_objects = self.gap_objects.saturating_add(gap_objects);
        if gap_objects != 0 {
            self.gap_at.get_or_insert(*offset);
        }
        let content_at = offset + header.header_bytes as u64;
        let mut content_events =
            Content { content, header, start_us, offset: content_at, next_id: int(header.ids_begin) };

        let mut begin = 0;
        let flow = content_events.events(domain, &mut self.locations, stacks, &mut begin, visit);
        // A packet that is there a second time has no new objects.
        let is_repeated = |next: &i64| flow.is_err() && *next >= header.ids_end;
        domain.next_id = Some(domain.next_id.filter(is_repeated).unwrap_or(content_events.next_id));
        let flow = flow.map_err(|fault| BadContent { at: begin, fault })?;
        if flow.is_continue() && header.ids_end != content_events.next_id {
            let fault = Fault::IdsDisagree(content_events.next_id, header.ids_end);
            return Err(BadContent { at: content.len(), fault });
        }
        Ok(flow)
    }

    fn check_domains(&self, domain: u16, offset: u64) -> Result<(), Fault> {
        let bytes = (self.domains.len() as u64 + 1) * DOMAIN_BYTES;
        let fits = bytes <= DOMAINS_FREE_BYTES + offset.saturating_mul(DOMAIN_BYTES_PER_BYTE);
        if fits || self.domains.contains_key(&domain) { Ok(()) } else { Err(Fault::ManyDomains) }
    }

    /// Drops the state that is unknown after packets were missed, of one domain or of all.
    pub(crate) fn missed(&mut self, domain: Option<u16>) {
        match domain {
            Some(one) => self.domains.get_mut(&one).into_iter().for_each(Domain::forget),
            None => self.domains.values_mut().for_each(Domain::forget),
        }
    }

    /// How many objects a packet allocates, by its header, beyond those that were read of it. They are no gap to the
    /// packet behind it. What a header claims that its packet has no room for is not believed.
    pub(crate) fn unread_objects(&mut self, header: &Header) -> u64 {
        let (begin, end) = (int(header.ids_begin), header.ids_end);
        let domain = self.domains.get_mut(&header.domain);
        let next_id = domain.as_ref().and_then(|domain| domain.next_id);
        let read_until = next_id.unwrap_or(begin).max(begin);
        let unread = u64::try_from(end.saturating_sub(read_until)).unwrap_or(0);
        if unread > header.content_bytes() as u64 / ALLOC_BYTES_MIN {
            return 0;
        }
        if let Some(domain) = domain {
            domain.next_id = Some(end.max(read_until));
        }
        unread
    }

    /// How many stacks are not in the file.
    pub(crate) fn hidden_stacks(&self) -> u64 {
        self.domains.values().map(|domain| domain.stacks.hidden).sum()
    }

    /// How many domains had events.
    pub(crate) fn domains(&self) -> usize {
        self.domains.len()
    }
}

impl Domain {
    fn new(start_us: i64) -> Self {
        Domain { recent: Recent::default(), stacks: StackReader::new(), last_us: start_us, next_id: None }
    }

    fn forget(&mut self) {
        self.recent.forget();
        self.stacks.forget();
    }

    /// Objects between the packet before and this one: of other domains, or lost.
    fn gap(&self, header: &Header) -> u64 {
        let next = self.next_id.unwrap_or(header.ids_begin);
        u64::try_from(header.ids_begin.saturating_sub(next)).unwrap_or(0)
    }
}

/// The content of a packet that is being decoded.
struct Content<'p> {
    content: &'p [u8],
    header: &'p Header,
    start_us: i64,
    offset: u64,
    next_id: i64,
}

impl Content<'_> {
    /// Reads events up to the end; `begin` is where the last one began. What changes with every event is in
    /// local variables of which no call gets a reference, so that they are kept in registers.
    #[inline(always)]
    fn events<B>(
        &mut self,
        domain: &mut Domain,
        locations: &mut Locations,
        stacks: bool,
        begin: &mut usize,
        visit: &mut impl FnMut(&Moment<'_>, &Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Fault> {
        let (mut at, mut last_us) = (Cursor::new(self.content), domain.last_us);
        while !at.is_empty() {
            *begin = at.pos();
            let word = at.u32()?;
            let time_us = time::of_event(self.header, word)?;
            if time_us < last_us {
                return Err(Fault::TimeGoesBack);
            }
            last_us = time_us;
            domain.last_us = time_us;
            let code = word >> TIME_BITS;
            let event = match code {
                EVENT_INFO => return Err(Fault::SecondInfo),
                EVENT_LOCATION => {
                    let mut behind = at;
                    domain.recent.read(&mut behind, locations)?;
                    at = behind;
                    continue;
                }
                EVENT_PROMOTE => Event::Promote(object(&mut at, self.next_id, true)?),
                EVENT_COLLECT => Event::Collect(object(&mut at, self.next_id, false)?),
                _ => {
                    let alloc = alloc(&mut at, code, self.next_id, &mut domain.stacks, stacks)?;
                    self.next_id = self.next_id.wrapping_add(1);
                    Event::Alloc(alloc)
                }
            };
            let moment = Moment {
                time_us: time_us.wrapping_sub(self.start_us),
                domain: self.header.domain,
                offset: self.offset + *begin as u64,
                locations,
            };
            if let ControlFlow::Break(why) = visit(&moment, &event) {
                return Ok(ControlFlow::Break(why));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[inline(always)]
fn alloc<'s>(
    at: &mut Cursor<'_>,
    code: u32,
    id: i64,
    stacks: &'s mut StackReader,
    parse: bool,
) -> Result<Alloc<'s>, Fault> {
    let short_words = i64::from(code.wrapping_sub(EVENT_SHORT));
    let is_short = (1..=SHORT_WORDS_MAX).contains(&short_words);
    let (length_words, samples, heap) = if is_short {
        (short_words, 1, Heap::Minor)
    } else if code == EVENT_ALLOC {
        (at.vint()?, at.vint()?, heap(at.u8()?)?)
    } else {
        return Err(Fault::UnknownEvent(code));
    };
    let common = at.vint()?;
    let words = if is_short { u32::from(at.u8()?) } else { u32::from(at.u16()?) };
    let (stack, reused_frames) = if parse {
        stacks.read(at, common, words)?
    } else {
        skip(at, words)?;
        (&[][..], 0)
    };
    Ok(Alloc { id: ObjectId(id), length_words, samples, heap, common, reused_frames, stack })
}

#[inline(always)]
fn heap(source: u8) -> Result<Heap, Fault> {
    match source {
        0 => Ok(Heap::Minor),
        1 => Ok(Heap::Major),
        2 => Ok(Heap::External),
        other => Err(Fault::UnknownSource(other)),
    }
}

/// Objects are named by how many were allocated after them.
#[inline(always)]
fn object(at: &mut Cursor<'_>, next_id: i64, is_promotion: bool) -> Result<ObjectId, Fault> {
    let back = at.vint()?;
    if is_promotion && back < 0 {
        return Err(Fault::PromotedEarly);
    }
    Ok(ObjectId(next_id.wrapping_sub(1).wrapping_sub(back)))
}
