// Documents: the rows that list them, their passages, and the view of one.

const documentHref = (document) => `#document=${data.documents.numbers[document]}`;
const documentId = (document) => data.documents.front + data.documents.ids[document];
const documentFacts = (document) => data.documents.columns.map((column, i) => [column, data.documents.values[i][document]]).filter(([, value]) => value);

/** The address of a document elsewhere: `report.link`, filled in; none unless it is a whole web address. */
function documentLink(document) {
  const known = new Map([["source_id", documentId(document)], ...documentFacts(document)]);
  let whole = Boolean(data.facts.link);
  const address = (data.facts.link ?? "").replace(/\{([^{}]+)\}/g, (_, name) => {
    // What the report has cut off does not lead anywhere.
    if (!known.has(name) || known.get(name).includes("…")) whole = false;
    return encodeURI(known.get(name) ?? "").replace(/[?#]/g, encodeURIComponent);
  });
  return whole && /^https?:\/\//i.test(address) ? address : null;
}

/** A document's id, leading to the view of it, and to where the document is. */
function documentName(document) {
  const link = documentLink(document);
  return [
    h("a", { href: documentHref(document), class: "id", title: documentId(document) }, data.documents.ids[document]),
    link ? h("a", { href: link, class: "outside", target: "_blank", rel: "noopener noreferrer", "aria-label": `Open ${documentId(document)}` }, "open ↗") : null,
  ];
}

/** Documents, one a row: {document, part: a share in thousandths, topic: whose share, passage, words}. */
function documentTable(caption, rows) {
  const hasPart = rows.some(({ part }) => part !== undefined);
  return table(caption, [upper(UNIT), ...(hasPart ? [{ text: "Share", class: "measure" }] : [])], rows.map(({ document, part, topic, passage, words }) => [
    {
      cell: [
        documentName(document),
        h("p", { class: "known" },
          documentFacts(document).map(([column, value]) => h("span", { class: "fact" }, h("span", {}, `${column} `), value))),
        h("p", { class: "known" },
          topicsIn(document).filter(([other]) => other !== topic).slice(0, hasPart ? 2 : 4)
            .map(([other, share]) => topicChip(other, 2, share))),
        passage ? passageOf(passage, words) : null,
      ],
    },
    ...(hasPart ? [part === undefined ? "" : h("span", { class: "measured" }, bar(part / 1000), h("span", {}, percent(part / 1000)))] : []),
  ]), "documents");
}

/** A passage with its words marked, two lines of it until it is opened. */
function passageOf(passage, words, open = false) {
  // Words of scripts without spaces have no bounds.
  const unspaced = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;
  const pattern = (word) => {
    const text = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return unspaced.test(word) ? text : `(?<![\\p{L}\\p{M}\\p{N}])${text}(?![\\p{L}\\p{M}\\p{N}])`;
  };
  const patterns = d3.sort(words, (word) => -word.length).map(pattern);
  const found = patterns.length ? passage.split(new RegExp(`(${patterns.join("|")})`, "u")) : [passage];
  return h("details", { class: "passage", open }, h("summary", {}, h("span", {}, found.map((text, i) => (i % 2 ? h("mark", {}, text) : text)))));
}

function documentsSection(topic) {
  if (!topic.documents.length) return null;
  return section(upper(UNITS), {}, documentTable(`${upper(UNITS)} in which topic ${topic.number} is largest`,
    pairs(topic.documents).map(([document, part], i) => ({ document, part, topic, passage: topic.passages?.[i], words: topic.passage_words?.[i] ?? [] }))));
}

/** The view of the document with this `doc_id`. */
function documentView(number) {
  const document = data.documents.numbers.indexOf(Number(number));
  if (document < 0) return notFound("The report has only some of the documents, and this one is not among them. The tables beside it have all.");
  const id = documentId(document);
  const link = documentLink(document);
  const listings = listingsOfDocument(document);
  const known = data.documents.columns.map((column, i) => [column, data.documents.values[i][document] ?? ""]);
  return [
    h("p", { class: "kicker" }, `${upper(UNIT)} ${number}`),
    h("h2", { tabindex: "-1", class: "id" }, id),
    link ? h("p", { class: "outside" }, h("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, link)) : null,
    known.length ? figures(known.map(([column, value]) => [value || "–", column, ""])) : null,
    data.documents.predicted ? section("Predicted labels", {}, h("ul", { class: "plain" }, data.documents.predicted[document].map((topic) => h("li", {}, topicLink(topics[topic]))))) : null,
    section("Its largest topics", {}, table(`Topics of document ${id}`, ["Topic", { text: "Share", class: "measure" }],
      topicsIn(document).map(([topic, part]) => [topicLink(topic, 7), h("span", { class: "measured" }, bar(part), h("span", {}, percent(part)))]))),
    listings.length ? section("Listed by", {}, h("ul", { class: "plain" }, listings.map(({ topic, passage, words }) =>
      h("li", {}, topicLink(topic), passage ? passageOf(passage, words, true) : null)))) : null,
  ];
}
