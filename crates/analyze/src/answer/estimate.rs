//! What sums over sampled blocks say about the truth: an estimate, its standard error, and the range in
//! which the true value lies in 95 of 100 recordings.
//!
//! An estimate of few samples is not spread evenly around the truth: the spread itself is estimated, and
//! too small whenever the estimate is. So the range is not `X -+ z s`. Let `c` be the figure that a typical
//! sample stands for, so that the variance of a sum of `T` is `c T`. The range is then all `T` with
//! `|X - T| <= z sqrt(c T)` (Wilson's way of asking which truths would make this estimate likely):
//!
//! ```text
//!   X + z^2 c / 2  -+  z sqrt(V + z^2 c^2 / 4)          V the estimated variance
//! ```
//! For the lower end `c = V / X`. For the upper end `c` is the third moment by the second, which is the
//! same when all samples stand for as much, and larger when some stand for far more than others: then the
//! large ones are what may have been missed. A total over blocks of all sizes is put together from the
//! ranges of its classes of sizes. A stack of fewer than five samples is shown because it happened to be
//! hit, so its range begins at what was seen of it.

/// 95 % of a normal distribution lie within this many standard deviations.
const Z: f64 = 1.959_963_984_540_054;

/// One estimated figure.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// The estimated variance.
    pub variance: f64,
    /// The true value is at least this ...
    pub low: f64,
    /// ... and at most this, in 95 of 100 recordings.
    pub high: f64,
}

impl Figure {
    /// A sum of exact figures and of sampled ones, from the estimated second and third moments of these.
    pub(crate) fn sampled(exact: f64, sampled: f64, variance: f64, lean: f64) -> Figure {
        let value = exact + sampled;
        if variance <= 0.0 || sampled <= 0.0 {
            return Figure { value, variance: 0.0, low: value, high: value };
        }
        let end = |c: f64, sign: f64| {
            let around = (variance + Z * Z * c * c / 4.0).sqrt();
            value + Z * Z * c / 2.0 + sign * Z * around
        };
        let low = end(variance / sampled, -1.0).max(exact);
        Figure { value, variance, low, high: end(lean / variance, 1.0) }
    }

    /// A sum of `value` of which these are the sampled parts, each by itself: the distances from the
    /// estimate to the ends of its range add up like standard errors do.
    pub fn sum(value: f64, parts: &[Figure]) -> Figure {
        let root = |of: fn(&Figure) -> f64| parts.iter().map(|part| of(part).powi(2)).sum::<f64>().sqrt();
        let exact = value - parts.iter().map(|part| part.value).sum::<f64>();
        Figure {
            value,
            // No parts add up to -0.
            variance: parts.iter().map(|part| part.variance).sum::<f64>() + 0.0,
            low: (value - root(|part| part.value - part.low)).max(exact),
            high: value + root(|part| part.high - part.value),
        }
    }

    /// The same with so much more, which samples may have missed as one more class of sizes.
    pub(crate) fn or_more(self, unseen: f64) -> Figure {
        Figure { high: self.value + (self.high - self.value).hypot(unseen), ..self }
    }

    /// The standard error.
    pub fn standard_error(&self) -> f64 {
        self.variance.sqrt()
    }
}

/// An estimated number of blocks and of their bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    /// How many sampled blocks it rests on.
    pub samples: u64,
    /// Blocks.
    pub blocks: Figure,
    /// Bytes.
    pub bytes: Figure,
}

impl Estimate {
    /// With what may have gone unseen: blocks so small that no sample hit one are of no class of sizes that was seen, and are
    /// as one more class. Of these blocks there may be as many bytes, and where what was seen stands for hardly any others
    /// as many blocks, as blocks of 0 bytes are the most of them.
    pub(crate) fn or_unseen(&mut self, unseen_bytes: f64) {
        self.bytes = self.bytes.or_more(unseen_bytes);
        if self.blocks.value <= 2.0 * self.samples as f64 {
            self.blocks = self.blocks.or_more(unseen_bytes);
        }
    }

