// The page as a whole: which view an address shows, and the first drawing.

const narrow = matchMedia("(max-width: 760px)");

/** What the address names: ["topic", "7"], ["value", "year", "1998", "7"]. */
function route() {
  const [name, ...values] = location.hash.slice(1).split("=");
  try {
    return [name || "overview", ...values.map(decodeURIComponent)];
  } catch {
    return [name, ...values];
  }
}

function topicOfHash() {
  const [name, value] = route();
  return name === "topic" && /^\d+$/.test(value) ? topics[Number(value)] : undefined;
}

function view([name, value = "", ...more]) {
  switch (name) {
    case "topic": {
      const topic = topicOfHash();
      return topic ? topicView(topic) : notFound(`There is no topic ${value}: they are numbered from 0 to ${topics.length - 1}.`);
    }
    case "term":
      return termView(value);
    case "names":
      return namesView();
    case "document":
      return documentView(value);
    case "trends":
      return trendsView(value);
    case "value":
      return valueView(value, ...more);
    case "topics":
      // Where there is room, the list is beside the overview.
      return narrow.matches ? [h("h2", { tabindex: "-1", class: "hidden" }, "Topics")] : overview();
    default:
      return overview();
  }
}

/** Shows what the address names. `moved`: someone followed a link, and the focus goes with it. */
function show(moved) {
  if (location.hash === "#main") return;
  const at = route();
  // What is typed there is applied.
  if (moved && main.contains(document.activeElement)) document.activeElement.blur();
  hideTooltip();
  document.body.dataset.view = at[0];
  main.replaceChildren(...view(at).flat(Infinity).filter(Boolean));
  const topic = topicOfHash();
  markCurrent(topic);
  const heading = main.querySelector("h2").textContent;
  const name = topic ? `Topic ${topic.number}: ${heading}` : heading;
  document.title = `${name} – ${title}`;
  if (!moved) return;
  scrollTo(0, 0);
  // The focus stays in the list while moving through it.
  if (list.contains(document.activeElement)) announce(name);
  else main.querySelector("h2").focus({ preventScroll: true });
}

/** Draws again what λ names, except the slider in use; tables that were open stay open. */
function drawNames() {
  drawList();
  list.removeAttribute("aria-busy");
  const focused = document.activeElement?.id;
  const scrolled = scrollY;
  const open = [...main.querySelectorAll("details")].map((details) => details.open);
  show(false);
  main.querySelectorAll("details").forEach((details, at) => { details.open = open[at]; });
  scrollTo(0, scrolled);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

let nextDrawing;

/** Draws names again after the last of several changes; a click that ends one reaches what it is on. */
function drawNamesSoon() {
  list.setAttribute("aria-busy", "true");
  clearTimeout(nextDrawing);
  nextDrawing = setTimeout(drawNames, 250);
}

narrow.addEventListener("change", () => show(false));

const title = counted(topics.length, "topic");
document.getElementById("title").textContent = title;
document.getElementById("subtitle").textContent = data.facts.inputs.join(", ");
document.getElementById("colophon").textContent = `topicmill ${data.facts.version} · job ${data.facts.job} · seed ${data.facts.seed}`
  + (data.facts.threshold ? ` · proportions below ${data.facts.threshold} are not counted in shares by value` : "");
drawList();
show(false);
addEventListener("hashchange", () => show(true));
