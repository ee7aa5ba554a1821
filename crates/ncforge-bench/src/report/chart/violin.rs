//! How many repetitions lie where: an outline that is thick where many do.

/// Fewer repetitions are drawn one by one.
pub(super) const LEAST: usize = 12;

/// Half the thickness at every pixel of the axis where there is some, as shares of the largest, of numbers that stand at these places. A
/// density of normal curves, as wide as Silverman's rule has them, and not thinner than a pixel and a half. `None` for too few.
pub(super) fn outline(places: &[i32]) -> Option<Vec<(i32, f64)>> {
    if places.len() < LEAST {
        return None;
    }
    let mut sorted: Vec<f64> = places.iter().map(|&p| f64::from(p)).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let deviation = (sorted.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / n).sqrt();
    let quartile = |share: f64| crate::stats::percentile(&sorted, share).unwrap_or(mean);
    let within = (quartile(0.75) - quartile(0.25)) / 1.34;
    // Where half of them are the same, the deviation alone says how wide they lie.
    let spread = if within > 0.0 { deviation.min(within) } else { deviation };
    let width = (0.9 * spread * n.powf(-0.2)).max(1.5);
    // No further than there are any.
    let (first, last) = (places.iter().min()?, places.iter().max()?);
    let density = |x: f64| sorted.iter().map(|p| (-0.5 * ((x - p) / width).powi(2)).exp()).sum::<f64>();
    let all: Vec<(i32, f64)> = (*first..=*last).map(|x| (x, density(f64::from(x)))).collect();
    let most = all.iter().map(|a| a.1).fold(0.0, f64::max);
    (most > 0.0).then(|| all.into_iter().map(|(x, d)| (x, d / most)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_thick_where_many_are() {
        // Two heaps, the second twice as high.
        let places: Vec<i32> = (0..10).map(|i| 100 + i % 3).chain((0..20).map(|i| 200 + i % 3)).collect();
        let found = outline(&places).unwrap();
        let at = |x: i32| found.iter().find(|f| f.0 == x).map_or(0.0, |f| f.1);
        assert!(at(201) > 0.99 && (0.4..0.6).contains(&at(101)) && at(150) < 0.2, "{} {}", at(101), at(150));
        assert!(found.iter().all(|f| (0.0..=1.0).contains(&f.1)));
        assert_eq!((found[0].0, found[found.len() - 1].0), (100, 202), "no further than there are any");
        // All at one place; too few.
        assert_eq!(outline(&[7; 12]), Some(vec![(7, 1.0)]));
        assert!(outline(&[7; 11]).is_none());
    }
}
