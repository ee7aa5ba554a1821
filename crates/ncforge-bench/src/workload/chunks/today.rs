//! The chunk shapes that people get today from the tools that they have.

use serde::Serialize;

/// A tool's choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Today {
    /// The tool.
    pub tool: &'static str,
    /// Its chunk lengths for the array.
    pub chunks: Vec<u64>,
}

/// The chunks that netCDF-C, h5py, NCO and Rew's formula choose for an array, knowing nothing of its use. Tools that have no
/// answer for the rank are left out.
///
/// ```
/// let shapes = ncforge_bench::workload::chunks::today(&[98128, 277, 349], &[false; 3], 4);
/// assert_eq!(shapes.iter().find(|t| t.tool == "Rew 4 MiB").unwrap().chunks, [1032, 29, 35]);
/// ```
pub fn today(shape: &[u64], unlimited: &[bool], element: u64) -> Vec<Today> {
    let mut out = vec![
        Today { tool: "netCDF-C", chunks: netcdf_c(shape, unlimited, element) },
        Today { tool: "h5py", chunks: h5py(shape, element) },
    ];
    if let Some(chunks) = rew(shape, element, 4096) {
        out.push(Today { tool: "NCO rew", chunks });
    }
    if let Some(chunks) = rew(shape, element, 4 << 20) {
        out.push(Today { tool: "Rew 4 MiB", chunks });
    }
    out
}

/// netCDF-C's default (`nc4_find_default_chunksizes2` in its 4.9 series): 1 along unlimited dimensions, the others in
/// proportion to their lengths, 16 MiB in all; then what hangs over is shared out.
fn netcdf_c(shape: &[u64], unlimited: &[bool], element: u64) -> Vec<u64> {
    const BYTES: f64 = 16_777_216.0;
    const RECORDS: u64 = 4096;
    let grow = unlimited.iter().filter(|&&u| u).count();
    let values: f64 = shape.iter().zip(unlimited).filter(|(_, u)| !**u).map(|(&n, _)| n as f64).product();
    if shape.len() == 1 && grow == 1 {
        return vec![(RECORDS / element).max(1)];
    }
    if grow == shape.len() {
        return vec![((BYTES / element as f64).powf(1.0 / grow as f64) as u64).max(1); grow];
    }
    let share = (BYTES / (values * element as f64)).powf(1.0 / (shape.len() - grow) as f64);
    shape
        .iter()
        .zip(unlimited)
        .map(|(&n, &u)| {
            if u {
                return 1;
            }
            let c = ((share * n as f64 - 0.5).max(0.0) as u64).clamp(1, n);
            let parts = n.div_ceil(c);
            c - (parts * c - n) / parts
        })
        .collect()
}

/// h5py's `guess_chunk`: halves the axes in turn until the chunk is near a size that grows with the array's.
fn h5py(shape: &[u64], element: u64) -> Vec<u64> {
    const BASE: f64 = 16384.0;
    const MOST: f64 = 1_048_576.0;
    let mut chunks = shape.to_vec();
    let bytes = |c: &[u64]| c.iter().map(|&n| n as f64).product::<f64>() * element as f64;
    let target = (BASE * 2f64.powf((bytes(&chunks) / MOST).log10())).clamp(8192.0, MOST);
    for i in (0..shape.len()).cycle() {
        let now = bytes(&chunks);
        if (now < target || (now - target).abs() / target < 0.5) && now < MOST
            || chunks.iter().all(|&c| c == 1)
        {
            break;
        }
        chunks[i] = chunks[i].div_ceil(2);
    }
    chunks
}

/// R. Rew's `chunk_shape_3D` ("Chunking Data: Choosing Shapes", Unidata developers' blog, 2013), for chunks of
/// `bytes`: as many chunks for a series as for a map. Three dimensions only.
fn rew(shape: &[u64], element: u64, bytes: u64) -> Option<Vec<u64>> {
    let &[t, y, x] = shape else { return None };
    let lens = [t as f64, y as f64, x as f64];
    let capacity = bytes as f64 / element as f64;
    let number = lens.iter().product::<f64>() / capacity;
    if number <= 1.0 {
        return Some(shape.to_vec());
    }
    let mut a = number.powf(0.25);
    let mut ideal = [1.0; 3];
    if lens[0] / (a * a) < 1.0 {
        a /= (lens[0] / (a * a)).sqrt();
    } else {
        ideal[0] = (lens[0] / (a * a)).floor();
    }
    let mut lost = 1.0;
    for d in 1..3 {
        if lens[d] / a < 1.0 {
            lost *= a / lens[d];
        } else {
            ideal[d] = (lens[d] / a).floor();
        }
    }
    for d in 1..3 {
        if lens[d] / a >= 1.0 {
            ideal[d] = (lens[d] / a * if lost > 1.0 { 1.0 / lost } else { 1.0 }).floor().max(1.0);
        }
    }
    // Of the corners of the unit cube above it, the largest that fits.
    let corners = (0..8u32).map(|bits| -> Vec<u64> {
        (0..3).map(|d| (ideal[d] as u64 + u64::from(bits >> d & 1)).min(shape[d])).collect()
    });
    let volume = |c: &[u64]| c.iter().product::<u64>();
    corners
        .filter(|c| volume(c) as f64 <= capacity)
        .max_by_key(|c| volume(c))
        .or(Some(ideal.map(|c| c as u64).to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_answers() {
        // The first three rows: reference values of NCO's own test (nco issue 70).
        for (bytes, want) in [(4096, [33, 5, 6]), (1 << 20, [516, 20, 25]), (16 << 20, [2064, 40, 50])] {
            assert_eq!(rew(&[98128, 277, 349], 4, bytes).unwrap(), want);
        }
        assert_eq!(rew(&[5, 5, 5], 4, 4096).unwrap(), [5, 5, 5]);
        assert_eq!(rew(&[5, 5], 4, 4096), None);
        assert_eq!(netcdf_c(&[100], &[true], 8), [512]);
        assert_eq!(netcdf_c(&[1560, 128, 256], &[true, false, false], 4), [1, 128, 256]);
        // As h5py 3 answers for (1560, 128, 256), float.
        assert_eq!(h5py(&[1560, 128, 256], 4), [98, 8, 32]);
    }
}
