//! The payloads of the small blocks: session, process, their ends, memory samples. Both ways; what
//! follows the fields that are known was added by a later minor version.

use heapscribe_wire::head::ClockKind;
use heapscribe_wire::ids::{NameId, StackId, ThreadId};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::record::Call;
use heapscribe_wire::rule_violation::{RuleViolation, Why};
use heapscribe_wire::varint::zigzag;

use super::fields::{Fields, put, put_from, put_list, put_text};
use super::unrecorded;
use crate::model::{
    Drainer, ExitStatus, HowEnded, MemorySample, ModeChange, OwnPeak, ProcessEnd, ProcessInfo, RealTimeRules,
    SessionEnd, SessionInfo, Stage, Unrecorded,
};

pub(super) fn put_session(out: &mut Vec<u8>, s: &SessionInfo) {
    put(out, s.started_mono_ns);
    put(out, s.started_real_ns);
    put_text(out, s.host.as_bytes());
    put_text(out, s.version.as_bytes());
    put_list(out, &s.command);
    put_list(out, &s.rules.sections);
    put_list(out, s.rules.after_mark.as_slice());
    put_list(out, &s.rules.threads);
}

pub(super) fn get_session(payload: &[u8]) -> Option<SessionInfo> {
    let mut f = Fields::new(payload);
    Some(SessionInfo {
        started_mono_ns: f.number()?,
        started_real_ns: f.number()?,
        host: f.string()?,
        version: f.string()?,
        command: f.list()?,
        rules: if f.is_empty() { RealTimeRules::default() } else { get_rules(&mut f)? },
    })
}

fn get_rules(f: &mut Fields<'_>) -> Option<RealTimeRules> {
    Some(RealTimeRules { sections: f.list()?, after_mark: f.list()?.into_iter().next(), threads: f.list()? })
}

pub(super) fn put_session_end(out: &mut Vec<u8>, end: &SessionEnd) {
    let (how, code) = match end.exit {
        None => (0, 0),
        Some(ExitStatus::Code(code)) => (1, code),
        Some(ExitStatus::Signal(signal)) => (2, signal),
    };
    put(out, end.ended_mono_ns);
    put(out, how);
    put(out, zigzag(i64::from(code)));
    let d = &end.drainer;
    for n in [d.waiting_bytes, d.waiting_ns, d.full_logs, d.hurried_chunks, d.cpu_ns, d.peak_rss_bytes] {
        put(out, n);
    }
    unrecorded::put_unrecorded(out, &end.unrecorded);
}

pub(super) fn get_session_end(payload: &[u8]) -> Option<SessionEnd> {
    let mut f = Fields::new(payload);
    let ended_mono_ns = f.number()?;
    let (how, code) = (f.number()?, i32::try_from(f.signed()?).ok()?);
    let exit = match how {
        1 => Some(ExitStatus::Code(code)),
        2 => Some(ExitStatus::Signal(code)),
        _ => None,
    };
    let drainer = Drainer {
        waiting_bytes: f.number()?,
        waiting_ns: f.number()?,
        full_logs: f.number()?,
        hurried_chunks: f.number()?,
        cpu_ns: f.number()?,
        peak_rss_bytes: f.number()?,
    };
    let unrecorded = if f.is_empty() { Unrecorded::default() } else { unrecorded::get_unrecorded(&mut f)? };
    Some(SessionEnd { ended_mono_ns, exit, drainer, unrecorded })
}

/// The value of the field behind a process's command when its times count calls.
const CALLS: u64 = 1;

pub(super) fn put_process(out: &mut Vec<u8>, p: &ProcessInfo) {
    put(out, u64::from(p.pid));
    put(out, u64::from(p.parent_pid));
    put(out, p.stage as u64);
    put(out, p.created_mono_ns);
    put(out, p.created_real_ns);
    put(out, p.parent_created_mono_ns);
    put(out, p.created_ticks);
    put(out, p.clock_kind as u64);
    put(out, u64::from(p.clock_shift));
    put_text(out, &p.exe);
    put_list(out, &p.command);
    if p.counts_calls || p.early_ns > 0 {
        put(out, if p.counts_calls { CALLS } else { 0 });
    }
    if p.early_ns > 0 {
        put(out, u64::from(p.early_ns));
    }
}

pub(super) fn get_process(payload: &[u8]) -> Option<ProcessInfo> {
    let mut f = Fields::new(payload);
    Some(ProcessInfo {
        pid: f.small()?,
        parent_pid: f.small()?,
        stage: [Stage::Execed, Stage::Forked].get(f.number()? as usize).copied()?,
        created_mono_ns: f.number()?,
        created_real_ns: f.number()?,
        parent_created_mono_ns: f.number()?,
        created_ticks: f.number()?,
        clock_kind: [ClockKind::Monotonic, ClockKind::Tsc].get(f.number()? as usize).copied()?,
        clock_shift: f.small().filter(|shift| *shift < 32)?,
        exe: f.text()?.to_vec(),
        command: f.list()?,
        counts_calls: f.number() == Some(CALLS),
        early_ns: if f.is_empty() { 0 } else { f.small()? },
    })
}

const HOW: [HowEnded; 5] =
    [HowEnded::Unknown, HowEnded::Exited, HowEnded::Execed, HowEnded::Abandoned, HowEnded::Unseen];

/// A signal that killed a process is this and its number, as shells have it.
const KILLED: u64 = 128;

fn how_to_number(how: HowEnded) -> u64 {
    match how {
        HowEnded::Killed(signal) => KILLED + u64::from(signal),
        how => HOW.iter().position(|known| *known == how).unwrap_or(0) as u64,
    }
}

