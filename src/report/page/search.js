// Search: terms, topics by their numbers, names and words, and documents, in one box with a list of results; and the
// view of some words.

const query = document.getElementById("query");
const results = document.getElementById("results");
const MOST_RESULTS = 5;
/** The share of a word's uses that a topic has at least, so that topics with most of the other words are found too. */
const LEAST_PART = 0.01;

const folded = (text) => text.normalize("NFC").toLowerCase();
const foldedTerms = (() => {
  let all;
  return () => (all ??= data.terms.texts.map(folded));
})();

/** The words of a text, each with its terms: itself or, if it is none, those that begin with it. A term may have spaces. */
function wordsOf(text) {
  const whole = folded(text).trim().replace(/\s+/g, " ");
  const terms = foldedTerms();
  const words = terms.includes(whole) ? [whole] : [...new Set(whole.split(/[\s,;"“”]+/).filter(Boolean))];
  return words.map((word) => {
    const exact = terms.indexOf(word);
    const found = exact >= 0 ? [exact] : d3.range(terms.length).filter((term) => terms[term].startsWith(word));
    const uses = d3.sum(found, (term) => data.terms.counts[term]);
    const parts = new Map();
    for (const term of found) {
      for (const [topic, part] of topicsOfTerm(term)) parts.set(topic, (parts.get(topic) ?? 0) + (part * data.terms.counts[term]) / uses);
    }
    return { word, uses, parts, shown: exact >= 0 ? data.terms.texts[exact] : `${word}…` };
  });
}

/**
 * The topics with most of the words: by the geometric mean of the shares that they have of each word's uses, so that a
 * topic with some of every word precedes one with most of a single word.
 */
function topicsOfWords(words) {
  const all = new Set(words.flatMap(({ parts }) => [...parts.keys()]));
  const scored = [...all].map((topic) => {
    const parts = words.map((word) => word.parts.get(topic) ?? 0);
    return { topic, parts, score: Math.exp(d3.mean(parts, (part) => Math.log(Math.max(part, LEAST_PART)))) };
  });
  return d3.sort(scored, (of) => -of.score, (of) => -d3.sum(of.parts));
}

/**
 * The values of columns that a text names, each as {trend, value, name}, and the words besides; a value that is a term is
 * both. `among`: the documents with the values, one of each column; undefined if the text has nothing but a value.
 */
function valuesIn(text) {
  let rest = ` ${folded(text).replace(/[\s,;"“”]+/g, " ").trim()} `;
  const all = data.trends.flatMap((trend) => trend.values.map((value) => ({ trend, value, name: folded(value).replace(/[\s,;"“”]+/g, " ") })));
  const values = d3.sort(all, ({ name }) => -name.length).filter(({ name }) => {
    if (!rest.includes(` ${name} `)) return false;
    if (!foldedTerms().includes(name)) rest = rest.replace(` ${name} `, " ");
    return true;
  });
  rest = rest.trim();
  if (!rest || !values.length || values.some(({ name }) => name === rest)) return { values, rest };
  // A name may be a value of several columns.
  const column = ({ name }) => values.find((of) => of.name === name).trend;
  const documents = d3.rollups(values, (of) => of.flatMap(({ trend, value }) => documentsOf(trend, value)), column);
  return { values, rest, among: d3.intersection(...documents.map(([, of]) => of)), withValues: `: ${values.map(({ trend, value }) => `${trend.name} ${value}`).join(", ")}` };
}

/** The documents of the page, or of `among`, whose topics are most those of the words. */
function documentsOfTopics(found, most, among) {
  const scores = new Map(found.map(({ topic, score }) => [topic, score - LEAST_PART]));
  const score = ([topic, part]) => part * (scores.get(rootOf(topics[topic])) ?? 0);
  const scored = data.documents.topics.map((of, document) => ({ document, score: d3.sum(pairs(of), score) }));
  return d3.sort(scored.filter(({ document, score }) => score > 0 && (among?.has(document) ?? true)), ({ score }) => -score).slice(0, most);
}

const termHref = (text) => `#term=${encodeURIComponent(text)}`;
const topicResult = (topic, remark) => ({ text: `${topic.number} ${isolated(nameOf(topic, 5))}`, remark, href: topicHref(topic) });
const partsRemark = (words, parts) => words.map(({ shown }, i) => `${percent(parts[i])} of ${isolated(shown)}`).join(", ");
const topicsRemark = (document) => topicsIn(document).slice(0, 2).map(([topic, part]) => `${percent(part)} topic ${topic.number}`).join(", ");

/** What is found: groups of {text, remark, href}. */
function search(text) {
  const wanted = folded(text).trim();
  if (!wanted) return [];
  const { values, rest, among, withValues = "" } = valuesIn(wanted);
  const words = wordsOf(rest).filter(({ uses }) => uses);
  const found = topicsOfWords(words);
  const nearest = documentsOfTopics(found, MOST_RESULTS, among);
  return [
    ["Topics", namedTopics(wanted).map((topic) => topicResult(topic, mark(topic) || percent(topic.share)))],
    ["Terms", termResults(wanted, words, among && values)],
    ["Topics with most of these words", found.slice(0, MOST_RESULTS).map(({ topic, parts }) => topicResult(topic, partsRemark(words, parts)))],
    ["Values", values.slice(0, MOST_RESULTS).map(({ trend, value }) => ({
      text: value, remark: `${trend.name}, ${count(trend.documents[trend.values.indexOf(value)])} ${UNITS}`, href: valueHref(trend, value),
    }))],
    ["Documents", namedDocuments(wanted)],
    [`Documents nearest to these words, by their topics${withValues}`, nearest.map(({ document }) => ({
      text: data.documents.ids[document], remark: topicsRemark(document), href: documentHref(document),
    }))],
  ].filter(([, group]) => group.length);
}

/** Topics by their number, or with names or labels that contain the text. */
function namedTopics(wanted) {
  if (/^(topic\s*)?\d+$/.test(wanted)) return [topics[Number(wanted.replace(/^topic\s*/, ""))]].filter(Boolean);
  const named = topics.filter((topic) => [topic.name, topic.label?.label].some((name) => name && folded(name).includes(wanted)));
  return d3.sort(named, (topic) => nameOf(topic).length).slice(0, MOST_RESULTS);
}

/** The words together if there are several, or words and values; else the terms with the text, those that begin with it first. */
function termResults(wanted, words, values = []) {
  if (words.length > 1 || (words.length && values.length)) {
    const known = new Set([...words.map(({ word }) => word), ...values.map(({ name }) => name)]);
    return [{ text: words.map(({ shown }) => shown).join(" "), remark: "all topics and documents", href: termHref([...known].join(" ")) }];
  }
  // The term itself, those that begin with it, and those that contain it.
  const rank = (term) => [term === wanted, term.startsWith(wanted), term.includes(wanted)].indexOf(true);
  const ranked = foldedTerms().map((term, place) => ({ place, rank: rank(term) })).filter((match) => match.rank >= 0);
  return d3.sort(ranked, (match) => match.rank).slice(0, MOST_RESULTS)
    .map(({ place }) => ({ text: data.terms.texts[place], remark: `${count(data.terms.counts[place])} tokens`, href: termHref(data.terms.texts[place]) }));
}

/** Documents whose id or values contain all words of the text. */
function namedDocuments(wanted) {
  const words = wanted.split(/\s+/);
  const { ids, columns, values } = data.documents;
  const found = [];
  for (let document = 0; document < ids.length && found.length < MOST_RESULTS; document++) {
    const texts = [documentId(document), ...values.map((column) => column[document] ?? "")];
    const all = folded(texts.join("\n"));
    if (!words.every((word) => all.includes(word))) continue;
    const column = texts.slice(1).findIndex((value) => words.some((word) => folded(value).includes(word)));
    const remark = column < 0 ? topicsRemark(document) : `${columns[column]}: ${isolated(texts[column + 1])}`;
    found.push({ text: ids[document], remark, href: documentHref(document) });
  }
  return found;
}

/** The view of one word or several: the topics with most of them, and the nearest documents. */
function termView(text) {
  const { rest, among, withValues = "" } = valuesIn(text);
  const all = wordsOf(rest);
  const words = all.filter(({ uses }) => uses);
  const unknown = all.filter(({ uses }) => !uses).map(({ word }) => `“${isolated(word)}”`);
  const missing = unknown.length ? `No term of this report begins with ${unknown.join(" or ")}: it has the terms that topics show and the most frequent others.` : "";
  if (!words.length) return notFound(missing || "The address has no word.");
  const found = topicsOfWords(words);
  const share = (part) => h("span", { class: "measured" }, bar(part), h("span", {}, percent(part)));
  const parts = words.map(({ shown }) => ({ text: words.length > 1 ? `Share of ${isolated(shown)}` : "Share of its uses", class: "measure" }));
  return [
    h("p", { class: "kicker" }, words.length > 1 ? "Terms" : "Term"),
    h("h2", { tabindex: "-1", class: "terms-title" }, words.map(({ shown }) => shown).join(" ")),
    missing ? h("p", { class: "help" }, missing) : null,
    figures(words.map(({ shown, uses }) => [count(uses), `tokens of ${isolated(shown)}`, ""])),
    h("div", { class: "pair" },
      section(words.length > 1 ? "Topics with most of these words" : "Topics with most of it", {}, table(`Topics with most of ${text}`, ["Topic", ...parts],
        found.slice(0, 30).map((of) => [topicLink(of.topic), ...of.parts.map(share)]), "with-term"),
        words.length > 1 ? h("p", { class: "help" }, "By the geometric mean of the shares.") : null),
      h("div", {},
        section("On the map", {}, topicMap({ related: found.slice(0, 12).map(({ topic }) => topic), most: 24 })),
        documentsOfWords(found, among, withValues))),
  ];
}

function documentsOfWords(found, among, withValues) {
  const nearest = documentsOfTopics(found, 12, among);
  if (!nearest.length && !among) return null;
  return section(`Nearest ${UNITS}${withValues}`, {},
    nearest.length ? documentTable("Documents whose topics are most those of the words", nearest) : null,
    h("p", { class: "help" }, nearest.length ? `Of the ${UNITS} that the report has, those whose topics are most those of the words.`
      : `None of the ${UNITS} that the report has with these values has topics of the words.`));
}

function drawResults() {
  const groups = search(query.value);
  let place = 0;
  results.replaceChildren(...groups.map(([name, found]) => h("div", { role: "group", "aria-label": name },
    h("p", { class: "group", "aria-hidden": "true" }, name),
    found.map((result) => h("div", { role: "option", id: `result-${place++}`, "aria-selected": "false", "data-href": result.href },
      h("span", { class: "found" }, result.text), h("span", { class: "remark" }, result.remark))))));
  const empty = query.value.trim() && !groups.length;
  if (empty) results.append(h("div", { role: "option", "aria-selected": "false", "aria-disabled": "true", class: "nothing" }, "Nothing found: this report has the terms that topics show and the most frequent others, and the documents that topics list"));
  open(Boolean(groups.length || empty));
}

function open(isOpen) {
  results.hidden = !isOpen;
  query.setAttribute("aria-expanded", String(isOpen));
  query.removeAttribute("aria-activedescendant");
}

function select(by) {
  const options = [...results.querySelectorAll("[data-href]")];
  if (!options.length) return;
  const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const next = options[(at + by + options.length + Number(at < 0 && by < 0)) % options.length];
  options.forEach((option) => option.setAttribute("aria-selected", String(option === next)));
  query.setAttribute("aria-activedescendant", next.id);
  next.scrollIntoView({ block: "nearest" });
}

function follow(option) {
  if (!option) return;
  open(false);
  query.value = "";
  location.hash = option.dataset.href;
}

query.addEventListener("input", drawResults);
query.addEventListener("focus", () => { if (query.value) drawResults(); });
query.addEventListener("keydown", (event) => {
  const keys = {
    ArrowDown: () => select(1),
    ArrowUp: () => select(-1),
    Enter: () => follow(results.querySelector("[aria-selected=true]") ?? results.querySelector("[data-href]")),
    Escape: () => open(false),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
results.addEventListener("pointerdown", (event) => {
  event.preventDefault();
  follow(event.target.closest("[data-href]"));
});
query.addEventListener("blur", () => open(false));
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  query.focus();
});
