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
        return cpp(name).unwrap_or_else(|| name.to_owned());
    }
    if name.starts_with("_D") {
        return dlang::demangle(name).unwrap_or_else(|| name.to_owned());
    }
    name.to_owned()
}

fn cpp(name: &str) -> Option<String> {
    let options = DemangleOptions::new().no_return_type();
    cpp_demangle::Symbol::new(name).ok()?.demangle_with_options(&options).ok()
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
            ("_Zbroken", "_Zbroken"),
            ("_Dbroken", "_Dbroken"),
        ] {
            assert_eq!(demangle(raw), name);
        }
    }
}
