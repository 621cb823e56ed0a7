// The page of a sweep: the advice, three figures by number of topics, the models, their topics and where these come from.

const sweep = JSON.parse(document.getElementById("data").textContent);

sweep.parts.sort((one, other) => one.settings.localeCompare(other.settings, "en", { numeric: true }));
const allModels = sweep.parts.flatMap((part) => part.models);
for (const model of allModels) model.found = model.stability === null ? null : model.stability * model.topics;
const seeds = [...new Set(allModels.map((model) => model.seed))];

/** The models of the settings that are chosen, and what follows from them. */
let data, recommended, acceptable, first, shownOf;

function choose(part) {
  data = part;
  recommended = data.sizes.find((size) => size.recommended);
  acceptable = data.sizes.filter((size) => size.acceptable);
  // The number whose topics are shown first.
  first = (recommended ?? d3.greatest(data.sizes, (size) => size.log_likelihood_per_token) ?? data.sizes[0]).topics;
  shownOf = new Map(data.shown.map((model) => [model.topics, model]));
}

const numeric = (text) => ({ text, class: "numeric" });
const quoted = (text) => (/^[\w./=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const nameOf = (model) => [model.topics, model.seed, model.settings].filter((part) => part !== "").join("/");

/** The command that makes a result of the shown model with this number of topics. */
function takeIt(topics) {
  const model = data.models.find((model) => model.topics === topics && model.seed === shownOf.get(topics).seed);
  const folder = decodeURIComponent(location.pathname).split("/").slice(location.protocol === "file:" ? 0 : -2, -1).join("/");
  const command = `topicmill take ${quoted(folder)} ${quoted(nameOf(model))}`;
  const copy = async () => {
    await navigator.clipboard.writeText(command);
    announce("Copied");
  };
  return h("p", { class: "command" }, h("code", {}, command), h("button", { type: "button", class: "button", onclick: copy }, "Copy"));
}

function recommendedCommand() {
  const { topics } = recommended;
  return [
    takeIt(topics),
    h("p", { class: "help after" }, `This makes a result of the model with ${counted(topics, "topic")} that predicts held-out documents best: all documents get its topics, and nothing is trained again.`),
  ];
}

/** The figures that are drawn by number of topics. */
const FIGURES = [
  {
    name: "Topics found again", column: "found", unit: "Topics of a model that another seed has too", digits: 1, least: 0,
    help: "What another seed finds too is in the documents; the rest may be chance. It rises until there are topics for all of it; with few passes or documents, fewer are found. It need not be what you look for.",
  },
  {
    name: "Held-out log-likelihood", column: "log_likelihood_per_token", unit: "Nats per token",
    help: "How well a model predicts words of documents that it was not trained on; nearer to 0 is better. It is no measure of how well people understand the topics.",
  },
  {
    name: "Coherence", column: "coherence_npmi", unit: "NPMI, −1 to 1",
    help: "How often the first terms of a topic occur together, on average; more is better. A few broad topics reach much too, so it does not choose between numbers that are far apart.",
  },
  {
    name: "Stability", column: "stability", unit: "Share, 0 to 1", least: 0,
    help: "How many of its topics a model of another seed has too, on average. It falls as topics become narrower: the highest share is often that of too few topics.",
  },
];

/** The values of a figure by number of topics: those of each seed, their mean, and two standard errors of it. */
function bySize({ column, least = -Infinity }, { models } = data) {
  return d3.groups(models.filter((model) => model[column] !== null), (model) => model.topics).map(([topics, models]) => {
    const values = models.map((model) => model[column]);
    const mean = d3.mean(values);
    const twice = values.length > 1 ? (2 * d3.deviation(values)) / Math.sqrt(values.length) : undefined;
    return { topics, models, mean, low: twice === undefined ? undefined : Math.max(least, mean - twice), high: twice === undefined ? undefined : mean + twice };
  });
}

function sizeChart(width, figure, sizes, height = 230) {
  const svg = drawing(width, height, `${figure.name} by number of topics: ${sizes.map((size) => `${size.topics}: ${decimals(size.mean, figure.digits)}`).join(", ")}`);
  const [left, right, bottom] = [MARGIN.left, width - MARGIN.right, height - MARGIN.bottom];
  const x = d3.scaleLog(d3.extent(data.sizes, (size) => size.topics), [left + 20, right - 20]);
  const others = sweep.parts.filter((part) => part !== data).map((part) => ({ settings: part.settings, sizes: bySize(figure, part) }));
  const means = others.flatMap((other) => other.sizes.map((size) => ({ ...size, settings: other.settings })));
  const values = [...means.map((size) => size.mean), ...sizes.flatMap((size) => [size.low ?? size.mean, size.high ?? size.mean, ...size.models.map((model) => model[figure.column])])];
  const y = d3.scaleLinear(d3.extent(values), [bottom, MARGIN.top]).nice(4);
  if (acceptable.length) {
    const [from, to] = d3.extent(acceptable, (size) => x(size.topics));
    svg.append("rect").attr("class", "range").attr("x", from - 14).attr("width", to - from + 28).attr("y", MARGIN.top).attr("height", bottom - MARGIN.top);
  }
  const grid = svg.append("g").attr("class", "grid");
  for (const level of y.ticks(4)) {
    grid.append("line").attr("x1", left).attr("x2", right).attr("y1", y(level)).attr("y2", y(level));
    grid.append("text").attr("x", left - 8).attr("y", y(level)).attr("dy", "0.32em").attr("text-anchor", "end").text(y.tickFormat(4)(level));
  }
  if (recommended) {
    const at = x(recommended.topics);
    svg.append("line").attr("class", "border").attr("x1", at).attr("x2", at).attr("y1", MARGIN.top).attr("y2", bottom);
  }
  const axis = svg.append("g").attr("class", "axis");
  let end = -Infinity;
  for (const { topics } of data.sizes) {
    axis.append("line").attr("class", "tick").attr("x1", x(topics)).attr("x2", x(topics)).attr("y1", bottom).attr("y2", bottom + 4);
    const half = 4 + 3.5 * count(topics).length;
    if (x(topics) - half < end) continue;
    end = x(topics) + half;
    axis.append("text").attr("class", topics === recommended?.topics ? "chosen" : null).attr("x", x(topics)).attr("y", bottom + 18).attr("text-anchor", "middle").text(count(topics));
  }
  const points = sizes.map((size) => ({
    ...size, x: size.topics, y: size.mean,
    label: [counted(size.topics, "topic"), `mean ${decimals(size.mean, figure.digits)}${size.high === undefined ? "" : ` ± ${decimals(size.high - size.mean, figure.digits)}`}`, ...size.models.map((model) => `seed ${model.seed}: ${decimals(model[figure.column], figure.digits)}`),
      ...means.filter((other) => other.topics === size.topics).map((other) => `${other.settings}: ${decimals(other.mean, figure.digits)}`)],
  }));
  for (const other of others) svg.append("path").attr("class", "other").attr("d", d3.line((size) => x(size.topics), (size) => y(size.mean))(other.sizes));
  svg.append("g").selectAll("circle").data(means).join("circle").attr("class", "other").attr("cx", (size) => x(size.topics)).attr("cy", (size) => y(size.mean)).attr("r", 2.5);
  drawRuns(svg, points, x, y, () => true);
  svg.append("g").selectAll("circle").data(sizes.flatMap((size) => size.models)).join("circle").attr("class", "dot seed")
    .attr("cx", (model) => x(model.topics)).attr("cy", (model) => y(model[figure.column])).attr("r", 2.5);
  drawCursor(svg, points, { x: (point) => x(point.x), y: (point) => y(point.y) }, bottom);
  return svg.node();
}

function figureSection(figure) {
  const sizes = bySize(figure);
  if (!sizes.length) return null;
  const canvas = responsive(h("div", { class: "canvas" }), (width) => sizeChart(width, figure, sizes));
  const rows = () => [["topics", "mean", "low", "high", ...seeds.map((seed) => `seed_${seed}`)],
    ...sizes.map((size) => [size.topics, size.mean, size.low, size.high, ...seeds.map((seed) => size.models.find((model) => model.seed === seed)?.[figure.column])])];
  const shown = () => table(figure.name, ["Topics", ...["Mean", "Low", "High", ...seeds.map((seed) => `Seed ${seed}`)].map(numeric)],
    rows().slice(1).map(([topics, ...values]) => [count(topics), ...values.map((value) => decimals(value ?? null, figure.digits))]));
  return section(figure.name, {}, h("figure", {}, canvas, h("figcaption", {}, `${figure.unit}. ${figure.help}`)),
    h("div", { class: "under" }, behind(shown), downloads(figure.name, canvas, rows)));
}

function figureSections() {
  const marked = [acceptable.length ? "shaded: the recommended range" : "", recommended ? `dotted line: ${recommended.topics}` : "", sweep.parts.length > 1 ? "grey: the means of the other settings" : ""].filter(Boolean);
  return [
    h("div", { class: "four" }, FIGURES.map(figureSection)),
    h("p", { class: "help after" }, ["Dots: the models, one of each seed", "line: their mean", "band: two standard errors of it, over seeds, on each side", ...marked].join("; ") + "."),
  ];
}

/** The columns of the table of models: name, head and format. */
const COLUMNS = [
  ["log_likelihood_per_token", "Held out", decimals], ["standard_error", "± over documents", decimals],
  ["coherence_npmi", "NPMI", decimals], ["coherence_umass", "UMass", (value) => decimals(value, 1)], ["coherence_c_v", "C_V", decimals],
  ["exclusivity", "Exclusivity", (value) => decimals(value, 2)], ["found", "Found again", (value) => decimals(value, 1)], ["stability", "Stability", (value) => decimals(value, 2)],
  ["dead", "Dead", count], ["duplicates", "Duplicate", count], ["junk", "Junk", count],
  ["draws", "Tokens drawn", d3.format(".3~s")], ["seconds", "Seconds", (value) => decimals(value, 1)],
].filter(([column]) => allModels.some((model) => model[column] !== null));

function modelsSection() {
  const names = ["settings", "topics", "seed", ...COLUMNS.map(([column]) => column)];
  const rows = () => [names, ...allModels.map((model) => names.map((column) => model[column]))];
  return section("Models", {},
    table("Models", ["Model", ...COLUMNS.map(([, head]) => numeric(head))],
      allModels.map((model) => [nameOf(model), ...COLUMNS.map(([column, , format]) => format(model[column]))]), "models"),
    h("div", { class: "under" }, h("p", { class: "help" }, "A model is named by its number of topics, its seed and the settings in which it differs from others. Found again: its topics that another seed has too, on average. Exclusivity: how much of its terms a topic has alone. Dead, duplicate, junk: topics without use."), downloads("models", null, rows)));
}

/** Groups of topics by their stability; others is the number of models of other seeds. */
const GROUPS = [
  { name: "Found again with every other seed", has: (stability) => stability === 1 },
  { name: "Found again with some of the other seeds", has: (stability) => stability > 0 && stability < 1 },
  { name: "Not found again", has: (stability) => stability === 0 },
  { name: "Topics", has: (stability) => stability === null },
];

function topicDetails(row, others) {
  const partners = () => [
    table(`Partners of topic ${row.topic}`, ["Seed", numeric("Topic"), "Terms", numeric("Distance")], row.partners.map((partner) => [
      String(partner.seed), String(partner.topic),
      h("span", {}, partner.top_terms.map((term) => [row.top_terms.includes(term) ? h("mark", {}, term) : term, " "])),
      decimals(partner.distance, 2),
    ])),
    row.partners.length < others ? h("p", { class: "help" }, `${row.partners.length} of ${others} other seeds.`) : null,
  ];
  const figure = (text) => h("span", { class: "value" }, text);
  const line = [
    h("span", { class: "number" }, String(row.topic)), h("span", { class: "words" }, row.top_terms.join(" ")),
    figure(percent(row.share)), figure(`NPMI ${decimals(row.coherence_npmi, 2)}`), others ? figure(`${Math.round(row.stability * others)} of ${others}`) : null,
  ].filter(Boolean);
  return others ? behind(() => h("div", {}, partners().filter(Boolean)), h("span", { class: "topic" }, line)) : h("p", { class: "topic" }, line);
}

function topicsSection() {
  const body = h("div");
  const select = h("select", { id: "size" }, data.shown.map((model) => h("option", { value: model.topics, selected: model.topics === first }, count(model.topics))));
  const draw = () => {
    const model = shownOf.get(Number(select.value));
    const others = data.models.filter((other) => other.topics === model.topics).length - 1;
    const groups = GROUPS.map(({ name, has }) => ({ name, rows: model.rows.filter((row) => has(row.stability)) })).filter(({ rows }) => rows.length);
    body.replaceChildren(
      h("p", { class: "help after" }, `Of model ${model.topics}/${model.seed}, which predicts held-out documents best of those with ${counted(model.topics, "topic")}${model.rows.length < model.topics ? `: the ${model.rows.length} largest` : ""}. `
        + (others ? "Each line has a topic, its share of the tokens, its coherence, and how many of the models of other seeds have it; it opens to its partners there, with the shared terms marked." : "With several seeds, this page would say which topics are chance.")),
      takeIt(model.topics),
      ...groups.map(({ name, rows }, place) => {
        const title = `${name}: ${counted(rows.length, "topic")}, ${percent(d3.sum(rows, (row) => row.share))} of the tokens`;
        return h("details", { class: "group", open: place === 0 }, h("summary", {}, h("h4", {}, title)), h("div", { class: "topics" }, rows.map((row) => topicDetails(row, others))));
      }));
  };
  select.addEventListener("change", draw);
  draw();
  return section("Topics", {}, h("p", { class: "choices" }, h("label", { for: "size" }, "Number of topics "), select), body);
}

/** What is drawn of the chosen settings. */
function partSections() {
  return [recommended ? recommendedCommand() : null, figureSections(), modelsSection(), topicsSection(), flowSection()].flat(Infinity).filter(Boolean);
}

/** The choice of settings, if there are several, which draws theirs. */
function settingsChoice(body) {
  if (sweep.parts.length < 2) return null;
  const select = h("select", { id: "settings" }, sweep.parts.map((part) => h("option", { value: part.settings, selected: part === data }, part.settings)));
  select.addEventListener("change", () => {
    choose(sweep.parts.find((part) => part.settings === select.value));
    body.replaceChildren(...partSections());
  });
  return h("p", { class: "choices" }, h("label", { for: "settings" }, "Settings "), select);
}

document.getElementById("subtitle").textContent = sweep.inputs.join(", ");
document.getElementById("colophon").textContent = `topicmill ${sweep.version} · ${counted(allModels.length, "model")}`;
choose(sweep.parts.find((part) => part.sizes.some((size) => size.recommended)) ?? sweep.parts[0]);
const body = h("div", {}, partSections());
main.append(...[h("h2", { class: "hidden" }, "How many topics?"), h("p", { class: "advice" }, `${sweep.advice}.`), settingsChoice(body), body].filter(Boolean));
