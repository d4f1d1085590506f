//! The log's chunks: a thread opens a free one, fills and seals it; the drainer empties it.
//!
//! When none is free the plan decides: wait for the drainer, as long as it lives and makes progress, or drop the
//! event and count it. A log with hardly any chunks waits within a budget, then it drops. When there is no drainer the
//! thread that found the log full writes the sealed chunks to a file in the session directory itself, up to a limit.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use heapscribe_wire::chunk::{HEADER_BYTES, SharedHeader, State, header_offset, payload_offset};
use heapscribe_wire::head::{ClockKind, LossReason, SharedHead};
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, CHUNK_STEP_BYTES, CHUNKS_MAX};
use heapscribe_wire::plan::{Plan, WhenFull};

use heapscribe_nolibc::sys::{self, Errno};

use super::chunk_file::ChunkFile;
use super::silence::{LOOK_EACH_NS, Next, Silence};
use super::spill;
use super::wait_budget::WaitBudget;
use crate::platform::clock;
use crate::platform::lock::Lock;
use crate::platform::mapped_file::SharedFile;
use crate::platform::room::{self, Reserve};

/// The drainer takes chunks.
const LISTENS: u32 = 0;
/// It has not been heard of for long. It may wake up, so its chunks are not touched; events are dropped.
const SILENT: u32 = 1;
/// Its process has ended: threads write chunks out themselves.
const ENDED: u32 = 2;

/// The log of this process.
#[derive(Debug)]
pub(crate) struct Log {
    chunks: ChunkFile,
    plan: Plan,
    /// LISTENS, SILENT or ENDED.
    drainer: AtomicU32,
    /// The drainer's last sign of life, and when it was noticed.
    heartbeat: AtomicU32,
    heard_ns: AtomicU64,
    /// What it may wait while it has hardly any chunks.
    budget: WaitBudget,
    /// Steps of each chunk's payload whose pages are there.
    steps: &'static [AtomicU8; CHUNKS_MAX],
    /// A system call for more memory was refused by a filter of the program.
    is_forbidden: AtomicBool,
}

/// A chunk that a thread has opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenChunk {
    /// Its header.
    pub header: &'static SharedHeader,
    /// Its number.
    pub index: usize,
    /// Its payload.
    pub payload: *mut u8,
    /// Bytes of payload that may be written.
    pub provided: usize,
}

impl Log {
    /// A log over a new file; `steps` are zero.
    pub(crate) fn new(file: SharedFile, plan: Plan, steps: &'static [AtomicU8; CHUNKS_MAX]) -> Log {
        Log {
            chunks: ChunkFile(file),
            plan,
            drainer: AtomicU32::new(if plan.drainer_pid == 0 { ENDED } else { LISTENS }),
            heartbeat: AtomicU32::new(0),
            heard_ns: AtomicU64::new(clock::monotonic_ns()),
            budget: WaitBudget::default(),
            steps,
            is_forbidden: AtomicBool::new(false),
        }
    }

    /// The clock that calls are timed by, if they are.
    pub(crate) fn timed_by(&self) -> Option<ClockKind> {
        self.plan.is_timed.then_some(self.plan.clock)
    }

    /// The mapped file.
    pub(crate) fn file(&self) -> &SharedFile {
        &self.chunks.0
    }

    /// Chunks that may be in use: two for each thread that lives, and those of the plan. Threads that have ended
    /// leave their records to new ones.
    fn chunks_max(&self, head: &SharedHead) -> usize {
        let mapped = self.chunks.0.file_bytes().saturating_sub(payload_offset(0)) / CHUNK_PAYLOAD_BYTES;
        let living =
            [&head.records, &head.threads_without_record].map(|n| n.load(Ordering::Relaxed) as usize);
        let wanted = self.plan.log_chunks as usize + 2 * living.iter().sum::<usize>();
        wanted.min(mapped).min(CHUNKS_MAX)
    }

