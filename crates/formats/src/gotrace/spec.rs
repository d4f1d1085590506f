//! The kinds of events: number, name and values of each, in both layouts. The time, which nearly every
//! event has first, and the stack, which it has last, are not among the values.

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    /// Its number in the file.
    pub code: u8,
    /// Its name in Go.
    pub name: &'static str,
    /// What its values are called.
    pub values: &'static [&'static str],
    /// Whether it has a stack.
    pub has_stack: bool,
    /// What it is for the heap, whatever its number.
    pub(crate) role: Role,
}

/// What a kind of event is for the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    HeapLive,
    HeapGoal,
    GcBegin,
    GcEnd,
    StopBegin,
    StopEnd,
    SweepBegin,
    SweepEnd,
    AssistBegin,
    AssistEnd,
    Procs,
    Runs,
    Stops,
    Status,
    Created,
    SpanThere,
    SpanAlloc,
    SpanFree,
    ObjectThere,
    ObjectAlloc,
    ObjectFree,
    Other,
}

const fn plain(code: u8, name: &'static str, values: &'static [&'static str]) -> Spec {
    Spec { code, name, values, has_stack: false, role: Role::Other }
}

const fn stack(code: u8, name: &'static str, values: &'static [&'static str]) -> Spec {
    Spec { code, name, values, has_stack: true, role: Role::Other }
}

impl Spec {
    const fn is(self, role: Role) -> Spec {
        Spec { role, ..self }
    }
}

/// Layout one, from number 4 on; kinds before that have no time.
const ONE: [Spec; 46] = [
    stack(4, "Gomaxprocs", &["procs"]).is(Role::Procs),
    plain(5, "ProcStart", &["thread"]),
    plain(6, "ProcStop", &[]),
    stack(7, "GCStart", &["seq"]).is(Role::GcBegin),
    plain(8, "GCDone", &[]).is(Role::GcEnd),
    plain(9, "GCSTWStart", &["kindid"]).is(Role::StopBegin),
    plain(10, "GCSTWDone", &[]).is(Role::StopEnd),
    stack(11, "GCSweepStart", &[]).is(Role::SweepBegin),
    plain(12, "GCSweepDone", &["swept", "reclaimed"]).is(Role::SweepEnd),
    stack(13, "GoCreate", &["g", "stack"]).is(Role::Created),
    plain(14, "GoStart", &["g", "seq"]).is(Role::Runs),
    plain(15, "GoEnd", &[]).is(Role::Stops),
    stack(16, "GoStop", &[]).is(Role::Stops),
    stack(17, "GoSched", &[]).is(Role::Stops),
    stack(18, "GoPreempt", &[]).is(Role::Stops),
    stack(19, "GoSleep", &[]).is(Role::Stops),
    stack(20, "GoBlock", &[]).is(Role::Stops),
    stack(21, "GoUnblock", &["g", "seq"]),
    stack(22, "GoBlockSend", &[]).is(Role::Stops),
    stack(23, "GoBlockRecv", &[]).is(Role::Stops),
    stack(24, "GoBlockSelect", &[]).is(Role::Stops),
    stack(25, "GoBlockSync", &[]).is(Role::Stops),
    stack(26, "GoBlockCond", &[]).is(Role::Stops),
    stack(27, "GoBlockNet", &[]).is(Role::Stops),
    stack(28, "GoSysCall", &[]),
    plain(29, "GoSysExit", &["g", "seq", "ts"]),
    plain(30, "GoSysBlock", &[]).is(Role::Stops),
    plain(31, "GoWaiting", &["g"]),
    plain(32, "GoInSyscall", &["g"]),
    plain(33, "HeapAlloc", &["mem"]).is(Role::HeapLive),
    plain(34, "HeapGoal", &["mem"]).is(Role::HeapGoal),
    plain(35, "TimerGoroutine", &["g"]),
    plain(36, "FutileWakeup", &[]),
    plain(37, "String", &[]),
    plain(38, "GoStartLocal", &["g"]).is(Role::Runs),
    stack(39, "GoUnblockLocal", &["g"]),
    plain(40, "GoSysExitLocal", &["g", "ts"]),
    plain(41, "GoStartLabel", &["g", "seq", "labelid"]).is(Role::Runs),
    stack(42, "GoBlockGC", &[]).is(Role::Stops),
    stack(43, "GCMarkAssistStart", &[]).is(Role::AssistBegin),
    plain(44, "GCMarkAssistDone", &[]).is(Role::AssistEnd),
    stack(45, "UserTaskCreate", &["taskid", "pid", "typeid"]),
    stack(46, "UserTaskEnd", &["taskid"]),
    stack(47, "UserRegion", &["taskid", "mode", "typeid"]),
    stack(48, "UserLog", &["id", "keyid"]),
    stack(49, "CPUSample", &["ts", "p", "g"]),
];
const ONE_FIRST: u8 = 4;

/// Layout two, from number 9 on.
const TWO: [Spec; 40] = [
    stack(9, "ProcsChange", &["procs_value"]).is(Role::Procs),
    plain(10, "ProcStart", &["p", "p_seq"]),
    plain(11, "ProcStop", &[]),
    plain(12, "ProcSteal", &["p", "p_seq", "m"]),
    plain(13, "ProcStatus", &["p", "pstatus"]),
    stack(14, "GoCreate", &["new_g", "new_stack"]).is(Role::Created),
    plain(15, "GoCreateSyscall", &["new_g"]),
    plain(16, "GoStart", &["g", "g_seq"]).is(Role::Runs),
    plain(17, "GoDestroy", &[]).is(Role::Stops),
    plain(18, "GoDestroySyscall", &[]).is(Role::Stops),
    stack(19, "GoStop", &["reason_string"]).is(Role::Stops),
    stack(20, "GoBlock", &["reason_string"]).is(Role::Stops),
    stack(21, "GoUnblock", &["g", "g_seq"]),
    stack(22, "GoSyscallBegin", &["p_seq"]),
    plain(23, "GoSyscallEnd", &[]),
    plain(24, "GoSyscallEndBlocked", &[]).is(Role::Stops),
    plain(25, "GoStatus", &["g", "m", "gstatus"]).is(Role::Status),
    stack(26, "STWBegin", &["kind_string"]).is(Role::StopBegin),
    plain(27, "STWEnd", &[]).is(Role::StopEnd),
    plain(28, "GCActive", &["gc_seq"]),
    stack(29, "GCBegin", &["gc_seq"]).is(Role::GcBegin),
    plain(30, "GCEnd", &["gc_seq"]).is(Role::GcEnd),
    plain(31, "GCSweepActive", &["p"]),
    stack(32, "GCSweepBegin", &[]).is(Role::SweepBegin),
    plain(33, "GCSweepEnd", &["swept_value", "reclaimed_value"]).is(Role::SweepEnd),
    plain(34, "GCMarkAssistActive", &["g"]),
    stack(35, "GCMarkAssistBegin", &[]).is(Role::AssistBegin),
    plain(36, "GCMarkAssistEnd", &[]).is(Role::AssistEnd),
    plain(37, "HeapAlloc", &["heapalloc_value"]).is(Role::HeapLive),
    plain(38, "HeapGoal", &["heapgoal_value"]).is(Role::HeapGoal),
    plain(39, "GoLabel", &["label_string"]),
    stack(40, "UserTaskBegin", &["task", "parent_task", "name_string"]),
    stack(41, "UserTaskEnd", &["task"]),
    stack(42, "UserRegionBegin", &["task", "name_string"]),
    stack(43, "UserRegionEnd", &["task", "name_string"]),
    stack(44, "UserLog", &["task", "key_string", "value_string"]),
    plain(45, "GoSwitch", &["g", "g_seq"]).is(Role::Runs),
    plain(46, "GoSwitchDestroy", &["g", "g_seq"]).is(Role::Runs),
    stack(47, "GoCreateBlocked", &["new_g", "new_stack"]).is(Role::Created),
    stack(48, "GoStatusStack", &["g", "m", "gstatus"]).is(Role::Status),
];
const TWO_FIRST: u8 = 9;

/// Layout two, the experiment with allocations, from number 128 on.
const EXPERIMENT: [Spec; 9] = [
    plain(128, "Span", &["id", "npages_value", "kindclass"]).is(Role::SpanThere),
    plain(129, "SpanAlloc", &["id", "npages_value", "kindclass"]).is(Role::SpanAlloc),
    plain(130, "SpanFree", &["id"]).is(Role::SpanFree),
    plain(131, "HeapObject", &["id", "type"]).is(Role::ObjectThere),
    plain(132, "HeapObjectAlloc", &["id", "type"]).is(Role::ObjectAlloc),
    plain(133, "HeapObjectFree", &["id"]).is(Role::ObjectFree),
    plain(134, "GoroutineStack", &["id", "order"]),
    plain(135, "GoroutineStackAlloc", &["id", "order"]),
    plain(136, "GoroutineStackFree", &["id"]),
];
const EXPERIMENT_FIRST: u8 = 128;

/// Kinds of layout one that are written.
pub mod kinds {
    use super::{ONE, ONE_FIRST, Spec};

    const fn one(code: u8) -> &'static Spec {
        &ONE[(code - ONE_FIRST) as usize]
    }

    /// How many goroutines may run at a time: `[procs]` and a stack.
    pub const PROCS: &Spec = one(4);
    /// A P begins: `[thread]`.
    pub const PROC_START: &Spec = one(5);
    /// A collection begins: `[seq]` and a stack.
    pub const GC_BEGIN: &Spec = one(7);
    /// A collection ends.
    pub const GC_END: &Spec = one(8);
    /// A goroutine is made: `[g, stack of its function]` and a stack.
    pub const GO_CREATE: &Spec = one(13);
    /// A goroutine runs: `[g, how often it changed its state]`.
    pub const GO_START: &Spec = one(14);
    /// Live bytes.
    pub const HEAP_LIVE: &Spec = one(33);
    /// Bytes at which the next collection is to be done.
    pub const HEAP_GOAL: &Spec = one(34);
    /// A line of a log: `[task, text of its kind]`, a stack, and a text.
    pub const LOG: &Spec = one(48);
}

/// The kind of this number in layout one.
#[inline(always)]
pub(crate) fn one(code: u8) -> Option<&'static Spec> {
    ONE.get(usize::from(code.wrapping_sub(ONE_FIRST)))
}

/// The kind of this number in layout two.
#[inline(always)]
pub(crate) fn two(code: u8) -> Option<&'static Spec> {
    TWO.get(usize::from(code.wrapping_sub(TWO_FIRST)))
        .or_else(|| EXPERIMENT.get(usize::from(code.wrapping_sub(EXPERIMENT_FIRST))))
}

#[cfg(test)]
mod tests {
    use super::super::limits::VALUES_MAX;
    use super::*;

    #[test]
    fn each_kind_stands_at_its_number() {
        for code in 0..=u8::MAX {
            for spec in [one(code), two(code)].into_iter().flatten() {
                assert_eq!(spec.code, code);
                assert!(spec.values.len() <= VALUES_MAX, "{spec:?}");
            }
        }
        assert_eq!((one(3), one(50), two(8), two(49), two(137)), (None, None, None, None, None));
    }
}
