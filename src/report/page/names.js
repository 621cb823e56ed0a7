// Names that the reader gives to topics, topics that are hidden, and those merged into another one: first as the
// report has them, then as this browser keeps them. `topic-names.csv` has the same rows as a file.

const NAMES_FILE = "topic-names.csv";
const NAMES_COLUMNS = ["topic", "name", "hidden", "merged_into"];
const NAMES_KEY = `topicmill-names-${data.facts.job}`;

const nameRow = ({ number, name, hidden, merged_into: into }) => [number, name ?? "", hidden ?? false, into ?? ""];
const isPlain = ({ name, hidden, merged_into: into }) => !name && !hidden && (into ?? null) === null;
/** What the report says about each topic. */
const givenNames = topics.map((topic) => String(nameRow(topic)));
const changedTopics = () => topics.filter((topic) => String(nameRow(topic)) !== givenNames[topic.number]);
const namesText = (of) => `${d3.csvFormatRows([NAMES_COLUMNS, ...of.map(nameRow)])}\n`;

/** The topic that a topic is merged into, or itself; undefined in a circle. */
function rootOf(topic) {
  let root = topic;
  for (let steps = 0; steps <= topics.length; steps++) {
    if ((root.merged_into ?? null) === null) return root;
    root = topics[root.merged_into];
  }
  return undefined;
}

const isShown = (topic) => rootOf(topic) === topic && !topic.hidden;
const shownTopics = () => topics.filter(isShown);
/** The topics that are merged into this one. */
const membersOf = (topic) => topics.filter((other) => other !== topic && rootOf(other) === topic);

/** The rows of a file as {number, name, hidden, merged_into}. Throws an error that names the line. */
function readNames(text) {
  const [head, ...rows] = d3.csvParseRows(text.replace(/^\uFEFF/, ""));
  const refuse = (line, problem) => { throw new Error(`line ${line}: ${problem}`); };
  if (d3.sort(head ?? []).join() !== d3.sort(NAMES_COLUMNS).join()) refuse(1, `the columns must be ${NAMES_COLUMNS.join(",")}`);
  const seen = new Set();
  const read = (row, line) => {
    const cell = (name) => (row[head.indexOf(name)] ?? "").trim();
    const number = (name) => {
      if (!/^\d+$/.test(cell(name)) || !topics[cell(name)]) refuse(line, `${name} is “${cell(name)}”; topics are numbered from 0 to ${topics.length - 1}`);
      return Number(cell(name));
    };
    const topic = number("topic");
    if (seen.has(topic)) refuse(line, `topic ${topic} has two rows; delete one`);
    seen.add(topic);
    if (!["", "true", "false"].includes(cell("hidden"))) refuse(line, `hidden is “${cell("hidden")}”; write true or false`);
    return { number: topic, name: cell("name") || null, hidden: cell("hidden") === "true", merged_into: cell("merged_into") ? number("merged_into") : null };
  };
  return rows.map((row, i) => (row.join("") ? read(row, i + 2) : null)).filter(Boolean);
}

/** Gives topics these names; if that would merge topics in a circle, changes nothing and throws an error. */
function nameTopics(rows) {
  const before = topics.map(({ name, hidden, merged_into: into }) => ({ name, hidden, merged_into: into }));
  for (const { number, ...row } of rows) Object.assign(topics[number], row);
  const circle = topics.find((topic) => !rootOf(topic));
  if (circle) {
    topics.forEach((topic, number) => Object.assign(topic, before[number]));
    throw new Error(`topic ${circle.number} would be merged into itself`);
  }
  sumMerged();
}

/** Shares and tokens of topics, alone and with those merged into them. */
function sumMerged() {
  const sum = (topic, own) => d3.sum([topic, ...membersOf(topic)], own);
  for (const topic of topics) topic.own ??= { share: topic.share, tokens: topic.tokens };
  for (const trend of data.trends) trend.own ??= trend.shares;
  const isMerged = topics.some((topic) => rootOf(topic) !== topic);
  for (const topic of topics) {
    topic.share = isMerged ? sum(topic, (of) => of.own.share) : topic.own.share;
    topic.tokens = isMerged ? sum(topic, (of) => of.own.tokens) : topic.own.tokens;
  }
  for (const trend of data.trends) {
    const summed = (topic) => trend.values.map((_, value) => sum(topic, (of) => trend.own[of.number][value]));
    trend.shares = trend.own.map((shares, number) => (isMerged && membersOf(topics[number]).length ? summed(topics[number]) : shares));
  }
}

/** What this browser keeps: null without storage, which some browsers deny to files. */
function storedNames(change) {
  try {
    return change(localStorage) ?? "";
  } catch {
    return null;
  }
}

let isKept = true;

/** Keeps what differs from the report, and shows it everywhere. */
function keepNames(said) {
  const changed = changedTopics();
  isKept = storedNames((storage) => (changed.length ? storage.setItem(NAMES_KEY, namesText(changed)) : storage.removeItem(NAMES_KEY))) !== null;
  mapNodes = null;
  drawNamesSoon();
  announce(said);
}

try {
  nameTopics(readNames(storedNames((storage) => storage.getItem(NAMES_KEY)) || NAMES_COLUMNS.join()));
} catch {
  // What another version has kept.
  sumMerged();
}

