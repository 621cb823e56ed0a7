// The view of one topic.

function topicView(topic) {
  const wrong = mark(topic);
  const sorted = inOrder();
  const at = sorted.indexOf(topic);
  const step = (by, label, text) => {
    const other = sorted[at + by];
    return other ? h("a", { class: "button", href: topicHref(other), "aria-label": `${label}: topic ${other.number}` }, text) : null;
  };
  return [
    h("div", { class: "heading" },
      h("p", { class: "kicker" }, `Topic ${topic.number}`, wrong ? h("span", { class: "mark" }, wrong) : null),
      h("div", { class: "steps" }, step(-1, "Previous", "← Previous"), step(1, "Next", "Next →"))),
    h("h2", { tabindex: "-1", class: "terms-title" }, nameOf(topic, 6) || "A topic without terms"),
    namingForm(topic),
    topicFigures(topic),
    mergedSection(topic),
    topic.label ? labelFigures(topic.label) : null,
    topic.change ? changeLine(topic.change) : null,
    h("div", { class: "pair" },
      section("Terms", {}, termTable(topic)),
      h("div", {}, section("On the map", {}, topicMap({ chosen: [topic], related: nearestOf(topic), most: 24 })), nearestSection(topic))),
    data.trends.length ? h("div", { class: "trends" }, data.trends.map((trend) => topicTrend(topic, trend))) : null,
    documentsSection(topic),
  ];
}

function topicFigures(topic) {
  const among = (figure) => (topics.length > 1 && topic[figure] !== null ? `${count(rank(topic, figure))} of ${count(topics.length)}` : "");
  return figures([
    [percent(topic.share), "of all tokens", among("share")],
    [thousands(topic.tokens), "tokens", ""],
    topic.rank1_documents === null ? null : [count(topic.rank1_documents), `${UNITS} have it as their largest`, ""],
    [decimals(topic.coherence_npmi, 2), "coherence (NPMI)", among("coherence_npmi")],
    [decimals(topic.exclusivity, 2), "exclusivity", among("exclusivity")],
    topic.stability === undefined ? null : [decimals(topic.stability, 2), "stability: the share of other seeds that find it", among("stability")],
    topic.effective_terms === null ? null : [count(Math.round(topic.effective_terms)), "effective terms", ""],
  ]);
}

/** How often the label occurs and, on documents that were not trained on, how well it is predicted. */
function labelFigures(label) {
  const [precision, recall, f1] = labelScores(label);
  return figures([
    [count(label.documents), "documents have the label", ""],
    label.predicted === null ? null : [count(label.predicted), "are predicted to have it", `${count(label.hits)} correctly`],
    precision === null ? null : [decimals(precision, 3), "precision", ""],
    recall === null ? null : [decimals(recall, 3), "recall", `of ${count(label.evaluated)} documents`],
    f1 === null ? null : [decimals(f1, 3), "F1", ""],
  ]);
}

/** How far the topic has moved since the result that training started from. */
function changeLine({ distance, gained, lost }) {
  const terms = (name, all) => (all.length ? `; ${name} ${all.map(isolated).join(", ")}` : "");
  return h("p", { class: "help" }, `Changed by ${decimals(distance, 3)} (Hellinger distance) since the result that training started from${terms("gained", gained)}${terms("lost", lost)}.`);
}

/** Large numbers, each with what it is and a remark. */
function figures(entries) {
  return h("dl", { class: "figures" }, entries.filter(Boolean).map(([value, name, remark]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value, remark ? h("small", {}, remark) : null))));
}

/** The terms by relevance, with the slider that says what is relevant. */
function termTable(topic) {
  const rows = h("div", {});
  const output = h("output", { for: "lambda" });
  const slider = h("input", { id: "lambda", type: "range", min: 0, max: 1, step: 0.05, value: state.lambda, "aria-describedby": "lambda-help" });
  const draw = () => {
    output.textContent = `λ = ${state.lambda.toFixed(2)}`;
    const shown = relevantTerms(topic, topics.length > 1000 ? 15 : 25);
    const most = d3.max(shown, (entry) => entry.weight) || 1;
    rows.replaceChildren(table(`Terms of topic ${topic.number}`,
      ["Term", { text: "Probability", class: "measure" }, { text: "Share of its uses", class: "measure" }],
      shown.map((entry) => [
        h("a", { href: `#term=${encodeURIComponent(entry.text)}` }, entry.text),
        h("span", { class: "measured" }, bar(entry.weight / most), h("span", {}, percent(entry.weight))),
        h("span", { class: "measured" }, bar(entry.part, "pale"), h("span", {}, percent(entry.part))),
      ]), "term-table"));
  };
  slider.addEventListener("input", () => {
    state.lambda = Number(slider.value);
    draw();
  });
  slider.addEventListener("change", drawNamesSoon);
  draw();
  return [
    h("div", { class: "slider" }, h("label", { for: "lambda" }, "Relevance"), h("span", { "aria-hidden": "true" }, "specific"), slider, h("span", { "aria-hidden": "true" }, "probable"), output),
    h("p", { class: "help", id: "lambda-help" }, "λ = 1 ranks terms by their probability in the topic, λ = 0 by how much more probable they are here than in the collection. It also names the topics in the list and on the map."),
    rows,
  ];
}

const nearestOf = (topic) => topic.nearest.map(([other]) => topics[other]).filter(isShown);

function nearestSection(topic) {
  const nearest = topic.nearest.filter(([other]) => isShown(topics[other]));
  if (!nearest.length) return null;
  return section("Nearest topics", {}, table(`Topics nearest to topic ${topic.number}`,
    ["Topic", { text: "Distance", class: "measure" }],
    nearest.map(([other, distance]) => [
      topicLink(topics[other]),
      h("span", { class: "measured" }, bar(distance, "pale"), h("span", {}, decimals(distance, 2))),
    ]), "nearest"));
}

function notFound(text) {
  return [h("h2", { tabindex: "-1" }, "Not in this report"), h("p", {}, text), h("p", {}, h("a", { href: "#overview" }, "Overview"))];
}
