// The list of topics: sorted, and moved through with the arrow keys.

const list = document.getElementById("list");

// Copied for each topic: thousands of rows must not take long.
const emptyRow = h("li", {}, h("a", { tabindex: "-1" },
  h("span", { class: "number" }), h("span", { class: "words", dir: "auto" }), h("span", { class: "value" })));

function drawList() {
  const largest = d3.max(shownTopics(), (topic) => topic.share) || 1;
  const show = ORDERS[state.order].show;
  list.replaceChildren(...inOrder().map((topic) => {
    const row = emptyRow.cloneNode(true);
    const link = row.firstChild;
    const [number, words, value] = link.children;
    link.href = topicHref(topic);
    link.dataset.topic = topic.number;
    link.style.setProperty("--share", topic.share / largest);
    number.textContent = topic.number;
    words.textContent = [topic.name ?? topic.label?.label, phrase(topic, 7)].filter(Boolean).map(isolated).join(": ") || "no terms";
    value.textContent = show(topic);
    const wrong = mark(topic);
    if (wrong) value.prepend(h("span", { class: "mark" }, wrong));
    return row;
  }));
  markCurrent(topicOfHash());
}

/** Marks the topic that is shown; the list has one place in the order of the Tab key. */
function markCurrent(topic) {
  list.querySelectorAll("[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
  list.querySelectorAll('[tabindex="0"]').forEach((link) => { link.tabIndex = -1; });
  const current = topic && list.querySelector(`[data-topic="${topic.number}"]`);
  if (current) {
    current.setAttribute("aria-current", "page");
    current.scrollIntoView({ block: "nearest" });
  }
  const entry = current ?? list.querySelector("a");
  if (entry) entry.tabIndex = 0;
}

/** What the keys do: the link to move to. */
const MOVES = {
  ArrowDown: (links, at) => links[at + 1],
  ArrowUp: (links, at) => links[at - 1],
  PageDown: (links, at) => links[Math.min(at + 10, links.length - 1)],
  PageUp: (links, at) => links[Math.max(at - 10, 0)],
  Home: (links) => links[0],
  End: (links) => links.at(-1),
};

list.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const next = MOVES[event.key]?.(links, links.indexOf(document.activeElement));
  if (!MOVES[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (!next) return;
  document.activeElement.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

const order = document.getElementById("order");
order.append(...Object.entries(ORDERS).map(([value, { name }]) => h("option", { value }, name)));
order.addEventListener("change", () => {
  state.order = order.value;
  drawList();
});
