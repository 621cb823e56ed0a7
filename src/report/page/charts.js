// Charts of one series: a line over numbers or over a row of values, and a line without axes.

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
 * A line. `points` are {x, y, label}; `x` numbers unless `values` names the places 0, 1, ….
 * `bands` are {from, to, name} along x; `reference` is a level to compare with.
 */
function lineChart(width, { points, values, label, y, zero = false, height = 190, bands = [], reference, area = false }) {
  const svg = drawing(width, height, label);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const x = d3.scaleLinear(values ? [0, Math.max(1, values.length - 1)] : d3.extent(points, (p) => p.x), [MARGIN.left, right]);
  const extent = d3.extent([...points.map((p) => p.y), ...(reference === undefined ? [] : [reference])]);
  const levels = d3.scaleLinear(zero ? [0, extent[1] || 1] : extent, [bottom, MARGIN.top]).nice(4);

  const grid = svg.append("g").attr("class", "grid");
  for (const level of levels.ticks(4)) {
    grid.append("line").attr("x1", MARGIN.left).attr("x2", right).attr("y1", levels(level)).attr("y2", levels(level));
    grid.append("text").attr("x", MARGIN.left - 8).attr("y", levels(level)).attr("dy", "0.32em").attr("text-anchor", "end").text(y(level));
  }
  drawBands(svg, bands, x, bottom);
  drawPlaces(svg, values, x, width, bottom);
  if (reference !== undefined) {
    svg.append("line").attr("class", "reference").attr("x1", MARGIN.left).attr("x2", right)
      .attr("y1", levels(reference)).attr("y2", levels(reference));
  }
  const at = { x: (p) => x(p.x), y: (p) => levels(p.y) };
  if (area) svg.append("path").attr("class", "area").attr("d", d3.area(at.x, bottom, at.y)(points));
  svg.append("path").attr("class", "line").attr("d", d3.line(at.x, at.y)(points));
  if (points.length <= 30) {
    svg.append("g").selectAll("circle").data(points).join("circle").attr("class", "dot").attr("cx", at.x).attr("cy", at.y).attr("r", 2.5);
  }
  drawCursor(svg, points, at, bottom);
  return svg.node();
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

/** Ticks of x: numbers, or as many of the values as there is room for. */
function drawPlaces(svg, values, x, width, bottom) {
  const room = Math.max(2, Math.floor(width / 80));
  const axis = svg.append("g").attr("class", "axis");
  const places = values ? d3.range(values.length) : x.ticks(Math.min(room, 6));
  const every = Math.ceil(places.length / room);
  for (const place of places.filter((_, i) => i % every === 0)) {
    const end = x(place) > x.range()[1] - 20;
    axis.append("text").attr("x", x(place)).attr("y", bottom + 18).attr("text-anchor", end ? "end" : "middle")
      .text(values ? values[place] : thousands(place));
  }
}

/** The point nearest to the pointer, and what it says. */
function drawCursor(svg, points, at, bottom) {
  const cursor = svg.append("g").attr("class", "cursor").attr("visibility", "hidden");
  cursor.append("line").attr("y1", MARGIN.top).attr("y2", bottom);
  cursor.append("circle").attr("r", 4);
  svg.on("pointermove", (event) => {
    const [left] = d3.pointer(event, svg.node());
    const point = points[d3.leastIndex(points, (p) => Math.abs(at.x(p) - left))];
    if (!point) return;
    cursor.attr("visibility", "visible").attr("transform", `translate(${at.x(point)}, 0)`);
    cursor.select("circle").attr("cy", at.y(point));
    showTooltip(event, ...point.label);
  });
  svg.on("pointerleave", () => {
    cursor.attr("visibility", "hidden");
    hideTooltip();
  });
}

/** A small line without axes; the text beside it says what it shows. */
function sparkline(values, width = 120, height = 28) {
  const svg = drawing(width, height, "").attr("aria-hidden", "true").attr("role", null).attr("aria-label", null).attr("class", "spark");
  const x = d3.scaleLinear([0, Math.max(1, values.length - 1)], [2, width - 4]);
  const y = d3.scaleLinear([0, d3.max(values) || 1], [height - 2, 4]);
  const at = [(_, i) => x(i), (value) => y(value)];
  svg.append("path").attr("class", "area").attr("d", d3.area(at[0], height - 2, at[1])(values));
  svg.append("path").attr("class", "line").attr("d", d3.line(...at)(values));
  svg.append("circle").attr("class", "dot").attr("cx", x(values.length - 1)).attr("cy", y(values.at(-1))).attr("r", 2.2);
  return svg.node();
}
