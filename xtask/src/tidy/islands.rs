//! Unsafe code lives on named islands. A new one is a decision, so it is a change of this list too.

use crate::sources::{File, Tree};

/// Files that may hold unsafe code, below `crates/`.
const ISLANDS: &[&str] = &[
    "alloc/src/arena.rs",
    "alloc/src/front.rs",
    "alloc/src/heap.rs",
    "alloc/src/locked/area.rs",
    "alloc/src/locked/cache_registry.rs",
    "alloc/src/locked/cached_calls.rs",
    "alloc/src/locked/calls.rs",
    "alloc/src/locked/deferred_free.rs",
    "alloc/src/locked/freed_mark.rs",
    "alloc/src/locked/growing.rs",
    "alloc/src/locked/mutex.rs",
    "alloc/src/locked/sys.rs",
    "alloc/src/locked/thread_cache.rs",
    "alloc/src/locked/thread_words.rs",
    "alloc/src/locked/tlsf_heap.rs",
    "alloc/src/system.rs",
    "alloc/src/tlsf/allocator.rs",
    "alloc/src/tlsf/block.rs",
    "alloc/src/tlsf/concurrent_read.rs",
    "alloc/src/tlsf/free_lists.rs",
    "alloc/src/tlsf/poison.rs",
    "alloc/src/tlsf/pool.rs",
    "alloc/src/tlsf/tests.rs",
    "alloc/src/tlsf/walk.rs",
    "alloc/src/vtable/table.rs",
    "alloc/src/vtable/table_heap.rs",
    "aos-log/src/c_api/mod.rs",
    "aos-log/src/c_api/types.rs",
    "aos-log/src/encode/lzma.rs",
    "api/src/find.rs",
    "conformance/src/fork.rs",
    "conformance/src/shadow.rs",
    "conformance/src/soak.rs",
    "conformance/src/suite.rs",
    "heap-libs/src/heaplog/calls.rs",
    "heap-libs/src/heaplog/file.rs",
    "heap-libs/src/heaplog/library.rs",
    "heap-libs/src/heaplog/log.rs",
    "heap-libs/src/heaplog/nested_calls.rs",
    "heap-libs/src/heaplog/process_exit.rs",
    "heap-libs/src/null_heap.rs",
    "heap-libs/src/original.rs",
    "heap-libs/src/table.rs",
    "heap-libs/src/tlsf.rs",
    "interpose/src/call_counter.rs",
    "interpose/src/interposer.rs",
    "interpose/src/libc.rs",
    "interpose/src/statistics_file.rs",
    "interpose/src/thread_exit.rs",
    "nolibc/src/at_fork.rs",
    "nolibc/src/clock.rs",
    "nolibc/src/deep_open.rs",
    "nolibc/src/environment.rs",
    "nolibc/src/imports.rs",
    "nolibc/src/loader/ahead.rs",
    "nolibc/src/loader/auxv.rs",
    "nolibc/src/loader/calls.rs",
    "nolibc/src/loader/details.rs",
    "nolibc/src/loader/elf.rs",
    "nolibc/src/loader/find_object.rs",
    "nolibc/src/loader/list.rs",
    "nolibc/src/loader/lookup.rs",
    "nolibc/src/loader/module_text.rs",
    "nolibc/src/loader/rebind.rs",
    "nolibc/src/loader/relocations.rs",
    "nolibc/src/loader/static_exe.rs",
    "nolibc/src/loader/symbol.rs",
    "nolibc/src/once.rs",
    "nolibc/src/own_stack.rs",
    "nolibc/src/panic.rs",
    "nolibc/src/sys/file.rs",
    "nolibc/src/sys/futex.rs",
    "nolibc/src/sys/memory.rs",
    "nolibc/src/sys/own_memory.rs",
    "nolibc/src/sys/path.rs",
    "nolibc/src/sys/process.rs",
    "nolibc/src/sys/readable.rs",
    "nolibc/src/sys/rights.rs",
    "nolibc/src/sys/syscall.rs",
    "preload/src/api.rs",
    "preload/src/call.rs",
    "preload/src/dlopen.rs",
    "preload/src/exec.rs",
    "preload/src/exit.rs",
    "preload/src/forward.rs",
    "preload/src/hooks.rs",
    "preload/src/libc_hooks.rs",
    "preload/src/mappings.rs",
    "preload/src/operators.rs",
    "preload/src/register_frame.rs",
    "preload/src/resized.rs",
    "preload/src/sandbox.rs",
    "preload/src/slow_hooks.rs",
    "preload/src/start.rs",
    "recorder/src/definitions/interner/tests.rs",
    "recorder/src/definitions/names.rs",
    "recorder/src/definitions/writer.rs",
    "recorder/src/enter/blocks.rs",
    "recorder/src/enter/mappings.rs",
    "recorder/src/enter/pools.rs",
    "recorder/src/enter/process.rs",
    "recorder/src/enter/reentry_guard.rs",
    "recorder/src/enter/timed.rs",
    "recorder/src/events.rs",
    "recorder/src/global.rs",
    "recorder/src/interpreter/chain.rs",
    "recorder/src/interpreter/check.rs",
    "recorder/src/interpreter/code.rs",
    "recorder/src/interpreter/lock.rs",
    "recorder/src/interpreter/lock_release.rs",
    "recorder/src/interpreter/pages.rs",
    "recorder/src/interpreter/php/calls.rs",
    "recorder/src/interpreter/php/chain.rs",
    "recorder/src/interpreter/php/check.rs",
    "recorder/src/interpreter/php/instruction.rs",
    "recorder/src/interpreter/php/loops.rs",
    "recorder/src/interpreter/read.rs",
    "recorder/src/interpreter/v8/check.rs",
    "recorder/src/interpreter/v8/frames.rs",
    "recorder/src/interpreter/v8/native_stack.rs",
    "recorder/src/lifecycle/base.rs",
    "recorder/src/lifecycle/begin.rs",
    "recorder/src/lifecycle/describe.rs",
    "recorder/src/lifecycle/files.rs",
    "recorder/src/lifecycle/fork.rs",
    "recorder/src/lifecycle/modules_change.rs",
    "recorder/src/lifecycle/new_program.rs",
    "recorder/src/lifecycle/sandbox.rs",
    "recorder/src/lifecycle/scratch.rs",
    "recorder/src/lifecycle/threads.rs",
    "recorder/src/lifecycle/unrecorded.rs",
    "recorder/src/live/marks.rs",
    "recorder/src/live/table.rs",
    "recorder/src/live/table/slots.rs",
    "recorder/src/live/table/space.rs",
    "recorder/src/log/chunk_file.rs",
    "recorder/src/log/spill.rs",
    "recorder/src/modules.rs",
    "recorder/src/platform/clock.rs",
    "recorder/src/platform/entry_table.rs",
    "recorder/src/platform/inherited_head.rs",
    "recorder/src/platform/map_count.rs",
    "recorder/src/platform/mapped_file.rs",
    "recorder/src/platform/memory.rs",
    "recorder/src/platform/session_path.rs",
    "recorder/src/platform/sole_process.rs",
    "recorder/src/platform/thread_pointer.rs",
    "recorder/src/program/heap.rs",
    "recorder/src/program/plain.rs",
    "recorder/src/real_time_rules.rs",
    "recorder/src/sampling/gate.rs",
    "recorder/src/snapshot/file.rs",
    "recorder/src/stack_ids/bounds.rs",
    "recorder/src/stack_ids/chain.rs",
    "recorder/src/stack_ids/composed.rs",
    "recorder/src/stack_ids/fast.rs",
    "recorder/src/stack_ids/interpreted.rs",
    "recorder/src/stack_ids/php.rs",
    "recorder/src/stack_ids/python.rs",
    "recorder/src/stack_ids/slow.rs",
    "recorder/src/stack_ids/stack_id.rs",
    "recorder/src/stack_ids/v8.rs",
    "recorder/src/stack_ids/verify.rs",
    "recorder/src/stack_ids/without_lock.rs",
    "recorder/src/state/cached_stacks.rs",
    "recorder/src/state/current.rs",
    "recorder/src/state/other_stacks.rs",
    "recorder/src/state/thread.rs",
    "recorder/src/state/threads.rs",
    "recorder/src/state/words.rs",
    "recorder/src/tests.rs",
    "recorder/src/unwind/all_registers/full_frame.rs",
    "recorder/src/unwind/all_registers/registers.rs",
    "recorder/src/unwind/all_registers/row.rs",
    "recorder/src/unwind/all_registers/walk.rs",
    "recorder/src/unwind/beyond.rs",
    "recorder/src/unwind/bounds.rs",
    "recorder/src/unwind/cached.rs",
    "recorder/src/unwind/cached/deep.rs",
    "recorder/src/unwind/cached_path.rs",
    "recorder/src/unwind/incremental.rs",
    "recorder/src/unwind/process_rules.rs",
    "recorder/src/unwind/registered.rs",
    "recorder/src/unwind/step.rs",
    "recorder/src/unwind/usual_step.rs",
    "recorder/src/unwind/walk.rs",
    "replay/src/clock.rs",
    "replay/src/heaps.rs",
    "replay/src/pool_run.rs",
    "replay/src/run.rs",
    "session/src/clock.rs",
    "spawn/src/child.rs",
    "spawn/src/environment.rs",
    "spawn/src/inherited.rs",
];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, ISLANDS)
}

