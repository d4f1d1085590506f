//! What a panic does in the target: nothing of ours is meant to, and should it, a message would have to
//! be formatted in a hook. The program is ended where it stands.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    extern_abort()
}

fn extern_abort() -> ! {
    #![allow(unsafe_code)]
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    abort()
}
