// Charts: a line over numbers or times, a line without axes, and what each chart can be saved as.

const MARGIN = { top: 14, right: 14, bottom: 26, left: 52 };

/** An empty drawing of this size that says what it shows. */
function drawing(width, height, label) {
  return d3.create("svg")
    .attr("viewBox", [0, 0, width, height])
    .attr("width", width)
    .attr("height", height)
    .attr("role", "img")
    .attr("aria-label", label);
}

/**
 * A line. `points` are {x, y, label}, with the ends `low` and `high` of an interval if there is one; `x` are numbers
 * or, if `time`, dates. `joined` is whether nothing is missing between two points.
 * `bands` are {from, to, name} along x; `reference` is a level to compare with; `follow` is called with a clicked point.
 */
function lineChart(width, { points, label, y, time = false, joined = () => true, zero = false, height = 190, bands = [], reference, follow }) {
  const svg = drawing(width, height, label);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const x = (time ? d3.scaleUtc : d3.scaleLinear)(d3.extent(points, (p) => p.x), [MARGIN.left, right]);
  const most = d3.max([...points.map((p) => p.high ?? p.y), reference ?? -Infinity]);
  const levels = d3.scaleLinear([zero ? 0 : d3.min(points, (p) => p.y), zero ? most || 1 : most], [bottom, MARGIN.top]).nice(4);

  const grid = svg.append("g").attr("class", "grid");
  for (const level of levels.ticks(4)) {
    grid.append("line").attr("x1", MARGIN.left).attr("x2", right).attr("y1", levels(level)).attr("y2", levels(level));
    grid.append("text").attr("x", MARGIN.left - 8).attr("y", levels(level)).attr("dy", "0.32em").attr("text-anchor", "end").text(y(level));
  }
  drawBands(svg, bands, x, bottom);
  drawTicks(svg, x, bottom, time ? x.tickFormat() : thousands);
  if (reference !== undefined) {
    svg.append("line").attr("class", "reference").attr("x1", MARGIN.left).attr("x2", right)
      .attr("y1", levels(reference)).attr("y2", levels(reference));
  }
  drawRuns(svg, points, x, levels, joined);
  if (points.length <= 30) {
    svg.append("g").selectAll("circle").data(points).join("circle").attr("class", "dot")
      .attr("cx", (p) => x(p.x)).attr("cy", (p) => levels(p.y)).attr("r", 2.5);
  }
  drawCursor(svg, points, { x: (p) => x(p.x), y: (p) => levels(p.y) }, bottom, follow);
  return svg.node();
}

/** The points in runs in which nothing is missing. */
function runs(points, joined) {
  const found = [];
  points.forEach((point, i) => {
    if (i > 0 && joined(points[i - 1], point)) found.at(-1).push(point);
    else found.push([point]);
  });
  return found;
}

/** Lines with their intervals behind them. A dotted line crosses what is missing; a point alone is a dot. */
function drawRuns(svg, points, x, y, joined, r = 1.8) {
  const all = runs(points, joined);
  const at = (p) => x(p.x);
  const low = (p) => y(p.low ?? p.y);
  const high = (p) => y(p.high ?? p.y);
  const line = d3.line(at, (p) => y(p.y));
  const path = (name, of, shape) => svg.append("path").attr("class", name).attr("d", of.map(shape).join(""));
  const [alone, lines] = [all.filter((run) => run.length === 1).flat(), all.filter((run) => run.length > 1)];
  if (points.some((p) => p.high !== undefined)) {
    path("area", lines, d3.area(at, low, high));
    path("whiskers", alone, (p) => `M${at(p)},${low(p)}V${high(p)}`);
  }
  path("gap", d3.pairs(all), ([before, after]) => line([before.at(-1), after[0]]));
  path("line", lines, line);
  svg.append("g").selectAll("circle").data(alone).join("circle").attr("class", "dot").attr("cx", at).attr("cy", (p) => y(p.y)).attr("r", r);
}

