//! Names of code addresses, both ways. A block stands for itself: it has the texts that its frames need, and a module
//! whose addresses do not fit goes on in the next one.
//!
//! ```text
//!   symbols  count of texts, the texts
//!            count of modules, each: path (text)  build id (text)  source  reason (number of a text, 0 none)
//!              count of addresses, each: address*  count of frames, each:
//!                function  file (numbers of texts from 1, 0 none)  line << 1 | inlined
//! ```
//! `*` zigzag against the address before it in the same module, the first against 0. Sources: 0 debug information, 1 the
//! symbol table alone, 2 no file, 3 missing, 4 changed, 5 unreadable. A line of 0 is not known.

use std::collections::HashMap;
use std::sync::Arc;

use super::block::BLOCK_BYTES_MAX;
use super::fields::{Fields, TEXT_BYTES_MAX, put, put_from, put_text};
use crate::model::{AddressSymbols, ModuleSymbols, SymbolFrame, SymbolSource};
use heapscribe_wire::limits::BUILD_ID_BYTES_MAX;
use heapscribe_wire::varint;

/// Bytes that are gathered in a block before the next one begins.
const GATHERED_BYTES: usize = BLOCK_BYTES_MAX / 2;
/// Bytes that one address may take; one that needs more has no names.
const ADDRESS_BYTES_MAX: usize = BLOCK_BYTES_MAX / 4;
/// Bytes of a module without its addresses, at most.
const MODULE_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX + BUILD_ID_BYTES_MAX + 6 * varint::MAX_BYTES;
const _: () = assert!(GATHERED_BYTES + ADDRESS_BYTES_MAX + MODULE_BYTES_MAX < BLOCK_BYTES_MAX);

/// Gathers a block.
#[derive(Default)]
struct Gathered<'m> {
    numbers: HashMap<&'m str, u64>,
    texts: Vec<u8>,
    modules: Vec<u8>,
    module_count: u64,
    /// Addresses of the last module: how many, their bytes, the last of them.
    addresses: (u64, Vec<u8>, u64),
}

impl<'m> Gathered<'m> {
    fn bytes(&self) -> usize {
        self.texts.len() + self.modules.len() + self.addresses.1.len()
    }

    fn text(&mut self, text: &'m str) -> u64 {
        let next = self.numbers.len() as u64 + 1;
        *self.numbers.entry(text).or_insert_with(|| {
            put_text(&mut self.texts, text.as_bytes());
            next
        })
    }

    fn begin_module(&mut self, module: &'m ModuleSymbols) {
        put_text(&mut self.modules, &module.path);
        put_text(&mut self.modules, &module.build_id);
        let (source, why) = match &module.source {
            SymbolSource::DebugInfo => (0, None),
            SymbolSource::SymbolTable => (1, None),
            SymbolSource::NoFile => (2, None),
            SymbolSource::Missing => (3, None),
            SymbolSource::Changed => (4, None),
            SymbolSource::Unreadable(why) => (5, Some(why)),
        };
        put(&mut self.modules, source);
        let why = why.map_or(0, |why| self.text(why));
        put(&mut self.modules, why);
        self.module_count += 1;
        self.addresses = (0, Vec::new(), 0);
    }

    fn address(&mut self, symbols: &'m AddressSymbols) {
        let frames = if longest(symbols) <= ADDRESS_BYTES_MAX { &symbols.frames[..] } else { &[] };
        put_from(&mut self.addresses.1, symbols.address, self.addresses.2);
        put(&mut self.addresses.1, frames.len() as u64);
        for frame in frames {
            let function = frame.function.as_deref().map_or(0, |text| self.text(text));
            let file = frame.file.as_deref().map_or(0, |text| self.text(text));
            let line = u64::from(frame.line.unwrap_or(0));
            [function, file, line << 1 | u64::from(frame.inlined)]
                .into_iter()
                .for_each(|field| put(&mut self.addresses.1, field));
        }
        self.addresses.0 += 1;
        self.addresses.2 = symbols.address;
    }

