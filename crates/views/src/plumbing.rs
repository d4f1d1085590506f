//! The innermost frames of a stack that tell nothing: how libraries ask malloc for what the function above them wants.

use heapscribe_symbols::{NamedFrame, short};

use crate::allocator::is_allocator;
use crate::own::is_library;

/// Parts of a function's name, or of its type's, that only passes a request on.
const PARTS: [&str; 2] = ["alloc", "raw_vec"];

/// How many of a stack's innermost frames only pass a request on to malloc: `operator new`, allocators of libraries and
/// what calls these there (`std::vector::_M_realloc_insert`). The last frame is none of them.
pub fn plumbing(frames: &[NamedFrame]) -> usize {
    let most = frames.len().saturating_sub(1);
    frames.iter().take(most).take_while(|frame| passes_on(frame)).count()
}

fn passes_on(frame: &NamedFrame) -> bool {
    let Some(function) = frame.function.as_deref().filter(|_| is_library(frame)) else { return false };
    let name = short(function).to_ascii_lowercase();
    // `alloc::vec::Vec::push` is what the program asked for, in Rust's library of this name.
    let own = name.rmatch_indices("::").nth(1).map_or(&name[..], |(at, _)| &name[at..]);
    let passes = PARTS.iter().any(|part| own.contains(part)) || name.contains("::raw_vec::");
    passes || is_allocator(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions, the innermost first, and how many of them are left out.
    fn check(functions: &[&str], expected: usize) {
        let frame = |name: &&str| NamedFrame { function: Some((*name).to_owned()), ..NamedFrame::default() };
        let frames: Vec<_> = functions.iter().map(frame).collect();
        assert_eq!(plumbing(&frames), expected, "{functions:?}");
    }

    #[test]
    fn what_the_program_called_is_the_innermost() {
        let push = "std::vector<int, std::allocator<int> >::push_back(int const&)";
        let insert = "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)";
        let allocate =
            "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)";
        let new = "operator new(unsigned long)";
        check(
            &[new, "std::__new_allocator<int>::allocate(unsigned long)", allocate, insert, push, "main"],
            4,
        );
        check(
            &["alloc::alloc::alloc", "alloc::raw_vec::RawVec<T,A>::grow_one", "alloc::vec::Vec<T,A>::push"],
            2,
        );
        check(&["alloc::boxed::Box<T>::new", "shop::load"], 0);
        check(&["xmalloc", "main"], 0);
        check(&[new, "main"], 1);
        check(&[new], 0);
        check(&[], 0);
    }
}
