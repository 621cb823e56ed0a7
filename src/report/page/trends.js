// Topics by the values of a column: of one topic, of all at once, and the documents with a value.

/** When a time begins, and the next one of its unit: 1990s, 1998, 1998-07 and 1998-07-21 are times. */
function timeOf(value) {
  if (value.endsWith("s")) return [new Date(value.slice(0, 4)), (begin) => d3.utcYear.offset(begin, 10)];
  const unit = { 4: d3.utcYear, 7: d3.utcMonth }[value.length] ?? d3.utcDay;
  return [new Date(value), (begin) => unit.offset(begin, 1)];
}

/** Where a value is on the axis of its column: the beginning of a time, a number, or the place of a name. */
function placeOf(trend, i) {
  const value = trend.values[i];
  if (trend.kind === "time") return timeOf(value)[0];
  return trend.kind === "number" ? Number(value) : i;
}

/** Whether no time lies between two points of a trend. */
function joinedIn(trend) {
  if (trend.kind !== "time") return () => true;
  return (before, after) => timeOf(before.value)[1](before.x) >= after.x;
}

/** The shares of a topic by value, with the ends of their 95 % intervals: those of a single document and of several topics, and in a page with many topics and values small ones, have none. */
function trendPoints(topic, trend) {
  const isAlone = !membersOf(topic).length;
  let known = 0;
  return trend.values.map((value, i) => {
    const share = trend.shares[topic.number][i] / 1e5;
    const documents = trend.documents[i];
    const isKnown = trend.shares[topic.number][i] > trend.interval_above;
    const [below, above] = isKnown ? trend.intervals[topic.number].slice(known, known += 2) : [0, 0];
    const ends = documents > 1 && isAlone && (isKnown || !share) ? { low: share * (1 - below / 100), high: share * (1 + above / 100) } : {};
    return { x: placeOf(trend, i), y: share, value, documents, ...ends };
  });
}

const trendHref = (trend) => `#trends=${encodeURIComponent(trend.name)}`;

/** The address of the documents with a value, those with the topic first. */
function valueHref(trend, value, topic) {
  return ["#value", trend.name, value, ...(topic ? [topic.number] : [])].map((part, i) => (i ? encodeURIComponent(part) : part)).join("=");
}

const valueLink = (trend, value, topic) => h("a", { href: valueHref(trend, value, topic) }, value);

/** The interval of a share; "" without one. */
const intervalText = ({ low, high }) => (high ? `95 %: ${percent(low)} to ${percent(high)}` : "");

/** The rows of a CSV: of each topic, all values. */
function trendRows(trend, shown) {
  const number = (share) => (share === undefined ? undefined : Number(share.toPrecision(6)));
  return [["topic", "name", trend.name, "share", "low", "high", "documents"],
    ...shown.flatMap((topic) => trendPoints(topic, trend).map((p) => [topic.number, nameOf(topic, 6), p.value, number(p.y), number(p.low), number(p.high), p.documents]))];
}

/** The topic's share in the documents of each value of a column. */
function topicTrend(topic, trend) {
  const points = trendPoints(topic, trend);
  const title = `Share by ${trend.name}`;
  const whole = () => trendTable(title, topic, trend, points);
  const name = `topic ${topic.number} by ${trend.name}`;
  const rows = () => trendRows(trend, [topic]);
  const all = h("a", { href: trendHref(trend) }, "All topics");
  if (trend.kind === "name") return section(title, {}, trendBars(topic, trend, points), h("div", { class: "under" }, behind(whole), all, downloads(name, null, rows)));
  const label = `${title} of topic ${topic.number}, from ${percent(d3.min(points, (p) => p.y))} to ${percent(d3.max(points, (p) => p.y))}`;
  const canvas = responsive(h("div", { class: "canvas" }), (width) => lineChart(width, {
    points: points.map((p) => ({ ...p, label: [p.value, percent(p.y), intervalText(p), `${counted(p.documents, UNIT)}; click to list some`].filter(Boolean) })),
    time: trend.kind === "time", joined: joinedIn(trend), label, y: percent, zero: true,
    reference: d3.sum(points, (p, i) => p.y * trend.tokens[i]) / d3.sum(trend.tokens),
    follow: (point) => { location.hash = valueHref(trend, point.value, topic); },
  }));
  return section(title, {}, h("figure", {}, canvas), h("div", { class: "under" }, behind(whole), all, downloads(name, canvas, rows)));
}

