// The overview: size, warnings, map, trends, training, drift and every figure of quality.

function overview() {
  const facts = data.facts;
  const heldOut = data.figures.find((f) => f.metric === "log_likelihood_per_token" && f.method.startsWith("document_completion"));
  const coherence = data.figures.find((f) => f.metric === "coherence_npmi");
  return [
    h("h2", { tabindex: "-1", class: "hidden" }, "Overview"),
    figures([
      [count(topics.length), "topics", ""],
      [count(facts.documents), UNITS, ""],
      [thousands(facts.tokens_in_vocabulary), "tokens in the vocabulary", `${percent(facts.tokens_in_vocabulary / facts.tokens)} of all`],
      [count(facts.terms), "terms", ""],
      heldOut ? [decimals(heldOut.value, 2), "nats per held-out token", ""] : null,
      ...["micro-averaged", "macro-averaged"].map(labelFigure),
      coherence ? [decimals(coherence.value, 2), "mean coherence (NPMI)", ""] : null,
    ]),
    warningsSection(),
    leftOutSection(),
    labelsSection(),
    section("Map of topics", {}, topicMap()),
    data.trends.length ? data.trends.map(trendOverview) : trendHint(),
    h("div", { class: "pair" }, curveSection(), h("div", {}, driftSection(), statusSection())),
    figuresSection(),
  ];
}

function labelFigure(method) {
  const found = data.figures.find((f) => f.metric === "label_f1" && f.method === method);
  return found ? [decimals(found.value, 3), `F1 of labels, ${method}`, ""] : null;
}

const MOST_LABELS = 30;

/** The labels that most documents have, and how well each is predicted; behind them, all. */
function labelsSection() {
  if (!labels.length) return null;
  const numeric = (text) => ({ text, class: "numeric" });
  const heads = ["Label", ...["Documents", "Predicted for", "Precision", "Recall", "F1"].map(numeric)];
  const row = (topic) => [
    h("a", { href: topicHref(topic) }, topic.label.label), count(topic.label.documents),
    topic.label.predicted === null ? "–" : count(topic.label.predicted), ...labelScores(topic.label).map((share) => decimals(share, 3)),
  ];
  const sorted = d3.sort(labels, (topic) => -topic.label.documents);
  const all = () => table("All labels", heads, sorted.map(row), "wide");
  return section("Labels", {},
    table("Labels, those of most documents first", heads, sorted.slice(0, MOST_LABELS).map(row), "labels wide"),
    h("p", { class: "help" }, "Documents: all that have the label. The others are about documents with labels that the model was not trained on."),
    sorted.length > MOST_LABELS ? behind(all, `Show all ${count(sorted.length)} labels`) : null);
}

function warningsSection() {
  if (!data.warnings.length) return h("p", { class: "calm" }, `Nothing to warn of: every ${UNIT} has topics, and no topic is dead, duplicate, junk or rubbish.`);
  return section(counted(data.warnings.length, "warning"), { class: "warnings" },
    h("ul", { class: "plain" }, data.warnings.map((warning) => h("li", {},
      h("p", {}, h("strong", {}, warning.text), " ", warning.remedy),
      warning.topics.length ? h("p", { class: "topic-numbers" }, warning.topics.map((number) =>
        h("a", { href: topicHref(topics[number]), "aria-label": `Topic ${number}` }, String(number)))) : null))));
}

/** What was left out of the texts, with the first lines. */
function leftOutSection() {
  if (!data.facts.left_out.length) return null;
  return section("Left out of the texts", {},
    h("ul", { class: "plain" }, data.facts.left_out.map((rule) => h("li", {},
      h("p", {}, `${rule.rule}: ${count(rule.lines)} lines of ${count(rule.documents)} documents, such as `,
        rule.examples.map((line, place) => [place ? ", " : "", h("q", {}, line)]))))),
    h("p", { class: "help" }, "With corpus.boilerplate = \"keep\" they stay."));
}

