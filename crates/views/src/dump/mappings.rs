//! A mapping of the program's own, as a line and as an object.

use heapscribe_wire::record::{Mapping, MappingFlags, MappingKind};
use serde::Serialize;

/// What happened, in a word.
pub(super) fn name(kind: MappingKind) -> &'static str {
    match kind {
        MappingKind::Map => "map",
        MappingKind::Unmap => "unmap",
        MappingKind::Move => "move",
        MappingKind::Protect => "protect",
    }
}

/// A mapping, as an object.
#[derive(Serialize)]
pub(super) struct MappingJson {
    change: &'static str,
    address: u64,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_size: Option<u64>,
    flags: Vec<&'static str>,
}

impl From<&Mapping> for MappingJson {
    fn from(of: &Mapping) -> MappingJson {
        let is_move = of.kind == MappingKind::Move;
        MappingJson {
            change: name(of.kind),
            address: of.address,
            size: of.len_bytes,
            stack: is_of_stack(of).then_some(of.stack.0),
            old_address: is_move.then_some(of.old_address),
            old_size: is_move.then_some(of.old_len_bytes),
            flags: flags(of).collect(),
        }
    }
}

/// The rest of a line: size, stack, what happened and where.
pub(super) fn line(of: &Mapping) -> String {
    let Mapping { address, len_bytes, old_address, old_len_bytes, .. } = *of;
    let stack = if is_of_stack(of) { format!("S{}", of.stack.0) } else { "-".to_owned() };
    let (size, old) = match of.kind {
        MappingKind::Move => (format!("{old_len_bytes}>{len_bytes}"), format!("{old_address:#x}>")),
        _ => (len_bytes.to_string(), String::new()),
    };
    let flags: String = flags(of).map(|flag| format!(" {flag}")).collect();
    format!("m {size} - {stack} {} {old}{address:#x}{flags}", name(of.kind))
}

fn is_of_stack(of: &Mapping) -> bool {
    matches!(of.kind, MappingKind::Map | MappingKind::Move)
}

fn flags(of: &Mapping) -> impl Iterator<Item = &'static str> {
    let flags = of.flags;
    let all = [
        (MappingFlags::ACCESSIBLE, "accessible"),
        (MappingFlags::ANONYMOUS, "anonymous"),
        (MappingFlags::BREAK, "break"),
        (MappingFlags::KEEPS_OLD, "keeps_old"),
    ];
    all.into_iter().filter(move |(flag, _)| flags.has(*flag)).map(|(_, name)| name)
}
