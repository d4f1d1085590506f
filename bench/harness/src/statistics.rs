//! Medians and factors. A factor is taken within each round, whose runs lie close together in time, and the
//! median of the rounds is reported: a machine that slows down slowly then slows both sides of it.

/// The middle value, of an even number the mean of the two; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The least value.
pub(crate) fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// The mean of factors.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

/// A factor over several rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Factor {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// How many times as much `values` are as `bases`, round by round; rounds without a base are omitted.
pub(crate) fn factor(values: &[f64], bases: &[f64]) -> Option<Factor> {
    let pairs = values.iter().zip(bases).filter(|(_, base)| **base > 0.0);
    let factors: Vec<f64> = pairs.map(|(value, base)| value / base).collect();
    Some(Factor {
        median: median(&factors)?,
        least: least(&factors)?,
        most: factors.iter().copied().max_by(f64::total_cmp)?,
    })
}

/// How much more `values` are than `bases`, the median of the rounds.
pub(crate) fn added(values: &[f64], bases: &[f64]) -> Option<f64> {
    median(&values.iter().zip(bases).map(|(value, base)| value - base).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        for (values, expected) in [
            (&[][..], None),
            (&[3.0], Some(3.0)),
            (&[9.0, 1.0, 2.0], Some(2.0)),
            (&[4.0, 1.0, 2.0, 9.0], Some(3.0)),
        ] {
            assert_eq!(median(values), expected);
        }
        assert_eq!(least(&[2.0, 1.0]), Some(1.0));
    }

    #[test]
    fn the_mean_of_factors_is_geometric() {
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn factors_are_taken_within_a_round() {
        // The machine is half as fast in the second round, and the third has no base.
        let factor = factor(&[3.0, 6.0, 5.0], &[2.0, 4.0, 0.0]);
        assert_eq!(factor, Some(Factor { median: 1.5, least: 1.5, most: 1.5 }));
        assert_eq!(super::factor(&[], &[]), None);
        assert_eq!(added(&[3.0, 6.0, 5.0], &[2.0, 4.0, 4.0]), Some(1.0));
    }
}