fn how_from_number(number: u64) -> HowEnded {
    match number.checked_sub(KILLED).map(u8::try_from) {
        Some(signal) => signal.map_or(HowEnded::Unknown, HowEnded::Killed),
        None => HOW.get(number as usize).copied().unwrap_or_default(),
    }
}

pub(super) fn put_process_end(out: &mut Vec<u8>, end: &ProcessEnd) {
    put(out, end.ended_mono_ns);
    put(out, how_to_number(end.how));
    put(out, u64::from(end.threads));
    put(out, end.own_bytes);
    put(out, end.spilled_bytes);
    put_text(out, end.lost_note.as_bytes());
    put(out, end.drops.len() as u64);
    end.drops.iter().for_each(|n| put(out, *n));
    put(out, end.stacks_verified);
    put(out, end.stacks_different);
    put_broke(out, end.broke.as_ref());
    let peak = end.peak.as_ref().filter(|_| end.modes.is_empty()).map(|peak| [peak.bytes, peak.ticks]);
    if end.modes.is_empty() && end.exact_from_ticks == 0 {
        return peak.iter().flatten().for_each(|n| put(out, *n));
    }
    peak.unwrap_or(NO_PEAK).iter().for_each(|n| put(out, *n));
    put(out, end.modes.len() as u64);
    for change in &end.modes {
        put(out, change.mono_ns);
        put(out, change.mode.to_word());
    }
    if end.exact_from_ticks > 0 {
        put(out, end.exact_from_ticks);
    }
}

/// In the place of a peak that nobody knows: when not all blocks were seen, at least.
const NO_PEAK: [u64; 2] = [0, 0];

fn put_broke(out: &mut Vec<u8>, broke: Option<&RuleViolation>) {
    let Some(broke) = broke else { return put(out, 0) };
    for n in [broke.why as u32, broke.call as u32, broke.thread.0, broke.name.0, broke.stack.0] {
        put(out, u64::from(n));
    }
    put(out, broke.size_bytes);
    put(out, broke.ticks);
}

fn get_broke(f: &mut Fields<'_>) -> Option<Option<RuleViolation>> {
    let how = f.small()?;
    if how == 0 {
        return Some(None);
    }
    let (call, thread, name, stack) = (f.number()?, f.small()?, f.small()?, f.small()?);
    let (size_bytes, ticks) = (f.number()?, f.number()?);
    let known = Why::from_number(how).zip(Call::ALL.get(usize::try_from(call).ok()?).copied());
    Some(known.map(|(why, call)| RuleViolation {
        why,
        call,
        thread: ThreadId(thread),
        name: NameId(name),
        stack: StackId(stack),
        size_bytes,
        ticks,
    }))
}

pub(super) fn get_process_end(payload: &[u8]) -> Option<ProcessEnd> {
    let mut f = Fields::new(payload);
    let mut end = ProcessEnd {
        ended_mono_ns: f.number()?,
        how: how_from_number(f.number()?),
        threads: f.small()?,
        own_bytes: f.number()?,
        spilled_bytes: f.number()?,
        lost_note: f.string()?,
        ..ProcessEnd::default()
    };
    // A later version may count more reasons than this one knows.
    for reason in 0..f.number()? {
        let n = f.number()?;
        if let Some(counter) = end.drops.get_mut(reason as usize) {
            *counter = n;
        }
    }
    if !f.is_empty() {
        (end.stacks_verified, end.stacks_different) = (f.number()?, f.number()?);
    }
    if !f.is_empty() {
        end.broke = get_broke(&mut f)?;
    }
    if !f.is_empty() {
        end.peak = Some(OwnPeak { bytes: f.number()?, ticks: f.number()? });
    }
    if !f.is_empty() {
        for _ in 0..f.number()? {
            let (mono_ns, word) = (f.number()?, f.number()?);
            end.modes.push(ModeChange { mono_ns, mode: Mode::from_word(word) });
        }
        end.peak = end.peak.filter(|peak| [peak.bytes, peak.ticks] != NO_PEAK && end.modes.is_empty());
    }
    if !f.is_empty() {
        end.exact_from_ticks = f.number()?;
    }
    Some(end)
}

pub(super) fn put_memory(out: &mut Vec<u8>, samples: &[MemorySample]) {
    let mut last = MemorySample::default();
    for s in samples {
        put_from(out, s.mono_ns, last.mono_ns);
        put_from(out, s.rss_bytes, last.rss_bytes);
        put_from(out, s.shared_bytes, last.shared_bytes);
        put_from(out, s.virtual_bytes, last.virtual_bytes);
        last = *s;
    }
}

/// Hands the samples to `visit`; whether all of the bytes were some.
pub(super) fn get_memory(payload: &[u8], mut visit: impl FnMut(&MemorySample)) -> bool {
    let mut f = Fields::new(payload);
    let mut last = MemorySample::default();
    while !f.is_empty() {
        let Some(sample) = get_sample(&mut f, &last) else { return false };
        visit(&sample);
        last = sample;
    }
    true
}

fn get_sample(f: &mut Fields<'_>, last: &MemorySample) -> Option<MemorySample> {
    Some(MemorySample {
        mono_ns: f.number_from(last.mono_ns)?,
        rss_bytes: f.number_from(last.rss_bytes)?,
        shared_bytes: f.number_from(last.shared_bytes)?,
        virtual_bytes: f.number_from(last.virtual_bytes)?,
    })
}
