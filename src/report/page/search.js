// Search: terms, topics by their numbers, labels, and documents, in one box with a list of results.

const query = document.getElementById("query");
const results = document.getElementById("results");
const MOST_RESULTS = 7;

/** What is found: groups of {text, remark, href}. */
function search(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const matches = (texts) => {
    const found = [];
    texts.forEach((candidate, place) => {
      const at = candidate.toLowerCase().indexOf(wanted);
      if (at >= 0) found.push({ place, candidate, at: candidate.length === wanted.length ? -1 : Math.min(at, 1) });
    });
    return d3.sort(found, (match) => match.at).slice(0, MOST_RESULTS);
  };
  const number = Number(wanted.replace(/^topic\s*/, ""));
  const topic = /^(topic\s*)?\d+$/.test(wanted) ? topics[number] : undefined;
  return [
    ["Topics", topic ? [{ text: `Topic ${topic.number}`, remark: nameOf(topic, 5), href: topicHref(topic) }] : []],
    ["Labels", matches(labels.map(({ label }) => label.label)).map(({ place, candidate }) => ({
      text: candidate, remark: phrase(labels[place], 5), href: topicHref(labels[place]),
    }))],
    ["Terms", matches(data.terms.texts).map(({ place, candidate }) => ({
      text: candidate, remark: termRemark(place), href: `#term=${encodeURIComponent(candidate)}`,
    }))],
    ["Documents", matches(data.documents.ids).map(({ place, candidate }) => ({
      text: candidate, remark: `listed by topic ${topicsOfDocument(place).slice(0, 4).map((t) => t.number).join(", ")}`, href: documentHref(place),
    }))],
  ].filter(([, found]) => found.length);
}

function termRemark(term) {
  const found = topicsOfTerm(term).map((topic) => topic.number);
  return `topic ${found.slice(0, 4).join(", ")}${found.length > 4 ? `, … ${count(found.length)} in all` : ""}`;
}

function drawResults() {
  const groups = search(query.value);
  let place = 0;
  results.replaceChildren(...groups.map(([name, found]) => h("div", { role: "group", "aria-label": name },
    h("p", { class: "group", "aria-hidden": "true" }, name),
    found.map((result) => h("div", { role: "option", id: `result-${place++}`, "aria-selected": "false", "data-href": result.href },
      h("span", { class: "found" }, result.text), h("span", { class: "remark" }, result.remark))))));
  const empty = query.value.trim() && !groups.length;
  if (empty) results.append(h("div", { role: "option", "aria-selected": "false", "aria-disabled": "true", class: "nothing" }, "Nothing found among the terms, topics and documents of this report"));
  open(Boolean(groups.length || empty));
}

function open(isOpen) {
  results.hidden = !isOpen;
  query.setAttribute("aria-expanded", String(isOpen));
  query.removeAttribute("aria-activedescendant");
}

function select(by) {
  const options = [...results.querySelectorAll("[data-href]")];
  if (!options.length) return;
  const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const next = options[(at + by + options.length + Number(at < 0 && by < 0)) % options.length];
  options.forEach((option) => option.setAttribute("aria-selected", String(option === next)));
  query.setAttribute("aria-activedescendant", next.id);
  next.scrollIntoView({ block: "nearest" });
}

function follow(option) {
  if (!option) return;
  open(false);
  query.value = "";
  location.hash = option.dataset.href;
}

query.addEventListener("input", drawResults);
query.addEventListener("focus", () => { if (query.value) drawResults(); });
query.addEventListener("keydown", (event) => {
  const keys = {
    ArrowDown: () => select(1),
    ArrowUp: () => select(-1),
    Enter: () => follow(results.querySelector("[aria-selected=true]") ?? results.querySelector("[data-href]")),
    Escape: () => open(false),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
results.addEventListener("pointerdown", (event) => {
  event.preventDefault();
  follow(event.target.closest("[data-href]"));
});
query.addEventListener("blur", () => open(false));
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  query.focus();
});