/** A topic in the list of those that another one can be merged into: its number and its name or first words. */
const numbered = (topic) => `${topic.number} ${nameOf(topic, 5)}`;

/** The line below a topic's title in which it is named, hidden and merged: each change is applied. */
function namingForm(topic) {
  const field = (id, text, attributes) => {
    const input = h("input", { id, onchange: apply, ...attributes });
    return [input, h("label", { for: id }, text)];
  };
  const [name, nameLabel] = field("topic-name", "Name", { type: "text", value: topic.name ?? "", maxlength: 200, autocomplete: "off", dir: "auto" });
  const [hidden, hiddenLabel] = field("topic-hidden", "Hide", { type: "checkbox", checked: Boolean(topic.hidden) });
  const [into, intoLabel] = field("topic-into", "Merge into topic", {
    type: "text", list: "topic-numbers", autocomplete: "off", placeholder: "number or words",
    value: (topic.merged_into ?? null) === null ? "" : numbered(topics[topic.merged_into]),
  });
  const others = shownTopics().filter((other) => other !== topic);
  function apply() {
    into.setCustomValidity("");
    try {
      const number = into.value.trim() ? /^\s*(\d+)(\s|$)/.exec(into.value)?.[1] : null;
      if (number !== null && !topics[number]) throw new Error(`“${into.value}” does not begin with a topic's number`);
      nameTopics([{ number: topic.number, name: name.value.trim() || null, hidden: hidden.checked, merged_into: number && Number(number) }]);
    } catch (problem) {
      into.setCustomValidity(problem.message);
      into.reportValidity();
      return;
    }
    keepNames(`Topic ${topic.number} is changed`);
  }
  return h("form", { class: "naming", onsubmit: (event) => event.preventDefault() }, nameLabel, name, h("span", {}, hidden, hiddenLabel), intoLabel, into,
    h("datalist", { id: "topic-numbers" }, others.map((other) => h("option", { value: numbered(other) }))), h("a", { href: "#names" }, "All names"));
}

/** The topics that are merged into this one, or where this one went. */
function mergedSection(topic) {
  const root = rootOf(topic);
  if (root !== topic) return h("p", { class: "help" }, "Counted with ", h("a", { href: topicHref(root) }, `topic ${root.number}`), ".");
  const members = membersOf(topic);
  if (!members.length) return null;
  return section("Merged topics", {}, table(`Topics merged into topic ${topic.number}`, ["Topic", { text: "Share of tokens", class: "numeric" }],
    [topic, ...members].map((of) => [topicLink(of, 7), percent(of.own.share)])),
    h("p", { class: "help" }, `Share, tokens and trends are of them together; all else here is of topic ${topic.number} alone.`));
}

/** What a file that was just opened has changed. */
let openedNames = "";

/** All names, and the file that has them. */
function namesView() {
  const named = topics.filter((topic) => !isPlain(topic));
  const problem = h("p", { class: "problem", role: "alert" });
  const opened = h("p", {}, openedNames);
  openedNames = "";
  const file = h("input", {
    type: "file", id: "names-file", class: "hidden", accept: ".csv,text/csv", tabindex: "-1", "aria-label": "A file of names", onchange: async () => {
      const [chosen] = file.files;
      try {
        const rows = readNames(await chosen.text());
        const replaced = rows.filter((row) => !isPlain(topics[row.number]) && String(nameRow(row)) !== String(nameRow(topics[row.number])));
        nameTopics(rows);
        openedNames = `${chosen.name} is about ${counted(rows.length, "topic")}; what was said about ${count(replaced.length)} of them is replaced. All others are as they were.`;
        keepNames(openedNames);
      } catch (error) {
        problem.textContent = `${chosen.name}, ${error.message}`;
        file.value = "";
      }
    },
  });
  const button = (id, text, onclick) => h("button", { type: "button", class: "button", id, onclick }, text);
  const discard = () => {
    nameTopics(givenNames.flatMap((row) => readNames(`${NAMES_COLUMNS}\n${row}`)));
    keepNames("The names are those of the report");
  };
  const changed = changedTopics().length;
  const row = (topic) => [topicLink(topic), topic.name ?? "", topic.hidden ? "hidden" : "", topic.merged_into ?? ""];
  return [
    h("h2", { tabindex: "-1" }, "Names of topics"),
    h("p", { class: "help" }, "A topic is named, hidden or merged into another one below its title. This browser keeps the changes. A file that is opened replaces what is said about its topics. ",
      h("code", {}, `topicmill report OUT --names ${NAMES_FILE}`), " makes the saved file part of the result."),
    isKept ? null : h("p", { class: "problem" }, "This browser keeps nothing for this page: save the file before you close it."),
    h("p", { class: "buttons" },
      button("names-save", `Save ${NAMES_FILE}`, () => saveFile(NAMES_FILE, "text/csv", namesText(named))),
      button("names-open", "Open a file", () => file.click()), file,
      changed ? button("names-discard", `Discard ${counted(changed, "change")}`, discard) : null),
    problem, opened,
    named.length ? table("Named, hidden and merged topics", ["Topic", "Name", "Hidden", { text: "Merged into", class: "numeric" }], named.map(row))
      : h("p", {}, "No topic is named, hidden or merged."),
  ];
}
