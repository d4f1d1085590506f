//! The one macro: every function of libc that allocates, frees or describes blocks, in front of a heap. A library
//! that had only some of them would be given foreign blocks.

/// Exports a heap as a library to preload. `start`, a function from `&'static` heap to [`crate::Start`],
/// prepares it at the first call; without it the heap is ready as it is. Once in a library: a second one
/// would export the same names, and the linker says so. A crate's own unit tests (`cfg(test)`) export nothing:
/// they test the heap, and do not run on it. `nests;` at the end says that the heap may call malloc and the others
/// by name, as one of another library may: a recorder in front of it then looks out for such calls. `glibc;` there
/// exports glibc's other names of the functions, too, which such a heap may need for itself: a program that gave a
/// block of malloc to `__libc_free` ended in glibc, which did not know it.
#[macro_export]
macro_rules! export {
    ($(#[$meta:meta])* static $name:ident: $heap:ty = $value:expr;) => {
        $crate::export! { $(#[$meta])* static $name: $heap = $value; start = |_| $crate::Start::Ready; }
    };
    ($(#[$meta:meta])* static $name:ident: $heap:ty = $value:expr; start = $start:expr; nests;) => {
        $crate::export! { $(#[$meta])* static $name: $heap = $value; start = $start; }

        /// By this the recorder knows that what is called while the heap is at work may be called by the heap.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub static heapscribe_heap_nests: u8 = 1;
    };
    ($(#[$meta:meta])* static $name:ident: $heap:ty = $value:expr; start = $start:expr; glibc;) => {
        $crate::export! { $(#[$meta])* static $name: $heap = $value; start = $start; }

        mod heapscribe_exported_for_glibc {
            use super::heapscribe_exported::{FRONT, Pointer};
            use super::*;
            $crate::export_forwards! { $name;
                __libc_malloc(size: usize) -> Pointer = FRONT.malloc;
                __libc_free(block: Pointer) -> () = FRONT.free;
                __libc_calloc(count: usize, size: usize) -> Pointer = FRONT.calloc;
                __libc_realloc(block: Pointer, size: usize) -> Pointer = FRONT.realloc;
                __libc_memalign(align: usize, size: usize) -> Pointer = FRONT.memalign;
            }
        }
    };
    ($(#[$meta:meta])* static $name:ident: $heap:ty = $value:expr; start = $start:expr;) => {
        $(#[$meta])*
        static $name: $crate::Interposer<$heap> = $crate::Interposer::new($value, $start, $crate::Handlers {
            fork_prepare: heapscribe_exported::prepare,
            fork_parent: heapscribe_exported::parent,
            fork_child: heapscribe_exported::child,
            thread_exit: heapscribe_exported::thread_exit,
        }, env!("CARGO_PKG_NAME"));

        mod heapscribe_exported {
            use super::*;
            $crate::export_functions! { $name, $heap }
        }
    };
}

/// The functions, in a module of their own.
#[doc(hidden)]
#[macro_export]
macro_rules! export_functions {
    ($name:ident, $heap:ty) => {
        use core::ffi::{c_char, c_int, c_void};
        use $crate::Heap as _;
        use $crate::front::Front as _;

        pub(super) type Pointer = *mut c_void;

        #[derive(Debug)]
        pub(super) enum Front {}

        impl $crate::front::Front for Front {
            type Heap = $heap;
            #[inline(always)]
            fn heap() -> &'static $heap {
                $name.heap()
            }
            #[inline(always)]
            fn errno() -> *mut c_int {
                $crate::errno()
            }
            #[inline(always)]
            fn previous() -> Option<&'static $crate::SystemHeap> {
                $name.previous()
            }
            fn libc() -> $crate::front::Libc {
                $name.libc()
            }
            fn on_failure() {
                $name.publish_statistics();
            }
            const LARGE_BYTES: usize = $crate::LARGE_BYTES;
            fn on_large() {
                $name.publish_statistics();
            }
        }

        pub(super) const FRONT: $crate::SystemHeap = $crate::front::table::<Front>();

        /// By this the recorder knows that nothing here calls one of the functions by name.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub static heapscribe_heap_shell: u8 = 1;

        pub(super) extern "C" fn prepare() {
            $name.heap().fork_prepare();
        }
        pub(super) extern "C" fn parent() {
            // SAFETY: prepared: libc calls the three around each fork, in one thread.
            unsafe { $name.heap().fork_parent() };
        }
        pub(super) extern "C" fn child() {
            // SAFETY: prepared: libc calls the three around each fork, in one thread.
            unsafe { $name.heap().fork_child() };
            $name.after_fork_in_child();
        }

        /// # Safety
        /// * None: it is unsafe only because of its type.
        pub(super) unsafe extern "C" fn thread_exit(_: *mut c_void) {
            $name.heap().thread_exit();
        }

        extern "C" fn at_exit() {
            $name.at_exit();
        }

        // SAFETY: the section is an array of functions of this type, which run at `exit`.
        #[used]
        #[unsafe(link_section = ".fini_array")]
        static AT_EXIT: extern "C" fn() = at_exit;

        $crate::export_forwards! { $name;
            malloc(size: usize) -> Pointer = FRONT.malloc;
            free(block: Pointer) -> () = FRONT.free;
            calloc(count: usize, size: usize) -> Pointer = FRONT.calloc;
            realloc(block: Pointer, size: usize) -> Pointer = FRONT.realloc;
            posix_memalign(out: *mut Pointer, align: usize, size: usize) -> c_int = FRONT.posix_memalign;
            aligned_alloc(align: usize, size: usize) -> Pointer = FRONT.aligned_alloc;
            memalign(align: usize, size: usize) -> Pointer = FRONT.memalign;
            malloc_usable_size(block: Pointer) -> usize = FRONT.malloc_usable_size;
        }
        $crate::export_rest! { $name }
    };
}

/// Functions that the previous heap has, too.
#[doc(hidden)]
#[macro_export]
macro_rules! export_forwards {
    ($name:ident; $($function:ident($($argument:ident: $type:ty),*) -> $result:ty = FRONT.$same:ident;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $function($($argument: $type),*) -> $result {
            // SAFETY: same: the program's arguments, forwarded.
            unsafe {
                match $name.fallback() {
                    None => {
                        $name.count_call();
                        (FRONT.$same)($($argument),*)
                    }
                    Some(fallback) => (fallback.$same)($($argument),*),
                }
            }
        }
    )*};
}

/// Functions that are made of the others, so that it does not matter which heap serves.
#[doc(hidden)]
#[macro_export]
macro_rules! export_rest {
    ($name:ident) => {
        /// The functions of the heap that serves. None of the functions here calls another by its name: that would be a recorder's in front
        /// of this library (a build without optimization called memalign for valloc, and it was recorded twice).
        fn serving() -> &'static $crate::SystemHeap {
            const OURS: &$crate::SystemHeap = &FRONT;
            $name.fallback().unwrap_or(OURS)
        }

        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn valloc(size: usize) -> Pointer {
            // SAFETY: same: the program's arguments, forwarded.
            unsafe { serving().valloc_or_memalign(size) }
        }

        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn pvalloc(size: usize) -> Pointer {
            // SAFETY: same: the program's arguments, forwarded.
            unsafe { serving().pvalloc_or_memalign(size) }
        }

        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn reallocarray(block: Pointer, count: usize, size: usize) -> Pointer {
            let heap = serving();
            // A product that overflows is a size that no heap has.
            let (size, is_size) = (count.saturating_mul(size), count.checked_mul(size).is_some());
            let realloc = $name.ahead().realloc.filter(|_| is_size).unwrap_or(heap.realloc);
            // SAFETY: same: the program's arguments, forwarded to what it calls by the name of `realloc`.
            unsafe { realloc(block, size) }
        }

        /// What the program calls by the name of `free`, for its other names.
        fn free_of_program() -> unsafe extern "C" fn(Pointer) {
            let heap = serving();
            $name.ahead().free.unwrap_or(heap.free)
        }

        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn cfree(block: Pointer) {
            // SAFETY: same: the program's arguments, forwarded.
            unsafe { free_of_program()(block) }
        }

        /// C23's function of this name, which `free` may stand for.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn free_sized(block: Pointer, _size: usize) {
            // SAFETY: same: the program's arguments, forwarded.
            unsafe { free_of_program()(block) }
        }

        /// C23's function of this name, which `free` may stand for.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn free_aligned_sized(block: Pointer, _align: usize, _size: usize) {
            // SAFETY: same: the program's arguments, forwarded.
            unsafe { free_of_program()(block) }
        }

        $crate::deep_open::export_dlopen!(dlopen_target);

        /// # Safety
        /// * The arguments are those of a call that the program may make of `dlopen`, which returns to `caller`.
        unsafe extern "C" fn dlopen_target(
            file: *const c_char,
            flags: c_int,
            caller: usize,
        ) -> $crate::deep_open::Dlopen {
            // By its start it knows the loader.
            let _ = $name.fallback();
            let (call, own) = ((file, flags, caller), dlopen_target as *const ());
            // SAFETY: the program's arguments.
            unsafe { $crate::deep_open::target($name.loader(), call, own, open_with_deep_binding) }
        }

        /// # Safety
        /// * The arguments are those of a call that the program may make of `dlopen`.
        unsafe extern "C" fn open_with_deep_binding(file: *const c_char, flags: c_int) -> Pointer {
            let functions = $crate::export::functions! { $name; malloc, calloc, realloc, reallocarray, free, cfree,
                posix_memalign, aligned_alloc, memalign, valloc, pvalloc, malloc_usable_size, dlopen };
            // SAFETY: the program's call; each function does what the one does that it hides.
            unsafe {
                let own = dlopen_target as *const ();
                $crate::deep_open::open($name.loader(), (file, flags), own, &functions)
            }
        }

        $crate::export_statistics! { $name;
            mallinfo() -> $crate::MallInfo = |heap: &$crate::Stats| $crate::info(heap);
            mallinfo2() -> $crate::MallInfo2 = |heap: &$crate::Stats| $crate::info2(heap);
            malloc_stats() -> () = |heap: &$crate::Stats| $crate::print_stats(heap);
            malloc_trim(keep: usize) -> c_int = |_: &$crate::Stats| 0;
            mallopt(name: c_int, value: c_int) -> c_int = |_: &$crate::Stats| 1;
        }
    };
}

/// Functions that describe the heap, or set what ours has no use for.
#[doc(hidden)]
#[macro_export]
macro_rules! export_statistics {
    ($name:ident; $($function:ident($($argument:ident: $type:ty),*) -> $result:ty = $answer:expr;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $function($($argument: $type),*) -> $result {
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            if $name.fallback().is_some()
                && let Some(previous) = $name.next($crate::export::name(concat!(stringify!($function), "\0")))
            {
                // SAFETY: same: it is libc's of this name, given the program's arguments.
                return unsafe { core::mem::transmute::<*const (), Function>(previous)($($argument),*) };
            }
            $(let _ = $argument;)*
            let answer: fn(&$crate::Stats) -> $result = $answer;
            answer(&Front::heap().stats())
        }
    )*};
}

/// Functions of this module, each with what it hides.
#[doc(hidden)]
#[macro_export]
macro_rules! export_with_next {
    ($name:ident; $($function:ident),*) => {[$({
        let own = $function as *const ();
        let next = $name.next($crate::export::name(concat!(stringify!($function), "\0")));
        let name = stringify!($function).as_bytes();
        $crate::deep_open::Function { name, own, next: next.unwrap_or(own), is_first: true }
    }),*]};
}
#[doc(hidden)]
pub use crate::export_with_next as functions;

/// A name with its NUL as a C string; empty when it has none.
pub const fn name(text: &'static str) -> &'static core::ffi::CStr {
    match core::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}
