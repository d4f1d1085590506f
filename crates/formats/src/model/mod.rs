//! What a trace holds, as plain data without a format: sessions, processes, chunks, live blocks and samples.
//!
//! Names and command lines are bytes, because the system does not promise more. Times ending in
//! `mono_ns` are CLOCK_MONOTONIC of the recorded machine, `real_ns` are nanoseconds since 1970.

mod chunk;
mod ended_images;
mod entry;
mod evicted;
mod live_table;
mod memory_map;
mod process;
mod samples;
mod session;
mod sums;
mod symbols;
mod unrecorded;

pub use self::chunk::ChunkInfo;
pub use self::ended_images::{EndedImages, UNKNOWN};
pub use self::entry::ChunkEntry;
pub use self::evicted::Evicted;
pub use self::live_table::{LiveBlock, LiveRole, LiveTable};
pub use self::memory_map::{
    Access, FreeKind, FreeRange, HeapLayout, ListsRead, Mapping, MemoryMap, POOL_END_BYTES, POOL_FRONT_BYTES,
    PageRun, huge_page_bytes,
};
pub use self::process::{
    HowEnded, ModeChange, OwnPeak, Process, ProcessEnd, ProcessIndex, ProcessInfo, Stage,
};
pub use self::samples::{HeapInfo, HeapSample, MemorySample, RESIDENT_PARTS, ResidentSample, SectionLeft};
pub use self::session::{Drainer, ExitStatus, RealTimeRules, SessionEnd, SessionInfo};
pub use self::sums::ChunkSums;
pub use self::symbols::{AddressSymbols, ModuleSymbols, SymbolFrame, SymbolSource};
pub use self::unrecorded::{Unrecorded, UnrecordedProgram, UnrecordedReason};
