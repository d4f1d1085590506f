//! A module's calls of one function of another module, by its slots: where they lead, and how to have them lead elsewhere.
#![allow(unsafe_code)]

use super::elf::{Headers, PT_DYNAMIC, PT_GNU_RELRO};
use super::module_text::ModuleText;
use super::rebind::write;
use super::relocations::Slots;

/// Calls of a function that all lead to the same place.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    name: &'a [u8],
    headers: Headers<'a>,
    /// Where they lead.
    pub target: usize,
}

impl ModuleText {
    /// The module's calls of the function of this name. `None` where it has none, some lead elsewhere than others, or one
    /// was not made yet, so that the loader will write its slot then.
    ///
    /// # Safety
    /// * Loaded: the module is loaded, and stays so for `'a`.
    pub unsafe fn calls_of<'a>(&self, name: &'a [u8]) -> Option<Calls<'a>> {
        // SAFETY: loaded: the first page of a module is readable.
        let headers = unsafe { Headers::at(self.start) }?;
        let mut calls = Calls { name, headers, target: 0 };
        // SAFETY: loaded.
        for slot in unsafe { slots(headers, name) } {
            // SAFETY: loaded: an aligned word of a segment that can be written.
            let target = unsafe { (slot as *const usize).read_volatile() };
            let is_bound = !(self.start..self.end).contains(&target);
            if !is_bound || ![0, target].contains(&calls.target) {
                return None;
            }
            calls.target = target;
        }
        Some(calls).filter(|calls| calls.target != 0)
    }
}

impl Calls<'_> {
    /// Has them lead elsewhere. Whether all do.
    ///
    /// # Safety
    /// * Loaded: the module is loaded, and stays so.
    /// * Same: the function at `target` takes and gives what the one does that they lead to, and stays as long.
    pub unsafe fn redirect(&self, target: usize) -> bool {
        // SAFETY: loaded; same.
        unsafe {
            let read_only = self.headers.ranges(PT_GNU_RELRO).next();
            slots(self.headers, self.name).for_each(|slot| write(slot, target, read_only.clone()));
            slots(self.headers, self.name).all(|slot| (slot as *const usize).read_volatile() == target)
        }
    }
}

/// The words that hold where calls of this name lead.
///
/// # Safety
/// * Loaded: the headers are those of a module that is loaded, and stays so for `'a`.
unsafe fn slots<'a>(headers: Headers<'a>, name: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let dynamic = headers.ranges(PT_DYNAMIC).next();
    // SAFETY: loaded.
    let slots = dynamic.map(|dynamic| unsafe { Slots::of(dynamic.start, headers.bias) });
    let addresses =
        slots.into_iter().flatten().filter(move |slot| slot.name == name).map(|slot| slot.address);
    addresses.filter(move |address| headers.has_writable_word(*address))
}
