//! Sparse parameters against the dense recursion.

use super::*;

fn word(term: u32, topic: u16, count: i32) -> u64 {
    Assigned { term, topic, count }.word()
}

/// The dense recursion of Eq. 11, in f64.
fn eq_11(lambda: &mut [Vec<f64>], step: GlobalStep, eta: f64, counts: &[(usize, usize, i32)]) {
    for row in lambda.iter_mut() {
        row.iter_mut().for_each(|l| *l = (1.0 - step.step_size) * *l + step.step_size * eta);
    }
    for &(w, k, n) in counts {
        lambda[w][k] += step.step_size * step.weight * f64::from(n);
    }
}

const TOPICS: usize = 3;
const TERMS: usize = 5;

/// Takes the same step on all parts.
fn step_parts(parts: &mut [Parameters], step: GlobalStep, counts: &[(usize, usize, i32)]) {
    let mut by_topic = vec![0i64; TOPICS];
    for &(_, k, n) in counts {
        by_topic[k] += i64::from(n);
    }
    let part_count = parts.len();
    for (p, part) in parts.iter_mut().enumerate() {
        part.decay(step, &by_topic);
        let mine = counts.iter().filter(|c| c.0 % part_count == p);
        let words = mine.map(|&(w, k, n)| word(w as u32, k as u16, n));
        part.add(step, &words.collect::<Vec<_>>());
        if part.fold_small_scale(0.0) {}
    }
}

fn assert_equal_to_dense(parts: &[Parameters], dense: &[Vec<f64>], eta: f64) {
    for w in 0..TERMS {
        let part = &parts[w % parts.len()];
        for entry in part.row(w as u32) {
            let lambda = eta + f64::from(entry.value) * part.scale();
            let expected = dense[w][entry.topic as usize];
            assert!((lambda - expected).abs() < 1e-5 * expected, "{lambda} {expected}");
        }
    }
    let mut fixed = vec![0; TOPICS];
    parts.iter().for_each(|p| p.fixed_point_totals(&mut fixed));
    for k in 0..TOPICS {
        let expected: f64 = dense.iter().map(|row| row[k] - eta).sum();
        assert!((parts[0].totals()[k] - expected).abs() < 1e-5);
        assert!((fixed[k] as f64 / FIXED_POINT - expected).abs() < 1e-4);
    }
}

#[test]
fn sparse_updates_follow_eq_11_on_any_number_of_parts() {
    let eta = 0.1;
    let rounds = [
        vec![(0, 1, 4), (2, 0, 1), (4, 2, 7)],
        vec![(0, 0, 2), (0, 1, 1), (3, 2, 5)],
        vec![(1, 1, 9), (4, 0, 3), (4, 2, 1)],
    ];
    for part_count in [1, 2, 3] {
        let part = |p| Parameters::new(TOPICS, TERMS, p, part_count);
        let mut parts: Vec<_> = (0..part_count).map(part).collect();
        let mut dense = vec![vec![eta; TOPICS]; TERMS];
        for (t, counts) in rounds.iter().cycle().take(30).enumerate() {
            let step = GlobalStep { step_size: 1.0 / (t as f64 + 2.0), weight: 2.5 };
            eq_11(&mut dense, step, eta, counts);
            step_parts(&mut parts, step, counts);
        }
        assert_equal_to_dense(&parts, &dense, eta);
    }
}

#[test]
fn folding_drops_what_is_below_the_threshold() {
    let mut part = Parameters::new(2, 1, 0, 1);
    let step = GlobalStep { step_size: 0.5, weight: 1.0 };
    part.decay(step, &[1, 4]);
    part.add(step, &[word(0, 0, 1), word(0, 1, 4)]);
    part.fold_scale(0.6);
    assert_eq!(part.row(0), [Entry { topic: 1, value: 2.0 }]);
    let mut totals = vec![0; 2];
    part.fixed_point_totals(&mut totals);
    part.set_totals(&totals);
    assert_eq!(part.totals(), [0.0, 2.0]);
}

