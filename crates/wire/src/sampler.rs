//! Which bytes a sample hits: distances between hits, drawn so that each byte is hit by itself.
//!
//! The distances of a Poisson process are exponential. Here they are counted in whole bytes, which loses
//! nothing: with a distance of `gap` drawn for the next hit, a block that takes `n` bytes of the count
//! (its size and one) is hit when `gap < n`, which has probability 1 - exp(-n / mean); else `gap -= n`.
//! After a hit, and when the mean changes, a new gap is drawn: a process without memory goes on as if it
//! began.
//!
//! *It guarantees* exponential distances to the last of 64 bits, with integers alone: there is no floating
//! point and no logarithm in the target. *It refuses* to be hard to foresee: it is no cipher.
//!
//! ```text
//!   state   word 0   word 1    xoroshiro128++, never both 0
//! ```

/// Rounds of drawing that follow each other at most; one more is needed once in e^64 draws.
const ROUNDS_MAX: u64 = 64;

/// A generator of distances between hits, 16 bytes, one for each thread.
#[derive(Clone, Debug)]
pub struct Sampler {
    state: [u64; 2],
}

impl Sampler {
    /// The generator of this seed and stream; the same two make the same distances. Streams of one seed -
    /// threads, processes - have nothing to do with each other.
    pub const fn new(seed: u64, stream: u64) -> Sampler {
        let start = mix(seed ^ mix(stream.wrapping_add(GOLDEN)));
        let state = [mix(start.wrapping_add(GOLDEN)), mix(start.wrapping_add(GOLDEN.wrapping_mul(2)))];
        Sampler { state: if state[0] | state[1] == 0 { [GOLDEN, 1] } else { state } }
    }

    /// Bytes that pass before the next hit: exponential with this mean, rounded down.
    ///
    /// Von Neumann's way: a run of uniform numbers that falls for an odd number of steps is a yes, and the
    /// number it began with is exponential below 1; each no before it adds one.
    pub fn next_gap(&mut self, mean_bytes: u64) -> u64 {
        let mean = mean_bytes as u128;
        for whole in 0..ROUNDS_MAX {
            let first = self.next();
            if self.falls_oddly(first) {
                let gap = whole as u128 * mean + ((first as u128 * mean) >> 64);
                return if gap > u64::MAX as u128 { u64::MAX } else { gap as u64 };
            }
        }
        mean_bytes.saturating_mul(ROUNDS_MAX)
    }

    /// Whether numbers fall for an odd number of steps, `first` being the first of them: with probability
    /// exp(-first / 2^64).
    fn falls_oddly(&mut self, first: u64) -> bool {
        let (mut last, mut odd) = (first, true);
        // A run of over 64 falling numbers occurs once in 64! times.
        for _ in 0..ROUNDS_MAX {
            let next = self.next();
            if next >= last {
                return odd;
            }
            last = next;
            odd = !odd;
        }
        odd
    }

    /// 64 uniform bits (Blackman and Vigna, xoroshiro128++).
    fn next(&mut self) -> u64 {
        let [a, mut b] = self.state;
        let out = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        b ^= a;
        self.state = [a.rotate_left(49) ^ b ^ (b << 21), b.rotate_left(28)];
        out
    }
}

/// 2^64 by the golden ratio, an odd number without pattern.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads every bit over all (Stafford's variant 13, as in splitmix64).
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_streams_make_their_own_numbers() {
        let first = |seed, stream| Sampler::new(seed, stream).next();
        assert_eq!(first(1, 2), first(1, 2));
        let all = [first(0, 0), first(0, 1), first(1, 0), first(1, 1), first(2, 0), first(u64::MAX, 7)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{all:x?}");
        }
    }

    /// The first numbers of the reference implementation (prng.di.unimi.it/xoroshiro128plusplus.c) from
    /// the state 1, 2, by hand for the first two: rotl(3, 17) + 1, then from the state that follows.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut sampler = Sampler { state: [1, 2] };
        assert_eq!(sampler.next(), (3 << 17) + 1);
        let state = [(1u64 << 49) ^ 3 ^ (3 << 21), 3u64 << 28];
        assert_eq!(sampler.state, state);
        assert_eq!(sampler.next(), (state[0] + state[1]).rotate_left(17).wrapping_add(state[0]));
    }

    #[test]
    fn means_at_the_limits_do_no_harm() {
        let mut sampler = Sampler::new(3, 4);
        assert_eq!(sampler.next_gap(0), 0);
        for _ in 0..1000 {
            assert!(sampler.next_gap(1) < ROUNDS_MAX);
            sampler.next_gap(u64::MAX);
        }
    }
}
