//! The modules of the loader's list by address, for where `_dl_find_object` is missing (glibc before 2.35, musl): one
//! search in a sorted table, where the list takes a system call for each module.
//!
//! ```text
//!   version    n: half n % 2 is the table; the other one is written next, and is what it was before
//!   half       number of rows, digest of the list that it was made of, rows by their start
//! ```
//! Readers take no lock: they look at the version again after they have read. Who writes holds `writer`, for which
//! nobody waits: who does not get it walks the list. The list itself is read without the loader's lock, so each of
//! its pointers is tried before it is followed, and what was read counts only if the loader says before and after
//! that nothing is being loaded or unloaded.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use super::link_map::LinkMap;
use super::list::{List, Module};
use super::module_text::ModuleText;
use crate::sys;

/// Modules that the table has room for; of a process with more the list is walked.
const MODULES_MAX: usize = 1024;

/// Start, end, `.eh_frame_hdr` and `link_map` of a module, then its bias and dynamic section, by which it is known.
const FIELDS: usize = 6;
type Words = [AtomicUsize; FIELDS];

/// A module, as far as look-ups need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    text: ModuleText,
    bias: usize,
    dynamic: usize,
}

impl Row {
    fn load(words: &Words) -> Row {
        let [start, end, eh_frame_hdr, link_map, bias, dynamic] =
            words.each_ref().map(|word| word.load(Ordering::Relaxed));
        Row { text: ModuleText { start, end, eh_frame_hdr, link_map }, bias, dynamic }
    }

    fn store(self, words: &Words) {
        let Row { text: ModuleText { start, end, eh_frame_hdr, link_map }, bias, dynamic } = self;
        let fields = [start, end, eh_frame_hdr, link_map, bias, dynamic];
        words.iter().zip(fields).for_each(|(word, field)| word.store(field, Ordering::Relaxed));
    }

    /// Of a member of the list whose mapping is not known yet.
    fn of_member(member: &LinkMap, link_map: usize) -> Row {
        let text = ModuleText { start: 0, end: 0, eh_frame_hdr: 0, link_map };
        Row { text, bias: member.bias, dynamic: member.dynamic as usize }
    }

    fn is_same_module(&self, other: &Row) -> bool {
        (self.text.link_map, self.bias, self.dynamic) == (other.text.link_map, other.bias, other.dynamic)
    }

    /// Whether it is still what is in memory there. A program for a fixed address is never unloaded.
    fn is_there(&self) -> bool {
        let Some(module) = Module::at(self.text.link_map, &mut 0) else { return false };
        let is_same = (module.bias(), module.dynamic()) == (self.bias, self.dynamic);
        is_same && (self.bias == 0 || module.text() == Some(self.text))
    }
}

struct Half {
    len: AtomicUsize,
    digest: AtomicU64,
    rows: [Words; MODULES_MAX],
}

impl Half {
    const fn new() -> Half {
        let rows = [const { [const { AtomicUsize::new(0) }; FIELDS] }; MODULES_MAX];
        Half { len: AtomicUsize::new(0), digest: AtomicU64::new(0), rows }
    }