/** The values with the largest shares. */
function trendBars(topic, trend, points) {
  const most = d3.max(points, (p) => p.y) || 1;
  const first = d3.sort(points, (p) => -p.y).slice(0, 12);
  return table(`Share of topic ${topic.number} by ${trend.name}, largest first`,
    [trend.name, { text: "Share of tokens", class: "measure" }],
    first.map((p) => [valueLink(trend, p.value, topic), h("span", { class: "measured" }, bar(p.y / most), h("span", {}, percent(p.y)))]), "bars");
}

function trendTable(title, topic, trend, points) {
  const numeric = (text) => ({ text, class: "numeric" });
  return table(title, [trend.name, ...["Documents", "Share of tokens", "95 % from", "to"].map(numeric)],
    points.map((p) => [valueLink(trend, p.value, topic), count(p.documents), percent(p.y), p.high === undefined ? "–" : percent(p.low), p.high === undefined ? "–" : percent(p.high)]));
}

/** The mean shares of a topic in the first and the last third of a column's values. */
function movement(topic, trend) {
  const third = Math.max(1, Math.floor(trend.values.length / 3));
  const shares = trend.shares[topic.number];
  const mean = (from, to) => {
    const tokens = trend.tokens.slice(from, to);
    return d3.sum(shares.slice(from, to), (share, i) => share * tokens[i]) / (1e5 * Math.max(1, d3.sum(tokens)));
  };
  return { topic, from: mean(0, third), to: mean(-third), upTo: trend.values[third - 1], since: trend.values.at(-third) };
}

/** What topics can be sorted by in the view of all. */
const TREND_ORDERS = {
  share: { name: "share", key: (topic) => -topic.share },
  peak: { name: "place of the largest share", key: (topic, trend) => d3.maxIndex(trend.shares[topic.number]) },
  growth: { name: "growth", key: (topic, trend) => { const { from, to } = movement(topic, trend); return from - to; } },
};

/** All topics by the values of a column. */
function trendsView(name) {
  const trend = data.trends.find((of) => of.name === name);
  if (!trend) return notFound(`This report has no trends by “${name}”.`);
  const others = data.trends.filter((of) => of !== trend);
  return [
    h("p", { class: "kicker" }, "Trends", others.length ? [" · also by ", others.map((of, i) => [i ? ", " : "", h("a", { href: trendHref(of) }, of.name)])] : null),
    h("h2", { tabindex: "-1" }, `Topics by ${trend.name}`),
    section("The largest topics and the rest", {}, stack(trend)),
    section("Each topic", {}, multiples(trend)),
    withoutValue(trend),
  ];
}

const MOST_BARS = 30;

/** The values that fit beside each other: all on an axis, or the first names. */
const barsOf = (trend) => d3.range(trend.kind === "name" ? Math.min(MOST_BARS, trend.values.length) : trend.values.length);

/** Where the values of a column are, from `left` to `right`, and how wide a bar is. */
function barScale(trend, left, right) {
  const bars = barsOf(trend);
  const places = bars.map((i) => placeOf(trend, i));
  const step = d3.min(d3.pairs(places), ([a, b]) => b - a) || 1;
  const domain = [places[0], new Date(+places.at(-1) + step)];
  const x = trend.kind === "time" ? d3.scaleUtc(domain, [left, right]) : d3.scaleLinear(domain.map(Number), [left, right]);
  const wide = x(+places[0] + step) - x(places[0]);
  return { x, bars, wide: Math.max(0.8, wide - Math.min(1, wide / 4)), at: (i) => x(places[i]) };
}

const MOST_LAYERS = 8;

