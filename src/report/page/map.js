// The map of topics: circles whose areas are shares, near each other where the terms are alike.

const FRAME = { width: 1000, height: 620, pad: 14 };

/**
 * Places and radii within FRAME: where scaling put the topics, moved apart where circles overlap, unless
 * they are thousands: the page must open at once. The same each time.
 */
function mapLayout() {
  const placed = d3.sort(shownTopics().filter((topic) => topic.place), (topic) => -topic.share);
  const sum = d3.sum(placed, (topic) => topic.share) || 1;
  const ideal = (topic) => Math.sqrt(((topic.share / sum) * FRAME.width * FRAME.height) / 6 / Math.PI);
  const nodes = placed.map((topic) => ({ topic, r: Math.min(58, Math.max(2.2, ideal(topic))), x: topic.place[0], y: -topic.place[1] }));
  spread(nodes, "x");
  spread(nodes, "y");
  fit(nodes);
  nodes.forEach((node) => { [node.ownX, node.ownY] = [node.x, node.y]; });
  if (nodes.length <= 1000) d3.forceSimulation(nodes)
    .force("x", d3.forceX((node) => node.ownX).strength(0.12))
    .force("y", d3.forceY((node) => node.ownY).strength(0.12))
    .force("apart", d3.forceCollide((node) => node.r + 1.2))
    .stop()
    .tick(Math.ceil(Math.min(120, 16000 / nodes.length)));
  return fit(nodes);
}

/** The layout, until other topics are shown. */
let mapNodes = null;

/** Half-way between positions and ranks along an axis, so that what lies apart does not crowd the rest. */
function spread(nodes, axis) {
  const [low, high] = d3.extent(nodes, (node) => node[axis]);
  d3.sort(nodes, (node) => node[axis]).forEach((node, rank) => {
    node[axis] = (node[axis] - low) / (high - low || 1) + rank / Math.max(1, nodes.length - 1);
  });
}

/** Scales and moves places so that the circles fill the frame. */
function fit(nodes) {
  if (!nodes.length) return nodes;
  const most = d3.max(nodes, (node) => node.r) + FRAME.pad;
  const [left, right] = d3.extent(nodes, (node) => node.x);
  const [top, bottom] = d3.extent(nodes, (node) => node.y);
  const unit = { x: (FRAME.width - 2 * most) / (right - left || 1), y: (FRAME.height - 2 * most) / (bottom - top || 1) };
  for (const node of nodes) {
    node.x = FRAME.width / 2 + (node.x - (left + right) / 2) * unit.x;
    node.y = FRAME.height / 2 + (node.y - (top + bottom) / 2) * unit.y;
  }
  return nodes;
}

/**
 * A map of all topics. `chosen` is drawn in the accent colour, `related` outlined in it.
 * Dragging moves it, the buttons and Ctrl with the wheel zoom.
 */
function topicMap({ chosen = [], related = [], most = 60 } = {}) {
  const nodes = (mapNodes ??= mapLayout());
  const emphasised = new Map([...related.map((t) => [t, "related"]), ...chosen.map((t) => [t, "chosen"])]);
  const look = (node) => emphasised.get(node.topic) ?? "";
  let zoom;
  let svg;
  const draw = (width) => {
    const scale = width / FRAME.width;
    const height = Math.round(FRAME.height * scale);
    svg = drawing(width, height, mapLabel(chosen)).attr("class", "map");
    const circles = svg.append("g")
      .on("click", ({ target }) => { location.hash = topicHref(d3.select(target).datum().topic); })
      .on("pointermove", (event) => {
        const { topic } = d3.select(event.target).datum();
        showTooltip(event, [`Topic ${topic.number}`, topic.name ?? topic.label?.label, percent(topic.share)].filter(Boolean).map(isolated).join(" · "), phrase(topic, 8));
      })
      .on("pointerleave", hideTooltip)
      .selectAll("circle").data(nodes).join("circle")
      .attr("class", (node) => `bubble ${look(node)}`);
    circles.filter((node) => look(node)).raise();
    const labels = svg.append("g").attr("class", "labels").attr("aria-hidden", "true");
    const update = (transform) => {
      const drawn = nodes.map((node) => ({
        topic: node.topic,
        look: look(node),
        x: transform.applyX(node.x * scale),
        y: transform.applyY(node.y * scale),
        r: node.r * scale * Math.sqrt(transform.k),
      }));
      circles.data(drawn, (node) => node.topic.number).attr("cx", (d) => d.x).attr("cy", (d) => d.y).attr("r", (d) => d.r);
      drawLabels(labels, drawn, { width, height, zoom: transform.k, most: Math.ceil(most * Math.min(1, scale * 1.2)) });
    };
    const box = [[0, 0], [width, height]];
    zoom = d3.zoom().scaleExtent([1, 24]).translateExtent(box).extent(box)
      .filter(mayMove)
      .on("zoom", (event) => update(event.transform));
    svg.call(zoom).on("dblclick.zoom", null);
    update(d3.zoomIdentity);
    return svg.node();
  };
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const button = (text, label, how) => h("button", {
    type: "button", class: "button", "aria-label": label, onclick: () => svg.transition().duration(still ? 0 : 250).call(...how()),
  }, text);
  const canvas = responsive(h("div", { class: "canvas" }), draw);
  const rows = () => [["topic", "name", "x", "y", "share"], ...shownTopics().filter((topic) => topic.place).map((topic) => [topic.number, nameOf(topic, 6), ...topic.place, topic.share])];
  return h("figure", { class: "map-figure" },
    canvas,
    h("div", { class: "under" },
      h("figcaption", {}, mapCaption()),
      h("div", { class: "zoom" },
        button("+", "Zoom in", () => [zoom.scaleBy, 1.8]),
        button("−", "Zoom out", () => [zoom.scaleBy, 1 / 1.8]),
        button("Reset", "Show the whole map", () => [zoom.transform, d3.zoomIdentity])),
      downloads("map", canvas, rows)));
}

