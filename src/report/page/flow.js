// Where topics come from: a column for each number of topics, and from each topic a ribbon to the nearest of the column
// before it.

/** Topics of a column; the others are one block. */
const MOST_BLOCKS = 60;
const BLOCK = { width: 12, gap: 2 };

/** The columns of blocks, each with its parent (a block of the column before) and its children. */
function flowColumns() {
  const columns = [];
  for (const model of data.shown) {
    const before = columns.at(-1);
    const blocks = model.rows.slice(0, MOST_BLOCKS).map((row) => {
      const [nearest, distance] = row.parent ?? [];
      const parent = before && (before.blocks.find((block) => block.row?.topic === nearest) ?? before.blocks.at(-1));
      return { row, model, parent, distance, nearest, share: row.share, children: [] };
    });
    for (const block of blocks) block.parent?.children.push(block);
    const others = model.topics - blocks.length;
    if (others) blocks.push({ model, others, share: Math.max(0, 1 - d3.sum(blocks, (block) => block.share)), children: [] });
    columns.push({ model, blocks });
  }
  return columns;
}

/** Gives blocks their places, those of one parent side by side. */
function placeFlow(columns, width, top, bottom, right) {
  const step = columns.length > 1 ? (width - right - BLOCK.width) / (columns.length - 1) : 0;
  columns.forEach(({ blocks }, place) => {
    const room = bottom - top - BLOCK.gap * (blocks.length - 1);
    const total = d3.sum(blocks, (block) => block.share) || 1;
    let y = top;
    for (const block of d3.sort(blocks, (block) => Boolean(block.others), (block) => block.parent?.y ?? 0, (block) => -block.share)) {
      Object.assign(block, { x: place * step, y, height: Math.max(1, (room * block.share) / total), sent: 0 });
      y += block.height + BLOCK.gap;
    }
  });
  for (const { blocks } of columns.slice(1)) {
    for (const block of d3.sort(blocks.filter((block) => block.parent), (block) => block.y)) {
      const { parent } = block;
      const sum = d3.sum(parent.children, (child) => child.share);
      block.from = { y: parent.y + parent.sent, height: (parent.height * block.share) / Math.max(sum, parent.share) };
      parent.sent += block.from.height;
    }
  }
  return step;
}

const words = (block, most = 5) => (block.row ? block.row.top_terms.slice(0, most).join(" ") : `${count(block.others)} smaller topics`);
const nameOfBlock = (block) => (block.row ? `topic ${block.row.topic} of ${block.model.topics} (${words(block)})` : `the ${words(block)} of ${block.model.topics}`);

/** What a block is, comes from and splits into. */
function flowLines(block) {
  const lines = [`${block.row ? `Topic ${block.row.topic} of ${block.model.topics}` : `${words(block)} of ${block.model.topics}`}, ${percent(block.share)}${block.row ? `: ${words(block, 10)}` : ""}`];
  if (block.parent) lines.push(`Nearest with fewer topics: ${nameOfBlock(block.parent)}, distance ${decimals(block.distance, 2)}`);
  const children = d3.sort(block.children, (child) => child.distance);
  const more = children.length > 5 ? `, and ${children.length - 5} more` : "";
  if (children.length) lines.push(`Splits into: ${children.slice(0, 5).map(nameOfBlock).join(", ")}${more}`);
  return lines;
}

/** A block with what it comes from and all that comes from it. */
function family(block) {
  const found = new Set();
  for (let at = block; at; at = at.parent) found.add(at);
  const down = (of) => of.children.forEach((child) => { found.add(child); down(child); });
  down(block);
  return found;
}

