//! Location events, both ways: a code and its inlined frames, names through move-to-front tables.
//!
//! ```text
//!   u64 code   u8 frames   then each frame:
//!     u48   0-19 line   20-27 start   28-37 end   38-42 place of the file   43-47 place of the function
//!     [file, when its place is 31]  [function, when its place is 31]
//! ```
//! A table has 31 names, the last used one in front; each file has a table of its functions. A name that
//! is not there comes as a text and pushes the last one off.

use super::error::Fault;
use super::event::LocationCode;
use super::fields::{Cursor, int};
use super::header::Packet;
use super::layout::{NAMES, VARIABLE_BYTES_MAX};
use super::locations::{Location, Locations, NameId};

const NEW: u64 = NAMES as u64;
const FRAMES_MAX: usize = 255;
const FRAME_BYTES: usize = 6;
/// Bytes of a code and the number of its frames.
const HEAD_BYTES: usize = 9;

/// A file and its functions, the last used one in front.
#[derive(Clone, Debug, Default)]
struct File {
    name: NameId,
    functions: Vec<NameId>,
}

/// The names that a domain used last. Reader and writer each have one and move names alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    files: Vec<File>,
    /// The frames of the location that is being read.
    frames: Vec<Location>,
}

impl Recent {
    /// Forgets what the names are, for a reader that missed locations: places stay places.
    pub(crate) fn forget(&mut self) {
        let functions = vec![NameId::UNKNOWN; NAMES];
        self.files = vec![File { name: NameId::UNKNOWN, functions }; NAMES];
    }

    /// Reads a location event behind its first word, and keeps it.
    pub(crate) fn read(&mut self, at: &mut Cursor<'_>, locations: &mut Locations) -> Result<(), Fault> {
        let code = LocationCode(at.int()?);
        let n = at.u8()?;
        self.frames.clear();
        for _ in 0..n {
            let frame = self.read_frame(at, locations)?;
            self.frames.push(frame);
        }
        if locations.announce(code, &self.frames) { Ok(()) } else { Err(Fault::LocationChanged(code.0)) }
    }

    fn read_frame(&mut self, at: &mut Cursor<'_>, locations: &mut Locations) -> Result<Location, Fault> {
        let bits = u64::from(at.u32()?) | u64::from(at.u16()?) << 32;
        let field = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
        match field(38, 5) {
            NEW => self.push_read(locations.name(at.text()?)),
            place => to_front(&mut self.files, place)?,
        }
        let file = &mut self.files[0];
        match field(43, 5) {
            NEW => push(&mut file.functions, locations.name(at.text()?)),
            place => to_front(&mut file.functions, place)?,
        }
        Ok(Location {
            file: file.name,
            function: file.functions[0],
            line: field(0, 20) as u32,
            start_char: field(20, 8) as u16,
            end_char: field(28, 10) as u16,
        })
    }

    /// Writers of version 1 let a new file have the functions of the one that it pushes off. Those of
    /// later versions begin with none, and never refer to what stands behind; so this reads all of them.
    fn push_read(&mut self, name: NameId) {
        let functions = match self.files.len() {
            NAMES => self.files.pop().unwrap_or_default().functions,
            _ => Vec::new(),
        };
        push(&mut self.files, File { name, functions });
    }

    /// Writes a location event behind its first word; frames that are too many or too long become one
    /// that says so.
    pub(crate) fn write(&mut self, packet: &mut Packet, code: LocationCode, locations: &Locations) {
        let frames = writable(locations.get(code).unwrap_or_default(), locations);
        packet.put_i64(int(code.0));
        packet.put([frames.len() as u8]);
        for frame in frames {
            self.write_frame(packet, frame, locations);
        }
    }

    fn write_frame(&mut self, packet: &mut Packet, frame: &Location, locations: &Locations) {
        let file_place = match self.files.iter().position(|file| file.name == frame.file) {
            Some(place) => {
                self.files[..=place].rotate_right(1);
                place as u64
            }
            None => {
                push(&mut self.files, File { name: frame.file, functions: Vec::new() });
                NEW
            }
        };
        let functions = &mut self.files[0].functions;
        let function_place = match functions.iter().position(|name| *name == frame.function) {
            Some(place) => {
                functions[..=place].rotate_right(1);
                place as u64
            }
            None => {
                push(functions, frame.function);
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

fn to_front<T>(table: &mut [T], place: u64) -> Result<(), Fault> {
    let used = table.get_mut(..=place as usize).ok_or(Fault::EmptyName)?;
    used.rotate_right(1);
    Ok(())
}

fn push<T>(table: &mut Vec<T>, first: T) {
    table.truncate(NAMES - 1);
    table.insert(0, first);
}

/// What stands for frames that do not fit.
const UNWRITABLE: Location =
    Location { file: NameId::NO_FILE, function: NameId::NO_FUNCTION, line: 1, start_char: 1, end_char: 1 };

fn writable<'a>(frames: &'a [Location], locations: &Locations) -> &'a [Location] {
    if frames.len() > FRAMES_MAX || size(frames, locations) > VARIABLE_BYTES_MAX {
        &[UNWRITABLE]
    } else {
        frames
    }
}

fn size(frames: &[Location], locations: &Locations) -> usize {
    let names = |f: &Location| locations.text(f.file).len() + 1 + locations.text(f.function).len() + 1;
    HEAD_BYTES + frames.iter().map(|frame| FRAME_BYTES + names(frame)).sum::<usize>()
}

/// Bytes that a code takes at most, behind its event's first word.
pub(crate) fn size_of(code: LocationCode, locations: &Locations) -> usize {
    size(writable(locations.get(code).unwrap_or_default(), locations), locations)
}
