//! The loader's list and symbols, compared with what `dlsym` and `/proc` say.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

use heapscribe_nolibc::loader::{Loader, Module};

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: i32) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> i32;
}

fn loader() -> &'static Loader {
    static LOADER: OnceLock<Loader> = OnceLock::new();
    LOADER.get_or_init(|| Loader::discover().unwrap())
}

/// Read while modules must stay, as names are looked up in those that stay alone; written by the test that unloads one.
static LOADED: RwLock<()> = RwLock::new(());

fn nothing_is_unloaded() -> RwLockReadGuard<'static, ()> {
    LOADED.read().unwrap_or_else(PoisonError::into_inner)
}

fn by_dlsym(name: &str) -> *const () {
    const RTLD_DEFAULT: *mut c_void = std::ptr::null_mut();
    let name = CString::new(name).unwrap();
    // SAFETY: a C string.
    unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) }.cast_const().cast()
}

fn own_address() -> *const () {
    own_address as *const ()
}

fn module_named(part: &str) -> Module {
    let is_it = |m: &Module| String::from_utf8_lossy(m.name()).contains(part);
    loader().modules().find(is_it).unwrap_or_else(|| panic!("{part}"))
}

#[test]
fn the_allocators_functions_are_those_of_dlsym() {
    let _modules_stay = nothing_is_unloaded();
    for name in ["malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memcpy", "strlen"]
    {
        let found = loader().find_next(name.as_bytes(), own_address());
        assert_eq!(found, Some(by_dlsym(name)), "{name}");
        let listed = loader().without_find_object().find_next(name.as_bytes(), own_address());
        assert_eq!(listed, found, "{name} by the list");
    }
    assert_eq!(loader().find_next(b"no_such_function", own_address()), None);
}

#[test]
fn next_is_never_the_own_module() {
    let _modules_stay = nothing_is_unloaded();
    let libc = loader().find_anywhere(b"malloc").unwrap();
    let next = loader().find_next(b"malloc", libc);
    assert_ne!(next, Some(libc), "{next:?}");
}

/// glibc keeps `pthread_cond_signal@GLIBC_2.2.5` for old programs, and `cfree` for those alone.
#[test]
fn the_default_version_is_preferred_and_an_old_one_is_better_than_none() {
    let _modules_stay = nothing_is_unloaded();
    assert_eq!(loader().find_anywhere(b"pthread_cond_signal"), Some(by_dlsym("pthread_cond_signal")));
    assert_eq!(loader().find_anywhere(b"memcpy"), Some(by_dlsym("memcpy")));
    assert!(module_named("libc.so").find_symbol(b"_sys_errlist").is_some());
}

/// The kernel's vDSO has relative addresses in its dynamic section, and on most kernels only DT_HASH.
#[test]
fn the_vdso_has_symbols() {
    let _modules_stay = nothing_is_unloaded();
    let vdso = module_named("vdso");
    let address = vdso.find_symbol(b"__vdso_clock_gettime").unwrap() as usize;
    let text = loader().without_find_object().find_text(address).unwrap();
    assert_eq!(text.link_map, vdso.link_map());
}

/// Every executable mapping of a file is found, with the same range in both ways.
#[test]
fn both_ways_to_a_module_agree() {
    let _modules_stay = nothing_is_unloaded();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut found = 0;
    for line in maps.lines().filter(|l| l.contains(" r-xp ") && l.contains('/')) {
        let pc = usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap() + 16;
        let text = loader().find_text(pc).unwrap();
        let listed = loader().without_find_object().find_text(pc).unwrap();
        assert_eq!(
            (text.start, text.link_map, text.eh_frame_hdr),
            (listed.start, listed.link_map, listed.eh_frame_hdr)
        );
        assert!(text.contains(pc) && listed.contains(pc));
        found += 1;
    }
    assert!(found >= 3, "{maps}");
    assert_eq!(loader().find_text(16), None);
    assert_eq!(loader().without_find_object().find_text(16), None);
}

/// glibc before 2.35 and musl: while one thread loads and unloads, look-ups of others find what stays.
#[test]
fn the_list_is_read_while_it_changes() {
    let _alone = LOADED.write().unwrap_or_else(PoisonError::into_inner);
    const ROUNDS: usize = 300;
    let listed = loader().without_find_object();
    let stays = [own_address() as usize, by_dlsym("malloc") as usize];
    let expected = stays.map(|pc| loader().find_text(pc).map(|text| (text.start, text.link_map)));
    while listed.version().is_none() {} // the first table is made before anything else is loaded
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    let found = stays.map(|pc| listed.find_text(pc).map(|text| (text.start, text.link_map)));
                    assert_eq!(found, expected);
                    let _ = listed.version();
                }
            });
        }
        for _ in 0..ROUNDS {
            // SAFETY: a library of the C library that nothing else loads; its function is not called.
            let (library, inside) = unsafe {
                let library = dlopen(c"libBrokenLocale.so.1".as_ptr(), 2);
                (library, dlsym(library, c"__ctype_get_mb_cur_max".as_ptr()) as usize)
            };
            assert!(loader().find_text(inside).is_some(), "the library is not there");
            // Who asks while another makes the table gets what the loader says, which may be nothing then.
            while listed.find_text(inside).is_none() {}
            // SAFETY: loaded once above.
            unsafe { dlclose(library) };
            while listed.version().is_none() {}
            assert_eq!(listed.find_listed(inside), None);
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_module_is_who_it_is() {
    let _modules_stay = nothing_is_unloaded();
    let text = loader().find_text(by_dlsym("malloc") as usize).unwrap();
    // SAFETY: the C library stays.
    let details = unsafe { text.details() };
    assert!(details.name.ends_with(b"/libc.so.6"));
    assert_eq!(details.bias, text.start);
    assert_eq!(details.build_id.as_bytes().len(), 20);
    let own = loader().find_text(own_address() as usize).unwrap();
    // SAFETY: the program stays.
    let own = unsafe { own.details() };
    assert_eq!(own.name, b"");
    assert_ne!(own.identity, details.identity);
    let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let id = object::Object::build_id(&object::File::parse(&*file).unwrap()).unwrap();
    assert_eq!(own.build_id.as_bytes(), id.unwrap_or_default());
}

#[test]
fn the_list_starts_with_the_program() {
    let _modules_stay = nothing_is_unloaded();
    let first = Loader::discover().unwrap().modules().next().unwrap();
    assert_eq!(first.name(), b"");
    assert_ne!(first.dynamic(), 0);
    let own = loader().find_text(own_address() as usize).unwrap();
    assert_eq!((first.link_map(), first.bias()), (own.link_map, own.start));
}