/** Leaves the wheel and one finger to the page: they scroll it. */
function mayMove(event) {
  if (event.type === "wheel") return event.ctrlKey || event.metaKey;
  if (event.type === "touchstart") return event.touches.length > 1;
  return !event.button;
}

/** Writes the names of as many topics as have room, the emphasised and the largest first. */
function drawLabels(labels, drawn, { width, height, zoom, most }) {
  const words = topics.length > 60 && zoom < 3 ? 2 : 3;
  const important = ({ look }) => ({ chosen: 0, related: 1 })[look] ?? 2;
  const circles = drawn.filter(({ x, y, r }) => x > -r && x < width + r && y > -r && y < height + r);
  const isFree = (box, shown) => isInside(box, width, height) && !shown.some((other) => overlap(box, other.box)) && !circles.some((circle) => touches(box, circle));
  const shown = [];
  for (const node of d3.sort(circles, important, (of) => -of.topic.share).slice(0, 8 * most)) {
    if (shown.length >= most) break;
    const name = nameOf(node.topic, words);
    const text = name.length > 32 ? `${name.slice(0, 31)}…` : name;
    const places = labelPlaces(node, textWidth(text));
    const box = places.find((place) => isFree(place, shown)) ?? (node.look === "chosen" ? places.find((place) => isInside(place, width, height)) : undefined);
    if (box) shown.push({ node, text, box });
  }
  labels.selectAll("text.label").data(shown).join("text")
    .attr("class", ({ node }) => `label ${node.look}`)
    .attr("x", ({ box }) => box.x).attr("y", ({ box }) => box.y + 11).text(({ text }) => text);
  labels.selectAll("text.inside").data(circles.filter(({ r, topic }) => r >= 6 + 3 * String(topic.number).length)).join("text")
    .attr("class", ({ look }) => `inside ${look}`)
    .attr("x", (d) => d.x).attr("y", (d) => d.y + 4).text((d) => d.topic.number);
}

/** Where the label of a circle can be: right, left, below, above, and between these. */
function labelPlaces({ x, y, r }, length) {
  const d = 0.72 * r + 2;
  return [
    [x + r + 4, y - 7], [x - r - 4 - length, y - 7], [x - length / 2, y + r + 2], [x - length / 2, y - r - 16],
    [x + d, y + d - 3], [x + d, y - d - 11], [x - d - length, y + d - 3], [x - d - length, y - d - 11],
  ].map(([left, top]) => ({ x: left, y: top, right: left + length, bottom: top + 14 }));
}

const isInside = (box, width, height) => box.x >= 3 && box.right <= width - 3 && box.y >= 2 && box.bottom <= height - 2;
const overlap = (a, b) => a.x < b.right + 3 && b.x < a.right + 3 && a.y < b.bottom && b.y < a.bottom;
/** Whether a circle reaches into a box. */
const touches = (box, { x, y, r }) => Math.hypot(x - Math.max(box.x, Math.min(x, box.right)), y - Math.max(box.y, Math.min(y, box.bottom))) < r;

const textWidth = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return (text) => {
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(text).width;
  };
})();

function mapLabel(chosen) {
  const of = chosen.length ? `, with topic ${chosen.map((t) => t.number).join(", ")} marked` : "";
  return `Map of ${count(shownTopics().length)} topics${of}. The list of topics has the same links, and each topic its nearest ones.`;
}

function mapCaption() {
  const by = data.map_landmarks < shownTopics().filter((t) => t.place).length ? ` of the ${data.map_landmarks} largest topics` : "";
  return "Areas are shares of all tokens. Topics with similar terms are near each other, as far as two dimensions can show it: "
    + `${percent(data.map_shown)} of the squared distances${by}. Drag to move; Ctrl and the wheel zoom.`;
}
