//! Figures of sampled recordings: the estimate, its standard error and its range. Where every block was
//! recorded there is no estimate, and a figure is printed as the exact number that it is.

use std::io;

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::estimate::{Estimate, Figure, Sampling};

use super::out::Out;
use heapscribe_units::{about, count, counted, plural, plus_minus, short_bytes};

/// Bytes: exact, or `≈ 1.23 GiB ± 51.2 MiB (95 %: 1.13 GiB to 1.34 GiB)`.
pub fn bytes(n: u64, estimate: Option<&Estimate>) -> String {
    let Some(figure) = unsure(estimate, |e| &e.bytes) else {
        return heapscribe_units::bytes(n) + &unseen_range(estimate);
    };
    let [value, error] = [figure.value, figure.standard_error()].map(short);
    format!("{} {value} {} {error} (95 %: {})", about(), plus_minus(), ends(figure, short))
}

/// `1.13 GiB to 1.34 GiB`; without an upper end, as recording was off for a time, `at least 1.13 GiB`.
pub fn ends(figure: &Figure, shown: impl Fn(f64) -> String) -> String {
    match figure.high.is_infinite() {
        true => format!("at least {}", shown(figure.low)),
        false => format!("{} to {}", shown(figure.low), shown(figure.high)),
    }
}

/// Blocks, allocations and the like: exact, or `≈ 1,230,000 blocks ± 45,600 (95 %: 1,140,000 to 1,330,000)`.
pub fn blocks(n: u64, singular: &str, estimate: Option<&Estimate>) -> String {
    let Some(figure) = unsure(estimate, |e| &e.blocks) else { return counted(n, singular) };
    let [value, error] = [figure.value, figure.standard_error()].map(three_digits);
    let ends = ends(figure, three_digits);
    let things = if value == "1" { singular.to_owned() } else { plural(singular) };
    format!("{} {value} {things} {} {error} (95 %: {ends})", about(), plus_minus())
}

/// ` (95 %: up to 192 KiB)` behind a figure that no sample is part of, though blocks were sampled: so much may have gone
/// unseen.
pub fn unseen_range(estimate: Option<&Estimate>) -> String {
    let is_open = |e: &&Estimate| e.bytes.variance <= 0.0 && e.bytes.high > e.bytes.value;
    estimate.filter(is_open).map_or_else(String::new, |e| match e.bytes.high.is_infinite() {
        true => " or more".to_owned(),
        false => format!(" (95 %: up to {})", short(e.bytes.high)),
    })
}

/// What stands in a row: without the standard error, which can be read off the range.
pub fn row_bytes(n: u64, estimate: Option<&Estimate>) -> String {
    let Some(figure) = unsure(estimate, |e| &e.bytes) else { return heapscribe_units::bytes(n) };
    format!("{} {} ({})", about(), short(figure.value), ends(figure, short))
}

/// The same for blocks, with the number of samples that they rest on.
pub fn row_blocks(n: u64, estimate: Option<&Estimate>) -> String {
    let Some(figure) = unsure(estimate, |e| &e.blocks) else { return counted(n, "block") };
    let (value, ends) = (three_digits(figure.value), ends(figure, three_digits));
    let samples = counted(estimate.map_or(0, |e| e.samples), "sample");
    let blocks = if value == "1" { "block" } else { "blocks" };
    format!("{} {value} {blocks} ({ends}; {samples})", about())
}

/// A figure, when there is anything unsure about it.
fn unsure(estimate: Option<&Estimate>, of: impl Fn(&Estimate) -> &Figure) -> Option<&Figure> {
    estimate.map(of).filter(|figure| figure.variance > 0.0)
}

fn short(bytes: f64) -> String {
    short_bytes(bytes as u64)
}

/// An estimate without a range of its own: `≈ 99,100`.
pub fn about_count(n: u64) -> String {
    format!("{} {}", about(), three_digits(n as f64))
}

/// A number of things that has no range of its own, and may be an estimate.
pub fn about_counted(n: u64, singular: &str, is_estimated: bool) -> String {
    if !is_estimated {
        return counted(n, singular);
    }
    let things = if n == 1 { singular.to_owned() } else { plural(singular) };
    format!("{} {things}", about_count(n))
}

/// A number of things that is known to three digits at best.
fn three_digits(figure: f64) -> String {
    let mut scale = 1.0;
    while figure / scale >= 999.5 {
        scale *= 10.0;
    }
    count(((figure / scale).round() * scale) as u64)
}

/// How sure the sum over several stacks is.
pub fn sum(amount: Amount, of: &[&Estimate]) -> Estimate {
    let figures = |part: fn(&Estimate) -> Figure| of.iter().map(|one| part(one)).collect::<Vec<_>>();
    Estimate {
        samples: of.iter().map(|one| one.samples).sum(),
        blocks: Figure::sum(amount.blocks as f64, &figures(|one| one.blocks)),
        bytes: Figure::sum(amount.bytes as f64, &figures(|one| one.bytes)),
    }
}