/** Names of stretches along x, and lines between them. */
function drawBands(svg, bands, x, bottom) {
  for (const [place, band] of bands.entries()) {
    if (place > 0) svg.append("line").attr("class", "border").attr("x1", x(band.from)).attr("x2", x(band.from)).attr("y1", MARGIN.top).attr("y2", bottom);
    const until = place + 1 < bands.length ? x(bands[place + 1].from) : Infinity;
    if (until - x(band.from) < 50) continue;
    svg.append("text").attr("class", "band").attr("x", Math.min(x(band.from) + 6, x.range()[1] - 40)).attr("y", MARGIN.top + 4).text(band.name);
  }
}

/** Ticks of x, as many as there is room for. */
function drawTicks(svg, x, bottom, text) {
  const [left, right] = x.range();
  const axis = svg.append("g").attr("class", "axis");
  for (const place of x.ticks(Math.max(2, Math.min(8, Math.floor((right - left) / 80))))) {
    axis.append("line").attr("class", "tick").attr("x1", x(place)).attr("x2", x(place)).attr("y1", bottom).attr("y2", bottom + 4);
    axis.append("text").attr("x", x(place)).attr("y", bottom + 18).attr("text-anchor", x(place) > right - 20 ? "end" : "middle").text(text(place));
  }
}

/** The point nearest to the pointer, and what it says. */
function drawCursor(svg, points, at, bottom, follow) {
  const cursor = svg.append("g").attr("class", "cursor").attr("visibility", "hidden");
  cursor.append("line").attr("y1", MARGIN.top).attr("y2", bottom);
  cursor.append("circle").attr("r", 4);
  const nearest = (event) => {
    const [left] = d3.pointer(event, svg.node());
    return points[d3.leastIndex(points, (p) => Math.abs(at.x(p) - left))];
  };
  svg.on("pointermove", (event) => {
    const point = nearest(event);
    if (!point) return;
    cursor.attr("visibility", "visible").attr("transform", `translate(${at.x(point)}, 0)`);
    cursor.select("circle").attr("cy", at.y(point));
    showTooltip(event, ...point.label);
  });
  svg.on("pointerleave", () => {
    cursor.attr("visibility", "hidden");
    hideTooltip();
  });
  if (follow) svg.classed("clickable", true).on("click", (event) => follow(nearest(event)));
}

/** A small line without axes; the text beside it says what it shows. */
function sparkline(points, joined, width = 120, height = 28) {
  const svg = drawing(width, height, "").attr("aria-hidden", "true").attr("role", null).attr("aria-label", null).attr("class", "spark");
  const x = d3.scaleLinear(d3.extent(points, (p) => p.x), [2, width - 4]);
  const y = d3.scaleLinear([0, d3.max(points, (p) => p.y) || 1], [height - 2, 4]);
  drawRuns(svg, points.map((p) => ({ ...p, low: undefined, high: undefined })), x, y, joined);
  return svg.node();
}

/** What of its style a saved drawing keeps. */
const SAVED_STYLE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity", "font-family", "font-size", "text-anchor"];

/** A drawing as a file of its own: its style on its elements, on the colour of the page. */
function svgText(svg) {
  const copy = svg.cloneNode(true);
  const copies = copy.querySelectorAll("*");
  svg.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of SAVED_STYLE) copies[i].setAttribute(name, style.getPropertyValue(name));
  });
  copy.querySelectorAll(".cursor").forEach((cursor) => cursor.remove());
  d3.select(copy).attr("xmlns", "http://www.w3.org/2000/svg").attr("role", null)
    .insert("rect", "*").attr("width", "100%").attr("height", "100%").attr("fill", getComputedStyle(document.documentElement).backgroundColor);
  return new XMLSerializer().serializeToString(copy);
}

/** Rows as CSV (RFC 4180); what is missing is empty. */
function csvText(rows) {
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

/** Buttons that save the drawing of a figure, if there is one, and the rows of its values. */
function downloads(name, figure, rows) {
  const file = name.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase();
  const button = (kind, type, text) => h("button", {
    type: "button", class: "button", "aria-label": `Save ${name} as ${kind}`, onclick: () => saveFile(`${file}.${kind.toLowerCase()}`, type, text()),
  }, kind);
  return h("div", { class: "downloads" },
    figure ? button("SVG", "image/svg+xml", () => svgText(figure.querySelector("svg"))) : [],
    button("CSV", "text/csv", () => csvText(rows())));
}
