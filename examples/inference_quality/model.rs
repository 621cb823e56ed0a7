//! A model of any system, from dense arrays.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use lda::model::factors::Factors;
use npyz::{NpyFile, Order};

/// The floor of φ_kw: external models may exclude terms, but no test token may be impossible.
const LEAST: f32 = 1e-12;

/// A term's excess over a topic's smoothing is rounding if it is a smaller share of the smoothing.
const ROUNDING: f64 = 1e-6;

/// Loads φ and α of `folder` as factors: a topic's smoothing is the weight of its rarest term, and a
/// term's row has the excess over it.
pub fn load(folder: &Path, vocabulary_size: usize) -> Result<Factors, Box<dyn Error>> {
    let alpha = array(&folder.join("alpha.npy"))?;
    let phi = array(&folder.join("phi.npy"))?;
    let topics = alpha.values.len();
    if phi.shape != [topics as u64, vocabulary_size as u64] {
        let (path, found) = (folder.join("phi.npy"), phi.shape);
        let path = path.display();
        return Err(format!("{path}: {found:?}, not {topics} × {vocabulary_size}").into());
    }
    if !alpha.values.iter().all(|&a| a > 0.0 && a.is_finite()) {
        return Err(format!("{}: not all above 0", folder.join("alpha.npy").display()).into());
    }
    let mut rows: Vec<Vec<(u16, f32)>> = vec![Vec::new(); vocabulary_size];
    let mut smoothing = Vec::new();
    for (topic, weights) in (0_u16..).zip(phi.values.chunks(vocabulary_size)) {
        if !weights.iter().all(|&w| w >= 0.0 && w.is_finite()) {
            return Err(format!("{}: topic {topic}", folder.join("phi.npy").display()).into());
        }
        let floored = || weights.iter().map(|&w| f64::from(w.max(LEAST)));
        let total: f64 = floored().sum();
        let least = floored().fold(f64::INFINITY, f64::min) / total;
        for (row, weight) in rows.iter_mut().zip(floored()) {
            let own = weight / total - least;
            if own > ROUNDING * least {
                row.push((topic, own as f32));
            }
        }
        smoothing.push(least);
    }
    let alpha: Vec<f64> = alpha.values.iter().map(|&a| f64::from(a)).collect();
    let row = |term: u32| Some(&rows[term as usize][..]);
    let factors = Factors::from_topics(&alpha, &smoothing, vocabulary_size, row);
    Ok(factors)
}

/// Reads proportions, one row per document.
pub fn proportions(
    path: &Path,
    (documents, topics): (usize, usize),
) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    let theta = array(path)?;
    if theta.shape != [documents as u64, topics as u64] {
        let (path, found) = (path.display(), theta.shape);
        return Err(format!("{path}: {found:?}, not {documents} × {topics}").into());
    }
    let rows: Vec<Vec<f32>> = theta.values.chunks(topics).map(<[f32]>::to_vec).collect();
    let is_distribution = |row: &Vec<f32>| {
        let sum: f64 = row.iter().map(|&p| f64::from(p)).sum();
        row.iter().all(|&p| p >= 0.0) && (sum - 1.0).abs() < 1e-3
    };
    match rows.iter().position(|row| !is_distribution(row)) {
        None => Ok(rows),
        Some(row) => Err(format!("{}: row {row} does not add up to 1", path.display()).into()),
    }
}

/// Numbers, row by row.
struct Array {
    shape: Vec<u64>,
    values: Vec<f32>,
}

/// Reads a float32 array in C order.
fn array(path: &Path) -> Result<Array, Box<dyn Error>> {
    let told = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    let file = File::open(path).map_err(|e| told(&e))?;
    let npy = NpyFile::new(BufReader::new(file)).map_err(|e| told(&e))?;
    let shape = npy.shape().to_vec();
    if npy.order() != Order::C {
        return Err(told(&"in Fortran's order, not C's").into());
    }
    let values = npy.into_vec().map_err(|e| told(&e))?;
    Ok(Array { shape, values })
}
