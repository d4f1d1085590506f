//! Where an interpreter has its small objects: in memory of its own, of which a heap's functions know nothing, or each in
//! a block of the heap.

use core::ffi::CStr;

use crate::language::Language;

/// Variables by which interpreters choose.
pub const VARIABLES: [(Language, &CStr); 2] =
    [(Language::PYTHON, c"PYTHONMALLOC"), (Language::PHP, c"USE_ZEND_ALLOC")];

/// By its number in definitions. A reader shows those that it does not know as not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectAllocator(pub u8);

impl ObjectAllocator {
    /// Nobody has looked.
    pub const UNKNOWN: ObjectAllocator = ObjectAllocator(0);
    /// The interpreter's own, which takes large pieces from the system.
    pub const OWN: ObjectAllocator = ObjectAllocator(1);
    /// The heap's functions: the environment asked for that.
    pub const MALLOC: ObjectAllocator = ObjectAllocator(2);

    /// What the interpreter of a language does by the value of its variable; none is not set.
    pub fn of(language: Language, value: Option<&[u8]>) -> ObjectAllocator {
        match language {
            Language::PYTHON => ObjectAllocator::of_python(value),
            Language::PHP => ObjectAllocator::of_php(value),
            _ => ObjectAllocator::UNKNOWN,
        }
    }

    /// By PYTHONMALLOC. CPython ignores the variable when it is started with `-E` or `-I`, which is not looked at.
    fn of_python(variable: Option<&[u8]>) -> ObjectAllocator {
        match variable {
            Some(b"malloc" | b"malloc_debug") => ObjectAllocator::MALLOC,
            _ => ObjectAllocator::OWN,
        }
    }

    /// By USE_ZEND_ALLOC. PHP takes its `atol`, so that a word is 0, too.
    fn of_php(variable: Option<&[u8]>) -> ObjectAllocator {
        let is_zero = |value: &[u8]| {
            let digits = value.trim_ascii_start();
            let digits = digits.strip_prefix(b"-").or(digits.strip_prefix(b"+")).unwrap_or(digits);
            let other = digits.iter().find(|digit| **digit != b'0');
            !other.is_some_and(u8::is_ascii_digit)
        };
        match variable {
            Some(value) if is_zero(value) => ObjectAllocator::MALLOC,
            _ => ObjectAllocator::OWN,
        }
    }

    /// Its name in JSON; `None` when it is not known.
    pub fn name(self) -> Option<&'static str> {
        match self {
            ObjectAllocator::OWN => Some("own"),
            ObjectAllocator::MALLOC => Some("malloc"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: Language, variable: Option<&str>, expected: &str) {
        let name = ObjectAllocator::of(language, variable.map(str::as_bytes)).name();
        assert_eq!(name, Some(expected), "{language:?} {variable:?}");
    }

    #[test]
    fn what_pythons_variable_chooses() {
        let check = |variable, expected| check(Language::PYTHON, variable, expected);
        check(None, "own");
        check(Some("pymalloc"), "own");
        check(Some("mimalloc_debug"), "own");
        check(Some("malloc"), "malloc");
        check(Some("malloc_debug"), "malloc");
        assert_eq!([ObjectAllocator::UNKNOWN, ObjectAllocator(7)].map(ObjectAllocator::name), [None; 2]);
    }

    #[test]
    fn what_phps_variable_chooses() {
        let check = |variable, expected| check(Language::PHP, variable, expected);
        check(None, "own");
        for value in ["1", " 1", "+1", "-1", "010", "1x"] {
            check(Some(value), "own");
        }
        for value in ["0", "", "no", "00", "-0", "0x1", " 0 1"] {
            check(Some(value), "malloc");
        }
    }
}
