//! Sums of samples as the sums of what the samples stand for, as jeprof and pprof compute them from the text formats:
//! the mean size of a stack's samples stands for the size of each of them.

use super::model::Sum;

/// How samples were chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unsampling {
    /// They were not: each block is there.
    #[default]
    None,
    /// A sample each so many bytes, evenly: gperftools in its first version.
    Even {
        /// The mean between two samples.
        mean_bytes: u64,
    },
    /// With the chance `1 - exp(-size / mean)`: jemalloc, Go and gperftools since.
    Poisson {
        /// The mean between two samples.
        mean_bytes: u64,
    },
    /// The same, as Go computes it, which rounds down.
    PoissonOfGo {
        /// The mean between two samples.
        mean_bytes: u64,
    },
}

/// What samples stand for.
pub fn unsampled(sum: Sum, how: Unsampling) -> Sum {
    let scale = match how {
        _ if sum.blocks == 0 || sum.bytes == 0 => return sum,
        Unsampling::None => return sum,
        Unsampling::Even { mean_bytes } => (1.0 / ratio(sum, mean_bytes)).max(1.0),
        Unsampling::Poisson { mean_bytes } => 1.0 / -(-ratio(sum, mean_bytes)).exp_m1(),
        Unsampling::PoissonOfGo { mean_bytes: 0 | 1 } => return sum,
        Unsampling::PoissonOfGo { mean_bytes } => 1.0 / (1.0 - (-ratio(sum, mean_bytes)).exp()),
    };
    let round = if matches!(how, Unsampling::PoissonOfGo { .. }) { f64::floor } else { f64::round };
    // What is beyond u64 becomes its largest number, which the sum of all refuses.
    let scaled = |n: u64| round(n as f64 * scale) as u64;
    Sum { blocks: scaled(sum.blocks), bytes: scaled(sum.bytes) }
}

/// The mean size of samples by the mean distance of two.
fn ratio(sum: Sum, mean_bytes: u64) -> f64 {
    sum.bytes as f64 / sum.blocks as f64 / mean_bytes.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(blocks: u64, bytes: u64, how: Unsampling, expected: (u64, u64)) {
        let sum = unsampled(Sum { blocks, bytes }, how);
        assert_eq!((sum.blocks, sum.bytes), expected);
    }

    #[test]
    fn samples_stand_for_what_jeprof_says() {
        let poisson = |mean_bytes| Unsampling::Poisson { mean_bytes };
        // 1 / (1 - exp(-1)) = 1.5819767
        check(10, 10 * 4096, poisson(4096), (16, 64_798));
        check(1, 1 << 30, poisson(4096), (1, 1 << 30));
        check(3, 3 * 16, poisson(1 << 19), (98_306, 1_572_888));
        check(0, 0, poisson(4096), (0, 0));
        check(2, 64, Unsampling::Even { mean_bytes: 320 }, (20, 640));
        check(2, 64, Unsampling::Even { mean_bytes: 16 }, (2, 64));
        check(2, 64, Unsampling::None, (2, 64));
    }
}
