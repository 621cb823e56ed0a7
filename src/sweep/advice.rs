//! The recommendation of a sweep, in words.

use crate::observe::figures;
use crate::tables::sweep_sizes::SweepSizeRow;

/// Says which number of topics to take, and why.
pub(crate) fn advice(sizes: &[SweepSizeRow]) -> String {
    let place = sizes.iter().position(|row| row.recommended);
    let Some(place) = place else {
        return "no topic was found by all seeds: there are too few documents, or too few passes"
            .to_owned();
    };
    let (row, last) =
        (&sizes[place], sizes.iter().rfind(|row| row.acceptable).unwrap_or(&sizes[place]));
    let topics = figures::grouped(row.topics as u64);
    let Some(stable) = row.stable_topics else {
        return format!(
            "{topics} topics: with more, held-out documents are not predicted better by more than the error. With \
             several seeds, a sweep also says which topics come back"
        );
    };
    let most = sizes
        .iter()
        .max_by(|a, b| a.stable_topics.unwrap_or(0.0).total_cmp(&b.stable_topics.unwrap_or(0.0)));
    let mut said = format!("{topics} topics: {stable:.0} of them come back with every seed");
    if let Some(most) = most.filter(|most| most.topics != row.topics) {
        said += &format!(
            ", about as many as of any number tried (at most {:.0}, of {})",
            most.stable_topics.unwrap_or(0.0),
            figures::grouped(most.topics as u64)
        );
    } else if sizes.len() > 1 {
        said += ", the most of any number tried";
    }
    if last.topics > row.topics {
        said += &format!(
            ". Up to {}, held-out documents are predicted better by more than the error",
            figures::grouped(last.topics as u64)
        );
    }
    if place + 1 == sizes.len() {
        said += ". No larger number was tried: more may come back of one";
    } else if place == 0 {
        said += ". No smaller number was tried: fewer topics may do";
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(topics: i32, stable: Option<f64>, marks: [bool; 2]) -> SweepSizeRow {
        let [recommended, acceptable] = marks;
        SweepSizeRow {
            topics,
            stable_topics: stable,
            recommended,
            acceptable,
            ..SweepSizeRow::default()
        }
    }

    #[test]
    fn the_reason_is_said_with_its_limits() {
        let [none, first, others] = [[false; 2], [true, true], [false, true]];
        let sizes = [
            size(20, Some(0.0), none),
            size(60, Some(58.0), first),
            size(80, Some(58.0), others),
            size(120, Some(59.0), none),
        ];
        assert_eq!(
            advice(&sizes),
            "60 topics: 58 of them come back with every seed, about as many as of any number tried (at most 59, of 120). \
             Up to 80, held-out documents are predicted better by more than the error"
        );
        assert!(
            advice(&sizes[..2]).ends_with("No larger number was tried: more may come back of one")
        );
        assert!(advice(&sizes[1..2]).contains("58 of them"));
        assert!(advice(&[size(20, None, first)]).starts_with("20 topics: with more,"));
        assert!(advice(&sizes[..1]).starts_with("no topic"));
    }
}
