//! Location events, both ways: a code and its inlined frames, names through move-to-front tables.
//!
//! ```text
//!   u64 code   u8 frames   then each frame:
//!     u48   0-19 line   20-27 start   28-37 end   38-42 place of the file   43-47 place of the function
//!     [file, when its place is 31]  [function, when its place is 31]
//! ```
//! A table has 31 names, the last used one in front; each file has a table of its functions. A name that is not
//! in the table is written as a text, and the name at the end of the table is dropped.

use super::error::Fault;
use super::fields::{Cursor, int};
use super::header::Packet;
use super::layout::{NAMES, VARIABLE_BYTES_MAX};
use super::locations::{Location, LocationCode, Locations};
use super::names::NameId;

const NEW: u64 = NAMES as u64;
const FRAMES_MAX: usize = 255;
const FRAME_BYTES: usize = 6;
/// Bytes of a code and the number of its frames.
const HEAD_BYTES: usize = 9;

/// Things in the order of their last use: what is moved are their places, a byte each.
#[derive(Clone, Debug)]
struct Front<T> {
    items: Vec<T>,
    /// Places in `items`, the last used one in front.
    order: [u8; NAMES],
}

impl<T> Default for Front<T> {
    fn default() -> Self {
        Front { items: Vec::new(), order: [0; NAMES] }
    }
}

impl<T> Front<T> {
    /// The one in front.
    fn first(&mut self) -> Option<&mut T> {
        self.items.get_mut(usize::from(self.order[0]))
    }

    fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        let used = self.order.iter().take(self.items.len());
        used.map(|place| &self.items[usize::from(*place)]).position(is_it)
    }

    /// Moves the one at this place of the order to the front.
    fn bring_forward(&mut self, place: usize) -> Result<(), Fault> {
        let slot = *self.order[..self.items.len()].get(place).ok_or(Fault::EmptyName)?;
        self.order.copy_within(..place, 1);
        self.order[0] = slot;
        Ok(())
    }

    /// Puts a new one in front. When there is no room, `reuse` makes it of the one that was used longest ago.
    fn push(&mut self, new: T, reuse: impl FnOnce(&mut T, T)) {
        let last = NAMES - 1;
        let slot = if self.items.len() < NAMES { self.items.len() as u8 } else { self.order[last] };
        match self.items.get_mut(usize::from(slot)) {
            Some(old) => reuse(old, new),
            None => self.items.push(new),
        }
        self.order.copy_within(..last, 1);
        self.order[0] = slot;
    }
}

/// A file and its functions.
#[derive(Clone, Debug, Default)]
struct File {
    name: NameId,
    functions: Front<NameId>,
}

/// The names that a domain used last. Reader and writer each have one and move names alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    files: Front<File>,
    /// The frames of the location that is being read.
    frames: Vec<Location>,
}

impl Recent {
    /// Makes all names unknown, for a reader that missed locations; their places in the order are kept.
    pub(crate) fn forget(&mut self) {
        let order = std::array::from_fn(|place| place as u8);
        let functions = Front { items: vec![NameId::UNKNOWN; NAMES], order };
        self.files = Front { items: vec![File { name: NameId::UNKNOWN, functions }; NAMES], order };
    }

    /// Reads a location event behind its first word, and adds it to the locations.
    pub(crate) fn read(&mut self, at: &mut Cursor<'_>, locations: &mut Locations) -> Result<(), Fault> {
        let code = LocationCode(at.int()?);
        let n = at.u8()?;
        self.frames.clear();
        for _ in 0..n {
            let frame = self.read_frame(at, locations)?;
            self.frames.push(frame);
        }
        if locations.define(code, &self.frames) { Ok(()) } else { Err(Fault::LocationChanged(code.0)) }
    }

    fn read_frame(&mut self, at: &mut Cursor<'_>, locations: &mut Locations) -> Result<Location, Fault> {
        let bits = u64::from(at.u32()?) | u64::from(at.u16()?) << 32;
        let field = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
        match field(38, 5) {
            NEW => self.push_read(locations.name(at.text()?)),
            place => self.files.bring_forward(place as usize)?,
        }
        let file = self.files.first().ok_or(Fault::EmptyName)?;
        match field(43, 5) {
            NEW => file.functions.push(locations.name(at.text()?), |old, new| *old = new),
            place => file.functions.bring_forward(place as usize)?,
        }
        Ok(Location {
            file: file.name,
            function: *file.functions.first().ok_or(Fault::EmptyName)?,
            line: field(0, 20) as u32,
            start_char: field(20, 8) as u16,
            end_char: field(28, 10) as u16,
        })
    }

    /// Writers of version 1 let a new file have the functions of the one that it pushes off. Those of
    /// later versions begin with none, and never refer to what stands behind; so this reads all of them.
    fn push_read(&mut self, name: NameId) {
        self.files.push(File { name, functions: Front::default() }, |old, new| old.name = new.name);
    }

    /// Writes a location event behind its first word; frames that are too many or too long are replaced by one
    /// unknown frame.
    pub(crate) fn write(&mut self, packet: &mut Packet, code: LocationCode, locations: &Locations) {
        let frames = writable(code, locations);
        packet.put_i64(int(code.0));
        packet.put([frames.len() as u8]);
        for frame in frames {
            self.write_frame(packet, frame, locations);
        }
    }

    fn write_frame(&mut self, packet: &mut Packet, frame: &Location, locations: &Locations) {
        let file_place = match self.files.find(|file| file.name == frame.file) {
            Some(place) => {
                let _ = self.files.bring_forward(place); // it is there
                place as u64
            }
            None => {
                let new = File { name: frame.file, functions: Front::default() };
                self.files.push(new, |old, new| *old = new);
                NEW
            }
        };
        let Some(File { functions, .. }) = self.files.first() else { return };
        let function_place = match functions.find(|name| *name == frame.function) {
            Some(place) => {
                let _ = functions.bring_forward(place); // it is there
                place as u64
            }
            None => {
                functions.push(frame.function, |old, new| *old = new);
                NEW
            }
        };
        let bits = u64::from(frame.line)
            | u64::from(frame.start_char) << 20
            | u64::from(frame.end_char) << 28
            | file_place << 38
            | function_place << 43;
        packet.put_u32(bits as u32);
        packet.put_u16((bits >> 32) as u16);
        if file_place == NEW {
            packet.put_text(locations.text(frame.file));
        }
        if function_place == NEW {
            packet.put_text(locations.text(frame.function));
        }
    }
}

/// The unknown frame that replaces frames that do not fit.
const UNWRITABLE: Location =
    Location { file: NameId::NO_FILE, function: NameId::NO_FUNCTION, line: 1, start_char: 1, end_char: 1 };

/// The frames that are written for a code.
fn writable(code: LocationCode, locations: &Locations) -> &[Location] {
    let frames = locations.get(code).unwrap_or_default();
    let fits = frames.len() <= FRAMES_MAX && size(frames, locations) <= VARIABLE_BYTES_MAX;
    if fits { frames } else { &[UNWRITABLE] }
}

fn size(frames: &[Location], locations: &Locations) -> usize {
    let bytes = |name: NameId| locations.text(name).len() + 1;
    HEAD_BYTES + frames.iter().map(|f| FRAME_BYTES + bytes(f.file) + bytes(f.function)).sum::<usize>()
}

/// Bytes that a code takes at most, behind its event's first word.
pub(crate) fn size_of(code: LocationCode, locations: &Locations) -> usize {
    size(writable(code, locations), locations)
}
