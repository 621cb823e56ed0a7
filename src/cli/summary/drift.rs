//! The lines on drift: how much of the new documents the model knows, and when to retrain.

use crate::cli::figures;
use crate::observe::summary::DriftSummary;

/// Shifts of fewer documents are not shown.
const FEW_DOCUMENTS: i64 = 100;

/// Returns "91.2 % of distinct terms and 84.0 % of tokens in 900 new documents known; …", and what to do.
pub(super) fn lines(drift: &DriftSummary) -> Vec<String> {
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", 100.0 * share),
        None => "none".to_owned(),
    };
    let documents = if drift.are_held_out { "held-out document" } else { "new document" };
    let mut text = format!(
        "{} of distinct terms and {} of tokens in {} known",
        percent(drift.known_term_share),
        percent(drift.known_token_share),
        figures::counted(drift.documents.unsigned_abs(), documents),
    );
    // Shifts of a few documents are chance, and those of held-out documents nothing else: the table `drift` has them.
    if !drift.are_held_out && drift.documents >= FEW_DOCUMENTS {
        text.push_str(&shifts(drift));
    }
    let mut lines = vec![text];
    if drift.retrain {
        let remedy = "below 70 % of distinct terms: retrain with new documents in the sample";
        lines.push(remedy.to_owned());
    }
    if drift.groups_to_retrain > 0 {
        lines.push(format!(
            "below 70 % in {} of {} groups: table `drift`",
            figures::grouped(drift.groups_to_retrain as u64),
            figures::grouped(drift.groups as u64),
        ));
    }
    if drift.too_many_groups {
        lines.push("too many groups for one row each in table `drift`".to_owned());
    }
    lines
}

/// Says how the topics, and the probability of the tokens, differ from those of the documents trained on.
fn shifts(drift: &DriftSummary) -> String {
    let mut text = String::new();
    if let Some(shift) = drift.topic_shift_js {
        text.push_str(&format!(
            "; shares of topics differ from those of the sample by {shift:.2} (0: not at all, 1: no topic in common)"
        ));
    }
    if let Some(shift) = drift.loglik_shift {
        let than = if shift < 0.0 { "less" } else { "more" };
        let shift = shift.abs();
        text.push_str(&format!("; a token is {shift:.2} nats {than} probable than there"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift() -> DriftSummary {
        DriftSummary {
            documents: 1234,
            known_term_share: Some(0.912),
            known_token_share: Some(0.5),
            topic_shift_js: Some(0.0812),
            loglik_shift: Some(-0.25),
            ..DriftSummary::default()
        }
    }

    #[test]
    fn little_drift_is_one_line() {
        assert_eq!(
            lines(&drift()),
            [
                "91.2 % of distinct terms and 50.0 % of tokens in 1,234 new documents known; shares of topics differ \
                 from those of the sample by 0.08 (0: not at all, 1: no topic in common); a token is 0.25 nats less \
                 probable than there"
            ]
        );
    }

    #[test]
    fn shifts_of_few_or_held_out_documents_are_not_shown() {
        let few = DriftSummary { documents: 7, ..drift() };
        let held_out = DriftSummary { are_held_out: true, ..drift() };
        for (drift, documents) in [(few, "7 new documents"), (held_out, "1,234 held-out documents")]
        {
            let line = &lines(&drift)[0];
            assert!(line.ends_with(&format!("in {documents} known")), "{line}");
        }
    }

    #[test]
    fn much_drift_says_what_to_do() {
        let much = DriftSummary {
            known_term_share: Some(0.69),
            retrain: true,
            groups: 2000,
            groups_to_retrain: 3,
            ..drift()
        };
        let lines = lines(&much);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].contains("retrain with"), "{lines:?}");
        assert!(lines[2].contains("3 of 2,000 groups"), "{lines:?}");
    }
}
