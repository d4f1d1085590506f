//! Names for people: without what compilers and libraries add and a reader skips. Template arguments, parameters,
//! inline namespaces of C++ libraries, Rust's hashes and `<impl ..>`. Two functions may have the same short name, so
//! it is for showing only.

use std::borrow::Cow;

use crate::stable_names::stable;

/// A template argument list of the program's own types is kept up to this length.
const ARGUMENTS_KEPT: usize = 16;

/// Names inside names that are shortened, too.
const DEPTH_MAX: usize = 16;

/// Namespaces that only their library's authors care for.
const NOISE: [(&str, &str); 7] = [
    ("::__cxx11::", "::"),
    ("std::__1::", "std::"),
    ("std::__ndk1::", "std::"),
    ("std::chrono::_V2::", "std::chrono::"),
    ("std::basic_", "std::"),
    ("__gnu_cxx::__normal_iterator", "iterator"),
    ("{{closure}}", "{closure}"),
];

/// Operators that begin with or contain what else would be a bracket, the longest first.
const OPERATORS: [&str; 14] =
    ["<<=", ">>=", "<=>", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "<", ">", ","];

/// What Python calls code that has no name of its own, behind the bracket.
const PYTHON: [&str; 7] = ["module>", "locals>", "lambda>", "listcomp>", "dictcomp>", "setcomp>", "genexpr>"];

/// The short form of a function's name.
pub fn short(name: &str) -> String {
    match name {
        _ if is_pythons(name) => name.replace(".<locals>", ""),
        _ if has_operator_of_a_module(name) => name.to_owned(),
        _ => short_within(name, 0),
    }
}

/// Whether it is OCaml's or Go's, with an operator or a type in brackets behind a module: `Stdlib.(@)`, of which `Stdlib.(`
/// was left as of a symbol with a version, and `net.(*conn).Read`.
fn has_operator_of_a_module(name: &str) -> bool {
    // `sizeof...(T)` is C++.
    name.match_indices(".(").any(|(at, _)| !name[..at].ends_with('.'))
}

/// Whether a name has brackets of Python's, which are no template's, and no others.
fn is_pythons(name: &str) -> bool {
    let is_known = |part: &str| PYTHON.iter().any(|known| part.starts_with(known));
    name.contains('<') && name.split('<').skip(1).all(is_known)
}

/// The same of a name inside so many others.
fn short_within(name: &str, depth: usize) -> String {
    if depth > DEPTH_MAX {
        return name.to_owned();
    }
    if let Some(path) = mangled_path(name) {
        return path;
    }
    let name = without_tags(stable(name));
    let name = without_parameters(&name);
    let mut out = String::with_capacity(name.len());
    let mut rest = &name[..];
    while let Some(next) = rest.chars().next() {
        if let Some(operator) = operator(rest, &out) {
            out.push_str(operator);
            rest = &rest[operator.len()..];
        } else if let Some(end) = (next == '<').then(|| end_of_angle(rest)).flatten() {
            let inside = &rest[1..end];
            rest = &rest[end + 1..];
            if out.is_empty() || inside.starts_with("impl ") {
                qualified(inside, &mut out, &mut rest, depth);
            } else {
                arguments(inside, &mut out);
            }
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    let out = NOISE.iter().fold(out, |out, (noise, plain)| out.replace(noise, plain));
    let out = without_call(out.trim_end_matches("::").trim_end());
    if out.is_empty() { name.into_owned() } else { out.to_owned() }
}

/// `main::{lambda#1}` of `main::{lambda#1}::operator()`: nothing else of a lambda is called.
fn without_call(name: &str) -> &str {
    name.strip_suffix("::operator()").filter(|of| is_lambda(of)).unwrap_or(name)
}

pub(super) fn is_lambda(name: &str) -> bool {
    let last = last_segment(name);
    last.starts_with("{lambda") || last.starts_with("'lambda") || last.starts_with("$_")
}

/// Without the tags of ABIs: `[abi:cxx11]`, `[abi:v15007]`.
fn without_tags(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    while let Some(at) = name.find("[abi:") {
        let Some(length) = name[at..].find(']') else { break };
        name = Cow::Owned(format!("{}{}", &name[..at], &name[at + length + 1..]));
    }
    name
}

/// The path in a mangled C++ name that could not be read as a whole: `_ZSt11make_sharedI..` is `std::make_shared`.
fn mangled_path(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("_Z")?.trim_start_matches(['N', 'K', 'L']);
    let mut path = Vec::new();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Some(after) = rest.strip_prefix("St") {
            (path, rest) = (vec!["std"], after);
        } else if let Ok(length) = rest[..digits].parse::<usize>() {
            path.push(rest.get(digits..digits + length)?);
            rest = &rest[digits + length..];
        } else {
            return (!path.is_empty()).then(|| path.join("::"));
        }
    }
}

/// `operator` and its sign, where `rest` begins with them.
fn operator<'a>(rest: &'a str, before: &str) -> Option<&'a str> {
    let sign = rest.strip_prefix("operator")?;
    let begins_a_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let found = OPERATORS.iter().find(|operator| sign.starts_with(**operator))?;
    begins_a_word.then(|| &rest[.."operator".len() + found.len()])
}

