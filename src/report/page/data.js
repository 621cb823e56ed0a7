// The data of the page, what is derived from it, and how numbers are written.

const data = JSON.parse(document.getElementById("data").textContent);
const topics = data.topics;
topics.forEach((topic, number) => {
  topic.number = number;
  for (let i = 3; i < topic.terms.length; i += 2) topic.terms[i] += topic.terms[i - 2];
});
data.trends.forEach((trend) => {
  trend.shares = trend.shares.map((row) => row.flatMap((share) => (share < 0 ? Array(-share).fill(0) : share)));
});
data.documents.values = data.documents.values.map((column, i) => column.map((place) => data.documents.texts[i][place]));

/** What the documents are. */
const UNIT = data.facts.sections ? "section" : "document";
const UNITS = `${UNIT}s`;

/** The position of the relevance slider, and the order of the list. */
const state = { lambda: 1, order: "size" };

/** Pairs of a flat list: [[a, b], [c, d], …]. */
function pairs(flat) {
  return d3.range(0, flat.length, 2).map((i) => [flat[i], flat[i + 1]]);
}

/** A topic's share of the uses of a term, of all that topics have. */
const partOf = (topic, term, log) => (Math.exp(-log / 1000) * topic.own.tokens) / data.terms.assigned[term];

/**
 * The terms of a topic by relevance (Sievert & Shirley 2014, Eq. 1):
 * λ ln p(w|k) + (1 − λ) ln (p(w|k) / p(w)).
 */
function relevantTerms(topic, count, lambda = state.lambda) {
  topic.weights ??= pairs(topic.terms).map(([term, log]) => {
    return {
      term,
      weight: Math.exp(-log / 1000),
      text: data.terms.texts[term],
      log: -log / 1000,
      lift: -log / 1000 - Math.log(data.terms.counts[term] / data.terms.total),
      part: partOf(topic, term, log),
    };
  });
  // They come by probability.
  if (lambda === 1) return topic.weights.slice(0, count);
  const relevance = (entry) => lambda * entry.log + (1 - lambda) * entry.lift;
  return topic.weights.toSorted((a, b) => relevance(b) - relevance(a)).slice(0, count);
}

/** The first terms of a topic as a phrase. */
function phrase(topic, count) {
  return relevantTerms(topic, count).map((entry) => entry.text).join(" ");
}

/** The name of a topic or, without one, its label or its first terms. */
function nameOf(topic, count) {
  return topic.name ?? topic.label?.label ?? phrase(topic, count);
}

/** The labels, if topics have some. */
const labels = topics.filter((topic) => topic.label);

/** How a label was predicted: precision, recall and F1, null where there is none. */
function labelScores({ evaluated, predicted, hits, f1 }) {
  return [predicted ? hits / predicted : null, evaluated ? hits / evaluated : null, f1];
}

/** What is wrong with a topic, in a word; "" if nothing is. */
function mark(topic) {
  if (topic.hidden) return "hidden";
  if (topic.dead) return "dead";
  if (topic.duplicate_of !== null) return `repeats ${topic.duplicate_of}`;
  return topic.junk ? "junk" : "";
}

/** Term → the topics that have its uses, each with its share of them: those that show it, and those that have most. */
const topicsOfTerm = (() => {
  let shown;
  return (term) => {
    shown ??= d3.group(
      topics.flatMap((topic) => pairs(topic.terms).map(([of, log]) => [of, topic.number, partOf(topic, of, log)])),
      ([of]) => of,
    );
    const parts = new Map(pairs(data.terms.topics[term]).map(([topic, hundredths]) => [topic, hundredths / 100]));
    for (const [, topic, part] of shown.get(term) ?? []) parts.set(topic, part);
    return ofRoots([...parts]);
  };
})();

/** Topic and share pairs by topic: merged ones as one. */
function ofRoots(parts) {
  const sums = new Map();
  for (const [number, part] of parts) {
    const root = rootOf(topics[number]);
    sums.set(root, (sums.get(root) ?? 0) + part);
  }
  return d3.sort(sums, ([, part]) => -part);
}

/** The largest topics of a document with their shares; merged ones as one. */
const topicsIn = (document) => ofRoots(pairs(data.documents.topics[document]).map(([topic, thousandths]) => [topic, thousandths / 1000]));

/** Document → the topics that list it, each with its passage if the page has one: {topic, passage, words}. */
const listingsOfDocument = (() => {
  let index;
  return (document) => {
    index ??= d3.group(
      topics.flatMap((topic) => pairs(topic.documents).map(([of], i) => ({ of, topic, passage: topic.passages?.[i], words: topic.passage_words?.[i] }))),
      (entry) => entry.of,
    );
    return index.get(document) ?? [];
  };
})();

/** What the list can be sorted by: its name, what a row shows, and the order. */
const ORDERS = {
  size: { name: "size", show: (t) => percent(t.share), key: (t) => -t.share },
  number: { name: "number", show: (t) => percent(t.share), key: (t) => t.number },
  coherence: { name: "coherence", show: (t) => decimals(t.coherence_npmi, 2), key: (t) => -(t.coherence_npmi ?? -2) },
  exclusivity: { name: "exclusivity", show: (t) => decimals(t.exclusivity, 2), key: (t) => -(t.exclusivity ?? -2) },
};

if (labels.length) ORDERS.f1 = { name: "F1 of the label", show: (t) => decimals(t.label.f1, 2), key: (t) => -(t.label.f1 ?? -1) };

if (topics.some((topic) => topic.change)) ORDERS.change = { name: "change", show: (t) => decimals(t.change.distance, 3), key: (t) => -t.change.distance };

const inOrder = () => d3.sort(shownTopics(), ORDERS[state.order].key);

/** The place of a topic among all by a figure, from 1. */
function rank(topic, figure) {
  return 1 + topics.filter((other) => (other[figure] ?? -Infinity) > (topic[figure] ?? -Infinity)).length;
}
