//! Divides a page among those who hold it: in proportion to their bytes in it, in whole bytes that sum to the page. Of the
//! bytes that rounding leaves, the one with the largest remainder gets the first; of equal ones the first.

/// The shares of `total` by these weights, of which at least one is not 0.
pub(super) fn shares(total: u64, weights: &[u64], out: &mut Vec<u64>) {
    let sum: u64 = weights.iter().sum();
    let exact = |weight: u64| u128::from(total) * u128::from(weight);
    let of = u128::from(sum.max(1));
    out.clear();
    out.extend(weights.iter().map(|weight| (exact(*weight) / of) as u64));
    let left = total.saturating_sub(out.iter().sum()) as usize;
    if left == 0 || weights.is_empty() {
        return;
    }
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|at| std::cmp::Reverse(exact(weights[*at]) % of));
    by_remainder.iter().cycle().take(left).for_each(|at| out[*at] += 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(total: u64, weights: &[u64], expected: &[u64]) {
        let mut out = Vec::new();
        shares(total, weights, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn shares_sum_to_the_whole() {
        check(4096, &[24], &[4096]);
        check(4096, &[1, 1], &[2048, 2048]);
        check(4096, &[1, 1, 1], &[1366, 1365, 1365]);
        check(10, &[1, 2, 4], &[1, 3, 6]);
        check(1 << 21, &[u32::MAX.into(), 1], &[1 << 21, 0]);
    }
}
