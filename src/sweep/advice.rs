//! The recommendation of a sweep, in words.

use std::collections::BTreeSet;

use crate::observe::figures::grouped;
use crate::tables::sweep_sizes::SweepSizeRow;

/// How many times as many topics as with any smaller number are found again with the largest, if more may be with one that
/// was not tried.
const RISING: f64 = 1.2;

/// Says which number of topics to take, and why.
pub(crate) fn advice(sizes: &[SweepSizeRow]) -> String {
    let Some(chosen) = sizes.iter().find(|row| row.recommended) else {
        return "no topic was found again with another seed: there are too few documents, or too few passes".to_owned();
    };
    let settings = &chosen.settings;
    let said = of_settings(sizes.iter().filter(|row| row.settings == *settings).collect());
    if settings.is_empty() {
        return said;
    }
    let others = sizes.iter().filter(|row| row.settings != *settings && row.figures().is_best());
    let others: BTreeSet<&str> = others.map(|row| row.settings.as_str()).collect();
    let others = match others.into_iter().collect::<Vec<_>>().join("; ") {
        others if others.is_empty() => "by more than the error".to_owned(),
        others => format!("but within the error of {others}"),
    };
    format!(
        "With {settings}, held-out documents are predicted best, {others}. Among these models: {said}"
    )
}

/// Says which number to take, of the numbers of topics of some settings.
fn of_settings(sizes: Vec<&SweepSizeRow>) -> String {
    let place = sizes.iter().position(|row| row.recommended).unwrap_or(0);
    let row = sizes[place];
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
    if row.figures().is_best() {
        said += ", and held-out documents are predicted as well as with any number, as far as the error says";
    }
    let found_of = |row: &&SweepSizeRow| row.stable_topics.unwrap_or(0.0);
    let most = sizes.iter().max_by(|a, b| found_of(a).total_cmp(&found_of(b)));
    if let Some(most) = most.filter(|most| found_of(most).round() > found.round()) {
        said += &format!(
            "; with {} topics, {:.0} are found again, the most of any number tried, to which {topics} is nearest",
            grouped(most.topics as u64),
            found_of(most)
        );
    }
    let likelihood =
        |row: &&SweepSizeRow| row.log_likelihood_per_token.unwrap_or(f64::NEG_INFINITY);
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
    let before = sizes.iter().rev().skip(1).map(found_of).fold(0.0, f64::max);
    let is_rising = sizes.last().is_some_and(|last| found_of(last) > RISING * before);
    match place {
        _ if sizes.len() == 1 => {}
        _ if row.topics == largest || is_rising => {
            said += ". No larger number was tried, of which more may be found again"
        }
        0 => said += ". No smaller number was tried, which may do",
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
            size(100, Some(23.7), -7.8, false),
            size(200, Some(11.0), -7.9, false),
        ];
        assert_eq!(
            advice(&sizes),
            "50 topics: 23 of them are found again with another seed; with 100 topics, 24 are found again, the most of any \
             number tried, to which 50 is nearest. By these models, the documents have from 24 topics (found again) to 100 (best held-out likelihood)"
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
        let best = SweepSizeRow { difference: Some(0.0), ..size(60, Some(48.0), -7.7, true) };
        assert_eq!(
            advice(&[size(40, Some(31.0), -7.8, false), best, size(90, Some(52.0), -7.8, false)]),
            "60 topics: 48 of them are found again with another seed, and held-out documents are predicted as well as with \
             any number, as far as the error says; with 90 topics, 52 are found again, the most of any number tried, to which 60 is nearest. By \
             these models, the documents have from 52 topics (found again) to 60 (best held-out likelihood)"
        );
        let of = |settings: &str, row: &SweepSizeRow| SweepSizeRow {
            settings: settings.to_owned(),
            difference: row.log_likelihood_per_token.map(|it| it + 7.8),
            difference_error: Some(0.11),
            ..row.clone()
        };
        let other = size(300, Some(200.0), -7.9, false);
        let several = [of("a=1", &sizes[1]), of("a=1", &sizes[2]), of("a=2", &other)];
        assert!(advice(&several).starts_with(
            "With a=1, held-out documents are predicted best, but within the error of a=2. Among these models: 50 topics: 23 of them are found again with another seed, and held-out \
             documents are predicted as well as with any number, as far as the error says; with 100 topics"
        ));
        assert!(advice(&several[..2]).contains("best, by more than the error. Among"));
    }
}
