//! The head of a session, open: single words of it, read when they are needed.

use std::fs::File;
use std::mem::offset_of;
use std::path::Path;
use std::rc::Rc;

use heapscribe_formats::model::{ModeChange, ProcessEnd};
use heapscribe_session::{
    is_mapped, mode_changes, open_file, process_end, read_head, read_records, read_up_to,
};
use heapscribe_wire::head::{Head, Leaving, SharedHead, stage};
use heapscribe_wire::limits::DEFS_BYTES_MAX;
use heapscribe_wire::operation;

/// The head's file.
pub(super) struct SessionHead {
    file: Rc<File>,
}

impl SessionHead {
    pub(super) fn new(file: File) -> SessionHead {
        SessionHead { file: Rc::new(file) }
    }

    /// The file itself.
    pub(super) fn file(&self) -> &Rc<File> {
        &self.file
    }

    pub(super) fn into_file(self) -> Rc<File> {
        self.file
    }

    /// How many chunks of the log were ever used.
    pub(super) fn chunks_in_use(&self) -> usize {
        let mut word = [0; 4];
        read_up_to(&self.file, &mut word, offset_of!(SharedHead, chunks_in_use) as u64);
        u32::from_le_bytes(word) as usize
    }

    /// How many bytes of definitions are whole.
    pub(super) fn committed_bytes(&self) -> u64 {
        self.word(offset_of!(SharedHead, defs_committed)).min(DEFS_BYTES_MAX as u64)
    }

    /// What the process has begun to do that ends its image.
    pub(super) fn leaving(&self) -> Option<Leaving> {
        Leaving::from_word(self.word(offset_of!(SharedHead, leaving)))
    }

    /// What was recorded of it, when that was nothing for a time.
    pub(super) fn modes(&self, directory: &Path, created_mono_ns: u64) -> Vec<ModeChange> {
        let now = read_head(&self.file, |head| head.mode).unwrap_or_default();
        mode_changes::modes_with_off(directory, created_mono_ns, now)
    }

    fn word(&self, offset: usize) -> u64 {
        let mut word = [0; 8];
        read_up_to(&self.file, &mut word, offset as u64);
        u64::from_le_bytes(word)
    }

    /// Whether the process has let go of its session, as an exec does: it goes on as an image that has none.
    pub(super) fn is_abandoned(&self) -> bool {
        read_head(&self.file, |head| head.is_locked) == Some(true) && !is_mapped(&self.file)
    }

    /// How far the process is, with what its threads have counted in their records; why that is too little, if so.
    pub(super) fn process_end(&self, directory: &Path) -> (ProcessEnd, Option<String>) {
        let path = directory.join(operation::FILE_NAME);
        let threads = open_file(&path, false);
        let read = read_head(&self.file, |head| {
            let records = threads.map_or_else(Vec::new, |file| read_records(&file, head));
            let missing = (head.records as usize).saturating_sub(records.len());
            (process_end(head, &records), missing)
        });
        let (end, missing) = read.unwrap_or_default();
        let problem = format!(
            "cannot read {missing} records of {}: counts of truncated stacks are too low",
            path.display()
        );
        (end, (missing > 0).then_some(problem))
    }

    /// The file of its program, if it is one that was exec'd.
    pub(super) fn program(&self) -> Option<Vec<u8>> {
        let of_program = |head: &Head<'_>| (head.stage == stage::EXECED).then(|| head.exe.to_vec());
        read_head(&self.file, of_program)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::ABI_VERSION;
    use heapscribe_wire::head::{HEAD_FILE_BYTES, LossReason, MAGIC};
    use heapscribe_wire::operation::Record;

    const IN_HEAD: u64 = 5;
    const RECORDS: u32 = 3;

    fn head() -> Vec<u8> {
        let mut bytes = vec![0; HEAD_FILE_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&ABI_VERSION.to_le_bytes());
        let counter = offset_of!(SharedHead, drops) + 8 * LossReason::StackNoInfo as usize;
        bytes[counter..counter + 8].copy_from_slice(&IN_HEAD.to_le_bytes());
        let records = offset_of!(SharedHead, records);
        bytes[records..records + 4].copy_from_slice(&RECORDS.to_le_bytes());
        bytes
    }

    /// Checks what is counted, and whether it is said that this is too little, of a file with so many records that
    /// have each counted 1, 2, 3 and 4 cut stacks of the four kinds.
    fn check(in_file: Option<u32>, expected: [u64; 4], is_whole: bool) {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("head"), head()).unwrap();
        if let Some(n) = in_file {
            let record = Record { cut_stacks: [1, 2, 3, 4], ..Record::default() };
            std::fs::write(path(operation::FILE_NAME), record.to_bytes().repeat(n as usize)).unwrap();
        }
        let head = SessionHead::new(open_file(&path("head"), false).unwrap());
        let (end, problem) = head.process_end(directory.path());
        assert_eq!(LossReason::CUT_STACKS.map(|reason| end.drops[reason as usize]), expected);
        assert_eq!(problem.is_none(), is_whole, "{problem:?}");
    }

    #[test]
    fn cut_stacks_are_those_of_the_head_and_of_all_records() {
        check(Some(RECORDS), [3, 6, 9 + IN_HEAD, 12], true);
        check(Some(RECORDS + 1), [3, 6, 9 + IN_HEAD, 12], true); // not in use
        check(Some(RECORDS - 1), [2, 4, 6 + IN_HEAD, 8], false);
        check(None, [0, 0, IN_HEAD, 0], false);
    }
}
