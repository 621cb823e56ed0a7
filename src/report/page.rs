//! The pages: the files below `page/` and the data, in one file.
//!
//! The data is untrusted: ids, terms and names come from the documents. It is JSON in which every `<` is escaped,
//! in an element that no browser executes; the scripts insert it only as text. The page's policy forbids
//! everything else: no script without its nonce, nothing from the network.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::data::{ReportData, json};

/// The frame of every page, with placeholders `{{name}}`.
const HTML: &str = include_str!("page/frame.html");
const STYLE: &str = include_str!("page/style.css");
/// D3 (ISC licence): scales, axes, shapes, zoom. `scripts/check_report.py` compares it with its npm package.
const D3: &str = include_str!("page/vendor/d3.min.js");
const D3_LICENCE: &str = include_str!("page/vendor/d3.LICENSE");

/// What a page has in the frame.
pub(super) struct Page {
    body: &'static str,
    /// In order: each uses those before it.
    scripts: &'static [&'static str],
}

const REPORT: Page = Page {
    body: include_str!("page/report.html"),
    scripts: &[
        include_str!("page/numbers.js"),
        include_str!("page/data.js"),
        include_str!("page/dom.js"),
        include_str!("page/frame.js"),
        include_str!("page/names.js"),
        include_str!("page/charts.js"),
        include_str!("page/map.js"),
        include_str!("page/list.js"),
        include_str!("page/trends.js"),
        include_str!("page/documents.js"),
        include_str!("page/topic.js"),
        include_str!("page/overview.js"),
        include_str!("page/search.js"),
        include_str!("page/main.js"),
    ],
};

/// The page of a sweep.
pub(super) const SWEEP: Page = Page {
    body: include_str!("page/sweep.html"),
    scripts: &[
        include_str!("page/numbers.js"),
        include_str!("page/dom.js"),
        include_str!("page/frame.js"),
        include_str!("page/charts.js"),
        include_str!("page/flow.js"),
        include_str!("page/sweep.js"),
    ],
};

impl Page {
    /// Returns the page that shows `data`.
    pub(super) fn of(&self, title: &str, data: &impl Serialize) -> String {
        let json = json(data).replace('<', "\\u003c");
        let nonce = hex::encode(&Sha256::digest(&json)[..16]);
        let script = format!("\"use strict\";\n{}", self.scripts.concat());
        fill(HTML, |name| match name {
            "title" => escape(title),
            "nonce" => nonce.clone(),
            "style" => STYLE.to_owned(),
            "body" => self.body.to_owned(),
            "d3" => D3.to_owned(),
            "d3-licence" => D3_LICENCE.to_owned(),
            "data" => json.clone(),
            "script" => script.clone(),
            _ => String::new(),
        })
    }
}

/// Returns the report that shows `data`.
pub(super) fn page(data: &ReportData) -> String {
    REPORT.of(&title(data), data)
}

/// Returns a title such as "200 topics – commits.jsonl.zst".
fn title(data: &ReportData) -> String {
    let topics = match data.topics.len() {
        1 => "1 topic".to_owned(),
        count => format!("{count} topics"),
    };
    match data.facts.inputs.first() {
        Some(input) => format!("{topics} – {input}"),
        None => topics,
    }
}

/// Replaces each `{{name}}` of the template; inserted text is not expanded.
fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) = after.split_once("}}").unwrap_or((after, ""));
        filled.push_str(before);
        filled.push_str(&value(name));
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;").replace('"', "&quot;")
}