    /// With what may have gone unseen of a part of `whole`: where no sample is of the part, there is any number of blocks of
    /// it that samples seldom miss. (Of a stack none of whose samples leaked it said that nothing had.)
    pub(crate) fn or_unseen_part(&mut self, whole: &Estimate, unseen_bytes: f64) {
        if self.samples > 0 || whole.samples == 0 {
            return;
        }
        let further = |part: &mut Figure, whole: &Figure| {
            part.high = part.high.max((part.value + unseen_bytes).min(whole.high));
        };
        further(&mut self.blocks, &whole.blocks);
        further(&mut self.bytes, &whole.bytes);
    }

    /// Nobody knows how much more there was.
    pub(crate) fn open_above(&mut self) {
        (self.blocks.high, self.bytes.high) = (f64::INFINITY, f64::INFINITY);
    }
}

/// The estimates of one stack, see [`crate::answer::Stack`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StackEstimates {
    /// Blocks allocated.
    pub allocated: Estimate,
    /// Blocks freed.
    pub freed: Estimate,
    /// Live at the peak.
    pub at_peak: Estimate,
    /// Live at the end.
    pub leaked: Estimate,
    /// Freed by the same thread before its next allocation.
    pub temporary: Estimate,
}

impl StackEstimates {
    /// The same with what may have gone unseen of figures without a sample.
    fn or_unseen(&mut self, unseen_bytes: f64) {
        let StackEstimates { allocated, freed, at_peak, leaked, temporary } = self;
        for part in [freed, at_peak, leaked, temporary] {
            part.or_unseen_part(allocated, unseen_bytes);
        }
    }
}

/// How sure the figures of a recording are in which not every block was recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sampling {
    /// The means of all rates that blocks were sampled at, in bytes, ascending.
    pub mean_bytes: Vec<u64>,
    /// How many blocks were sampled.
    pub samples: u64,
    /// How many blocks were recorded while every block was.
    pub exact_blocks: u64,
    /// Blocks allocated.
    pub allocated: Estimate,
    /// Blocks freed.
    pub freed: Estimate,
    /// What was live at the moment that was found to be the peak. Of several moments of about the same
    /// height the search finds the one that the samples happen to favour, so this leans to more.
    pub peak: Estimate,
    /// Live at the end.
    pub leaked: Estimate,
    /// Freed by their thread before its next allocation.
    pub temporary: Estimate,
    /// Of each stack, in the order of [`crate::Answer::stacks`].
    pub stacks: Vec<StackEstimates>,
}

/// Where so many samples are expected, there is none in 5 of 100 recordings: `-ln 0.05`.
pub(crate) const SELDOM_MISSED: f64 = 2.995_732_273_553_991;

impl Sampling {
    /// Whether any figure is an estimate. While every block was recorded for the rest of the time, a short time of
    /// samples may have hit no block: then all figures are what was recorded.
    pub fn has_estimates(&self) -> bool {
        self.samples > 0 || self.exact_blocks == 0
    }

    /// The same of a recording that was off for a time: what was allocated then is in no figure.
    pub(crate) fn open_above(mut self) -> Sampling {
        let Sampling { allocated, freed, peak, leaked, temporary, stacks, .. } = &mut self;
        let of_stacks = stacks.iter_mut().flat_map(|of| {
            [&mut of.allocated, &mut of.freed, &mut of.at_peak, &mut of.leaked, &mut of.temporary]
        });
        let of_all = [allocated, freed, peak, leaked, temporary];
        of_all.into_iter().chain(of_stacks).for_each(Estimate::open_above);
        self
    }

    /// The same with what may have gone unseen of figures without a sample.
    pub(crate) fn or_unseen(mut self) -> Sampling {
        let unseen_bytes = self.unseen_below_bytes() as f64;
        let Sampling { allocated, freed, peak, leaked, temporary, stacks, .. } = &mut self;
        [allocated, freed, peak, leaked, temporary].into_iter().for_each(|of| of.or_unseen(unseen_bytes));
        stacks.iter_mut().for_each(|of| of.or_unseen(unseen_bytes));
        self
    }

    /// Stacks that allocated fewer bytes than this may not have been seen at all: more than 5 in 100 of
    /// those were not. Stacks that allocated more were seen in at least 95 of 100 recordings.
    pub fn unseen_below_bytes(&self) -> u64 {
        unseen_below_bytes(self.mean_bytes.iter().copied().max().unwrap_or(0))
    }
}

