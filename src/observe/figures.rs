//! Numbers as people read them: grouped digits, bytes, durations.

use std::time::Duration;

use indicatif::HumanCount;

/// Groups digits: 12345 → "12,345".
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Formats a count with its noun: "1 file", "1,234 files".
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", grouped(number))
}

/// Rounds an estimate to three significant digits: 1234567 → "1,230,000".
pub(crate) fn about(number: u64) -> String {
    let unit = 10_u64.pow(number.max(1).ilog10().saturating_sub(2));
    grouped((number + unit / 2) / unit * unit)
}

/// Formats a rate: three significant digits from 100 on, one decimal below, "0" for none.
pub(crate) fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second <= 0.0 {
        "0".to_owned()
    } else if per_second < 100.0 {
        format!("{per_second:.1}")
    } else {
        about(per_second.round() as u64)
    }
}

/// Formats progress, as in "120 of 411 rounds".
pub(crate) fn amount(done: u64, total: Option<u64>, unit: &str) -> String {
    let counted = grouped(done);
    match total {
        Some(total) => format!("{counted} of {} {unit}", grouped(total)),
        None if done == 0 => "under way".to_owned(),
        None => format!("{counted} {unit}"),
    }
}

/// Formats a share, as in " (29 %)".
pub(crate) fn percent(done: u64, total: u64) -> String {
    format!(" ({} %)", 100 * u128::from(done) / u128::from(total).max(1))
}

/// Returns "14.2 rounds/s" and "20 s left", as far as they are known.
pub(crate) fn rate_and_left(per_second: f64, unit: &str, left_seconds: Option<f64>) -> Vec<String> {
    let rate = (per_second > 0.0).then(|| format!("{} {unit}/s", rate(per_second)));
    let left = left_seconds.map(|left| format!("{} left", about_seconds(left)));
    rate.into_iter().chain(left).collect()
}

/// Rounds a parameter to five significant digits: 8.94427190999916 → "8.9443".
pub(crate) fn parameter(value: f64) -> String {
    let rounded = format!("{value:.4e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// Formats a figure to two digits of its standard error: "-6.455 ± 0.013"; "about -7.1" if that is not known.
pub(crate) fn with_error(figure: f64, error: Option<f64>) -> String {
    match error.filter(|error| *error > 0.0 && error.is_finite()) {
        None => format!("about {figure:.1}"),
        Some(error) => {
            let is_enough = |decimals: &usize| error * 10_f64.powi(*decimals as i32 - 1) >= 1.0;
            let decimals = (1..4).find(is_enough).unwrap_or(4);
            format!("{figure:.decimals$} ± {error:.decimals$}")
        }
    }
}

/// Formats bytes: 1536 → "1.5 KiB".
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// Formats a duration: "3.2 s", "4 min 5 s", "2 h 10 min".
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats estimated seconds: "8 s", "4 min", "2.5 h"; negative values and NaN become 0.
pub(crate) fn about_seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 5400.0 => format!("{:.1} h", seconds / 3600.0),
        seconds if seconds >= 90.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} s", seconds.max(0.0)),
    }
}

/// Formats seconds as a duration; values that are not a duration become 0.
pub(crate) fn seconds(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_these() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!([7, 999, 1_234_567, 99_950].map(about), ["7", "999", "1,230,000", "100,000"]);
        assert_eq!(about(0), "0");
        assert_eq!([0, 1, 1_234].map(|n| counted(n, "file")), ["0 files", "1 file", "1,234 files"]);
        assert_eq!(counted(2, "minibatch"), "2 minibatches");
        assert_eq!(rate(0.0), "0");
        assert_eq!(rate(f64::NAN), "0");
        assert_eq!(rate(3.25), "3.2");
        assert_eq!(rate(21_600.4), "21,600");
        assert_eq!(parameter(8.944_271_909_999_16), "8.9443");
        assert_eq!(parameter(0.05), "0.05");
        assert_eq!(parameter(100.0), "100");
        assert_eq!(parameter(100.0 * 0.07), "7");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(10 << 30), "10.0 GiB");
        assert_eq!(seconds(3.21), "3.2 s");
        assert_eq!(seconds(245.0), "4 min 5 s");
        assert_eq!(seconds(7_800.0), "2 h 10 min");
        assert_eq!(seconds(-1.0), "0.0 s");
        let estimates = [7.6, 89.0, 245.0, 7_800.0, f64::NAN].map(about_seconds);
        assert_eq!(estimates, ["8 s", "89 s", "4 min", "2.2 h", "0 s"]);
    }
}
