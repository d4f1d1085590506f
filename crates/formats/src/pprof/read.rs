//! From a file's bytes to sums.

use super::fields::{Message, Value, all_numbers, numbers};
use super::kinds::Kinds;
use super::tables::Tables;
use crate::profile::{Builder, CallNumber, Origin, Profile, ProfileError, Rate, StackSums};

/// Frames of a stack at most; further ones are left out, the outer ones.
const STACK_FRAMES_MAX: usize = 4096;

/// Whether a file that begins with these bytes is one: its first field is a kind of values, or that of the period, or the
/// empty text that is the first of all, as heapscribe writes it.
pub fn is_begin(first: &[u8]) -> bool {
    if first.starts_with(&[0x32, 0, 0x32]) {
        return true;
    }
    let mut message = Message { bytes: first, offset: 0 };
    let Ok(Some((1 | 11, Value::Bytes(mut kind)))) = message.next() else { return false };
    let mut fields = 0;
    loop {
        match kind.next() {
            Ok(Some((1 | 2, Value::Number(_)))) => fields += 1,
            Ok(None) => break,
            _ => return false,
        }
    }
    // What follows is a kind, a sample, a part of a table, or the period.
    let next = message.bytes.first();
    fields == 2 && next.is_some_and(|key| [0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x32, 0x60].contains(key))
}

/// What is read besides tables, as far as it was.
#[derive(Default)]
struct Head {
    types: Vec<(u64, u64)>,
    period_type: (u64, u64),
    period: u64,
}

/// Reads a profile.
///
/// # Errors
/// When it is damaged, or no profile of a heap.
pub fn read(bytes: &[u8]) -> Result<Profile, ProfileError> {
    let whole = Message { bytes, offset: 0 };
    let (mut head, mut tables) = (Head::default(), Tables::default());
    let mut to = Builder::new(Origin::Pprof);
    let mut rest = whole;
    while let Some((field, value)) = rest.next()? {
        match (field, value) {
            (1, Value::Bytes(kind)) => head.types.push(pair(kind)?),
            (11, Value::Bytes(kind)) => head.period_type = pair(kind)?,
            (12, Value::Number(period)) => head.period = period,
            (9, Value::Number(ns)) => to.profile.about.real_ns = ns,
            (10, Value::Number(ns)) => to.profile.about.duration_ns = ns,
            (_, Value::Bytes(part)) => tables.take(field, part)?,
            _ => {}
        }
    }
    let kinds = Kinds::new(&head.types, &tables.texts)?;
    to.profile.about.known = kinds.known();
    to.profile.about.rate = rate(&head, &tables);
    samples(whole, &kinds, &mut tables, &mut to)?;
    Ok(to.finish())
}

fn pair(kind: Message<'_>) -> Result<(u64, u64), ProfileError> {
    let [_, name, unit, ..] = all_numbers(kind)?;
    Ok((name, unit))
}

/// A period of bytes is that of samples; its writer has already made sums of what they stand for.
fn rate(head: &Head, tables: &Tables<'_>) -> Rate {
    match (tables.texts.get(head.period_type.1).as_str(), head.period) {
        ("bytes", 1) => Rate::Exact,
        ("bytes", 2..) => Rate::Sampled { mean_bytes: head.period },
        _ => Rate::Unknown,
    }
}

fn samples(
    whole: Message<'_>,
    kinds: &Kinds,
    tables: &mut Tables<'_>,
    to: &mut Builder,
) -> Result<(), ProfileError> {
    let (mut rest, mut too_deep) = (whole, 0_u64);
    let (mut locations, mut values) = (Vec::new(), Vec::new());
    while let Some((field, value)) = rest.next()? {
        let (2, Value::Bytes(sample)) = (field, value) else { continue };
        let (mut fields, offset) = (sample, sample.offset);
        locations.clear();
        values.clear();
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => numbers(value, &mut locations)?,
                2 => numbers(value, &mut values)?,
                _ => {}
            }
        }
        let sums = kinds.sums(&values, offset)?;
        if locations.len() > STACK_FRAMES_MAX {
            locations.truncate(STACK_FRAMES_MAX);
            too_deep += 1;
        }
        let mut call = CallNumber::ROOT;
        for location in locations.iter().rev() {
            let frame = tables.frame(*location, offset, to)?;
            call = to.call(call, frame).map_err(|what| ProfileError::at_byte(offset, what))?;
        }
        to.add(&StackSums { call, ..sums }).map_err(|what| ProfileError::at_byte(offset, what))?;
    }
    if too_deep != 0 {
        let what = format!(
            "{too_deep} stacks have more than {STACK_FRAMES_MAX} frames: the outer ones are left out"
        );
        to.profile.about.problems.push(what);
    }
    Ok(())
}
