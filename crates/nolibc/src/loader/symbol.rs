//! Symbols of a loaded module, through its hash tables: GNU's, else System V's.
#![allow(unsafe_code)]

use crate::sys;

/// `Elf64_Dyn`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Dynamic {
    tag: i64,
    value: usize,
}

/// The entries of a dynamic section: tag and value of each.
pub(super) struct Entries(*const Dynamic);

impl Entries {
    /// # Safety
    /// * Loaded: `dynamic` is null or the dynamic section of a module that stays loaded while they are used.
    pub(super) unsafe fn of(dynamic: *const Dynamic) -> Entries {
        Entries(dynamic)
    }
}

impl Iterator for Entries {
    type Item = (i64, usize);

    fn next(&mut self) -> Option<(i64, usize)> {
        const DT_NULL: i64 = 0;
        if self.0.is_null() {
            return None;
        }
        // SAFETY: loaded, by `Entries::of`: not past DT_NULL, which ends every dynamic section.
        let Dynamic { tag, value } = unsafe { self.0.read() };
        self.0 = if tag == DT_NULL { core::ptr::null() } else { self.0.wrapping_add(1) };
        (tag != DT_NULL).then_some((tag, value))
    }
}

/// `Elf64_Sym`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

impl Symbol {
    /// Defined here for others: not undefined, not local, no thread-local offset.
    fn is_definition(&self) -> bool {
        const LOCAL: u8 = 0;
        const TLS: u8 = 6;
        self.section != 0 && self.value != 0 && self.info >> 4 != LOCAL && self.info & 15 != TLS
    }
}

/// Which table to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hash {
    /// DT_GNU_HASH.
    Gnu,
    /// DT_HASH.
    SystemV,
}

/// The parts of a dynamic section that lead to symbols; an address is 0 when it has no such part.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Tables {
    bias: usize,
    debug: usize,
    names: usize,
    names_size: usize,
    symbols: usize,
    versions: usize,
    gnu_hash: usize,
    sysv_hash: usize,
}

/// A hash chain longer than this is damage.
const CHAIN_LIMIT: usize = 1 << 20;

impl Tables {
    /// Reads the dynamic section.
    ///
    /// # Safety
    /// * Loaded: `dynamic` is null or the dynamic section of a module that is loaded at `bias` and stays loaded
    ///   while the tables are used.
    pub(super) unsafe fn read(dynamic: *const Dynamic, bias: usize) -> Tables {
        const DT_HASH: i64 = 4;
        const DT_STRTAB: i64 = 5;
        const DT_SYMTAB: i64 = 6;
        const DT_STRSZ: i64 = 10;
        const DT_DEBUG: i64 = 21;
        const DT_GNU_HASH: i64 = 0x6fff_fef5;
        const DT_VERSYM: i64 = 0x6fff_fff0;
        let mut tables = Tables { bias, ..Tables::default() };
        // glibc has made these entries absolute in place; musl, and the kernel for its vDSO, have not.
        let absolute = |value: usize| if value < bias { value.wrapping_add(bias) } else { value };
        // SAFETY: loaded.
        for (tag, value) in unsafe { Entries::of(dynamic) } {
            match tag {
                DT_HASH => tables.sysv_hash = absolute(value),
                DT_STRTAB => tables.names = absolute(value),
                DT_SYMTAB => tables.symbols = absolute(value),
                DT_STRSZ => tables.names_size = value,
                DT_DEBUG => tables.debug = value,
                DT_GNU_HASH => tables.gnu_hash = absolute(value),
                DT_VERSYM => tables.versions = absolute(value),
                _ => {}
            }
        }
        tables
    }

    /// The loader's `r_debug`: what DT_DEBUG holds, else the symbol of the loader itself.
    pub(super) fn rendezvous(&self) -> Option<usize> {
        if self.debug != 0 {
            return Some(self.debug);
        }
        let find = |hash| self.find(b"_r_debug", hash);
        find(Hash::Gnu).or_else(|| find(Hash::SystemV)).map(|address| address as usize)
    }