/// What has to be known to read the figures.
pub fn legend(sampling: &Sampling) -> String {
    let means: Vec<_> = sampling.mean_bytes.iter().map(|&mean| short_bytes(mean)).collect();
    let (means, samples) = (means.join(" or "), counted(sampling.samples, "block"));
    let (about, error) = (about(), plus_minus());
    if sampling.exact_blocks == 0 {
        return format!(
            "Sampled every {means} on average, {samples} in total. Figures are estimates ({about}) with their \
             standard error ({error}) and 95 % confidence interval."
        );
    }
    let begin = format!(
        "For part of the time every block was recorded, {} in total, and for the rest one sample every {means} on \
         average",
        counted(sampling.exact_blocks, "block")
    );
    match sampling.samples {
        0 => format!(
            "{begin}, of which there was none. What was allocated then, probably less than {} (95 %), is in no \
             figure; all figures are of the blocks that were recorded.",
            short_bytes(sampling.unseen_below_bytes())
        ),
        _ => format!(
            "{begin}, {samples}. Figures that samples are part of are estimates ({about}) with their standard error \
             ({error}) and 95 % confidence interval; the others are exact."
        ),
    }
}

/// What a sampled recording does not show.
pub fn unseen(out: Out<'_>, sampling: &Sampling) -> io::Result<()> {
    let bytes = short_bytes(sampling.unseen_below_bytes());
    writeln!(
        out,
        "  Stacks without samples: one that allocated less than {bytes} is missed in more than 5 of 100 recordings."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_three_digits() {
        for (figure, text) in [(0.2, "0"), (999.4, "999"), (999.5, "1,000"), (1_234_567.0, "1,230,000")] {
            assert_eq!(three_digits(figure), text);
        }
    }

    #[test]
    fn without_an_estimate_figures_are_exact() {
        assert_eq!(bytes(5_000_000, None), "5,000,000 bytes (4.77 MiB)");
        assert_eq!((blocks(1, "call", None), row_blocks(2, None)), ("1 call".into(), "2 blocks".into()));
    }

    #[test]
    fn what_no_sample_hit_is_said_to_be_up_to_so_much() {
        let up_to = |high: f64| Figure { high, ..Figure::default() };
        let of = |bytes| Estimate { samples: 0, blocks: up_to(196_328.0), bytes };
        assert_eq!(bytes(0, Some(&of(up_to(196_328.0)))), "0 bytes (95 %: up to 192 KiB)");
        assert_eq!(blocks(0, "block", Some(&of(up_to(196_328.0)))), "0 blocks");
        assert_eq!(bytes(0, Some(&of(Figure::default()))), "0 bytes");
    }

    /// A stranger's program: 34.5 MiB (31.8 to 37.4), of 47.7 MiB, as recording was off when the others were allocated.
    #[test]
    fn without_an_upper_end_they_are_at_least_so_much() {
        let figure = Figure { value: 1e6, variance: 1e8, low: 5e5, high: f64::INFINITY };
        let estimate = Estimate { samples: 1, blocks: figure, bytes: figure };
        assert_eq!(bytes(1, Some(&estimate)), "≈ 977 KiB ± 9.77 KiB (95 %: at least 488 KiB)");
        assert_eq!(blocks(1, "free", Some(&estimate)), "≈ 1,000,000 frees ± 10,000 (95 %: at least 500,000)");
        assert_eq!(row_blocks(1, Some(&estimate)), "≈ 1,000,000 blocks (at least 500,000; 1 sample)");
        let none = Figure { high: f64::INFINITY, ..Figure::default() };
        assert_eq!(bytes(0, Some(&Estimate { samples: 0, blocks: none, bytes: none })), "0 bytes or more");
    }

    #[test]
    fn estimates_say_how_sure_they_are() {
        let blocks_of = |value: f64| Figure { value, variance: 1e8, low: value / 2.0, high: value * 2.0 };
        let estimate = Estimate { samples: 1, blocks: blocks_of(1e6), bytes: blocks_of(1048576.0) };
        assert_eq!(bytes(1, Some(&estimate)), "≈ 1.00 MiB ± 9.77 KiB (95 %: 512 KiB to 2.00 MiB)");
        assert_eq!(
            blocks(1, "free", Some(&estimate)),
            "≈ 1,000,000 frees ± 10,000 (95 %: 500,000 to 2,000,000)"
        );
        assert_eq!(row_blocks(1, Some(&estimate)), "≈ 1,000,000 blocks (500,000 to 2,000,000; 1 sample)");
    }
}