function flowChart(width, columns, panel) {
  const wide = width > 700;
  const [height, top, right] = [wide ? 760 : 560, 24, wide ? 170 : 0];
  const step = placeFlow(columns, width, top, height - 8, right);
  const svg = drawing(width, height, "Topics by number of topics").attr("class", "flow").attr("role", "listbox");
  const all = columns.flatMap((column) => column.blocks);
  const heads = svg.append("g").attr("aria-hidden", "true");
  columns.forEach(({ model, blocks }, place) => heads.append("text").attr("class", "name").attr("x", blocks[0].x + (!wide && place === columns.length - 1 ? BLOCK.width : 0)).attr("y", 12)
    .attr("text-anchor", !wide && place === columns.length - 1 ? "end" : "start").text(wide ? counted(model.topics, "topic") : count(model.topics)));
  const links = svg.append("g").attr("aria-hidden", "true").selectAll("path").data(all.filter((block) => block.parent)).join("path").attr("class", "link")
    .attr("fill-opacity", (block) => Math.max(0.05, 0.5 * (1 - block.distance))).attr("d", ({ parent, from, x, y, height: tall }) => {
      const [start, middle] = [parent.x + BLOCK.width, (parent.x + BLOCK.width + x) / 2];
      return `M${start},${from.y}C${middle},${from.y} ${middle},${y} ${x},${y}v${tall}C${middle},${y + tall} ${middle},${from.y + from.height} ${start},${from.y + from.height}Z`;
    });
  const blocks = svg.append("g").attr("role", "presentation").selectAll("rect").data(all).join("rect")
    .attr("class", (block) => (block.others ? "block others" : "block")).attr("role", "option").attr("aria-selected", "false")
    .attr("aria-label", (block) => flowLines(block).join(". ")).attr("tabindex", (block) => (block === all[0] ? 0 : -1))
    .attr("x", (block) => block.x).attr("y", (block) => block.y).attr("width", BLOCK.width).attr("height", (block) => block.height);
  const letters = (block) => Math.floor((wide ? (block.x + step < width ? step - BLOCK.width : right) - 8 : 0) / 6.6);
  const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const labels = svg.append("g").attr("class", "labels").attr("aria-hidden", "true").selectAll("text").data(all.filter((block) => letters(block) > 8)).join("text").attr("class", "label")
    .attr("x", (block) => block.x + BLOCK.width + 5).attr("y", (block) => block.y + block.height / 2).attr("dy", "0.34em").text((block) => clipped(words(block), letters(block)));
  const mark = (block) => {
    const marked = block ? family(block) : new Set();
    svg.classed("marking", Boolean(block));
    blocks.classed("marked", (it) => marked.has(it)).attr("aria-selected", (it) => String(it === block));
    links.classed("marked", (it) => marked.has(it) && marked.has(it.parent));
    const fits = (it) => it.height >= 12 || it === block || (block && it.model.topics < block.model.topics);
    labels.attr("visibility", (it) => (fits(it) && (!block || marked.has(it)) ? "visible" : "hidden"));
    panel.replaceChildren(...(block ? flowLines(block) : ["Point at a topic, or move through them with the arrow keys."]).map((line) => h("p", {}, line)));
  };
  const focus = (block) => {
    blocks.attr("tabindex", (it) => (it === block ? 0 : -1));
    blocks.filter((it) => it === block).node().focus();
  };
  const focused = () => blocks.data().find((_, i) => blocks.nodes()[i] === document.activeElement);
  blocks.on("pointerenter", (_, block) => mark(block)).on("pointerleave", () => mark(focused())).on("focus", (_, block) => mark(block)).on("blur", () => mark())
    .on("click", (_, block) => focus(block))
    .on("keydown", (event, block) => {
      const column = d3.sort(columns.find((it) => it.model === block.model).blocks, (it) => it.y);
      const beside = (by) => column[column.indexOf(block) + by];
      const next = { ArrowUp: () => beside(-1), ArrowDown: () => beside(1), ArrowLeft: () => block.parent, ArrowRight: () => d3.least(block.children, (child) => child.distance) }[event.key];
      if (!next) return;
      event.preventDefault();
      const to = next();
      if (to) focus(to);
    });
  mark();
  return svg.node();
}

function flowSection() {
  if (data.shown.length < 2) return null;
  const columns = flowColumns();
  const panel = h("div", { class: "panel" });
  const canvas = responsive(h("div", { class: "canvas" }), (width) => flowChart(width, columns, panel));
  const heads = ["topics", "topic", "share", "terms", "nearest_of", "nearest", "distance"];
  const rows = () => data.shown.slice(1).flatMap((model, place) => model.rows.map((row) => [model.topics, row.topic, row.share, row.top_terms.join(" "), data.shown[place].topics, ...row.parent]));
  const shown = () => table("Nearest topics", ["Topic", numeric("Share"), "Terms", "Nearest with fewer topics", numeric("Distance")],
    rows().map(([of, topic, share, terms, before, nearest, distance]) => [`${topic} of ${of}`, percent(share), terms, `${nearest} of ${before}`, decimals(distance, 2)]));
  const left = columns.flatMap(({ blocks }) => blocks.filter((block) => block.others).map((block) => `${count(block.others)} of ${count(block.model.topics)}`));
  return section("From fewer to more topics", {}, panel, h("figure", {}, canvas,
    h("figcaption", {}, "A column is the model of a number of topics that predicts held-out documents best; a block is a topic, as high as its share of the tokens. A ribbon leads from each to the nearest topic of the column before, the stronger, the nearer (1 − Hellinger distance). "
      + (left.length ? `A column has its ${MOST_BLOCKS} largest topics; the others (${left.join(", ")}) are one block at the bottom.` : ""))),
    h("div", { class: "under" }, behind(shown), downloads("topics by number", canvas, () => [heads, ...rows()])));
}
