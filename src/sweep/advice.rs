//! The recommendation of a sweep, in words.

use crate::observe::figures::grouped;
use crate::tables::sweep_sizes::SweepSizeRow;

/// Says which number of topics to take, and why.
pub(crate) fn advice(sizes: &[SweepSizeRow]) -> String {
    let Some(place) = sizes.iter().position(|row| row.recommended) else {
        return "no topic was found again with another seed: there are too few documents, or too few passes".to_owned();
    };
    let row = &sizes[place];
    let topics = grouped(row.topics as u64);
    let Some(found) = row.stable_topics else {
        return format!(
            "{topics} topics: with more, held-out documents are not predicted better by more than the error. With \
             several seeds, a sweep also says which topics are found again"
        );
    };
    let are = if found.round() == 1.0 { "is" } else { "are" };
    let mut said =
        format!("{topics} topics: {found:.0} of them {are} found again with another seed");
    let found_of = |row: &SweepSizeRow| row.stable_topics.unwrap_or(0.0);
    let most = sizes.iter().max_by(|a, b| found_of(a).total_cmp(&found_of(b)));
    if let Some(most) = most.filter(|most| most.topics != row.topics) {
        said += &format!(
            "; with {} topics, {:.0} are, the most of any number tried",
            grouped(most.topics as u64),
            found_of(most)
        );
    }
    let likelihood = |row: &SweepSizeRow| row.log_likelihood_per_token.unwrap_or(f64::NEG_INFINITY);
    let best = sizes.iter().max_by(|a, b| likelihood(a).total_cmp(&likelihood(b)));
    let (least, best) = (most.map_or(0.0, found_of), best.map_or(0, |best| best.topics));
    let largest = sizes.last().map_or(0, |last| last.topics);
    if least < f64::from(best) {
        let or_more = if best == largest { " or more" } else { "" };
        said += &format!(
            ". By these models, the documents have from {least:.0} topics (found again) to {}{or_more} (best held-out \
             likelihood)",
            grouped(best as u64)
        );
    }
    match place {
        _ if sizes.len() == 1 => {}
        0 => said += ". No smaller number was tried, which may do",
        _ if row.topics == largest => {
            said += ". No larger number was tried, of which more may be found again"
        }
        _ => {}
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(topics: i32, found: Option<f64>, likelihood: f64, recommended: bool) -> SweepSizeRow {
        SweepSizeRow {
            topics,
            stable_topics: found,
            log_likelihood_per_token: Some(likelihood),
            recommended,
            ..SweepSizeRow::default()
        }
    }

    #[test]
    fn the_reason_is_said_with_its_limits() {
        let sizes = [
            size(20, Some(14.2), -8.1, false),
            size(50, Some(22.6), -7.9, true),
            size(100, Some(23.4), -7.8, false),
            size(200, Some(11.0), -7.9, false),
        ];
        assert_eq!(
            advice(&sizes),
            "50 topics: 23 of them are found again with another seed; with 100 topics, 23 are, the most of any number tried. By these \
             models, the documents have from 23 topics (found again) to 100 (best held-out likelihood)"
        );
        let said = advice(&sizes[..2]);
        assert!(
            said.contains("to 50 or more (") && said.ends_with("of which more may be found again"),
            "{said}"
        );
        assert!(advice(&sizes[1..]).ends_with("No smaller number was tried, which may do"));
        assert!(advice(&sizes[1..2]).starts_with("50 topics: 23 of them"));
        assert!(advice(&[size(20, None, -8.0, true)]).starts_with("20 topics: with more,"));
        assert!(advice(&sizes[..1]).starts_with("no topic"));
    }
}