/** The largest topics in the documents of each value, on top of each other, and all others as one. */
function stack(trend) {
  const sum = (topic) => d3.sum(trend.shares[topic.number], (share, i) => share * trend.tokens[i]);
  const shown = shownTopics();
  const largest = d3.sort(shown, (topic) => -sum(topic)).slice(0, MOST_LAYERS);
  const layers = [
    ...largest.map((topic, place) => ({ topic, colour: `layer-${place}`, share: (i) => trend.shares[topic.number][i] / 1e5 })),
    { colour: "layer-rest", share: (i) => d3.sum(shown, (topic) => (largest.includes(topic) ? 0 : trend.shares[topic.number][i])) / 1e5 },
  ].filter((layer) => layer.topic || shown.length > MOST_LAYERS);
  const nameOfLayer = ({ topic }) => (topic ? `${topic.number} ${nameOf(topic, 3)}` : `${count(shown.length - largest.length)} other topics`);
  const canvas = responsive(h("div", { class: "canvas" }), (width) => {
    const [height, bottom] = [300, 300 - MARGIN.bottom];
    const svg = drawing(width, height, `Shares of the ${largest.length} largest topics by ${trend.name}`).classed("clickable", true);
    const { x, bars, wide, at } = barScale(trend, MARGIN.left, width - MARGIN.right);
    const y = d3.scaleLinear([0, 1], [bottom, MARGIN.top]);
    for (const level of y.ticks(4)) svg.append("text").attr("x", MARGIN.left - 8).attr("y", y(level)).attr("dy", "0.32em").attr("text-anchor", "end").text(percent(level));
    const below = bars.map(() => 0);
    for (const layer of layers) {
      const shape = bars.map((i) => {
        const from = below[i];
        below[i] += layer.share(i);
        return `M${at(i)},${y(from)}V${y(below[i])}h${wide}V${y(from)}Z`;
      });
      svg.append("path").attr("class", layer.colour).attr("d", shape.join(""));
    }
    if (trend.kind === "name") drawNamesBelow(svg, trend, bars, at, wide, bottom);
    else drawTicks(svg, x, bottom, trend.kind === "time" ? x.tickFormat() : thousands);
    const under = (event) => {
      const [left, top] = d3.pointer(event, svg.node());
      const i = bars[d3.leastIndex(bars, (bar) => Math.abs(at(bar) + wide / 2 - left))];
      let rest = y.invert(top);
      return { i, layer: layers.find((layer) => (rest -= layer.share(i)) < 0) };
    };
    svg.on("pointermove", (event) => {
      const { i, layer } = under(event);
      showTooltip(event, trend.values[i], layer ? `${nameOfLayer(layer)}: ${percent(layer.share(i))}` : "below the threshold");
    });
    svg.on("pointerleave", hideTooltip);
    svg.on("click", (event) => {
      const { i, layer } = under(event);
      location.hash = valueHref(trend, trend.values[i], layer?.topic);
    });
    return svg.node();
  });
  const key = h("ul", { class: "key" }, layers.map((layer) => h("li", {},
    h("span", { class: `swatch ${layer.colour}` }), layer.topic ? topicLink(layer.topic, 3) : nameOfLayer(layer))));
  const more = trend.values.length - barsOf(trend).length;
  return [
    h("figure", {}, canvas, key),
    h("div", { class: "under" },
      h("p", { class: "help" }, "Shares of the tokens of the documents with each value. Shares too small to be listed leave the top empty.",
        more > 0 ? ` The ${count(more)} values of the fewest documents are not drawn; the CSV has them.` : "", " A click lists documents."),
      downloads(`largest topics by ${trend.name}`, canvas, () => trendRows(trend, largest))),
  ];
}

/** Names below bars, as much of each as there is room for. */
function drawNamesBelow(svg, trend, bars, at, wide, bottom) {
  const every = Math.ceil(70 / wide);
  for (const i of bars.filter((i) => i % every === 0)) {
    svg.append("text").attr("x", at(i)).attr("y", bottom + 18).text(fitted(trend.values[i], wide * every - 8));
  }
}

