//! What is known of PHP's functions, and the names of those that are met for the first time.
//!
//! ```text
//!   class   Shop::order        a file's own code   {main}
//!   eval    {eval}             a class without a name is named as PHP does, as far as it can be read
//! ```

use heapscribe_wire::ids::{FunctionId, StackId};
use heapscribe_wire::language::Language;

use super::layout::{CLASS_NAME, EVAL, INTERNAL, STRING_BYTES, STRING_LENGTH};
use super::source::{RawFrame, Source};
use crate::definitions::DefinitionWriter;
use crate::interpreter::code::Names;
use crate::interpreter::functions::Functions;
use crate::interpreter::map::Map;
use crate::interpreter::read::Read;
#[cfg(test)]
use crate::platform::lock::Held;
use crate::platform::lock::Lock;

const PLACES: usize = 1 << 16;
const SEPARATOR: &[u8] = b"::";

/// What is known of the functions and the stacks of a process.
#[derive(Debug, Default)]
pub(crate) struct PhpFunctions {
    /// Numbers of functions, by what they are known by.
    numbers: Map<PLACES>,
    /// Where the loop's registers are on the stack: words from the caller's stack pointer on.
    places: Map<PLACES>,
}

impl PhpFunctions {
    /// The number of a function that is known.
    #[inline(always)]
    pub(crate) fn number(&self, key: u64) -> Option<FunctionId> {
        self.numbers.get(key).map(|number| FunctionId(number as u32))
    }

    #[cfg(test)]
    pub(super) fn know(&self, key: u64, number: FunctionId, held: &Held<'_>) {
        assert!(self.numbers.set(key, number.0.into(), held));
    }

    /// Where the loop's frame and instruction were found in a native stack. `depth_bytes`: of our own frames.
    #[inline(always)]
    pub(crate) fn places(&self, stack: StackId, depth_bytes: usize) -> Option<[i32; 2]> {
        let both = self.places.get(places_key(stack, depth_bytes))?;
        Some([(both >> 32) as i32, both as i32])
    }

    /// Sets them.
    pub(crate) fn set_places(&self, stack: StackId, depth_bytes: usize, places: [i32; 2], lock: &Lock) {
        let Some(held) = lock.hold() else { return };
        let [frame, instruction] = places.map(|place| u64::from(place as u32));
        self.places.set(places_key(stack, depth_bytes), frame << 32 | instruction, &held);
    }

    /// Gives a function a number, and defines it when it is new. `None` when it cannot be read, or there is no room.
    #[cold]
    pub(crate) fn define<R: Read>(
        &self,
        key: u64,
        raw: RawFrame,
        source: &Source<'_, R>,
        functions: &Functions,
        definitions: &DefinitionWriter,
        lock: &Lock,
    ) -> Option<()> {
        let held = lock.hold()?;
        let fields = &source.php.layout;
        let function = source.read.word(raw.frame.wrapping_add(fields.frame.function))?;
        let kind = source.read.word(function)? & 0xff;
        let first_line = match kind {
            INTERNAL => 0,
            _ => source.read.word(function.wrapping_add(fields.function.lines))? as u32,
        };
        let names = Names::written(Language::PHP, first_line, &held, |name, file| {
            let name_bytes = write_name(source, function, kind, name)?;
            let file_bytes = match kind {
                INTERNAL => 0,
                _ => write_string(
                    source.read,
                    source.read.word(function.wrapping_add(fields.function.file))?,
                    file,
                )?,
            };
            Some((name_bytes, file_bytes))
        })?;
        let number = functions.number(&names, definitions, &held)?;
        self.numbers.set(key, number.0.into(), &held).then_some(())
    }
}

fn places_key(stack: StackId, depth_bytes: usize) -> u64 {
    (depth_bytes as u64) << 32 | u64::from(stack.0)
}

/// Writes the name of a function with that of its class: how many bytes.
fn write_name<R: Read>(source: &Source<'_, R>, function: usize, kind: usize, to: &mut [u8]) -> Option<usize> {
    let (read, of) = (source.read, &source.php.layout.function);
    let [name, class] = read.words(function, [of.name, of.class])?;
    let own: &[u8] = match (name, kind) {
        (0, EVAL) => b"{eval}",
        (0, _) => b"{main}",
        _ => &[],
    };
    if !own.is_empty() {
        to.get_mut(..own.len())?.copy_from_slice(own);
        return Some(own.len());
    }
    let mut written = 0;
    if class != 0 {
        written = write_string(read, read.word(class.wrapping_add(CLASS_NAME))?, to)?;
        written = written.min(to.len() - SEPARATOR.len());
        to.get_mut(written..written + SEPARATOR.len())?.copy_from_slice(SEPARATOR);
        written += SEPARATOR.len();
    }
    Some(written + write_string(read, name, to.get_mut(written..)?)?)
}

/// Writes as much of a string as there is room for, up to a byte of 0: how many bytes.
fn write_string<R: Read>(read: R, string: usize, to: &mut [u8]) -> Option<usize> {
    let length = read.word(string.wrapping_add(STRING_LENGTH))?;
    let room = to.len().min(length);
    let part = to.get_mut(..room)?;
    if room > 0 && !read.bytes(string.wrapping_add(STRING_BYTES), part) {
        return None;
    }
    Some(part.iter().position(|byte| *byte == 0).unwrap_or(room))
}