    fn rows(&self) -> &[Words] {
        self.rows.get(..self.len.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// The last row that starts at or before `address`, if it reaches as far.
    fn find(&self, address: usize) -> Option<Row> {
        let rows = self.rows();
        let behind = rows.partition_point(|[start, ..]| start.load(Ordering::Relaxed) <= address);
        let row = Row::load(rows.get(behind.checked_sub(1)?)?);
        row.text.contains(address).then_some(row)
    }

    /// Notes the members of the list, in its order. False when it cannot be read, or has too many.
    fn take_list(&self, list: List) -> bool {
        let (mut len, mut digest, mut tried) = (0, 1u64, 0);
        let mut next = list.first();
        while next != 0 {
            let Some(module) = Module::at(next, &mut tried) else { return false };
            let Some(words) = self.rows.get(len) else { return false };
            Row::of_member(module.map(), next).store(words);
            for number in [next, module.bias(), module.dynamic()] {
                digest = (digest ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            }
            (next, len) = (module.map().next as usize, len + 1);
        }
        self.len.store(len, Ordering::Relaxed);
        self.digest.store(digest, Ordering::Relaxed);
        len > 0
    }

    /// Finds where the noted modules are mapped: those that are not in `before` in their headers.
    fn map_modules(&self, before: &Half) {
        for words in self.rows() {
            let row = Row::load(words);
            let known = before.find(row.dynamic).filter(|known| known.is_same_module(&row));
            let text =
                known.map(|known| known.text).or_else(|| Module::at(row.text.link_map, &mut 0)?.text());
            let nowhere = ModuleText { start: usize::MAX, end: 0, ..row.text };
            Row { text: text.unwrap_or(nowhere), ..row }.store(words);
        }
        self.sort();
    }

    /// By start (Shell's sort).
    fn sort(&self) {
        const GAPS: [usize; 7] = [301, 132, 57, 23, 10, 4, 1];
        let rows = self.rows();
        for gap in GAPS {
            for from in gap..rows.len() {
                let row = Row::load(&rows[from]);
                let mut to = from;
                while to >= gap && rows[to - gap][0].load(Ordering::Relaxed) > row.text.start {
                    Row::load(&rows[to - gap]).store(&rows[to]);
                    to -= gap;
                }
                row.store(&rows[to]);
            }
        }
    }
}

/// The table of this process.
pub(super) struct ModuleTable {
    version: AtomicU64,
    writer: AtomicBool,
    halves: [Half; 2],
}

pub(super) static TABLE: ModuleTable = ModuleTable::new();

impl ModuleTable {
    const fn new() -> ModuleTable {
        ModuleTable {
            version: AtomicU64::new(0),
            writer: AtomicBool::new(false),
            halves: [Half::new(), Half::new()],
        }
    }

    /// The module around an address of code that stays loaded while it is asked.
    pub(super) fn find(&self, list: List, pc: usize) -> Option<ModuleText> {
        if let Some(row) = self.search(pc).flatten().filter(Row::is_there) {
            return Some(row.text);
        }
        match self.refresh(list) {
            Some(_) => self.find_listed(list, pc),
            None => list.find(pc),
        }
    }

    /// The module around any address, as the list was at the last [`Self::refresh`].
    pub(super) fn find_listed(&self, list: List, address: usize) -> Option<ModuleText> {
        match self.search(address) {
            Some(row) => row.map(|row| row.text),
            None => list.find(address),
        }
    }

    /// None when there is no table, or it is being replaced.
    fn search(&self, address: usize) -> Option<Option<Row>> {
        const TRIES: usize = 4;
        for _ in 0..TRIES {
            let version = self.version.load(Ordering::Acquire);
            if version == 0 {
                return None;
            }
            let row = self.halves[(version % 2) as usize].find(address);
            fence(Ordering::Acquire);
            if self.version.load(Ordering::Relaxed) == version {
                return Some(row);
            }
        }
        None
    }

    /// Compares the table with the list and replaces it when they differ. The version that is right now; none when
    /// the list cannot be read now, or another thread is at it.
    pub(super) fn refresh(&self, list: List) -> Option<u64> {
        // A handler that jumped away would leave it locked.
        let _blocked = sys::SignalsBlocked::new();
        if self.writer.swap(true, Ordering::Acquire) {
            return None;
        }
        let version = self.replace(list);
        self.writer.store(false, Ordering::Release);
        version
    }

    /// The caller holds `writer`.
    fn replace(&self, list: List) -> Option<u64> {
        let version = self.version.load(Ordering::Relaxed);
        let [table, next] = [version, version + 1].map(|n| &self.halves[(n % 2) as usize]);
        fence(Ordering::SeqCst); // who sees what is written now also sees that the version is another
        let is_whole = list.is_consistent() && next.take_list(list) && list.is_consistent();
        let digest = |half: &Half| half.digest.load(Ordering::Relaxed);
        if !is_whole {
            return None;
        }
        if version != 0 && digest(next) == digest(table) {
            return Some(version);
        }
        next.map_modules(table);
        self.version.store(version + 1, Ordering::Release);
        Some(version + 1)
    }

    /// In a forked child: a thread that was writing is not here.
    pub(super) fn forget_writer(&self) {
        self.writer.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_around_an_address_is_found() {
        static HALF: Half = Half::new();
        // 700 modules of one page each with a gap of one page behind it, in no order.
        const MODULES: usize = 700;
        let start = |n: usize| (1 + n * 389 % MODULES) * 0x2000;
        let text = |start| ModuleText { start, end: start + 0x1000, eh_frame_hdr: 0, link_map: !start };
        for n in 0..MODULES {
            Row { text: text(start(n)), bias: 0, dynamic: 0 }.store(&HALF.rows[n]);
        }
        HALF.len.store(MODULES, Ordering::Relaxed);
        HALF.sort();
        let found = |address| HALF.find(address).map(|row| row.text);
        for start in (0..MODULES).map(start) {
            let is_it = Some(text(start));
            assert_eq!([start, start + 0xfff].map(found), [is_it; 2]);
            assert_eq!([start - 1, start + 0x1000].map(found), [None; 2]);
        }
    }
}