#[test]
fn replaced_counts_are_those_of_a_recount_and_zeros_go() {
    let mut part = Parameters::new(2, 3, 0, 1);
    part.replace(&[word(0, 0, 5), word(0, 1, 1), word(2, 1, 2)]);
    part.replace_totals(&[5, 3]);
    part.replace(&[word(0, 0, -3), word(0, 1, 3), word(2, 0, 2), word(2, 1, -2)]);
    part.replace_totals(&[-3, 3]);
    let entry = |topic, value| Entry { topic, value };
    assert_eq!(part.row(0), [entry(0, 2.0), entry(1, 4.0)]);
    assert_eq!(part.row(2), [entry(0, 2.0)]);
    assert_eq!(part.totals(), [2.0, 6.0]);
    part.clear();
    assert_eq!(part, Parameters::new(2, 3, 0, 1));
}

#[test]
fn what_is_withdrawn_leaves_no_token_behind() {
    let entry = |topic, value| Entry { topic, value };
    let averages = vec![entry(0, 2.5), entry(1, 1.5), entry(3, 4.0)];
    let model = |row: &Vec<Entry>| {
        let rows = [row.clone(), row.clone()];
        Parameters::new(4, 2, 0, 1).restore(1.0, vec![0.0; 4], |term| rows[term as usize].clone())
    };
    let sum = |row: &[Entry]| row.iter().map(|e| f64::from(e.value)).sum::<f64>();
    let mut parameters = model(&averages);
    parameters.withdraw(&[word(0, 0, 3), word(0, 3, 1), word(1, 2, 9)]);
    let left = parameters.row(0).to_vec();
    assert_eq!(left.iter().map(|e| e.topic).collect::<Vec<_>>(), [1, 3]);
    assert!((sum(&left) - 4.0).abs() < 1e-5, "8 less 4: {left:?}");
    assert!((left[1].value / left[0].value - 2.0).abs() < 1e-5);
    assert!(parameters.row(1).is_empty(), "more than there was");
    // Tokens are added and removed without rounding.
    parameters.replace(&[word(0, 1, 7), word(0, 3, 5)]);
    parameters.replace(&[word(0, 1, -7), word(0, 3, -5)]);
    assert_eq!(parameters.row(0), left);
}

#[test]
fn first_weights_are_rounded_away() {
    let entry = |topic, value| Entry { topic, value };
    let mut parameters = Parameters::new(4, 2, 0, 1);
    let rows: Vec<TermRow> = vec![(0, vec![entry(0, 5e-5), entry(2, 5e-5)]), (1, Vec::new())];
    parameters.set_rows(&rows);
    assert_eq!(parameters.row(0), rows[0].1);
    for count in [300_000, -299_990] {
        parameters.replace(&[word(0, 2, count), word(1, 1, count)]);
    }
    parameters.round_rows(&rows);
    assert_eq!(parameters.row(0), [entry(2, 10.0)]);
    assert_eq!(parameters.row(1), [entry(1, 10.0)]);
}

#[test]
fn blending_is_a_weighted_mean() {
    let mut counts = Parameters::new(2, 2, 0, 1);
    let mut mean = counts.clone();
    counts.replace(&[word(0, 0, 8), word(1, 1, 4)]);
    counts.replace_totals(&[8, 4]);
    assert!(!mean.average(0.5, &counts, 0.0));
    counts.replace(&[word(1, 0, 4), word(1, 1, 0), word(0, 0, -4), word(0, 1, 4)]);
    counts.replace_totals(&[0, 4]);
    assert!(!mean.average(0.25, &counts, 0.0));
    let mean_of = |term, topic| {
        let found = mean.row(term).iter().find(|e| e.topic == topic);
        found.map_or(0.0, |e| f64::from(e.value) * mean.scale())
    };
    let found = [mean_of(0, 0), mean_of(0, 1), mean_of(1, 0), mean_of(1, 1)];
    let expected = [4.0, 1.0, 1.0, 2.5];
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-6));
    assert_eq!(mean.totals(), [5.0, 3.5]);
}

