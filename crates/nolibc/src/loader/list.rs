//! The list of modules that the dynamic loader keeps for debuggers: `r_debug` and its `link_map` chain,
//! the same on glibc and musl.
#![allow(unsafe_code)]

use core::ffi::CStr;

use super::auxv::{Auxv, Source};
use super::elf::{FirstBytes, Headers, PT_DYNAMIC, PT_GNU_EH_FRAME};
use super::link_map::{LinkMap, Rendezvous};
use super::module_text::ModuleText;
use super::static_exe;
use super::symbol;
use crate::sys::{self, Errno};

/// The program itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// Its whole mapping.
    pub(super) text: ModuleText,
    /// The address at which it was entered.
    pub(super) entry: usize,
}

/// The address of the `r_debug`, which never moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct List(usize);

impl List {
    /// From the program's DT_DEBUG entry, or from the loader's `_r_debug` when the program has none or the
    /// loader itself was executed (`ld.so ./program`). A static program has neither.
    ///
    /// What is found has to hold this code, or it is another program's.
    pub(super) fn discover() -> Option<List> {
        [Source::Kernel, Source::Libc].into_iter().find_map(|source| {
            Auxv::choose(source);
            List::of(&Auxv::read()?)
        })
    }

    fn of(auxv: &Auxv) -> Option<List> {
        let us = List::of as *const () as usize;
        if !sys::is_readable(auxv.headers) {
            return None;
        }
        // SAFETY: loaded: the kernel says that the program's headers are there.
        let program = unsafe { Headers::from_table(auxv.headers, auxv.header_count) };
        let interpreter = match auxv.interpreter {
            0 => None,
            // SAFETY: readable: the kernel mapped the interpreter there, its ELF header first.
            base => unsafe { Headers::at(base) },
        };
        let loaders = [program, interpreter].into_iter().flatten().find_map(|headers| {
            let dynamic = headers.ranges(PT_DYNAMIC).next()?.start as *const symbol::Dynamic;
            // SAFETY: loaded: the dynamic section of a module that stays as long as the process.
            unsafe { symbol::Tables::read(dynamic, headers.bias) }.rendezvous()
        });
        match loaders {
            Some(address) => Some(List(address)).filter(|list| list.holds(us)),
            None if program?.whole()?.contains(&us) => static_exe::list(auxv).map(List),
            None => None,
        }
    }

    fn holds(&self, address: usize) -> bool {
        let below = self.modules().filter(|module| module.bias() <= address).max_by_key(Module::bias);
        below.and_then(|module| module.text()).is_some_and(|text| text.contains(address))
    }

    fn rendezvous(&self) -> &Rendezvous {
        // SAFETY: the loader's `r_debug`, which lives as long as the process.
        unsafe { &*(self.0 as *const Rendezvous) }
    }

    /// Whether no module is being added or removed.
    pub(super) fn is_consistent(&self) -> bool {
        // SAFETY: a live field; volatile because another thread may change it.
        unsafe { (&raw const self.rendezvous().state).read_volatile() == 0 }
    }

    /// What the kernel executed.
    pub(super) fn program(&self) -> Option<Program> {
        let entry = Auxv::read()?.entry;
        let text = self.modules().filter_map(|module| module.text()).find(|text| text.contains(entry))?;
        Some(Program { text, entry })
    }

    /// The address of its first member; 0 when it has none.
    pub(super) fn first(&self) -> usize {
        // SAFETY: a live field; volatile because another thread may change it.
        unsafe { (&raw const self.rendezvous().first).read_volatile() as usize }
    }

    pub(super) fn modules(&self) -> Modules {
        Modules { next: self.first() as *const LinkMap, remaining: Modules::LIMIT }
    }

    /// The module whose mapping holds an address, by asking each.
    pub(super) fn find(&self, address: usize) -> Option<ModuleText> {
        if !self.is_consistent() {
            return None;
        }
        let (mut next, mut tried) = (self.first(), 0);
        for _ in 0..Modules::LIMIT {
            let module = Module::at(next, &mut tried)?;
            if let Some(text) = module.text().filter(|text| text.contains(address)) {
                return Some(text).filter(|_| self.is_consistent());
            }
            next = module.map().next as usize;
        }
        None
    }
}

/// The modules of the process, in search order.
#[derive(Clone, Debug)]
pub struct Modules {
    next: *const LinkMap,
    remaining: usize,
}

impl Modules {
    /// More than any process has: a damaged list must still end.
    const LIMIT: usize = 1 << 16;
}

impl Iterator for Modules {
    type Item = Module;

    fn next(&mut self) -> Option<Module> {
        self.remaining = self.remaining.checked_sub(1)?;
        if self.next.is_null() {
            return None;
        }
        let link_map = self.next;
        // SAFETY: a member of the loader's list.
        self.next = unsafe { (*link_map).next };
        Some(Module { link_map })
    }
}

