//! Names that stay the same when a program is built again: without hashes, versions, and what a compiler
//! adds to the copies that it makes of a function.

/// What compilers put behind a function's name for a part or a copy of it, before a number or alone.
const COPIES: [&str; 8] = ["cold", "part", "isra", "constprop", "lto_priv", "llvm", "resolved", "localalias"];

/// The digits of a Rust symbol's hash.
const HASH_DIGITS: usize = 16;

/// The part of a function's name that the source has.
pub fn stable(name: &str) -> &str {
    let mut name = name.split_once('@').map_or(name, |(name, _version)| name);
    while let Some(shorter) = without_clone(name)
        .or_else(|| without_copy(name))
        .or_else(|| without_hash(name))
        .or_else(|| without_stamp(name))
        .filter(|shorter| !shorter.is_empty())
    {
        name = shorter;
    }
    name
}

/// `f() [clone .part.0]`: how C++ names come out of their mangling.
fn without_clone(name: &str) -> Option<&str> {
    name.strip_suffix(']').and_then(|name| name.rsplit_once(" [clone ")).map(|(name, _)| name)
}

/// `f.constprop.0`, `f.cold`; but not Go's `main.f.func1.2`, whose numbers are its own.
fn without_copy(name: &str) -> Option<&str> {
    let (head, tail) = name.rsplit_once('.')?;
    if COPIES.contains(&tail) {
        return Some(head);
    }
    let (head, word) = head.rsplit_once('.').filter(|_| is_number(tail))?;
    COPIES.contains(&word).then_some(head)
}

/// `core::fmt::write::h0123456789abcdef`.
fn without_hash(name: &str) -> Option<&str> {
    let (head, hash) = name.rsplit_once("::h")?;
    let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then_some(head)
}

/// OCaml numbers its functions: `camlStdlib__List__map_483`, since 5.1 with a point before the function.
fn without_stamp(name: &str) -> Option<&str> {
    let is_ocaml = name.strip_prefix("caml").is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()));
    let (head, stamp) = name.rsplit_once('_').filter(|_| is_ocaml)?;
    is_number(stamp).then_some(head)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::stable;

    #[test]
    fn names_keep_what_the_source_has() {
        for (name, expected) in [
            ("main", "main"),
            ("malloc@@GLIBC_2.2.5", "malloc"),
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write"),
            ("a::h0123", "a::h0123"),
            ("grow.constprop.0.isra.0", "grow"),
            ("grow.part.0.cold", "grow"),
            ("run.llvm.1234567890", "run"),
            ("main.main.func1.2", "main.main.func1.2"),
            ("f(int) [clone .part.0] [clone .cold]", "f(int)"),
            ("camlStdlib__List__init_aux_123", "camlStdlib__List__init_aux"),
            ("camlStdlib__List.map_483", "camlStdlib__List.map"),
            ("caml_alloc_2", "caml_alloc_2"),
            ("list_2", "list_2"),
            (".cold", ".cold"),
            ("std::operator[]", "std::operator[]"),
        ] {
            assert_eq!(stable(name), expected, "{name}");
        }
    }
}
