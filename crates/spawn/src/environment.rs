//! The environment for a program: this process's, entry by entry as it lies in memory - unsorted, with duplicates
//! and with entries that are no assignments - and the variables that are set for it.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::OsStrExt;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The entries of this process.
fn own() -> Vec<CString> {
    let mut entries = Vec::new();
    // SAFETY: the list ends with null, and each entry is a C string. Nobody changes the environment of heapscribe.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            entries.push(CStr::from_ptr(*at).to_owned());
            at = at.add(1);
        }
    }
    entries
}

/// This process's environment with these variables set.
pub(crate) fn with(variables: &[(&str, OsString)]) -> Vec<CString> {
    set(own(), variables)
}

/// A variable that is there keeps its place, a new one comes last.
fn set(mut entries: Vec<CString>, variables: &[(&str, OsString)]) -> Vec<CString> {
    for (name, value) in variables {
        let prefix = [name.as_bytes(), b"="].concat();
        // A value that came from the environment or a path has no NUL.
        let Ok(entry) = CString::new([&prefix, value.as_bytes()].concat()) else { continue };
        // All of them: `getenv` takes the first of duplicates, the loader the last.
        let mut places = entries.iter_mut().filter(|entry| entry.as_bytes().starts_with(&prefix)).peekable();
        if places.peek().is_some() {
            places.for_each(|place| place.clone_from(&entry));
        } else {
            entries.push(entry);
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entries: &[&str], variables: &[(&str, &str)], expected: &[&str]) {
        let entries = entries.iter().map(|entry| CString::new(*entry).unwrap()).collect();
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (*name, OsString::from(value))).collect();
        let set = set(entries, &variables);
        let set: Vec<&str> = set.iter().map(|entry| entry.to_str().unwrap()).collect();
        assert_eq!(set, expected);
    }

    #[test]
    fn entries_keep_their_places() {
        check(&[], &[("A", "1")], &["A=1"]);
        check(&["Z=1", "no assignment", "A=2"], &[], &["Z=1", "no assignment", "A=2"]);
        check(&["Z=1", "A=2"], &[("B", "3"), ("Z", "4")], &["Z=4", "A=2", "B=3"]);
        check(&["A=1", "AB=1", "A=2"], &[("A", "")], &["A=", "AB=1", "A="]);
    }
}
