//! What samples name by numbers: texts, mappings, functions and locations.

use std::collections::HashMap;

use super::fields::{Message, Value, all_numbers};
use crate::profile::{Builder, Frame, FrameNumber, Line, Mapped, ProfileError};

/// What was linked to its addresses is mapped below this, and everything else above.
const LINKED_BELOW: u64 = 1 << 32;

/// The texts, by their position.
#[derive(Debug, Default)]
pub(super) struct Texts<'a>(Vec<Message<'a>>);

impl<'a> Texts<'a> {
    pub(super) fn push(&mut self, text: Message<'a>) {
        self.0.push(text);
    }

    /// A text; empty where there is none of this number.
    pub(super) fn get(&self, number: u64) -> String {
        usize::try_from(number).ok().and_then(|at| self.0.get(at)).map(Message::text).unwrap_or_default()
    }
}

/// A file that was mapped.
#[derive(Debug)]
struct Mapping {
    /// What addresses are above those in the file.
    bias: u64,
    module: Option<Mapped>,
}

/// All tables, and the frames that were looked up.
#[derive(Debug, Default)]
pub(super) struct Tables<'a> {
    pub(super) texts: Texts<'a>,
    mappings: HashMap<u64, Message<'a>>,
    known_mappings: HashMap<u64, Mapping>,
    functions: HashMap<u64, Message<'a>>,
    locations: HashMap<u64, Message<'a>>,
    frames: HashMap<u64, FrameNumber>,
}

impl<'a> Tables<'a> {
    /// Takes a field of the profile that is a part of a table.
    pub(super) fn take(&mut self, field: u64, part: Message<'a>) -> Result<(), ProfileError> {
        let table = match field {
            3 => &mut self.mappings,
            4 => &mut self.locations,
            5 => &mut self.functions,
            6 => {
                self.texts.push(part);
                return Ok(());
            }
            _ => return Ok(()),
        };
        table.insert(all_numbers(part)?[1], part);
        Ok(())
    }

    /// The frame of a location.
    ///
    /// # Errors
    /// When there is no such location.
    pub(super) fn frame(
        &mut self,
        location: u64,
        offset: usize,
        to: &mut Builder,
    ) -> Result<FrameNumber, ProfileError> {
        if let Some(known) = self.frames.get(&location) {
            return Ok(*known);
        }
        let Some(message) = self.locations.get(&location).copied() else {
            let what = format!("a sample names location {location}, which is not there,");
            return Err(ProfileError::at_byte(offset, what));
        };
        let frame = self.looked_up(message)?;
        let number = to.frame(frame);
        self.frames.insert(location, number);
        Ok(number)
    }

    fn looked_up(&mut self, location: Message<'a>) -> Result<Frame, ProfileError> {
        let [_, _, mapping, address, ..] = all_numbers(location)?;
        let (mut rest, mut lines) = (location, Vec::new());
        while let Some((field, value)) = rest.next()? {
            if let (4, Value::Bytes(line)) = (field, value) {
                let [_, function, line, ..] = all_numbers(line)?;
                lines.extend(self.line(function, line)?);
            }
        }
        if !lines.is_empty() {
            return Ok(Frame::Named(lines));
        }
        let mapping = self.mapping(mapping)?;
        let module = mapping.module.clone();
        // Profiles name the call itself, not where it returns to.
        Ok(Frame::Address { module, address: address.wrapping_sub(mapping.bias), is_return_address: false })
    }

    fn line(&self, function: u64, line: u64) -> Result<Option<Line>, ProfileError> {
        let Some(message) = self.functions.get(&function) else { return Ok(None) };
        let [_, _, name, system_name, file, ..] = all_numbers(*message)?;
        let name = if name == 0 { system_name } else { name };
        let function = self.texts.get(name);
        Ok((!function.is_empty()).then(|| Line { function, file: self.texts.get(file), line }))
    }

    fn mapping(&mut self, id: u64) -> Result<&Mapping, ProfileError> {
        if !self.known_mappings.contains_key(&id) {
            let numbers = self.mappings.get(&id).map(|message| all_numbers(*message)).transpose()?;
            let [_, _, begin, _, offset, path, build_id, ..] = numbers.unwrap_or_default();
            let (path, build_id) = (self.texts.get(path), from_hex(&self.texts.get(build_id)));
            let bias = if begin < LINKED_BELOW { 0 } else { begin.wrapping_sub(offset) };
            let module = (!path.is_empty()).then_some(Mapped { path, build_id });
            let bias = if module.is_some() { bias } else { 0 };
            self.known_mappings.insert(id, Mapping { bias, module });
        }
        Ok(&self.known_mappings[&id])
    }
}

/// The bytes of a build id; none of a text that is not one, such as Go's.
fn from_hex(text: &str) -> Vec<u8> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2) && digits.len() <= 64);
    digits.map(|digits| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()).unwrap_or_default()
}
