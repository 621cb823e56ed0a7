use super::*;
use crate::dataflow::project::groups::Sums;

fn counts(values: usize) -> Counts {
    let mut counts = Counts::default();
    (0..values).for_each(|value| counts.add(&format!("{value:06}"), 1));
    counts
}

fn column(counts: Counts, most: usize) -> TrendColumn {
    let mut column = TrendColumn::default();
    column.choose(counts, most, None);
    column
}

#[test]
fn the_most_frequent_values_are_named() {
    let mut found = counts(4);
    found.add("000002", 5);
    found.add("000003", 2);
    let named = column(found, 3);
    assert_eq!(named.values, ["000000", "000002", "000003"]);
    assert_eq!(named.others, 1);
    let named = column(counts(3), 3);
    assert_eq!((named.values.len(), named.others), (3, 0));
}

#[test]
fn dates_are_grouped_until_they_are_few() {
    let mut found = Counts::default();
    (1..=28).for_each(|day| found.add(&format!("1998-07-{day:02}"), 1));
    found.add("1998-08-01", 2);
    let named = column(found.clone(), 12);
    assert_eq!(named.values, ["1998-07", "1998-08"]);
    assert_eq!((named.others, column(found, 29).values.len()), (0, 29));
}

#[test]
fn dates_are_grouped_by_the_unit_that_the_job_names() {
    let mut found = counts(0);
    for value in ["1998-07-01", "1998-07-02", "1999", "1999-02"] {
        found.add(value, 2);
    }
    let named = |unit, most| {
        let mut column = TrendColumn::default();
        column.choose(found.clone(), most, Some(unit));
        (column.values.join(" "), column.others)
    };
    // Those that are less precise keep their form; the number of values changes nothing.
    assert_eq!(named(DateUnit::Month, 9), ("1998-07 1999 1999-02".into(), 0));
    assert_eq!(named(DateUnit::Month, 1), ("1998-07".into(), 2));
    assert_eq!(named(DateUnit::Year, 9), ("1998 1999".into(), 0));
}

#[test]
fn only_lists_of_dates_that_are_not_all_named_are_counted_again() {
    let mut found = Counts::default();
    for day in ["1998-07-01", "1998-07-02", "2011-08-01"] {
        found.add(day, 1);
    }
    assert!(!column(found.clone(), 1).may_repeat());
    found.has_lists = true;
    assert!(column(found.clone(), 1).may_repeat());
    assert!(!column(found, 2).may_repeat());
}

#[test]
fn columns_with_few_values_leave_room_to_the_others() {
    let columns = |sizes: &[usize]| sizes.iter().map(|&n| counts(n)).collect::<Vec<_>>();
    assert_eq!(shares_of_named(&columns(&[5, 2000]), 100), [1000, 1000]);
    assert_eq!(shares_of_named(&columns(&[300, 40]), 2000), [222, 131]);
    assert_eq!(shares_of_named(&columns(&[300, 40, 90]), 65_535), [12, 12, 12]);
}

#[test]
fn too_many_values_are_too_many() {
    assert!(!counts(MOST_DISTINCT).are_too_many());
    let mut found = counts(MOST_DISTINCT + 1);
    assert!(found.are_too_many());
    found.add("one more", 1);
    assert_eq!(found.documents.len(), MOST_DISTINCT + 1);
    let mut found = Counts::default();
    (0..=16).for_each(|n| found.add(&format!("{n}{}", " long".repeat(1 << 18)), 1));
    assert!(found.are_too_many());
}

#[test]
fn a_cell_travels_in_pieces() {
    let (mut one, mut other, mut all) = (Cell::default(), Cell::default(), Cell::default());
    for document in 0..20_u64 {
        let group = group(1, document);
        let topics = [(0.5, (document % 3) as u16), (0.25, 9)];
        let cell = if document % 2 == 0 { &mut one } else { &mut other };
        cell.add(10, &topics, group);
        all.add(10, &topics, group);
    }
    other.take(|piece| one.add_piece(piece));
    let replicates = Replicates::new(1);
    let [one, all] = [one, all].map(|cell| cell.rows(3, &replicates));
    assert_eq!((one, other.documents), (all.clone(), 0));
    assert_eq!(all.len(), 4);
    assert_eq!(all[3][1..3], [9, 0.25_f64.to_bits()]);
}
