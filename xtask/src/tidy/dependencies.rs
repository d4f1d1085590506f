//! Which crate may use which, and that nothing foreign runs in the target.

use crate::imports::{Member, members};
use crate::sources::{Tree, root};

/// A crate of ours and the crates of ours that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("heapscribe-wire", &[]),
    ("heapscribe-api", &[]),
    ("heapscribe-alloc", &[]),
    ("heapscribe-conformance", &["heapscribe-alloc"]),
    ("heapscribe-nolibc", &[]),
    ("heapscribe-recorder", &["heapscribe-wire", "heapscribe-alloc", "heapscribe-nolibc"]),
    ("heapscribe-preload", &["heapscribe-recorder", "heapscribe-nolibc", "heapscribe-alloc"]),
    ("heapscribe-interpose", &["heapscribe-nolibc", "heapscribe-alloc", "heapscribe-wire"]),
    ("heapscribe-heap-libs", &["heapscribe-interpose", "heapscribe-nolibc", "heapscribe-alloc"]),
    ("heapscribe-formats", &["heapscribe-wire"]),
    ("heapscribe-analyze", &["heapscribe-formats", "heapscribe-units", "heapscribe-wire"]),
    (
        "heapscribe-analyze-tests",
        &["heapscribe-analyze", "heapscribe-formats", "heapscribe-units", "heapscribe-wire"],
    ),
    ("heapscribe-formats-tests", &["heapscribe-wire"]),
    ("heapscribe-index", &["heapscribe-analyze", "heapscribe-formats", "heapscribe-wire"]),
    ("heapscribe-aos-log", &["heapscribe-wire"]),
    ("heapscribe-replay", &["heapscribe-alloc"]),
    ("heapscribe-diagnostics", &[]),
    ("heapscribe-spawn", &[]),
    ("heapscribe-units", &["heapscribe-wire"]),
    (
        "heapscribe-symbols",
        &["heapscribe-wire", "heapscribe-formats", "heapscribe-analyze", "heapscribe-diagnostics"],
    ),
    (
        "heapscribe-session",
        &["heapscribe-wire", "heapscribe-formats", "heapscribe-diagnostics", "heapscribe-units"],
    ),
    (
        "heapscribe-convert",
        &[
            "heapscribe-wire",
            "heapscribe-formats",
            "heapscribe-analyze",
            "heapscribe-index",
            "heapscribe-symbols",
            "heapscribe-session",
            "heapscribe-aos-log",
            "heapscribe-diagnostics",
            "heapscribe-units",
        ],
    ),
    (
        "heapscribe-collect",
        &[
            "heapscribe-analyze",
            "heapscribe-session",
            "heapscribe-convert",
            "heapscribe-symbols",
            "heapscribe-formats",
            "heapscribe-wire",
            "heapscribe-diagnostics",
            "heapscribe-units",
        ],
    ),
    (
        "heapscribe-views",
        &[
            "heapscribe-analyze",
            "heapscribe-convert",
            "heapscribe-symbols",
            "heapscribe-session",
            "heapscribe-formats",
            "heapscribe-aos-log",
            "heapscribe-wire",
            "heapscribe-diagnostics",
            "heapscribe-units",
        ],
    ),
    (
        "heapscribe-viewer",
        &[
            "heapscribe-analyze",
            "heapscribe-convert",
            "heapscribe-formats",
            "heapscribe-index",
            "heapscribe-symbols",
            "heapscribe-views",
            "heapscribe-wire",
        ],
    ),
    (
        "heapscribe",
        &[
            "heapscribe-analyze",
            "heapscribe-aos-log",
            "heapscribe-collect",
            "heapscribe-convert",
            "heapscribe-diagnostics",
            "heapscribe-formats",
            "heapscribe-index",
            "heapscribe-replay",
            "heapscribe-session",
            "heapscribe-spawn",
            "heapscribe-symbols",
            "heapscribe-units",
            "heapscribe-viewer",
            "heapscribe-views",
            "heapscribe-wire",
        ],
    ),
    ("xtask", &["heapscribe-formats", "heapscribe-wire"]),
    (
        "heapscribe-bench",
        &[
            "heapscribe-alloc",
            "heapscribe-analyze",
            "heapscribe-conformance",
            "heapscribe-formats",
            "heapscribe-index",
            "heapscribe-replay",
            "heapscribe-symbols",
            "heapscribe-wire",
        ],
    ),
    ("static-program", &["heapscribe-recorder"]),
    ("bump-heap", &["heapscribe-interpose"]),
];

/// Crates that run in the target: they use nothing that is not ours.
const IN_TARGET: &[&str] = &[
    "heapscribe-api",
    "heapscribe-wire",
    "heapscribe-alloc",
    "heapscribe-nolibc",
    "heapscribe-recorder",
    "heapscribe-preload",
    "heapscribe-interpose",
    "heapscribe-heap-libs",
];

pub(crate) fn check(_tree: &Tree) -> Vec<String> {
    match members(&root()) {
        Some(members) => judge(&members),
        None => vec!["`cargo metadata` gave no answer".to_owned()],
    }
}

fn judge(members: &[Member]) -> Vec<String> {
    let is_ours = |name: &str| MAY_USE.iter().any(|(ours, _)| *ours == name);
    let mut found = Vec::new();
    for Member { name, uses } in members {
        let Some((_, may_use)) = MAY_USE.iter().find(|(ours, _)| ours == name) else {
            found.push(format!("{name}: a new crate; say in MAY_USE which crates it may use"));
            continue;
        };
        for used in uses {
            if is_ours(used) && !may_use.contains(&used.as_str()) {
                found.push(format!("{name}: must not use {used}"));
            }
            if !is_ours(used) && IN_TARGET.contains(&name.as_str()) {
                found.push(format!("{name}: runs in the target and must not use {used}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> Member {
        Member { name: name.to_owned(), uses: uses.iter().map(|&u| u.to_owned()).collect() }
    }

    #[test]
    fn what_is_found() {
        let found = judge(&[
            package("heapscribe-recorder", &["heapscribe-wire", "libc", "heapscribe"]),
            package("heapscribe", &["heapscribe-formats", "clap", "heapscribe-recorder"]),
            package("heapscribe-new", &[]),
        ]);
        assert_eq!(
            found,
            [
                "heapscribe-recorder: runs in the target and must not use libc",
                "heapscribe-recorder: must not use heapscribe",
                "heapscribe: must not use heapscribe-recorder",
                "heapscribe-new: a new crate; say in MAY_USE which crates it may use",
            ]
        );
    }
}
