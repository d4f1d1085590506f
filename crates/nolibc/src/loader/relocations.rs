//! The words of a module that hold addresses of functions, by its relocations.
#![allow(unsafe_code)]

use core::ffi::CStr;

use super::symbol::{Dynamic, Entries};

/// `Elf64_Rela`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    _info: [u8; 2],
    section: u16,
    _value: usize,
    _size: usize,
}

/// A word for the address of a function.
pub(super) struct Slot {
    pub(super) address: usize,
    /// The function's name.
    pub(super) name: &'static [u8],
    /// The module has a function of this name itself.
    pub(super) is_defined: bool,
}

/// A module's words for functions that other modules may have.
pub(super) struct Slots {
    bias: usize,
    names: usize,
    symbols: usize,
    /// Tables of relocations: where, and how many.
    tables: [(usize, usize); 2],
}

impl Slots {
    /// # Safety
    /// * Loaded: `dynamic` is the dynamic section of a module that is loaded at `bias`, and stays so while this is used.
    pub(super) unsafe fn of(dynamic: usize, bias: usize) -> Slots {
        const DT_PLTRELSZ: i64 = 2;
        const DT_STRTAB: i64 = 5;
        const DT_SYMTAB: i64 = 6;
        const DT_RELA: i64 = 7;
        const DT_RELASZ: i64 = 8;
        const DT_JMPREL: i64 = 23;
        let mut slots = Slots { bias, names: 0, symbols: 0, tables: [(0, 0); 2] };
        let [data, calls] = &mut slots.tables;
        // SAFETY: loaded.
        for (tag, value) in unsafe { Entries::of(dynamic as *const Dynamic) } {
            // glibc has made these entries absolute in place; the kernel for its vDSO has not.
            let absolute = if value < bias { value.wrapping_add(bias) } else { value };
            match tag {
                DT_STRTAB => slots.names = absolute,
                DT_SYMTAB => slots.symbols = absolute,
                DT_RELA => data.0 = absolute,
                DT_RELASZ => data.1 = value / size_of::<Relocation>(),
                DT_JMPREL => calls.0 = absolute,
                DT_PLTRELSZ => calls.1 = value / size_of::<Relocation>(),
                _ => {}
            }
        }
        slots
    }

    fn slot(&self, relocation: Relocation) -> Option<Slot> {
        const UNDEFINED: u16 = 0;
        const ADDRESS: u32 = 1; // R_X86_64_64
        const GLOB_DAT: u32 = 6;
        const JUMP_SLOT: u32 = 7;
        let (symbol, kind) = ((relocation.info >> 32) as usize, relocation.info as u32);
        let is_function = matches!(kind, ADDRESS | GLOB_DAT | JUMP_SLOT) && relocation.addend == 0;
        if !is_function || symbol == 0 {
            return None;
        }
        // SAFETY: loaded, by `Slots::of`: a relocation's symbol is in the table, and its name a C string.
        let (symbol, name) = unsafe {
            let symbol = &*(self.symbols as *const Symbol).wrapping_add(symbol);
            let name = (self.names as *const core::ffi::c_char).wrapping_add(symbol.name as usize);
            (symbol, CStr::from_ptr(name).to_bytes())
        };
        let address = self.bias.wrapping_add(relocation.offset);
        Some(Slot { address, name, is_defined: symbol.section != UNDEFINED })
    }
}

impl Iterator for Slots {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        if self.names == 0 || self.symbols == 0 {
            return None;
        }
        loop {
            let (at, count) = self.tables.iter_mut().find(|(at, count)| *at != 0 && *count != 0)?;
            // SAFETY: loaded, by `Slots::of`: an entry of the table.
            let relocation = unsafe { (*at as *const Relocation).read() };
            *at += size_of::<Relocation>();
            *count -= 1;
            if let Some(slot) = self.slot(relocation) {
                return Some(slot);
            }
        }
    }
}
