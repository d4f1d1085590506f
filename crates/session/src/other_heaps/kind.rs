//! Which heap a program has instead of glibc's: our pool heap says so itself; others are known by the names of their
//! libraries, which the recorder calls and so must be loaded.

use heapscribe_formats::model::{HeapLayout, Mapping};

use crate::heap_statistics::HeapStatistics;

/// What the names of libraries begin with.
const LIBRARIES: [(&str, HeapLayout); 3] = [
    ("libjemalloc", HeapLayout::Jemalloc),
    ("libmimalloc", HeapLayout::Mimalloc),
    ("libtcmalloc", HeapLayout::Tcmalloc),
];

/// The heap of a program with these mappings, whose blocks are not glibc's.
pub(super) fn layout(mappings: &[Mapping], statistics: Option<&HeapStatistics>) -> HeapLayout {
    match statistics {
        Some(of) if of.is_passing => {}
        Some(of) if of.name == "tlsf" => return HeapLayout::Tlsf,
        Some(_) => return HeapLayout::Unknown,
        None => {}
    }
    let mut code = mappings.iter().filter(|of| of.access.execute);
    code.find_map(|of| of_library(&of.path)).unwrap_or_default()
}

/// The heap of a library.
pub(super) fn of_library(path: &[u8]) -> Option<HeapLayout> {
    let path = String::from_utf8_lossy(path);
    let name = path.rsplit('/').next()?;
    // `libtcmalloc_minimal.so.4` is one, `libjemallocator.so` is none.
    let is_named = |library: &str| {
        name.strip_prefix(library).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    LIBRARIES.iter().find(|(library, _)| is_named(library)).map(|(_, layout)| *layout)
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::model::Access;

    use super::*;

    fn check(path: &str, statistics: Option<(&str, bool)>, expected: HeapLayout) {
        let access = Access { read: true, execute: true, ..Access::default() };
        let mapping = Mapping { path: path.as_bytes().to_vec(), access, ..Mapping::default() };
        let statistics = statistics.map(|(name, is_passing)| HeapStatistics {
            name: name.to_owned(),
            is_passing,
            ..HeapStatistics::default()
        });
        assert_eq!(layout(&[mapping], statistics.as_ref()), expected, "{path}");
    }

    #[test]
    fn heaps_are_known_by_their_libraries() {
        check("/usr/lib/libjemalloc.so.2", None, HeapLayout::Jemalloc);
        check("/usr/lib/libmimalloc-secure.so.2.0", None, HeapLayout::Mimalloc);
        check("/usr/lib/libtcmalloc_minimal.so.4.5.10", None, HeapLayout::Tcmalloc);
        check("/usr/lib/libjemallocator.so", None, HeapLayout::Unknown);
        check("/usr/lib/libc.so.6", None, HeapLayout::Unknown);
        // Our heap lies above jemalloc's, or has left the program to it.
        check("/usr/lib/libjemalloc.so.2", Some(("tlsf", false)), HeapLayout::Tlsf);
        check("/usr/lib/libjemalloc.so.2", Some(("bump", false)), HeapLayout::Unknown);
        check("/usr/lib/libjemalloc.so.2", Some(("tlsf", true)), HeapLayout::Jemalloc);
    }
}