    fn end_module(&mut self) {
        put(&mut self.modules, self.addresses.0);
        self.modules.append(&mut self.addresses.1);
    }

    fn finish(&self, out: &mut Vec<u8>) {
        put(out, self.numbers.len() as u64);
        out.extend_from_slice(&self.texts);
        put(out, self.module_count);
        out.extend_from_slice(&self.modules);
    }
}

/// Bytes that an address takes when none of its texts is there yet.
fn longest(symbols: &AddressSymbols) -> usize {
    let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len() + varint::MAX_BYTES);
    let frame = |frame: &SymbolFrame| text(&frame.function) + text(&frame.file) + 3 * varint::MAX_BYTES;
    symbols.frames.iter().map(frame).sum::<usize>() + 2 * varint::MAX_BYTES
}

/// Calls `block` with the payload of each block that these modules take.
pub(super) fn put_symbols(modules: &[ModuleSymbols], mut block: impl FnMut(Vec<u8>)) {
    let mut gathered = Gathered::default();
    let mut full = |gathered: &mut Gathered<'_>| {
        let mut payload = Vec::new();
        std::mem::take(gathered).finish(&mut payload);
        block(payload);
    };
    for module in modules {
        if gathered.bytes() >= GATHERED_BYTES {
            full(&mut gathered);
        }
        gathered.begin_module(module);
        for symbols in &module.addresses {
            if gathered.bytes() >= GATHERED_BYTES {
                gathered.end_module();
                full(&mut gathered);
                gathered.begin_module(module);
            }
            gathered.address(symbols);
        }
        gathered.end_module();
    }
    if gathered.module_count > 0 {
        full(&mut gathered);
    }
}

/// Calls `visit` with each module of a block; `None` when it is not whole.
pub(super) fn get_symbols(payload: &[u8], mut visit: impl FnMut(ModuleSymbols)) -> Option<()> {
    let mut f = Fields::new(payload);
    let mut texts: Vec<Arc<str>> = Vec::new();
    for _ in 0..f.number()? {
        texts.push(String::from_utf8_lossy(f.text()?).into());
    }
    for _ in 0..f.number()? {
        visit(get_module(&mut f, &texts)?);
    }
    f.is_empty().then_some(())
}

fn get_module(f: &mut Fields<'_>, texts: &[Arc<str>]) -> Option<ModuleSymbols> {
    let (path, build_id) = (f.text()?.to_vec(), f.text()?.to_vec());
    let (source, why) = (f.number()?, text(f, texts)?);
    let source = match source {
        0 => SymbolSource::DebugInfo,
        1 => SymbolSource::SymbolTable,
        2 => SymbolSource::NoFile,
        3 => SymbolSource::Missing,
        4 => SymbolSource::Changed,
        // One of a later version says at least that there are no names.
        _ => SymbolSource::Unreadable(why.unwrap_or_default()),
    };
    let (mut addresses, mut last) = (Vec::new(), 0);
    for _ in 0..f.number()? {
        last = f.number_from(last)?;
        let mut frames = Vec::new();
        for _ in 0..f.number()? {
            let (function, file, word) = (text(f, texts)?, text(f, texts)?, f.number()?);
            let line = u32::try_from(word >> 1).ok()?;
            let line = Some(line).filter(|line| *line > 0);
            frames.push(SymbolFrame { function, file, line, inlined: word & 1 != 0 });
        }
        addresses.push(AddressSymbols { address: last, frames });
    }
    Some(ModuleSymbols { path, build_id, source, addresses })
}

/// The text of a number; `None` when there is none of that number.
fn text(f: &mut Fields<'_>, texts: &[Arc<str>]) -> Option<Option<Arc<str>>> {
    match f.number()? {
        0 => Some(None),
        number => texts.get(usize::try_from(number).ok()? - 1).cloned().map(Some),
    }
}
