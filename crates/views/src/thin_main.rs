//! Programs that are a thin `main` over a library of their own: `gs` over libgs, `convert` over libMagickCore. By the
//! rule that libraries of the system are not the program's own code all of such a program is its `main`, which says
//! nothing. So a library counts as the program's own, if nearly all paths lead into it from one or two functions.
//!
//! That holds where `main` waits for the library, or ends by `pthread_exit` while the library's threads work: a thread in
//! which there is no code of the program is called from one place more.
//!
//! Counted are paths, not bytes: they are the same for all figures, so that all lists of a report name the same
//! functions.

use std::collections::{BTreeMap, BTreeSet};

/// Of fewer paths a `main` says enough.
const PATHS_MIN: usize = 20;
/// So many functions make nearly all calls of libraries; of a program without names it is the places of their calls.
const FUNCTIONS_MAX: usize = 2;
const PLACES_MAX: usize = 8;
/// The part of the paths that leads into the library, or into a few.
const PERCENT_MIN: usize = 90;
/// Libraries into which fewer paths lead are merely used.
const LIBRARY_PERCENT_MIN: usize = 10;

/// One path to an allocation, as far as it matters here; modules are numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The module of the innermost function that is the program's own; none of a thread that a library started.
    pub(crate) program: Option<u32>,
    /// Number of that function, and whether it has a name.
    pub(crate) function: u32,
    pub(crate) is_named: bool,
    /// The library that it calls, unless that is one that every program has.
    pub(crate) library: Option<u32>,
}

/// The libraries that count as own code.
pub(crate) fn libraries(paths: &[Path]) -> BTreeSet<u32> {
    let mut of_programs: BTreeMap<Option<u32>, Vec<&Path>> = BTreeMap::new();
    paths.iter().for_each(|path| of_programs.entry(path.program).or_default().push(path));
    // Threads are those of the program that does most besides.
    let of_threads = of_programs.remove(&None).unwrap_or_default();
    match of_programs.values_mut().max_by_key(|paths| paths.len()) {
        Some(most) => most.extend(of_threads),
        None => drop(of_programs.insert(None, of_threads)),
    }
    of_programs.values().flat_map(|paths| of_program(paths)).collect()
}

fn of_program(paths: &[&Path]) -> BTreeSet<u32> {
    let mut libraries: BTreeMap<u32, usize> = BTreeMap::new();
    let mut functions: BTreeMap<u32, usize> = BTreeMap::new();
    for path in paths {
        if let Some(library) = path.library {
            *libraries.entry(library).or_default() += 1;
            *functions.entry(path.function).or_default() += 1;
        }
    }
    let most = if paths.iter().any(|path| path.is_named) { FUNCTIONS_MAX } else { PLACES_MAX };
    libraries.retain(|_, count| *count * 100 >= paths.len() * LIBRARY_PERCENT_MIN);
    let inside: usize = libraries.values().sum();
    let mut counts: Vec<usize> = functions.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let by_few: usize = counts.iter().take(most).sum();
    let is_nearly_all = |count: usize| count * 100 >= paths.len() * PERCENT_MIN;
    let is_thin = paths.len() >= PATHS_MIN && is_nearly_all(inside) && is_nearly_all(by_few);
    if is_thin { libraries.into_keys().collect() } else { BTreeSet::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many paths of these functions, named or not, each into a library or none.
    fn check(paths: &[(usize, u32, Option<u32>)], is_named: bool, expected: &[u32]) {
        let all: Vec<Path> = paths
            .iter()
            .flat_map(|&(n, function, library)| {
                std::iter::repeat_n(
                    Path { program: (function != 0).then_some(0), function, is_named, library },
                    n,
                )
            })
            .collect();
        assert_eq!(libraries(&all), expected.iter().copied().collect(), "{paths:?}");
    }

    #[test]
    fn a_thin_main_has_a_library_of_its_own() {
        check(&[(100, 1, Some(7))], true, &[7]);
        check(&[(60, 1, Some(7)), (35, 2, Some(8)), (5, 1, None)], true, &[7, 8]);
        check(&[(20, 1, Some(7)), (20, 2, Some(7)), (20, 3, Some(7))], false, &[7]);
        // clang: cc1_main and main call libclang-cpp, and two others libLLVM, seldom.
        check(&[(767, 1, Some(7)), (54, 2, Some(8)), (33, 3, Some(7)), (2, 4, Some(8))], true, &[7]);
    }

    /// `main` sets the library up and ends by `pthread_exit`: of all paths these are a few.
    #[test]
    fn threads_of_the_library_are_called_by_the_program() {
        check(&[(4, 1, Some(7)), (1, 1, None), (60, 0, Some(7))], true, &[7]);
        check(&[(60, 0, Some(7))], true, &[7]);
        check(&[(4, 1, Some(7)), (60, 0, None)], true, &[]);
        // A program whose library has a few threads of its own: it works elsewhere.
        check(&[(60, 1, None), (25, 2, None), (60, 0, Some(7))], true, &[]);
    }

    #[test]
    fn a_program_that_uses_a_library_has_not() {
        check(&[(40, 1, Some(7)), (40, 2, Some(7)), (40, 3, Some(7))], true, &[]);
        check(&[(80, 1, Some(7)), (20, 1, None)], true, &[]);
        check(&[(19, 1, Some(7))], true, &[]);
        check(&[(92, 1, Some(7)), (8, 1, Some(8))], true, &[7]);
        check(&[], true, &[]);
    }
}
