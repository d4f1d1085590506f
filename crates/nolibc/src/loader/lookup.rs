//! Look-ups in what is loaded: symbols by name, modules by address.
#![allow(unsafe_code)]

use super::find_object::FindObject;
use super::list::{List, Modules, Program};
use super::module_table::TABLE;
use super::module_text::ModuleText;

/// The modules of this process; found once, then two words to copy.
#[derive(Clone, Copy, Debug)]
pub struct Loader {
    list: List,
    find_object: Option<FindObject>,
    program: Option<Program>,
    /// How many modules there were: they are the first of the list for ever.
    initial: usize,
}

impl Loader {
    /// Finds the loader's list and its `_dl_find_object`; of a static program, which has no loader, itself.
    /// None when neither is found.
    ///
    /// To be called while no other thread loads or unloads modules: when the recorder starts.
    pub fn discover() -> Option<Loader> {
        let list = List::discover()?;
        let program = list.program();
        let mut loader = Loader { list, find_object: None, program, initial: list.modules().count() };
        loader.find_object = loader.find_anywhere(b"_dl_find_object").map(|address| {
            // SAFETY: glibc: the symbol of this name is its function of this type since it exists (2.35).
            unsafe { FindObject::from_address(address) }
        });
        Some(loader)
    }

    /// The same loader as it would be without `_dl_find_object`: look-ups go by the list, and a table made of it.
    #[must_use]
    pub fn without_find_object(self) -> Loader {
        Loader { find_object: None, ..self }
    }

    /// The modules in search order: the program, what was preloaded, its libraries.
    ///
    /// The list is read without a lock: only for when no other thread loads or unloads.
    pub fn modules(&self) -> Modules {
        self.list.modules()
    }

    /// The first definition of `name` in search order.
    pub fn find_anywhere(&self, name: &[u8]) -> Option<*const ()> {
        self.modules().find_map(|module| module.find_symbol(name))
    }

    /// The definition of `name` in the module around `address`.
    pub fn find_in_module_of(&self, name: &[u8], address: *const ()) -> Option<*const ()> {
        let own = self.find_text(address as usize)?.link_map;
        self.modules().find(|module| module.link_map() == own)?.find_symbol(name)
    }

    /// The definition of `name` that the module around `own_address` hides: the first one in the modules
    /// after it, else before it, never its own.
    pub fn find_next(&self, name: &[u8], own_address: *const ()) -> Option<*const ()> {
        self.find_after(name, own_address).or_else(|| self.find_before(name, own_address))
    }

    /// The first definition of `name` in the modules after the one around `own_address`.
    pub fn find_after(&self, name: &[u8], own_address: *const ()) -> Option<*const ()> {
        let behind = self.position(own_address)?.saturating_add(1);
        self.modules().skip(behind).find_map(|module| module.find_symbol(name))
    }

    /// The same in the modules before it: what the program calls by this name, instead of what that module defines.
    pub fn find_before(&self, name: &[u8], own_address: *const ()) -> Option<*const ()> {
        self.modules().take(self.position(own_address)?).find_map(|module| module.find_symbol(name))
    }

    /// The place of the module around `own_address` in search order.
    fn position(&self, own_address: *const ()) -> Option<usize> {
        let own = self.find_text(own_address as usize)?.link_map;
        self.modules().position(|module| module.link_map() == own)
    }

    /// Whether the module around `address` says where libraries that it names are looked for (DT_RPATH, DT_RUNPATH).
    pub fn has_search_path(&self, address: usize) -> Option<bool> {
        let map = self.find_text(address)?.link_map;
        Some(self.modules().find(|module| module.link_map() == map)?.has_search_path())
    }

    /// Hides the definitions of these names in the module around `own_address`, from all look-ups to come.
    ///
    /// # Safety
    /// * Ours: nobody else changes the module's symbols, or the protection of the pages that they lie in.
    pub unsafe fn hide<'a>(&self, own_address: *const (), names: impl Iterator<Item = &'a [u8]> + Clone) {
        let own = self.position(own_address).and_then(|own| self.modules().nth(own));
        if let Some(own) = own {
            // SAFETY: ours: the symbols and pages of this module are changed by nobody else.
            unsafe { own.hide(names) };
        }
    }

    /// Whether it was loaded when the recorder started, so as a rule with the program, and stays.
    pub fn is_initial(&self, text: &ModuleText) -> bool {
        self.modules().take(self.initial).any(|module| module.link_map() == text.link_map)
    }

    /// Whether `pc` is in the first instructions of the program: the code that nothing has called.
    pub fn is_entry(&self, pc: usize) -> bool {
        const START_BYTES: usize = 64;
        self.program.is_some_and(|program| (1..START_BYTES).contains(&pc.wrapping_sub(program.entry)))
    }

    /// glibc gives a single segment of a program that was linked for a fixed address and has gaps (node):
    /// neither its headers nor its unwinding tables are within that.
    fn whole(&self, text: ModuleText) -> ModuleText {
        match self.program {
            Some(program) if program.text.link_map == text.link_map => program.text,
            _ => text,
        }
    }

    /// The module whose mapping holds `pc`, which stays loaded meanwhile: the calling thread returns there, or it is
    /// the caller's own. Lock-free; safe to call in a hook or a signal handler.
    pub fn find_text(&self, pc: usize) -> Option<ModuleText> {
        match self.find_object {
            Some(find) => find.call(pc).map(|text| self.whole(text)),
            None => TABLE.find(self.list, pc),
        }
    }

    /// The module whose mapping holds any address, which may be unmapped this instant: as the loader has it, or had
    /// it at the last [`Self::version`].
    pub fn find_listed(&self, address: usize) -> Option<ModuleText> {
        match self.find_object {
            Some(_) => self.find_text(address),
            None => TABLE.find_listed(self.list, address),
        }
    }

    /// A number that is another one when modules were loaded or unloaded. None when that is not known.
    pub fn version(&self) -> Option<u64> {
        if self.find_object.is_some() { None } else { TABLE.refresh(self.list) }
    }

    /// In a forked child: its parent's other threads, which may have been at a look-up, are not here.
    pub fn forget_threads(&self) {
        TABLE.forget_writer();
    }
}
