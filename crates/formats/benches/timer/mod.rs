//! How long a run takes at its fastest, by the time of the thread.

use std::hint::black_box;

const TURNS: usize = 5;
const TURN_SECONDS: f64 = 0.1;

/// Seconds of one run. The kernel counts a thread's time some milliseconds late, so that a turn has as many
/// runs as take much longer than that.
pub(crate) fn fastest<T>(mut run: impl FnMut() -> T) -> f64 {
    let mut turn = |runs: u32| {
        let start = cpu_seconds();
        (0..runs).for_each(|_| drop(black_box(run())));
        cpu_seconds() - start
    };
    let mut runs = 1;
    while turn(runs) < TURN_SECONDS {
        runs *= 2;
    }
    (0..TURNS).map(|_| turn(runs) / f64::from(runs)).fold(f64::MAX, f64::min)
}

/// CPU time of this thread so far: on a busy machine waiting for a processor does not count.
fn cpu_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns: u64 = schedule.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number");
    ns as f64 / 1e9
}
