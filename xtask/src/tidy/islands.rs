//! Unsafe code lives on named islands. A new one is a decision, so it is a change of this list too.

use super::tree::Tree;

/// Files that may hold unsafe code, below `crates/`.
const ISLANDS: &[&str] = &[
    "heapscribe-alloc/src/arena.rs",
    "heapscribe-alloc/src/front.rs",
    "heapscribe-alloc/src/heap.rs",
    "heapscribe-alloc/src/locked/area.rs",
    "heapscribe-alloc/src/locked/cache.rs",
    "heapscribe-alloc/src/locked/cached.rs",
    "heapscribe-alloc/src/locked/caches.rs",
    "heapscribe-alloc/src/locked/heap.rs",
    "heapscribe-alloc/src/locked/left.rs",
    "heapscribe-alloc/src/locked/mark.rs",
    "heapscribe-alloc/src/locked/mutex.rs",
    "heapscribe-alloc/src/locked/sys.rs",
    "heapscribe-alloc/src/locked/thread.rs",
    "heapscribe-alloc/src/system.rs",
    "heapscribe-messages/src/c_api/mod.rs",
    "heapscribe-messages/src/c_api/types.rs",
    "heapscribe-messages/src/encode/lzma.rs",
    "heapscribe-alloc/src/tlsf/block.rs",
    "heapscribe-alloc/src/tlsf/heap.rs",
    "heapscribe-alloc/src/tlsf/index.rs",
    "heapscribe-alloc/src/tlsf/outside.rs",
    "heapscribe-alloc/src/tlsf/poison.rs",
    "heapscribe-alloc/src/tlsf/pool.rs",
    "heapscribe-alloc/src/tlsf/tests.rs",
    "heapscribe-alloc/src/tlsf/walk.rs",
    "heapscribe-alloc/src/vtable.rs",
    "heapscribe-conformance/src/fork.rs",
    "heapscribe-conformance/src/shadow.rs",
    "heapscribe-conformance/src/soak.rs",
    "heapscribe-conformance/src/suite.rs",
    "heapscribe-api/src/find.rs",
    "heapscribe-heaps/src/heaplog/calls.rs",
    "heapscribe-heaps/src/heaplog/file.rs",
    "heapscribe-heaps/src/heaplog/leaving.rs",
    "heapscribe-heaps/src/heaplog/log.rs",
    "heapscribe-heaps/src/heaplog/mod.rs",
    "heapscribe-heaps/src/heaplog/nested.rs",
    "heapscribe-heaps/src/nothing.rs",
    "heapscribe-heaps/src/original.rs",
    "heapscribe-heaps/src/table.rs",
    "heapscribe-heaps/src/tlsf.rs",
    "heapscribe-shell/src/calls.rs",
    "heapscribe-shell/src/shell.rs",
    "heapscribe-shell/src/thread.rs",
    "heapscribe-shell/src/told.rs",
    "heapscribe-preload/src/api.rs",
    "heapscribe-process/src/at_fork.rs",
    "heapscribe-process/src/clock.rs",
    "heapscribe-process/src/environment.rs",
    "heapscribe-process/src/once.rs",
    "heapscribe-process/src/panic.rs",
    "heapscribe-preload/src/hooks.rs",
    "heapscribe-preload/src/leaving.rs",
    "heapscribe-preload/src/registered.rs",
    "heapscribe-preload/src/watched.rs",
    "heapscribe-record/src/capture/again.rs",
    "heapscribe-record/src/capture/bounds.rs",
    "heapscribe-record/src/capture/full/mod.rs",
    "heapscribe-record/src/capture/full/registers.rs",
    "heapscribe-record/src/capture/full/row.rs",
    "heapscribe-record/src/capture/kept.rs",
    "heapscribe-record/src/capture/memo.rs",
    "heapscribe-record/src/capture/registered.rs",
    "heapscribe-record/src/capture/walk.rs",
    "heapscribe-record/src/clock.rs",
    "heapscribe-record/src/counts.rs",
    "heapscribe-record/src/define.rs",
    "heapscribe-record/src/emit.rs",
    "heapscribe-record/src/enter.rs",
    "heapscribe-record/src/enter/blocks.rs",
    "heapscribe-record/src/enter/held.rs",
    "heapscribe-record/src/enter/pools.rs",
    "heapscribe-record/src/enter/snapshot.rs",
    "heapscribe-record/src/enter/watched.rs",
    "heapscribe-record/src/fork.rs",
    "heapscribe-record/src/gate.rs",
    "heapscribe-record/src/global.rs",
    "heapscribe-record/src/intern.rs",
    "heapscribe-record/src/live.rs",
    "heapscribe-process/src/loader/alone.rs",
    "heapscribe-process/src/loader/auxv.rs",
    "heapscribe-process/src/loader/elf.rs",
    "heapscribe-process/src/loader/list.rs",
    "heapscribe-process/src/loader/mod.rs",
    "heapscribe-process/src/loader/module.rs",
    "heapscribe-process/src/loader/symbol.rs",
    "heapscribe-process/src/loader/text.rs",
    "heapscribe-record/src/log.rs",
    "heapscribe-record/src/make.rs",
    "heapscribe-record/src/memory.rs",
    "heapscribe-record/src/modules.rs",
    "heapscribe-record/src/named.rs",
    "heapscribe-record/src/names.rs",
    "heapscribe-record/src/program.rs",
    "heapscribe-record/src/rules.rs",
    "heapscribe-record/src/session.rs",
    "heapscribe-record/src/session_path.rs",
    "heapscribe-record/src/shared.rs",
    "heapscribe-record/src/stack.rs",
    "heapscribe-record/src/stack_bounds.rs",
    "heapscribe-record/src/stack_check.rs",
    "heapscribe-process/src/sys/file.rs",
    "heapscribe-process/src/sys/memory.rs",
    "heapscribe-process/src/sys/mod.rs",
    "heapscribe-process/src/sys/process.rs",
    "heapscribe-record/src/thread.rs",
    "heapscribe-record/src/tls.rs",
    "heapscribe-record/src/walks.rs",
    "heapscribe-replay/src/clock.rs",
    "heapscribe-replay/src/heaps.rs",
    "heapscribe-replay/src/pool.rs",
    "heapscribe-replay/src/run.rs",
];

/// Crates that refuse it altogether, by the file that says so.
const FORBIDDING: &[&str] = &[
    "crates/heapscribe-wire/src/lib.rs",
    "crates/heapscribe-trace/src/lib.rs",
    "crates/heapscribe-analyze/src/lib.rs",
    "crates/heapscribe/src/main.rs",
];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    judge(tree, ISLANDS, FORBIDDING)
}

fn judge(tree: &Tree, islands: &[&str], forbidding: &[&str]) -> Vec<String> {
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
    for path in forbidding {
        let there = tree.files.iter().find(|f| f.path == *path);
        if !there.is_some_and(|f| f.text().contains("#![forbid(unsafe_code)]")) {
            found.push(format!("{path}: does not forbid unsafe code"));
        }
    }
    found
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
            ("crates/b/src/lib.rs", "#![deny(unsafe_code)]"),
        ]);
        let found = judge(&tree, &["a/src/old.rs", "a/src/plain.rs"], &["crates/b/src/lib.rs"]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/new.rs: allows"));
        assert!(found[1].starts_with("crates/a/src/plain.rs: is in the list"));
        assert!(found[2].starts_with("crates/b/src/lib.rs: does not forbid"));
    }

    #[test]
    fn the_repository_keeps_it() {
        crate::tidy::assert_clean(check);
    }
}