/// Counts fall from 2²⁴ to 0, token by token at the end; beyond 2²⁴ they are reported, and as exact as 24 bits allow.
#[test]
fn counts_are_exact_up_to_the_precision_of_a_value_and_noticed_beyond_it() {
    const HALF: i32 = 1 << 23;
    let mut counts = Parameters::new(TOPICS, TERMS, 0, 1);
    let mut change = |by: i32| {
        counts.replace(&[word(2, 1, by)]);
        let value = counts.row(2).first().map(|entry| entry.value);
        (value.unwrap_or(0.0), counts.rounded_count())
    };
    let full = LARGEST_EXACT as f32;
    change(HALF - 1);
    assert_eq!(change(HALF - 1), (full - 2.0, 0));
    assert_eq!(change(1), (full - 1.0, 0));
    assert_eq!(change(1), (full, 0));
    assert_eq!(change(-1), (full - 1.0, 0));
    assert_eq!(change(3), (full + 2.0, 1));
    assert_eq!(change(1), (full + 4.0, 1), "one too many, by rounding to an even number");
    assert_eq!(change(-3), (full, 0));
    assert_eq!(change(1 - HALF), (HALF as f32 + 1.0, 0));
    assert_eq!(change(1 - HALF), (2.0, 0));
    assert_eq!(change(-1), (1.0, 0));
    assert_eq!(change(-1), (0.0, 0));
}

/// What a row must become, topic by topic.
fn added_one_by_one(row: &[Entry], changes: &[(u32, f64)]) -> Vec<(u32, f32)> {
    let mut sums: std::collections::BTreeMap<u32, f32> =
        row.iter().map(|entry| (entry.topic, entry.value)).collect();
    for &(topic, change) in changes {
        let value = sums.entry(topic).or_default();
        *value = (f64::from(*value) + change) as f32;
    }
    sums.into_iter().collect()
}

#[test]
fn new_topics_of_a_row_come_between_those_that_it_has() {
    let entry = |topic: u32| Entry { topic, value: topic as f32 };
    for present in 0..1_u32 << 6 {
        for changed in 0..1_u32 << 6 {
            let is_in = |set: u32| move |topic: &u32| set >> topic & 1 == 1;
            let mut row: Vec<Entry> = (0..6).filter(is_in(present)).map(entry).collect();
            let changes: Vec<(u32, f64)> =
                (0..6).filter(is_in(changed)).map(|topic| (topic, 1.5)).collect();
            let expected = added_one_by_one(&row, &changes);
            let _ = add_to_row(&mut row, changes.iter().copied());
            let found: Vec<_> = row.iter().map(|entry| (entry.topic, entry.value)).collect();
            assert_eq!(found, expected, "{present:b} {changed:b}");
        }
    }
}

#[test]
fn topics_that_are_kept_are_numbered_anew_with_their_heaviest_terms() {
    let rows = [
        vec![(0, 2.0), (2, 5.0)],
        vec![(1, 3.0)],
        vec![(0, 2.0), (1, 1.0), (2, 7.0)],
        vec![(2, 5.0)],
    ];
    let row = |term: u32| -> Vec<Entry> {
        let own = rows[term as usize].iter();
        own.map(|&(topic, value)| Entry { topic, value }).collect()
    };
    let mut parts = [0, 1].map(|part| Parameters::from_rows(3, rows.len(), [part, 2], row));
    let top = |parts: &[Parameters; 2], most| top_terms(&parts.each_ref(), most);
    assert_eq!(top(&parts, 2), [vec![0, 2], vec![1, 2], vec![2, 0]]);
    parts.iter_mut().for_each(|part| part.keep_topics(&[0, 2]));
    assert_eq!(top(&parts, 3), [vec![0, 2], vec![2, 0, 3]]);
    assert_eq!((parts[0].topic_count(), parts[1].totals()), (2, &[4.0, 17.0][..]));
    assert!(parts[1].row(1).is_empty());
}
