//! What the libraries import of libc, and programs that have none: an executable that needs no library at all is
//! still started by the loader, with what is preloaded. Debian's programs in Go are such (`age`). A strong import
//! keeps them from starting: "symbol lookup error: undefined symbol: abort". Weak ones are null there, and nothing
//! of ours may run.
#![allow(unsafe_code)]

/// Makes the imports of a library weak, whoever refers to them in it: for libraries alone, whose code is one
/// object. In an archive that is linked statically a weak import is no reason to take the function from libc.
#[macro_export]
macro_rules! import_weakly {
    () => {
        mod imports {
            #![allow(unsafe_code)]
            core::arch::global_asm!(
                ".weak __errno_location",
                ".weak abort",
                ".weak bcmp",
                ".weak getauxval",
                ".weak getenv",
                ".weak memcpy",
                ".weak memmove",
                ".weak memset",
                ".weak strlen",
            );
        }
    };
}

/// Whether the process has a libc. Where imports are strong it has one.
#[must_use]
pub fn has_libc() -> bool {
    let address: usize;
    // SAFETY: reads an address that the loader has put there.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + memcpy@GOTPCREL]", out(reg) address,
            options(pure, nomem, nostack));
    }
    address != 0
}
