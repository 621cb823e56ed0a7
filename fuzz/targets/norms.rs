//! Feeds `parsers::norms`.

#![no_main]

#[path = "../../tests/it/parsers/targets.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::norms(bytes));
