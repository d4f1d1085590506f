//! What the hooks of a recording process use.

use core::ptr;
use core::sync::atomic::AtomicBool;

use heapscribe_wire::head::{HEAD_FILE_BYTES, SharedHead};

use super::threads::Threads;
use crate::definitions::{DefinitionWriter, Interner, Names, Rates};
use crate::interpreter::functions::Functions;
use crate::interpreter::met::Defined;
use crate::interpreter::php::names::PhpFunctions;
use crate::interpreter::v8::names::V8Functions;
use crate::live::LiveTable;
use crate::log::Log;
use crate::platform::lock::Lock;
use crate::platform::session_clock::SessionClock;

/// The session of this process.
#[derive(Debug)]
pub(crate) struct Session {
    /// The shared head.
    pub head: &'static SharedHead,
    /// This process.
    pub pid: u32,
    /// Every how many captures of a stack one is checked; 0: never.
    pub verify_every: u32,
    /// Rules of real time, as the plan has them; empty when no call is to stop the process.
    pub rules: &'static [u8],
    /// Its clock.
    pub clock: SessionClock,
    /// Makes the samples the same in each run; 0: not.
    pub seed: u64,
    /// Whether every block was recorded at some time.
    pub was_full: AtomicBool,
    /// For what is seldom done.
    pub lock: Lock,
    /// Chunks of events.
    pub log: Log,
    /// Definitions.
    pub definitions: DefinitionWriter,
    /// Numbers of stacks.
    pub interner: Interner,
    /// Whether frames of interpreters are recorded.
    pub reads_interpreters: bool,
    /// Whether the program's own mappings are recorded.
    pub tracks_mappings: bool,
    /// What its definitions have of interpreters.
    pub interpreters: Defined,
    /// What is known of functions that an interpreter runs.
    pub functions: Functions,
    /// The same of PHP's, and where its loop's registers are.
    pub php: PhpFunctions,
    /// The same of V8's.
    pub v8: V8Functions,
    /// Numbers of names.
    pub names: Names,
    /// Numbers of sampling rates.
    pub rates: Rates,
    /// What is allocated now.
    pub live: LiveTable,
    /// Threads.
    pub threads: Threads,
}

impl Session {
    /// The session's time.
    #[inline(always)]
    pub(crate) fn ticks(&self) -> u64 {
        self.clock.ticks()
    }

    /// Calls `visit` for each shared mapping: address and bytes.
    pub(crate) fn for_each_mapping(&self, mut visit: impl FnMut(*mut u8, usize)) {
        self.clock.for_each_mapping(&mut visit);
        visit(ptr::from_ref(self.head).cast_mut().cast(), HEAD_FILE_BYTES);
        let files = [self.definitions.file(), self.live.file(), self.log.file(), self.threads.file()];
        for file in files {
            file.for_each_mapping(&mut visit);
        }
    }
}
