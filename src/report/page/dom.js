// Elements, without markup in strings: whatever comes from the data is text.

/** An element: attributes by name (`on…` are listeners, `class`, others as they are), then children. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A bar of a length between 0 and 1, for the number next to it. */
function bar(share, className = "") {
  const fill = h("span", { class: "fill" });
  fill.style.setProperty("--share", Math.max(0, Math.min(1, share)));
  return h("span", { class: `bar ${className}`, "aria-hidden": "true" }, fill);
}

/** Draws into an element now and whenever its width changes. */
function responsive(element, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    element.replaceChildren(draw(width));
  }).observe(element);
  return element;
}

const topicHref = (topic) => `#topic=${topic.number}`;

/** A link to a topic: its number, and its label or its first terms. */
function topicLink(topic, terms = 5) {
  return h("a", { href: topicHref(topic), class: "topic-link" },
    h("span", { class: "number" }, String(topic.number)), h("span", { class: "words", dir: "auto" }, nameOf(topic, terms)));
}

/** A topic within text: its number, name and share. */
function topicChip(topic, terms, share) {
  return h("a", { href: topicHref(topic), class: "chip" }, `Topic ${topic.number} ${isolated(nameOf(topic, terms))} `, h("span", {}, percent(share)));
}

/** A table: heads are texts or {text, class}; cells are texts, elements or {cell, class}; the first cell heads its row. */
function table(caption, heads, rows, className = "") {
  const head = (of) => h("th", { scope: "col", class: of.class }, of.text ?? of);
  const cell = (of, place) => {
    const content = of?.cell ?? of;
    const attributes = { class: of?.class ?? heads[place].class };
    return place === 0 ? h("th", { scope: "row", ...attributes }, content) : h("td", attributes, content);
  };
  const frame = h("div", { class: "scroll", role: "group", "aria-label": caption },
    h("table", { class: className },
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, heads.map(head))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
  // What can be scrolled must be reachable by keyboard.
  new ResizeObserver(() => {
    const scrolls = frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight;
    if (scrolls) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }).observe(frame);
  return frame;
}

/** Text within other text, whose direction leaves that of the others alone. */
const isolated = (text) => (/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(text) ? `\u2068${text}\u2069` : text);

const upper = (text) => text[0].toUpperCase() + text.slice(1);

/** Saves a text as a file. */
function saveFile(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

let sections = 0;

/** A section with a heading. */
function section(title, attributes, ...children) {
  const id = `section-${++sections}`;
  return h("section", { ...attributes, "aria-labelledby": id }, h("h3", { id }, title), children);
}

/** The table behind a chart, folded away. */
function behind(content, text = "Show as a table") {
  const details = h("details", {}, h("summary", {}, text));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(content());
  });
  return details;
}

const tooltip = document.getElementById("tooltip");

function showTooltip(event, ...lines) {
  tooltip.replaceChildren(...lines.map((line) => h("div", {}, line)));
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - width - 8);
  const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
  tooltip.style.transform = `translate(${Math.max(8, x)}px, ${y}px)`;
}

function hideTooltip() {
  tooltip.hidden = true;
}

/** Says something to a screen reader. */
function announce(text) {
  document.getElementById("announcement").textContent = text;
}