/// The same at a mean of so many bytes.
pub(crate) fn unseen_below_bytes(mean_bytes: u64) -> u64 {
    (mean_bytes as f64 * SELDOM_MISSED).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` samples that each stand for `each`, besides what is exact.
    fn equal(exact: f64, n: f64, each: f64) -> Figure {
        Figure::sampled(exact, n * each, n * each * each, n * each * each * each)
    }

    fn check(figure: Figure, low: f64, high: f64) {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3 * b.abs();
        assert!(near(figure.low, low) && near(figure.high, high), "{figure:?}");
    }

    #[test]
    fn equal_samples_give_wilsons_range_of_a_count() {
        // Of 10 seen: the score interval of a Poisson count.
        check(equal(0.0, 10.0, 1.0), 5.432, 18.409);
        check(equal(0.0, 10.0, 512.0), 5.432 * 512.0, 18.409 * 512.0);
    }

    #[test]
    fn what_is_exact_moves_the_range() {
        check(equal(1e4, 10.0, 1.0), 1e4 + 5.432, 1e4 + 18.409);
        check(Figure::sampled(5.0, 0.0, 0.0, 0.0), 5.0, 5.0);
        check(Figure::sampled(0.0, 7.0, 0.0, 0.0), 7.0, 7.0);
    }

    #[test]
    fn uneven_samples_reach_further_up() {
        let (even, uneven) = (equal(0.0, 20.0, 1.0), Figure::sampled(0.0, 20.0, 20.0, 60.0));
        assert_eq!(uneven.low, even.low);
        assert!(uneven.high > even.high);
    }

    #[test]
    fn ranges_of_parts_add_up_like_standard_errors() {
        let one = equal(0.0, 10.0, 1.0);
        check(Figure::sum(120.0, &[one, one]), 120.0 - 4.568 * 2f64.sqrt(), 120.0 + 8.409 * 2f64.sqrt());
        check(Figure::sum(7.0, &[]), 7.0, 7.0);
    }

    #[test]
    fn what_no_sample_hit_may_have_gone_unseen() {
        let nothing = Figure::sum(0.0, &[]);
        assert!(nothing.standard_error().is_sign_positive(), "{nothing:?}");
        let hit =
            Estimate { samples: 10, blocks: equal(0.0, 10.0, 128.0), bytes: equal(0.0, 10.0, 65_536.0) };
        let leaked = Estimate { samples: 0, blocks: nothing, bytes: Figure::sum(500.0, &[]) };
        let sampling = Sampling { mean_bytes: vec![64 << 10], leaked, peak: hit, ..Sampling::default() };
        let Sampling { leaked, peak, .. } = sampling.or_unseen();
        check(leaked.bytes, 500.0, 500.0 + 196_328.0);
        assert_eq!((leaked.blocks.low, leaked.blocks.high), (0.0, 196_328.0));
        // As one more class of sizes, of which no block was hit: a fifteenth more, of 10 samples.
        let further = (peak.bytes.high - hit.bytes.value) / (hit.bytes.high - hit.bytes.value);
        assert!((1.0..1.07).contains(&further), "{further}");
        assert_eq!((peak.bytes.low, peak.blocks), (hit.bytes.low, hit.blocks));
        // A stranger's program: 216,000 bytes and 130 blocks of 200, of which the range of `--sample 16KiB` held 216,914.
        let mut large =
            Estimate { samples: 1, blocks: equal(0.0, 1.0, 1.0), bytes: equal(0.0, 1.0, 216_000.0) };
        for figure in [&mut large.blocks, &mut large.bytes] {
            (figure.low, figure.high, figure.variance) = (figure.value - 1.0, figure.value + 1.0, 0.5);
        }
        large.or_unseen(49_082.0);
        assert!(large.bytes.high > 242_000.0 && large.blocks.high > 131.0, "{large:?}");
    }

    #[test]
    fn a_stack_is_unseen_with_one_chance_in_twenty() {
        let sampling = Sampling { mean_bytes: vec![1000, 512 << 10], ..Sampling::default() };
        assert_eq!(sampling.unseen_below_bytes(), 1_570_626);
    }
}