/// One module: the program, a library, the vDSO.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    link_map: *const LinkMap,
}

impl Module {
    /// A member of the list, which may be freed this instant: none when it cannot be read. `tried` is the page that
    /// was tried last.
    pub(super) fn at(link_map: usize, tried: &mut usize) -> Option<Module> {
        const PAGE_BYTES: usize = 4096;
        if link_map == 0 || !link_map.is_multiple_of(8) {
            return None;
        }
        for word in [link_map, link_map.checked_add(size_of::<LinkMap>() - 8)?] {
            if word / PAGE_BYTES != *tried && !sys::is_readable(word) {
                return None;
            }
            *tried = word / PAGE_BYTES;
        }
        Some(Module { link_map: link_map as *const LinkMap })
    }

    pub(super) fn map(&self) -> &LinkMap {
        // SAFETY: a member of the loader's list; modules are only used while they are loaded.
        unsafe { &*self.link_map }
    }

    /// The address of the loader's `link_map`: tells loaded modules apart.
    pub fn link_map(&self) -> usize {
        self.link_map as usize
    }

    /// What is added to a link-time address to make it one of this process.
    pub fn bias(&self) -> usize {
        self.map().bias
    }

    /// The path as the loader knows it: empty for the program itself on glibc.
    pub fn name(&self) -> &[u8] {
        let name = self.map().name;
        if name.is_null() {
            return b"";
        }
        // SAFETY: `l_name` is a C string.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }

    /// The address of the dynamic section.
    pub fn dynamic(&self) -> usize {
        self.map().dynamic as usize
    }

    /// The address of symbol `name`, when this module defines it; of several versions the default one.
    pub fn find_symbol(&self, name: &[u8]) -> Option<*const ()> {
        self.tables()
            .find(name, symbol::Hash::Gnu)
            .or_else(|| self.tables().find(name, symbol::Hash::SystemV))
    }

    /// Whether it has this symbol from other modules, or does without when there is none.
    pub fn asks_for_symbol(&self, name: &[u8]) -> bool {
        self.tables().asks_for(name)
    }

    /// Whether it says where libraries that it names are looked for.
    pub(super) fn has_search_path(&self) -> bool {
        const DT_RPATH: i64 = 15;
        const DT_RUNPATH: i64 = 29;
        // SAFETY: loaded: `l_ld` is the dynamic section of a loaded module.
        unsafe { symbol::Entries::of(self.map().dynamic) }
            .any(|(tag, _)| tag == DT_RPATH || tag == DT_RUNPATH)
    }

    /// Hides the definitions of these names from all look-ups to come.
    ///
    /// # Safety
    /// * Ours: nobody else changes the module's symbols, or the protection of the pages that they lie in.
    pub(super) unsafe fn hide<'a>(&self, names: impl Iterator<Item = &'a [u8]> + Clone) {
        // SAFETY: ours: the symbols and pages of this module are changed by nobody else.
        unsafe { self.tables().hide(names) };
    }

    fn tables(&self) -> symbol::Tables {
        // SAFETY: loaded: `l_ld` is the dynamic section of a loaded module.
        unsafe { symbol::Tables::read(self.map().dynamic, self.map().bias) }
    }

    /// The module's mapping, found without `_dl_find_object`: from its program headers, which are at the
    /// bias for a library, and where the kernel says for a program that was linked for a fixed address.
    pub(super) fn text(&self) -> Option<ModuleText> {
        match self.bias() {
            0 => self.text_of(self.program_headers()?),
            bias => match FirstBytes::read(bias) {
                Ok(copy) if !copy.is_elf() => None,
                Ok(copy) => self.text_of(Headers::in_copy(&copy, bias).or_else(|| self.headers_at(bias))?),
                Err(Errno::EFAULT) => None,
                Err(_) => self.text_of(self.headers_at(bias)?),
            },
        }
    }

    fn text_of(&self, headers: Headers<'_>) -> Option<ModuleText> {
        let whole = headers.whole()?;
        Some(ModuleText {
            start: whole.start,
            end: whole.end,
            eh_frame_hdr: headers.ranges(PT_GNU_EH_FRAME).next().map_or(0, |r| r.start),
            link_map: self.link_map(),
        })
    }

    /// Of a module with more headers than a copy has room for, or where a filter keeps the kernel from copying.
    fn headers_at(&self, start: usize) -> Option<Headers<'_>> {
        // SAFETY: readable: the kernel says so.
        if sys::is_readable(start) { unsafe { Headers::at(start) } } else { None }
    }

    fn program_headers(&self) -> Option<Headers<'_>> {
        let auxv = Auxv::read()?;
        // SAFETY: loaded: the kernel says that the program's headers are there.
        let program = unsafe { Headers::from_table(auxv.headers, auxv.header_count) }?;
        let dynamic = program.ranges(PT_DYNAMIC).next().map_or(0, |range| range.start);
        (dynamic == self.dynamic()).then_some(program)
    }
}
