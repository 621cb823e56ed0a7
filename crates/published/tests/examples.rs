//! Each example runs.

#[allow(dead_code, reason = "its `main` reads the program's arguments")]
#[path = "../examples/tree_samplers.rs"]
mod tree_samplers;

#[path = "../examples/sparse_lda.rs"]
#[allow(dead_code, reason = "a smaller figure")]
mod sparse_lda;

#[test]
fn an_example_compares_samplers() {
    let bags = sparse_lda::generate(40, 300, 30.0);
    sparse_lda::print(&bags, 300, &[4, 150], 4).unwrap();
}

#[test]
fn an_example_times_samplers() {
    let sizes = "topics=4,6 vocabulary=50 correlations=5 senses=2 documents=10 length=20";
    let arguments = format!("{sizes} iterations=2 seeds=1");
    tree_samplers::run(arguments.split(' ').map(str::to_owned)).unwrap();
    for wrong in ["topic=4", "topics=four", "topics", "senses=0", "vocabulary=2"] {
        assert!(tree_samplers::run([wrong.to_owned()].into_iter()).is_err());
    }
}