function curveSection() {
  const points = data.curve;
  if (points.length < 2) return section("Training", {}, h("p", {}, "No documents were held out, so there is no curve: set sample.held_out to measure training."));
  const bands = d3.groups(points, (point) => point.phase).map(([name, of]) => ({ name, from: of[0].documents_seen }));
  const last = points.at(-1);
  const label = `Log-likelihood per held-out token in nats, from ${decimals(points[0].heldout_loglik_per_token)} to ${decimals(last.heldout_loglik_per_token)} after ${count(last.documents_seen)} documents`;
  const file = () => [["round", "phase", "pass", "documents_seen", "heldout_loglik_per_token"],
    ...points.map((point) => [point.round, point.phase, point.pass, point.documents_seen, point.heldout_loglik_per_token])];
  const rows = () => table("Training", [{ text: "Round", class: "numeric" }, "Phase", { text: "Pass", class: "numeric" }, { text: "Documents seen", class: "numeric" }, { text: "Nats per token", class: "numeric" }],
    points.map((point) => [count(point.round), point.phase, String(point.pass), count(point.documents_seen), decimals(point.heldout_loglik_per_token, 4)]));
  const canvas = responsive(h("div", { class: "canvas" }), (width) => lineChart(width, {
    points: points.map((point) => ({ x: point.documents_seen, y: point.heldout_loglik_per_token, label: [`Round ${count(point.round)}, pass ${point.pass}`, `${decimals(point.heldout_loglik_per_token, 4)} nats per token`] })),
    label, y: (score) => decimals(score, 2), height: 240, bands,
  }));
  return section("Training", {},
    h("figure", {}, canvas,
      h("figcaption", {}, "Log-likelihood per held-out token in nats (higher is better), by documents seen, each counted at every visit.")),
    h("div", { class: "under" }, behind(rows), downloads("training", canvas, file)));
}

function driftSection() {
  const drift = data.drift;
  if (!drift) return null;
  const row = (name, of) => [name, count(of.documents), of.known_term_share === null ? "–" : percent(of.known_term_share), of.known_token_share === null ? "–" : percent(of.known_token_share), decimals(of.topic_shift_js, 3), decimals(of.loglik_shift, 3)];
  const heads = ["Documents not trained on", ...["Documents", "Known terms", "Known tokens", "Topics moved", "Likelihood"].map((text) => ({ text, class: "numeric" }))];
  return section("Drift", {},
    table("Drift", heads, [row("all", drift.run), ...drift.groups.map((of) => row(of.group_id, of))], "wide"),
    h("p", { class: "help" }, "Topics moved: Jensen–Shannon distance from the training sample, 0 to 1. Likelihood: nats per token minus that of the sample.",
      drift.group_count > drift.groups.length ? ` Of ${count(drift.group_count)} groups, those with the fewest known terms.` : ""));
}

const STATUSES = {
  ok: "read and modelled",
  repaired: "modelled, after bytes that are not UTF-8 were replaced",
  empty: "without text",
  no_vocabulary: "without a term of the vocabulary",
  parse_error: "not readable as the format says",
  too_large: "larger than the limit, not read",
  truncated: "cut off: the file ended in the middle",
};

function statusSection() {
  const all = data.facts.documents;
  const title = `${upper(UNITS)} by status`;
  return section(title, {}, table(title, ["Status", { text: upper(UNITS), class: "numeric" }, { text: "Share", class: "numeric" }],
    data.facts.statuses.map(([status, documents]) => [
      h("span", {}, h("code", {}, status), ` ${STATUSES[status] ?? ""}`), count(documents), percent(documents / all),
    ])));
}

function figuresSection() {
  if (!data.figures.length) return null;
  return section("Figures of quality", {}, table("Figures of quality", ["Figure", "Method", "Documents", { text: "Value", class: "numeric" }, "Unit"],
    data.figures.map((figure) => [
      figure.metric.replaceAll("_", " "), figure.method.replaceAll("_", " "), figure.split.replaceAll("_", " "),
      significant(figure.value) + (figure.standard_error ? ` ± ${significant(figure.standard_error)}` : ""), figure.unit === "1" ? "" : figure.unit,
    ]), "wide"));
}