/// Where the `<` at the start of a text is closed.
fn end_of_angle(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if at > 0 && matches!(bytes[at - 1], b'-' | b'=') => {} // `->` and `=>` of Rust
            b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// A path that begins in angle brackets, as Rust has them: `<T as Trait>`, `<impl Trait for T>`, `<impl T>`.
fn qualified(inside: &str, out: &mut String, rest: &mut &str, depth: usize) {
    let Some(implements) = inside.strip_prefix("impl ") else {
        let of = at_top(inside, " as ").map_or(inside, |at| &inside[..at]);
        return out.push_str(&short_within(of, depth + 1));
    };
    match at_top(implements, " for ").map(|at| &implements[at + " for ".len()..]) {
        Some(of) if out.is_empty() => out.push_str(&short_within(of, depth + 1)),
        Some(of) => out.push_str(last_segment(&short_within(of, depth + 1))),
        None if out.is_empty() => out.push_str(&short_within(implements, depth + 1)),
        // `core::str::<impl str>::trim` is `core::str::trim`.
        None => *rest = rest.strip_prefix("::").unwrap_or(rest),
    }
}

/// The arguments of a template: what they are is of interest only where they are few and the program's own.
fn arguments(inside: &str, out: &mut String) {
    while out.ends_with([' ', ':']) {
        out.pop(); // `Vec::<T>` of Rust, `operator<< <T>` of C++
    }
    let is_plain = inside.len() <= ARGUMENTS_KEPT && !inside.contains(['<', ':', '(']);
    let is_library = ["std::", "core::", "alloc::"].iter().any(|library| out.starts_with(library));
    if is_plain && !is_library && out.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        out.push('<');
        out.push_str(inside);
        out.push('>');
    }
}

fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Where a word stands outside of all brackets.
fn at_top(text: &str, word: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && text[at..].starts_with(word) {
            return Some(at);
        }
    }
    None
}

/// `f(int) const` is `f`, `f(int)::Local::g()` is `f::Local::g`, `{lambda(int)#1}` is `{lambda#1}`; but Go's `main.(*T).f`
/// stays.
fn without_parameters(name: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = name;
    while let Some(at) = parameters(rest) {
        out.push_str(&rest[..at]);
        let Some(after) = end_of_parameters(&rest[at..]).map(|end| &rest[at + end..]) else {
            return Cow::Owned(out);
        };
        let qualified = ["", " const", " volatile", " &", " &&", " const &", " const &&"];
        let inside = qualified.iter().find_map(|of| after.strip_prefix(of).filter(|of| of.starts_with("::")));
        let Some(inside) = inside.or_else(|| after.starts_with('#').then_some(after)) else {
            return Cow::Owned(out);
        };
        rest = inside;
    }
    if out.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(out + rest) }
}

