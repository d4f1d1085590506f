//! Where an interpreter has its small objects: in memory of its own, of which a heap's functions know nothing, or each in
//! a block of the heap.

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

    /// What CPython does by this value of PYTHONMALLOC; none is not set. It ignores the variable when it is started with
    /// `-E` or `-I`, which is not looked at.
    pub fn of_python(variable: Option<&[u8]>) -> ObjectAllocator {
        match variable {
            Some(b"malloc" | b"malloc_debug") => ObjectAllocator::MALLOC,
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

    #[test]
    fn what_pythons_variable_says() {
        let check = |variable: Option<&str>, expected| {
            let name = ObjectAllocator::of_python(variable.map(str::as_bytes)).name();
            assert_eq!(name, Some(expected), "{variable:?}");
        };
        check(None, "own");
        check(Some("pymalloc"), "own");
        check(Some("mimalloc_debug"), "own");
        check(Some("malloc"), "malloc");
        check(Some("malloc_debug"), "malloc");
        assert_eq!([ObjectAllocator::UNKNOWN, ObjectAllocator(7)].map(ObjectAllocator::name), [None; 2]);
    }
}