fn judge(tree: &Tree, islands: &[&str]) -> Vec<String> {
    let is_island = |path: &str| path.strip_prefix("crates/").is_some_and(|rest| islands.contains(&rest));
    // Tests may do what they need to; they run in no program but themselves.
    let sources: Vec<_> =
        tree.ending(".rs").filter(|f| f.path.starts_with("crates/") && !f.is_below("tests")).collect();
    let mut found = Vec::new();
    for file in sources.iter().filter(|f| !is_island(&f.path) && allows_unsafe(f.text())) {
        found.push(format!("{}: allows unsafe code and is not in the list of islands", file.path));
    }
    for island in islands {
        let there = sources.iter().find(|f| f.path.strip_prefix("crates/") == Some(island));
        if !there.is_some_and(|f| allows_unsafe(f.text())) {
            found.push(format!("crates/{island}: is in the list of islands and has no unsafe code"));
        }
    }
    let roots = sources.iter().filter(|file| is_root_without_islands(file, islands));
    let forbids = |file: &File| file.text().contains("#![forbid(unsafe_code)]");
    found.extend(
        roots
            .filter(|file| !forbids(file))
            .map(|file| format!("{}: has no island and does not forbid unsafe code", file.path)),
    );
    found
}

/// Whether this is the first file of a crate that needs no unsafe code: it refuses it altogether.
fn is_root_without_islands(file: &File, islands: &[&str]) -> bool {
    let Some(folder) = file.crate_folder() else { return false };
    let is_root = ["lib", "main"].iter().any(|root| file.path == format!("crates/{folder}/src/{root}.rs"));
    is_root && !islands.iter().any(|island| island.split('/').next() == Some(folder))
}

fn allows_unsafe(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim).filter(|line| line.starts_with("#[") || line.starts_with("#!["));
    lines.any(|line| (line.contains("allow(") || line.contains("expect(")) && line.contains("unsafe_code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/new.rs", "#![allow(unsafe_code)]"),
            ("crates/a/src/old.rs", "#![allow(unsafe_code)]"),
            ("crates/a/src/plain.rs", "// #![allow(unsafe_code)]"),
            ("crates/a/tests/t.rs", "#![allow(unsafe_code)]"),
            ("crates/a/src/lib.rs", ""),
            ("crates/b/src/lib.rs", "#![deny(unsafe_code)]"),
            ("crates/c/src/main.rs", "#![forbid(unsafe_code)]"),
        ]);
        let found = judge(&tree, &["a/src/old.rs", "a/src/plain.rs"]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/new.rs: allows"));
        assert!(found[1].starts_with("crates/a/src/plain.rs: is in the list"));
        assert!(found[2].starts_with("crates/b/src/lib.rs: has no island and does not forbid"));
    }
}