    /// Opens a free chunk for who takes it, following the plan when there is none.
    pub(crate) fn open<T>(
        &self,
        head: &SharedHead,
        lock: &Lock,
        mut take: impl FnMut(OpenChunk) -> T,
    ) -> Result<T, LossReason> {
        if let Some(taken) = self.try_open(head, lock, &mut take)? {
            return Ok(taken);
        }
        self.notice_heartbeat(head);
        if self.drainer.load(Ordering::Relaxed) == LISTENS
            && self.plan.when_full == WhenFull::Wait
            && let Some(taken) = self.wait(head, lock, &mut take)?
        {
            return Ok(taken);
        }
        self.look_when_silent();
        if self.drainer.load(Ordering::Relaxed) == ENDED {
            if let Some(_held) = lock.hold() {
                spill::write(&self.chunks, self.plan.spill_limit_bytes, head);
            }
            return self.try_open(head, lock, &mut take)?.ok_or_else(|| self.full());
        }
        Err(self.full())
    }

    /// Why there is no chunk: where the program's filter allows no more of them, that is the reason.
    pub(crate) fn full(&self) -> LossReason {
        if self.is_forbidden.load(Ordering::Relaxed) { LossReason::Forbidden } else { LossReason::LogFull }
    }

    /// Allocates pages of the log.
    fn provide(&self, offset: usize, len_bytes: usize) -> Result<(), LossReason> {
        self.chunks.0.provide(offset, len_bytes).map_err(|error| match error {
            Errno::EPERM => {
                self.is_forbidden.store(true, Ordering::Relaxed);
                LossReason::Forbidden
            }
            _ => LossReason::LogMemory,
        })
    }

    /// Opens a free chunk. Signals are held back until it is taken: a handler that jumped away before left it open, with
    /// nobody to write into it, for ever. Where each call was jumped out of when its chunk had been opened, as a signal had
    /// come meanwhile, all chunks were gone, and not one event of such a program was recorded.
    fn try_open<T>(
        &self,
        head: &SharedHead,
        lock: &Lock,
        take: &mut impl FnMut(OpenChunk) -> T,
    ) -> Result<Option<T>, LossReason> {
        let _blocked = sys::SignalsBlocked::new();
        Ok(self.find_or_add(head, lock)?.map(take))
    }

    fn find_or_add(&self, head: &SharedHead, lock: &Lock) -> Result<Option<OpenChunk>, LossReason> {
        let in_use = head.chunks_in_use.load(Ordering::Acquire) as usize;
        // The first that is free, so that as few as possible are ever touched: they count as the program's
        // memory.
        let free = (0..in_use).find(|&i| self.chunks.header(i).try_open());
        let index = match free {
            Some(index) => index,
            None => match self.add_chunk(head, lock)? {
                Some(index) => index,
                None => return Ok(None),
            },
        };
        let payload = self.chunks.payload(index);
        let header = self.chunks.header(index);
        let provided = usize::from(self.steps[index].load(Ordering::Relaxed)) * CHUNK_STEP_BYTES;
        let chunk = OpenChunk { header, index, payload, provided };
        if provided != 0 {
            return Ok(Some(chunk));
        }
        match self.provide_step(&chunk, lock) {
            // There is no memory for this one, but there is for others, which the drainer will free.
            Err(LossReason::LogMemory | LossReason::Forbidden)
                if self.is_any_other_provided(index, in_use) =>
            {
                header.release();
                Ok(None)
            }
            provided => provided.map(Some).inspect_err(|_| header.release()),
        }
    }

    /// Whether it has so few chunks that waiting hardly pays.
    fn is_short(&self, head: &SharedHead) -> bool {
        let in_use = head.chunks_in_use.load(Ordering::Acquire) as usize;
        let usable = self.steps.iter().take(in_use).filter(|steps| steps.load(Ordering::Relaxed) != 0);
        WaitBudget::is_for(usable.count(), self.plan.log_chunks as usize)
    }

    fn is_any_other_provided(&self, than: usize, in_use: usize) -> bool {
        (0..in_use).any(|index| index != than && self.steps[index].load(Ordering::Relaxed) != 0)
    }

    /// Brings a new chunk into use, already open. `None` when there is neither room nor memory for more than the
    /// ones that there are.
    fn add_chunk(&self, head: &SharedHead, lock: &Lock) -> Result<Option<usize>, LossReason> {
        let _held = lock.hold().ok_or(LossReason::LogFull)?;
        let index = head.chunks_in_use.load(Ordering::Acquire) as usize;
        if index >= self.chunks_max(head) || index > 0 && !room::is_spare(Reserve::Program) {
            return Ok(None);
        }
        match self.provide(header_offset(index), HEADER_BYTES) {
            Err(_) if index > 0 => return Ok(None),
            provided => provided?,
        }
        let opened = self.chunks.header(index).try_open();
        head.chunks_in_use.store(index as u32 + 1, Ordering::Release);
        Ok(opened.then_some(index))
    }

