//! Each example runs.

#[path = "../../examples/train.rs"]
mod train;

#[test]
fn an_example_trains_on_sentences() {
    train::main().unwrap();
}

#[path = "../../examples/sparse_lda.rs"]
#[allow(dead_code, reason = "a smaller figure")]
mod sparse_lda;

#[test]
fn an_example_compares_samplers() {
    let bags = sparse_lda::generate(40, 300, 30.0);
    sparse_lda::print(&bags, 300, &[4, 150], 4).unwrap();
}
