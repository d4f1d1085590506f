//! Names as the source has them: Rust (both manglings), C++ and D; anything else stays as it is.

use cpp_demangle::DemangleOptions;

use crate::dlang;

/// The name that the programmer wrote.
pub(super) fn demangle(raw: &str) -> String {
    // `name@@VERSION` and the `.part.0`, `.cold`, `.llvm.123` of compilers are no part of the name.
    let name = raw.split("@").next().unwrap_or(raw);
    let maybe_rust = name.starts_with("_R") || name.starts_with("_ZN");
    if let Some(rust) = maybe_rust.then(|| rustc_demangle::try_demangle(name).ok()).flatten() {
        return format!("{rust:#}");
    }
    if name.starts_with("_Z") {
        return cpp(name).or_else(|| cpp_begin(name)).unwrap_or_else(|| name.to_owned());
    }
    if name.starts_with("_D") {
        return dlang::demangle(name).unwrap_or_else(|| name.to_owned());
    }
    name.to_owned()
}

fn cpp(name: &str) -> Option<String> {
    let options = DemangleOptions::new().no_return_type();
    let name = cpp_demangle::Symbol::new(name).ok()?.demangle_with_options(&options).ok()?;
    Some(without_empty_packs(name))
}

/// `f<int, >(&&)` is `f<int>()`: a template's list of no arguments leaves its separators behind.
fn without_empty_packs(name: String) -> String {
    let name = name.replace(", >", ">").replace(", &&)", ")");
    name.strip_suffix("(&&)").map(|function| format!("{function}()")).unwrap_or(name)
}

/// Names that are longer are not tried a second time.
const LENGTH_MAX: usize = 4096;

/// A function by the beginning of its name: compilers write types of results and parameters that the demangler does
/// not know (`srSt8is_arrayIT_E` of g++ 12 in `std::make_shared`). The longest beginning that makes a function of no
/// parameters is its name.
fn cpp_begin(name: &str) -> Option<String> {
    let is_end = |at: &usize| name.is_char_boundary(*at) && name[..*at].ends_with('E');
    let ends = (0..name.len()).rev().filter(is_end).take_while(|_| name.len() <= LENGTH_MAX);
    // A template's name is followed by its result, any other's by its parameters: two `void` do for both.
    let found = ends.filter_map(|end| cpp(&format!("{}vv", &name[..end]))).next()?;
    let mut open = 0_usize;
    let begin_of_parameters = found.char_indices().rev().find(|(_, c)| {
        open = if *c == ')' { open + 1 } else { open - usize::from(*c == '(' && open > 0) };
        *c == '(' && open == 0
    });
    begin_of_parameters.map(|(at, _)| found[..at].to_owned())
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn each_language_reads_as_it_is_written() {
        for (raw, name) in [
            ("main", "main"),
            ("malloc@@GLIBC_2.2.5", "malloc"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            ("_D3std5stdio7writelnFZv", "std.stdio.writeln"),
            (
                "_ZSt11make_sharedI4NodeJEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES4_E4typeEEDpOT0_",
                "std::make_shared<Node>",
            ),
            ("_Z4loadIiJEEvDpOT0_", "load<int>()"),
            ("_Z4loadRA3_KcOi", "load(char const (&) [3], int&&)"),
            ("_Zbroken", "_Zbroken"),
            ("_Z", "_Z"),
            ("_ZEEE\u{e4}E", "_ZEEE\u{e4}E"),
            ("_Dbroken", "_Dbroken"),
        ] {
            assert_eq!(demangle(raw), name);
        }
    }
}