    /// The address of `name`, by one of the two hash tables; of several versions the default one.
    pub(super) fn find(&self, name: &[u8], hash: Hash) -> Option<*const ()> {
        let mut hidden = None;
        let mut visit = |index: usize| {
            let symbol = self.definition(index, name)?;
            if self.is_default_version(index) {
                return Some(symbol);
            }
            hidden = hidden.or(Some(symbol));
            None
        };
        let default = match hash {
            Hash::Gnu => self.search_gnu(gnu_hash(name), &mut visit),
            Hash::SystemV => self.search_sysv(sysv_hash(name), &mut visit),
        };
        default.or(hidden).map(|symbol| self.address(&symbol))
    }

    /// Makes these names undefined, for the loader too: it takes no symbol whose value is 0.
    ///
    /// # Safety
    /// * Ours: nobody else changes the symbols, or the protection of the pages that they lie in.
    pub(super) unsafe fn hide<'a>(&self, names: impl Iterator<Item = &'a [u8]> + Clone) {
        const PAGE_BYTES: usize = 4096;
        let places = names.filter_map(|name| self.place(name));
        let (Some(first), Some(last)) = (places.clone().min(), places.clone().max()) else { return };
        let begin = first as usize & !(PAGE_BYTES - 1);
        let len = (last as usize + size_of::<Symbol>()).next_multiple_of(PAGE_BYTES) - begin;
        let pages = first.cast::<u8>().wrapping_sub(first as usize - begin);
        // SAFETY: ours: a module's symbols are read only, in whole pages.
        unsafe {
            if sys::protect_read_write(pages, len).is_ok() {
                places.for_each(|place| (&raw mut (*place).value).write_volatile(0));
                // When it fails they stay writable, and are what they are.
                let _ = sys::protect_read(pages, len);
            }
        }
    }

    /// Where the definition of `name` lies.
    fn place(&self, name: &[u8]) -> Option<*mut Symbol> {
        let mut place = None;
        let mut visit = |index: usize| {
            let symbol = self.definition(index, name)?;
            place = Some((self.symbols as *mut Symbol).wrapping_add(index));
            Some(symbol)
        };
        self.search_gnu(gnu_hash(name), &mut visit).or_else(|| self.search_sysv(sysv_hash(name), &mut visit));
        place
    }

    /// Goes through the symbols of GNU hash `hash` until `visit` takes one.
    fn search_gnu(&self, hash: u32, visit: &mut dyn FnMut(usize) -> Option<Symbol>) -> Option<Symbol> {
        let base = self.gnu_hash as *const u32;
        if base.is_null() {
            return None;
        }
        // SAFETY: the table starts with four words.
        let [buckets, first, bloom_words, _shift] = unsafe { base.cast::<[u32; 4]>().read() };
        let bucket_table = base.wrapping_add(4 + 2 * bloom_words as usize);
        let chain_table = bucket_table.wrapping_add(buckets as usize);
        // SAFETY: a remainder by the number of buckets is a bucket.
        let start = unsafe { bucket_table.wrapping_add(hash.checked_rem(buckets)? as usize).read() };
        let start = (start >= first).then_some(start)?; // 0: the bucket is empty
        for index in (start as usize..).take(CHAIN_LIMIT) {
            // SAFETY: chain words exist for symbols `first..`; the chain ends at a word with bit 0 set.
            let word = unsafe { chain_table.wrapping_add(index - first as usize).read() };
            if word | 1 == hash | 1
                && let Some(symbol) = visit(index)
            {
                return Some(symbol);
            }
            if word & 1 == 1 {
                break;
            }
        }
        None
    }

    /// Goes through the symbols of System V hash `hash` until `visit` takes one.
    fn search_sysv(&self, hash: u32, visit: &mut dyn FnMut(usize) -> Option<Symbol>) -> Option<Symbol> {
        let base = self.sysv_hash as *const u32;
        if base.is_null() {
            return None;
        }
        // SAFETY: the table starts with two words.
        let [buckets, chains] = unsafe { base.cast::<[u32; 2]>().read() };
        let bucket_table = base.wrapping_add(2);
        let chain_table = bucket_table.wrapping_add(buckets as usize);
        // SAFETY: a remainder by the number of buckets is a bucket.
        let mut index = unsafe { bucket_table.wrapping_add(hash.checked_rem(buckets)? as usize).read() };
        for _ in 0..CHAIN_LIMIT {
            if index == 0 || index >= chains {
                return None;
            }
            if let Some(symbol) = visit(index as usize) {
                return Some(symbol);
            }
            // SAFETY: below the number of chain words.
            index = unsafe { chain_table.wrapping_add(index as usize).read() };
        }
        None
    }

    /// Whether other modules are asked for a symbol of this name. Those that are not defined stand before the ones of
    /// which GNU's table knows.
    pub(super) fn asks_for(&self, name: &[u8]) -> bool {
        let base = self.gnu_hash as *const [u32; 2];
        if base.is_null() {
            return false;
        }
        // SAFETY: the table starts with four words.
        let [_buckets, first] = unsafe { base.read() };
        let is_asked = |index| self.named(index, name).is_some_and(|symbol| symbol.section == 0);
        (1..first as usize).take(CHAIN_LIMIT).any(is_asked)
    }

    /// Symbol `index`, if it defines `name`.
    fn definition(&self, index: usize, name: &[u8]) -> Option<Symbol> {
        self.named(index, name).filter(Symbol::is_definition)
    }

    /// Symbol `index`, if `name` is its name.
    fn named(&self, index: usize, name: &[u8]) -> Option<Symbol> {
        if self.symbols == 0 || self.names == 0 {
            return None;
        }
        // SAFETY: the hash table named the index, or one behind it.
        let symbol = unsafe { (self.symbols as *const Symbol).wrapping_add(index).read() };
        let offset = symbol.name as usize;
        if offset.checked_add(name.len())? >= self.names_size {
            return None;
        }
        // SAFETY: the name and its NUL are within the string table.
        let text = unsafe {
            core::slice::from_raw_parts((self.names as *const u8).wrapping_add(offset), name.len() + 1)
        };
        (text.strip_suffix(b"\0") == Some(name)).then_some(symbol)
    }

    /// Whether a program linked today would get this version of the symbol.
    fn is_default_version(&self, index: usize) -> bool {
        const HIDDEN: u16 = 0x8000;
        if self.versions == 0 {
            return true;
        }
        // SAFETY: one version word for each symbol.
        let version = unsafe { (self.versions as *const u16).wrapping_add(index).read() };
        version & HIDDEN == 0
    }

    fn address(&self, symbol: &Symbol) -> *const () {
        const IFUNC: u8 = 10;
        const ABSOLUTE: u16 = 0xfff1;
        let bias = if symbol.section == ABSOLUTE { 0 } else { self.bias };
        let address = bias.wrapping_add(symbol.value) as *const ();
        if symbol.info & 15 != IFUNC {
            return address;
        }
        // SAFETY: an indirect function's symbol is the address of its resolver, which takes nothing and
        // gives the function; its module is loaded and relocated.
        let resolver = unsafe { core::mem::transmute::<*const (), extern "C" fn() -> *const ()>(address) };
        resolver()
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381u32, |h, &byte| h.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0u32, |h, &byte| {
        let h = (h << 4).wrapping_add(u32::from(byte));
        let top = h & 0xf000_0000;
        (h ^ (top >> 24)) & !top
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_the_specifications() {
        assert_eq!(gnu_hash(b""), 0x1505);
        assert_eq!(gnu_hash(b"printf"), 0x156b_2bb8);
        assert_eq!(sysv_hash(b"printf"), 0x0779_05a6);
        assert_eq!(sysv_hash(b"syscall"), 0x0b09_985c);
    }
}
