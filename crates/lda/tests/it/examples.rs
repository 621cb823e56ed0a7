//! Each example runs.

#[path = "../../examples/train.rs"]
mod train;

#[test]
fn an_example_trains_on_sentences() {
    train::main().unwrap();
}
