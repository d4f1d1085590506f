//! Work that nobody waits for: in threads of its own, which give way to those that answer questions. In the threads of
//! rayon that all share, a question would wait until these have nothing else to do.

use rayon::ThreadPoolBuilder;
use rustix::process::{getpriority_process, setpriority_process};

/// How nice its threads are: one that is not has nine times as much of a core.
const NICE: i32 = 10;

/// Does it, as far as the cores have nothing else to do.
pub(crate) fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let be_nice = |_| {
        // Of this thread alone; less of a core is always allowed.
        let _ = getpriority_process(None).and_then(|nice| setpriority_process(None, nice.max(NICE)));
    };
    match ThreadPoolBuilder::new().start_handler(be_nice).build() {
        Ok(threads) => threads.install(work),
        // Without threads it is slower, and no less right.
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_threads_of_the_work_are_nice() {
        let nice = || getpriority_process(None).unwrap();
        let before = nice();
        let meanwhile = in_background(|| rayon::join(nice, nice));
        assert_eq!(meanwhile, (before.max(NICE), before.max(NICE)));
        assert_eq!(nice(), before);
    }
}
