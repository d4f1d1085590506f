//! What a panic does in the target: nothing of ours is meant to, and should it, a message would have to be formatted
//! in a hook. The program is aborted at once.

/// The panic handler of a library without the standard library, which each has to have for itself.
#[macro_export]
macro_rules! end_on_panic {
    () => {
        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            #![allow(unsafe_code)]
            unsafe extern "C" {
                safe fn abort() -> !;
            }
            abort()
        }
    };
}