/// Where the parameters of a function begin, or those of a lambda.
fn parameters(name: &str) -> Option<usize> {
    let mut angle = 0_i32;
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if name.is_char_boundary(at)
            && let Some(operator) = operator(&name[at..], &name[..at])
        {
            at += operator.len();
            continue;
        }
        match bytes[at] {
            b'<' => angle += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' => angle -= 1,
            b'(' if angle == 0 && begins_parameters(&name[..at]) => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the bracket at the start of a text is closed.
fn end_of_parameters(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Parameters follow a name or an operator; an unnamed namespace and Go's receivers do not.
fn begins_parameters(before: &str) -> bool {
    !before.is_empty() && !before.ends_with([':', '.', ' ', '('])
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_read_well() {
        for (name, expected) in [
            ("main", "main"),
            ("", ""),
            ("Stdlib.(@)", "Stdlib.(@)"),
            ("Stdlib.(<)", "Stdlib.(<)"),
            ("net.(*conn).Read", "net.(*conn).Read"),
            ("count<sizeof...(Args)>(int)", "count"),
            ("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"),
            (
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_append(char const*, unsigned long)",
                "std::string::_M_append",
            ),
            ("(anonymous namespace)::load(std::string const&)", "(anonymous namespace)::load"),
            ("Shop::Index<Order>::operator[](int) const", "Shop::Index<Order>::operator[]"),
            ("Cache<std::map<int, int> >::get()", "Cache::get"),
            ("operator<< <char>(std::ostream&)", "operator<<"),
            ("a::operator<(a const&, a const&)", "a::operator<"),
            ("std::function<void (int)>::operator()(int) const", "std::function::operator()"),
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}"),
            (
                "shop::load(int, std::string const&)::{lambda(int)#3}::operator()(int) const",
                "shop::load::{lambda#3}",
            ),
            ("shop::load(int) const &::Local::fill(int)", "shop::load::Local::fill"),
            ("load(int (*)(int))::{lambda(auto:1)#2}::operator()<int>(int) const", "load::{lambda#2}"),
            ("main::$_0::operator()(int) const", "main::$_0"),
            ("main::'lambda'(int)::operator()(int) const", "main::'lambda'"),
            ("shop::Tagged[abi:v2]::go[abi:fast](int)", "shop::Tagged::go"),
            ("std::__1::vector<int>::reserve[abi:ne180100](unsigned long)", "std::vector::reserve"),
            ("std::filesystem::__cxx11::path::operator/=(char const*)", "std::filesystem::path::operator/="),
            ("std::chrono::_V2::system_clock::now()", "std::chrono::system_clock::now"),
            ("std::basic_ostream<char, std::char_traits<char> >::flush()", "std::ostream::flush"),
            ("operator new(unsigned long)", "operator new"),
            ("A::operator bool() const", "A::operator bool"),
            ("f(int) [clone .part.0]", "f"),
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write"),
            (
                "<alloc::vec::Vec<T,A> as core::iter::traits::collect::Extend<&T>>::extend",
                "alloc::vec::Vec::extend",
            ),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
            ("alloc::vec::Vec::<u8>::with_capacity", "alloc::vec::Vec::with_capacity"),
            ("alloc::slice::<impl [T]>::to_vec", "alloc::slice::to_vec"),
            (
                "shop::_::<impl serde::Deserialize for shop::Order>::deserialize",
                "shop::_::Order::deserialize",
            ),
            ("<impl core::clone::Clone for shop::Order>::clone", "shop::Order::clone"),
            ("<shop::Shop as shop::Load>::load::{{closure}}", "shop::Shop::load::{closure}"),
            (
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            ),
            ("<module>", "<module>"),
            ("Shop.order.<locals>.<lambda>", "Shop.order.<lambda>"),
            ("<fn(i32) -> i32 as core::ops::function::FnOnce<(i32,)>>::call_once", "fn::call_once"),
            ("core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place"),
            ("main.(*T).load", "main.(*T).load"),
            ("_ZSt11make_sharedIN4shop5OrderEJEESt10shared_ptrI", "std::make_shared"),
            ("_ZN4shop5StoreE", "shop::Store"),
            ("_Zbroken", "_Zbroken"),
            ("_Z9short", "_Z9short"),
            ("shop::Parser::word[abi:cxx11]()", "shop::Parser::word"),
            ("a > b", "a > b"),
            ("camlStdlib__List__map_483", "camlStdlib__List__map"),
        ] {
            assert_eq!(short(name), expected, "{name}");
        }
    }

    #[test]
    fn nothing_makes_it_panic() {
        for name in [
            "<",
            "<>",
            "<>::",
            "operator",
            "operator<",
            ">",
            "a<b",
            "a>b<",
            "<impl >",
            "(",
            "a(",
            "ö<ö>::ö(ö)",
            "<é",
            "operator<é(é",
            "f(",
            "f(()::",
            "f()::é(",
            "f[abi:",
            "{lambda(",
            "{lambda()é",
        ] {
            short(name);
        }
    }
}