    /// Allocates the pages of the next step of a chunk's payload.
    pub(crate) fn provide_step(&self, chunk: &OpenChunk, lock: &Lock) -> Result<OpenChunk, LossReason> {
        let provided = chunk.provided;
        if provided + CHUNK_STEP_BYTES > CHUNK_PAYLOAD_BYTES {
            return Err(LossReason::LogFull);
        }
        let _held = lock.hold().ok_or(LossReason::LogFull)?;
        let offset = payload_offset(chunk.index) + provided;
        self.provide(offset, CHUNK_STEP_BYTES)?;
        let provided = provided + CHUNK_STEP_BYTES;
        self.steps[chunk.index].store((provided / CHUNK_STEP_BYTES) as u8, Ordering::Relaxed);
        // The window that shows the payload may have been mapped only now.
        Ok(OpenChunk { provided, payload: self.chunks.payload(chunk.index), ..*chunk })
    }

    /// A drainer that was silent listens again when its heartbeat moves.
    fn notice_heartbeat(&self, head: &SharedHead) {
        let now = head.heartbeat.load(Ordering::Relaxed);
        if self.heartbeat.swap(now, Ordering::Relaxed) != now {
            self.heard_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
            let _ = self.drainer.compare_exchange(SILENT, LISTENS, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Whether there is any chunk that the drainer could free. When the threads hold them all - a log made
    /// small by a limit, and many threads - waiting would never end.
    fn has_sealed(&self, head: &SharedHead) -> bool {
        let in_use = head.chunks_in_use.load(Ordering::Acquire) as usize;
        (0..in_use)
            .any(|index| self.chunks.header(index).state.load(Ordering::Relaxed) == State::Sealed as u32)
    }

    /// Waits for the drainer to free a chunk. Ends without one when the drainer is silent or has ended, there
    /// is nothing to wait for, or the budget of a log with hardly any chunks is spent.
    fn wait<T>(
        &self,
        head: &SharedHead,
        lock: &Lock,
        take: &mut impl FnMut(OpenChunk) -> T,
    ) -> Result<Option<T>, LossReason> {
        let first_ns = clock::monotonic_ns();
        let mut now_ns = first_ns;
        let mut silence = Silence::begin(head.heartbeat.load(Ordering::Relaxed), now_ns);
        loop {
            let is_short = self.is_short(head);
            if is_short && self.budget.is_spent() {
                return Ok(None);
            }
            let is_hopeful = self.has_sealed(head);
            sys::sleep_ns(Silence::nap_ns(now_ns.saturating_sub(first_ns)));
            let began_ns = core::mem::replace(&mut now_ns, clock::monotonic_ns());
            if is_short {
                self.budget.spend(now_ns.saturating_sub(began_ns));
            }
            if let Some(taken) = self.try_open(head, lock, take)? {
                return Ok(Some(taken));
            }
            // Of several threads that wait the first that gives up does so for all.
            let is_listening = self.drainer.load(Ordering::Relaxed) == LISTENS;
            if !is_listening || !is_hopeful && !self.has_sealed(head) {
                return Ok(None);
            }
            match silence.go_on(head.heartbeat.load(Ordering::Relaxed), now_ns) {
                Next::Wait => {}
                Next::Look if !self.drainer_has_ended() => {}
                Next::Look => {
                    self.drainer.store(ENDED, Ordering::Relaxed);
                    return Ok(None);
                }
                Next::GiveUp => {
                    self.drainer.store(SILENT, Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }

    /// Who does not wait for the drainer finds by its silence between two searches that it has ended.
    fn look_when_silent(&self) {
        let silent_ns = clock::monotonic_ns().saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        let is_ended = self.drainer.load(Ordering::Relaxed) == ENDED;
        if !is_ended && silent_ns >= LOOK_EACH_NS && self.drainer_has_ended() {
            self.drainer.store(ENDED, Ordering::Relaxed);
        }
    }

    /// Whether the drainer's process has ended, as far as that can be known: in another pid namespace its
    /// number means nothing.
    fn drainer_has_ended(&self) -> bool {
        sys::pid_namespace() == self.plan.pid_namespace && !sys::process_exists(self.plan.drainer_pid)
    }
}

#[cfg(test)]
mod tests;
