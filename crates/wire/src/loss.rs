//! What is not recorded, by reason: each loss is counted in the head, and named in every report.

/// Why something is not recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LossReason {
    /// Events: the log was full and nobody took it in time.
    LogFull = 0,
    /// Events: no memory for the log (a full tmpfs, a limit).
    LogMemory = 1,
    /// Events: the hook was entered again on the same thread, from a signal handler or the heap itself.
    Reentered = 2,
    /// Stacks: the definitions were full or had no memory; the event has the unknown stack.
    StackTable = 3,
    /// Live slots: no memory or no room for the table; the block's free will be an unknown one.
    LiveTable = 4,
    /// Stacks cut at the depth limit.
    StackDepth = 5,
    /// Stacks cut where the unwinding rule is one we do not follow.
    StackRule = 6,
    /// Stacks cut where there is no unwinding information and no usable frame pointer.
    StackNoInfo = 7,
    /// Stacks cut where a frame left the bounds of its stack.
    StackBounds = 8,
    /// Modules whose definition could not be written.
    ModuleTable = 9,
    /// Events before the session could be made.
    NoSession = 10,
    /// Frees and reallocs of blocks that are not known.
    UnknownBlock = 11,
    /// Threads beyond the number that have numbers of their own.
    ThreadTable = 12,
    /// Live blocks whose address was allocated again: their free was not seen.
    ReplacedBlock = 13,
    /// Sampling rates beyond the number that a process can have; its former rate stays.
    RateTable = 14,
    /// Sections of unwinding information registered by the program for which there was no room.
    RegisteredFrames = 15,
    /// Events: readers of the live table held the process back for too long.
    Held = 16,
    /// Marks and sections without a name that can be kept: none was given, or too many others were.
    NameTable = 17,
    /// Sections inside more others than are followed.
    SectionDepth = 18,
    /// Named snapshots that were refused or could not be written.
    Snapshot = 19,
    /// Calls of which it is not recorded how long they took: their thread made other calls meanwhile.
    Untimed = 20,
    /// Events: the program forbade what recording needs, such as reading the clock (seccomp's strict mode).
    Forbidden = 21,
    /// Events: the trace could not be written any further (a full disk, a limit). The drainer counts them.
    NotWritten = 22,
    /// Events: they were in a part of the trace that is damaged. Whoever reads it counts them.
    Damaged = 23,
    /// Stacks without the frames of an interpreter, which could not be read there, or had no room.
    InterpretedFrames = 24,
}

impl LossReason {
    /// All, in the order of their numbers.
    pub const ALL: [LossReason; 25] = [
        LossReason::LogFull,
        LossReason::LogMemory,
        LossReason::Reentered,
        LossReason::StackTable,
        LossReason::LiveTable,
        LossReason::StackDepth,
        LossReason::StackRule,
        LossReason::StackNoInfo,
        LossReason::StackBounds,
        LossReason::ModuleTable,
        LossReason::NoSession,
        LossReason::UnknownBlock,
        LossReason::ThreadTable,
        LossReason::ReplacedBlock,
        LossReason::RateTable,
        LossReason::RegisteredFrames,
        LossReason::Held,
        LossReason::NameTable,
        LossReason::SectionDepth,
        LossReason::Snapshot,
        LossReason::Untimed,
        LossReason::Forbidden,
        LossReason::NotWritten,
        LossReason::Damaged,
        LossReason::InterpretedFrames,
    ];

    /// Stacks that are cut, one after the other: what each thread counts in its own record.
    pub const CUT_STACKS: [LossReason; 4] =
        [LossReason::StackDepth, LossReason::StackRule, LossReason::StackNoInfo, LossReason::StackBounds];

    /// A short name, as in `dropped.log_full` of a report.
    pub const fn name(self) -> &'static str {
        match self {
            LossReason::LogFull => "log_full",
            LossReason::LogMemory => "log_memory",
            LossReason::Reentered => "reentered",
            LossReason::StackTable => "stack_table",
            LossReason::LiveTable => "live_table",
            LossReason::StackDepth => "stack_depth",
            LossReason::StackRule => "stack_rule",
            LossReason::StackNoInfo => "stack_no_info",
            LossReason::StackBounds => "stack_bounds",
            LossReason::ModuleTable => "module_table",
            LossReason::NoSession => "no_session",
            LossReason::UnknownBlock => "unknown_block",
            LossReason::ThreadTable => "thread_table",
            LossReason::ReplacedBlock => "replaced_block",
            LossReason::RateTable => "rate_table",
            LossReason::RegisteredFrames => "registered_frames",
            LossReason::Held => "held",
            LossReason::NameTable => "name_table",
            LossReason::SectionDepth => "section_depth",
            LossReason::Snapshot => "snapshot",
            LossReason::Untimed => "untimed",
            LossReason::Forbidden => "forbidden",
            LossReason::NotWritten => "not_written",
            LossReason::Damaged => "damaged",
            LossReason::InterpretedFrames => "interpreted_frames",
        }
    }

    /// Whether events are missing because of it; the other reasons leave events with less in them.
    pub const fn loses_events(self) -> bool {
        matches!(
            self,
            LossReason::LogFull
                | LossReason::LogMemory
                | LossReason::Reentered
                | LossReason::NoSession
                | LossReason::Held
                | LossReason::Forbidden
                | LossReason::NotWritten
                | LossReason::Damaged
        )
    }

    /// Events that are missing by these counters.
    pub fn lost_events(counters: &[u64; DROP_COUNTERS]) -> u64 {
        let losses = Self::ALL.iter().filter(|reason| reason.loses_events());
        losses.map(|reason| counters[*reason as usize]).fold(0, u64::saturating_add)
    }

    /// The reason of this number.
    pub fn from_number(n: u8) -> Option<LossReason> {
        Self::ALL.get(usize::from(n)).copied()
    }
}

/// Counters that a head has room for.
pub const DROP_COUNTERS: usize = 32;
const _: () = assert!(LossReason::ALL.len() <= DROP_COUNTERS);
const _: () = {
    let [first, rule, no_info, bounds] = LossReason::CUT_STACKS;
    let first = first as u8;
    assert!(rule as u8 == first + 1 && no_info as u8 == first + 2 && bounds as u8 == first + 3);
};