/** A text, cut off at a width in pixels. */
function fitted(text, width) {
  let shown = text;
  while (shown.length > 1 && textWidth(shown) > width) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

const multiplesState = { order: "share", same: true };

/** A small chart of each topic, all with the same axes. */
function multiples(trend) {
  const select = h("select", { id: "multiples-order" }, Object.entries(TREND_ORDERS)
    .filter(([order]) => order !== "growth" || trend.kind !== "name")
    .map(([value, { name }]) => h("option", { value, selected: value === multiplesState.order }, name)));
  const same = h("input", { id: "same-scale", type: "checkbox", checked: multiplesState.same });
  const frame = h("div", {});
  let canvas;
  const draw = () => {
    multiplesState.order = select.value;
    multiplesState.same = same.checked;
    const sorted = d3.sort(shownTopics(), (topic) => TREND_ORDERS[select.value].key(topic, trend));
    canvas = responsive(h("div", { class: "canvas" }), (width) => drawMultiples(width, trend, sorted, same.checked));
    frame.replaceChildren(canvas);
  };
  select.addEventListener("change", draw);
  same.addEventListener("change", draw);
  draw();
  const bars = barsOf(trend);
  const [first, last] = [trend.values[bars[0]], trend.values[bars.at(-1)]];
  return [
    h("p", { class: "choices" }, h("label", { for: "multiples-order" }, "Sorted by "), select, " ", h("span", {}, same, h("label", { for: "same-scale" }, "the same scale for all"))),
    h("figure", {}, frame),
    h("div", { class: "under" }, h("p", { class: "help" }, `Each from ${first} to ${last}; the number is the largest share. On the same scale, shares of values with fewer than ten documents may be cut off. A click opens the topic.`),
      downloads(`all topics by ${trend.name}`, frame, () => trendRows(trend, shownTopics()))),
  ];
}

function drawMultiples(width, trend, sorted, same) {
  const columns = Math.max(2, Math.floor(width / 190));
  const [wide, high, gap] = [width / columns, 92, 18];
  const svg = drawing(width, Math.ceil(sorted.length / columns) * high, `A chart of each topic by ${trend.name}`).attr("role", "group").classed("multiples", true);
  const points = new Map(sorted.map((topic) => [topic, trendPoints(topic, trend)]));
  const mostOf = (topic) => d3.max(points.get(topic), (p) => p.y) || 1;
  // A few documents can be of one topic: their shares may leave the common scale.
  const most = d3.max(sorted, (topic) => d3.max(points.get(topic), (p) => (p.documents < 10 ? 0 : p.y))) || d3.max(sorted, mostOf);
  const joined = joinedIn(trend);
  const { x, bars, wide: thick, at } = barScale(trend, 0, wide - gap);
  sorted.forEach((topic, place) => {
    const cell = svg.append("a").attr("href", topicHref(topic)).attr("aria-label", `Topic ${topic.number}: ${nameOf(topic, 3)}`)
      .attr("transform", `translate(${(place % columns) * wide},${Math.floor(place / columns) * high})`);
    cell.append("rect").attr("class", "ground").attr("width", wide - gap).attr("height", high - 10);
    const largest = percent(mostOf(topic));
    cell.append("text").attr("class", "name").attr("y", 12).text(fitted(`${topic.number} ${nameOf(topic, 3)}`, wide - gap - textWidth(largest) - 10));
    cell.append("text").attr("x", wide - gap).attr("y", 12).attr("text-anchor", "end").text(largest);
    const y = d3.scaleLinear([0, same ? most : mostOf(topic)], [high - 12, 18]).clamp(true);
    if (trend.kind === "name") {
      cell.append("path").attr("class", "bars").attr("d", bars.map((i) => `M${at(i)},${y(0)}V${y(points.get(topic)[i].y)}h${thick}V${y(0)}Z`).join(""));
    } else drawRuns(cell, points.get(topic).map((p) => ({ ...p, low: 0, high: p.y })), x, y, joined, 1);
    cell.append("line").attr("class", "base").attr("x2", wide - gap).attr("y1", y(0)).attr("y2", y(0));
  });
  const under = (event) => {
    const cell = event.target.closest("a");
    const place = [...svg.node().querySelectorAll("a")].indexOf(cell);
    return cell && { topic: sorted[place], i: bars[d3.leastIndex(bars, (i) => Math.abs(at(i) - d3.pointer(event, cell)[0]))] };
  };
  svg.on("pointermove", (event) => {
    const found = under(event);
    if (found) showTooltip(event, `${trend.values[found.i]}: ${percent(points.get(found.topic)[found.i].y)}`);
    else hideTooltip();
  });
  svg.on("pointerleave", hideTooltip);
  return svg.node();
}

/** Of a column of times the topics that grew and shrank most; of names what is special about each. */
function trendOverview(trend) {
  return section(`Topics by ${trend.name}`, {}, trend.kind === "name" ? specialTopics(trend) : movingTopics(trend),
    h("p", { class: "help" }, h("a", { href: trendHref(trend) }, `All topics by ${trend.name}`)), withoutValue(trend));
}

function withoutValue(trend) {
  const said = [
    trend.without ? `${count(trend.without)} ${UNITS} have no such value.` : "",
    trend.others && trend.kind !== "name" ? `The ${count(trend.others)} rarest values are not shown.` : "",
  ].filter(Boolean);
  return said.length ? h("p", { class: "help" }, said.join(" ")) : null;
}

/** How to get trends, if documents have columns. */
function trendHint() {
  return data.documents.columns.length ? h("p", { class: "help" }, "To see topics by the values of a column, name it in project.trends.") : null;
}

function movingTopics(trend) {
  const moved = shownTopics().map((topic) => movement(topic, trend));
  if (!moved.length) return null;
  const most = (sign) => d3.sort(moved, (m) => sign * (m.from - m.to)).slice(0, 6).filter((m) => sign * (m.to - m.from) > 0);
  const joined = joinedIn(trend);
  const column = (name, rows) => h("div", {}, h("h4", {}, name), h("ul", { class: "movers" }, rows.map(({ topic, from, to }) =>
    h("li", {}, topicLink(topic, 4), sparkline(trendPoints(topic, trend), joined), h("span", { class: "change" }, `${percent(from)} → ${percent(to)}`)))));
  return [
    h("div", { class: "pair" }, column("Growing", most(1)), column("Shrinking", most(-1))),
    h("p", { class: "help" }, `Shares of tokens up to ${moved[0].upTo}, and from ${moved[0].since}.`),
  ];
}

/** The topics whose share in the documents of a value is most above their share in all. */
function specialOf(trend, i) {
  const shareOf = (topic) => trend.shares[topic.number][i] / 1e5;
  const above = shownTopics().filter((topic) => shareOf(topic) > topic.share);
  return d3.sort(above, (topic) => -shareOf(topic) * Math.log(shareOf(topic) / Math.max(topic.share, 1e-9)));
}

function specialTopics(trend) {
  const rows = trend.values.slice(0, 20).map((value, i) => [
    valueLink(trend, value),
    count(trend.documents[i]),
    specialOf(trend, i).slice(0, 3).map((topic) => topicChip(topic, 3, trend.shares[topic.number][i] / 1e5)),
  ]);
  const heads = [trend.name, { text: upper(UNITS), class: "numeric" }, "Topics that stand out"];
  return table(`Topics by ${trend.name}`, heads, rows, "wide");
}

/** The documents of the page that have a value: their cell is the value, a list with it, or a date within it. */
function documentsOf(trend, value) {
  const cells = data.documents.values[data.documents.columns.indexOf(trend.name)] ?? [];
  const known = new Set(trend.values);
  const ofNames = (text) => (known.has(text) ? [text] : text.split(", "));
  const isOf = (text) => {
    if (trend.kind === "time") return text.includes(value.endsWith("s") ? value.slice(0, 3) : value);
    if (trend.kind === "name" && trend.others && value === trend.values.at(-1)) return ofNames(text).some((name) => !known.has(name));
    return ofNames(text).includes(value);
  };
  return d3.range(cells.length).filter((document) => cells[document] && isOf(cells[document]));
}

const MOST_LISTED = 50;

/** A value of a column: its topics, and the documents of the page that have it, those with a topic first. */
function valueView(name, value, number) {
  const trend = data.trends.find((of) => of.name === name);
  const i = trend?.values.indexOf(value) ?? -1;
  if (i < 0) return notFound(`This report has no value “${value}” of “${name}”.`);
  const topic = topics[number];
  const part = (document) => pairs(data.documents.topics[document]).find(([of]) => of === topic?.number)?.[1];
  const found = d3.sort(documentsOf(trend, value), (document) => -(part(document) ?? 0));
  const every = topic ? 1 : Math.ceil(found.length / MOST_LISTED);
  const shown = found.filter((_, place) => place % every === 0).slice(0, MOST_LISTED);
  const step = (by, text) => (trend.values[i + by] === undefined ? null : h("a", { class: "button", href: valueHref(trend, trend.values[i + by], topic) }, text));
  const special = specialOf(trend, i).slice(0, 8);
  return [
    h("div", { class: "heading" },
      h("p", { class: "kicker" }, h("a", { href: trendHref(trend) }, trend.name)),
      h("div", { class: "steps" }, step(-1, "← Previous"), step(1, "Next →"))),
    h("h2", { tabindex: "-1", class: "terms-title" }, value),
    figures([[count(trend.documents[i]), `${UNITS} with tokens`, ""], [thousands(trend.tokens[i]), "tokens in the vocabulary", ""]]),
    special.length ? section("Topics that stand out", {}, table(`Topics that stand out in ${value}`,
      ["Topic", { text: "Share here", class: "numeric" }, { text: "of all tokens", class: "numeric" }],
      special.map((of) => {
        const point = trendPoints(of, trend)[i];
        return [topicLink(of), [percent(point.y), h("small", {}, intervalText(point))], percent(of.share)];
      }), "special")) : null,
    section(`${upper(UNITS)}${topic && found.some(part) ? `, those with topic ${topic.number} first` : ""}`, {},
      h("p", { class: "help" }, `${count(shown.length)} of the ${count(trend.documents[i])} ${UNITS} with this value.`,
        shown.length < trend.documents[i] ? ` The report has ${count(found.length)} of them, those in which a topic is largest and others from the whole collection; the tables beside it have all.` : ""),
      shown.length ? documentTable(`${upper(UNITS)} with ${trend.name} ${value}`,
        shown.map((document) => ({ document, topic, part: part(document) }))) : null),
  ];
}
