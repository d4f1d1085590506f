//! The smallest size that suffices, by halving what lies between one that does not and one that does.
//!
//! A larger pool is not always better: pieces lie differently in it, and now and then a request that a smaller
//! one served gets nothing. So sizes above the one that was found are tried too, and one that fails there
//! becomes the new lower end. What is found is the smallest above which none of those tried failed.

/// Sizes above that are tried, in hundredths more.
const ABOVE: [u64; 6] = [1, 2, 5, 10, 20, 40];
/// How often a failure above may move the search.
const MOVES_MAX: usize = 8;

/// The smallest size that suffices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Smallest {
    /// It suffices.
    pub bytes: u64,
    /// The largest size tried below it; it does not, unless it is 0.
    pub fails_bytes: u64,
    /// Sizes that were tried.
    pub tries: u32,
    /// Failures above sizes that sufficed.
    pub moves: u32,
}

/// Where sizes are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Too small for certain; a multiple of the step.
    pub low_bytes: u64,
    /// The first to try.
    pub first_bytes: u64,
    /// The largest to try.
    pub most_bytes: u64,
    /// Sizes are multiples of this.
    pub step_bytes: u64,
}

/// Finds it; `None` when the largest does not suffice either. `suffices` is asked of several sizes at once where
/// none depends on the result of another.
///
/// # Errors
/// Those of `suffices`.
pub fn smallest<E>(
    range: Range,
    mut suffices: impl FnMut(&[u64]) -> Result<Vec<bool>, E>,
) -> Result<Option<Smallest>, E> {
    let step = range.step_bytes.max(1);
    let mut tries = 0;
    let mut all_suffice = |sizes: &[u64]| {
        tries += sizes.len() as u32;
        suffices(sizes)
    };
    let one = |answers: Vec<bool>| answers.first() == Some(&true);
    let (mut low, mut moves) = (range.low_bytes, 0);
    let mut next = range.first_bytes.max(low + step).next_multiple_of(step);
    loop {
        let Some(mut high) = enough(&mut low, next, range, &mut |bytes| all_suffice(&[bytes]).map(one))?
        else {
            return Ok(None);
        };
        while high - low > step {
            let middle = low + (high - low) / step / 2 * step;
            match one(all_suffice(&[middle])?) {
                true => high = middle,
                false => low = middle,
            }
        }
        let above = ABOVE.map(|hundredths| (high + high * hundredths / 100).next_multiple_of(step));
        let above: Vec<u64> =
            above.into_iter().filter(|bytes| *bytes > high && *bytes <= range.most_bytes).collect();
        let answers = all_suffice(&above)?;
        let failed = above.into_iter().zip(answers).rfind(|(_, suffices)| !suffices);
        match failed.map(|(bytes, _)| bytes) {
            Some(bytes) if moves < MOVES_MAX => {
                (low, next, moves) = (bytes, bytes + step, moves + 1);
            }
            _ => return Ok(Some(Smallest { bytes: high, fails_bytes: low, tries, moves: moves as u32 })),
        }
    }
}

/// A size that suffices: the next one, or a quarter more, and so on.
fn enough<E>(
    low: &mut u64,
    mut next: u64,
    range: Range,
    suffices: &mut impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    loop {
        next = next.min(range.most_bytes / range.step_bytes.max(1) * range.step_bytes.max(1));
        if next <= *low {
            return Ok(None);
        }
        if suffices(next)? {
            return Ok(Some(next));
        }
        *low = next;
        next = (next + next / 4).next_multiple_of(range.step_bytes.max(1));
    }
}

/// The least size of at least so many bytes that is easily read: at most a sixteenth more, whole KiB, whole
/// MiB from 64 MiB on.
pub fn readable(bytes: u64) -> u64 {
    let unit = if bytes < 64 << 20 { 1 << 10 } else { 1 << 20 };
    let step = (bytes.max(1).ilog2().saturating_sub(4)) as u64;
    bytes.next_multiple_of((1 << step).max(unit)).max(64 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(suffices: impl Fn(u64) -> bool, expected: Option<(u64, u64)>) {
        let range = Range { low_bytes: 0, first_bytes: 64, most_bytes: 10_000, step_bytes: 4 };
        let smallest = smallest(range, |sizes| {
            assert!(sizes.iter().all(|bytes| bytes % 4 == 0 && *bytes <= 10_000), "{sizes:?}");
            Ok::<_, ()>(sizes.iter().map(|bytes| suffices(*bytes)).collect())
        });
        assert_eq!(smallest.unwrap().map(|size| (size.bytes, size.fails_bytes)), expected);
    }

    #[test]
    fn the_smallest_is_found() {
        for least in [1u64, 4, 5, 63, 64, 65, 1000, 1001, 9999, 10_000] {
            let expected = least.next_multiple_of(4);
            check(|bytes| bytes >= least, Some((expected, expected - 4)));
        }
        check(|_| false, None);
        check(|bytes| bytes > 10_000, None);
    }

    #[test]
    fn a_larger_one_that_fails_moves_it() {
        // 1000 suffices, what lies 2 % above it does not, from 1100 on all do.
        check(|bytes| bytes >= 1100 || (1000..1012).contains(&bytes), Some((1100, 1096)));
    }

    #[test]
    fn readable_sizes_are_a_little_larger() {
        for (bytes, expected) in [
            (1, 64 << 10),
            (100_000, 102_400),
            (17 << 20, 17 << 20),
            ((17 << 20) + 1, 18 << 20),
            (1_234_567_890, 1216 << 20),
        ] {
            assert_eq!(readable(bytes), expected, "{bytes}");
        }
        for bytes in (1..60u32).map(|n| (1u64 << n) + 12345) {
            let more = readable(bytes).max(64 << 10) - bytes;
            assert!(bytes < 64 << 10 || more <= bytes / 16 + 1024, "{bytes}");
        }
    }
}
