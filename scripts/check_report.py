"""Opens reports and pages of sweeps in headless Chromium and uses them as readers do.

    scripts/check_report.py SCRATCH OUT…      OUT: results with a report.html, and sweeps with a sweep.html

Checks clicks, search, the keyboard, addresses, trends, saved files, colours, widths and paper; that the console
has no messages, nothing comes from the network, and axe-core finds no violation in light colours and no lack of
contrast in dark ones; and that the page's library is the one in its npm package. Prints one line per check; the first failure ends it with status 1.

Chromium is $TOPICMILL_CHROMIUM, one on the PATH, or one that Playwright or (as root) apt installs. Without
any, the script prints that it skips the checks, and passes.
"""

import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, sync_playwright

VENDORED = Path(__file__).parent.parent / "src/report/page/vendor/d3.min.js"
D3_VERSION = "7.9.2"
D3_SHA256 = "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1"
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
WIDTHS = [390, 900, 1300, 1600]
# Maximum seconds of processor time until a page is drawn.
MOST_SECONDS = 1.0


def check(holds, what, found=""):
    if not holds:
        sys.exit(f"FAILED: {what} {found}")
    print(f"ok: {what}")


def main():
    scratch, results = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    scratch.mkdir(parents=True, exist_ok=True)
    check_library(scratch)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            print("SKIPPED: no Chromium: set TOPICMILL_CHROMIUM, or install one (on Debian, apt install chromium)")
            return
        print(f"Chromium {browser.version}")
        for result in results:
            print(f"{result}:")
            page = result / "sweep.html"
            if page.exists():
                check_sweep(browser, page, scratch)
            else:
                check_report(browser, result / "report.html", scratch)
        browser.close()


def check_library(scratch):
    digest = hashlib.sha256(VENDORED.read_bytes()).hexdigest()
    check(digest == D3_SHA256, f"d3.min.js is that of version {D3_VERSION}", digest)
    if not shutil.which("npm"):
        print("not compared with its npm package: npm is not there")
        return
    packed = subprocess.run(["npm", "pack", "--silent", f"d3@{D3_VERSION}"], cwd=scratch, capture_output=True, text=True)
    if packed.returncode:
        print(f"not compared with its npm package: {packed.stderr.strip().splitlines()[-1:]}")
        return
    with tarfile.open(scratch / packed.stdout.strip().splitlines()[-1]) as package:
        published = package.extractfile("package/dist/d3.min.js").read()
        licence = package.extractfile("package/LICENSE").read()
    check(published == VENDORED.read_bytes(), "d3.min.js is the file in its npm package")
    check(licence == VENDORED.with_name("d3.LICENSE").read_bytes(), "and so is its licence")


def launch(playwright):
    """Returns a headless Chromium from any source, or None."""

    def attempt(path=None):
        try:
            return playwright.chromium.launch(executable_path=path)
        except Error:
            return None

    given = os.environ.get("TOPICMILL_CHROMIUM")
    found = [path for path in map(shutil.which, NAMES) if path]
    for path in [given] if given else [*found, None]:
        if browser := attempt(path):
            return browser
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], capture_output=True, timeout=300)
    if browser := attempt():
        return browser
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], capture_output=True)
        return attempt(shutil.which("chromium"))
    return None


@contextmanager
def opened(browser, file, width=1600, colours="light"):
    """Opens a page, which must write nothing to the console and request nothing from the network."""
    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=colours, reduced_motion="reduce")
    context.add_init_script("window.moves = 0; addEventListener('hashchange', () => { moves += 1; })")
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.resolve().as_uri())
    page.wait_for_selector("main h2", state="attached")
    yield page
    page.wait_for_timeout(50)
    check(not said, f"{colours}: nothing in the console", said)
    check(all(url.startswith(("file:", "data:", "blob:")) for url in asked), "and nothing from the network", asked)
    context.close()


def check_report(browser, file, scratch):
    check_loading(browser, file)
    with opened(browser, file) as page:
        check_overview(page)
        check_list(page)
        check_topic(page)
        check_labels(page)
        check_search(page)
        check_words(page)
        check_names(page)
        check_addresses(page)
        check_trends(page, scratch)
        check_paper(page)
    for colours in ["light", "dark"]:
        with opened(browser, file, colours=colours) as page:
            make_trend(page)
            check_looks(page, colours)


def check_loading(browser, file):
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    # The time of its thread, so that a busy machine does not fail the page.
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.resolve().as_uri())
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    metrics = {metric["name"]: metric["value"] for metric in devtools.send("Performance.getMetrics")["metrics"]}
    seconds, size = metrics["TaskDuration"], file.stat().st_size / 1e6
    check(seconds < MOST_SECONDS, f"{size:.2f} MB open in {seconds:.2f} s of a processor", f"more than {MOST_SECONDS} s")
    context.close()


def wait(page, expression, argument=None):
    """Waits until the expression is true; wait_for_function would poll in a way that the page's policy forbids."""
    for _ in range(400):
        if page.evaluate(expression, argument):
            return
        page.wait_for_timeout(25)
    check(False, f"{expression} within ten seconds")


@contextmanager
def moving(page):
    """Waits for a move to another address: the page changes only with the event that follows the address."""
    moves = page.evaluate("moves")
    yield
    wait(page, "before => moves > before", moves)


def drawn(page):
    wait(page, "!list.hasAttribute('aria-busy')")


def go(page, address):
    if page.evaluate("location.hash") != address:
        with moving(page):
            page.evaluate("address => { location.hash = address; }", address)


def heading(page):
    return page.locator("main h2").inner_text()


def check_overview(page):
    topics = page.evaluate("JSON.parse(document.getElementById('data').textContent).topics.length")
    check(page.locator("#list a").count() == topics, f"the list has {topics} topics")
    check(page.locator(".map .bubble").count() > 0, "the map has circles")
    check(page.locator("text.label").count() > 0, "and labels")
    labels = page.evaluate("[...document.querySelectorAll('text.label')].map((e) => { const b = e.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; })")
    overlaps = [(a, b) for i, a in enumerate(labels) for b in labels[:i] if a[0] < b[2] and b[0] < a[2] and a[1] + 2 < b[3] and b[1] + 2 < a[3]]
    check(not overlaps, "no two labels overlap", overlaps[:2])
    width, height = page.evaluate("['width', 'height'].map((name) => Number(document.querySelector('.map').getAttribute(name)))")
    outside = [label for label in labels if label[0] < 0 or label[1] < 0 or label[2] > width or label[3] > height]
    check(not outside, "and none is cut at the map's edge", outside[:2])
    circles = page.evaluate("[...document.querySelectorAll('.bubble')].map((e) => ['cx', 'cy', 'r'].map((name) => Number(e.getAttribute(name))))")
    covered = [(l, c) for l in labels for c in circles if (c[0] - min(max(c[0], l[0] + 1), l[2] - 1)) ** 2 + (c[1] - min(max(c[1], l[1] + 3), l[3] - 3)) ** 2 < (c[2] - 1) ** 2]
    check(not covered, "or over a circle", covered[:2])


def check_list(page):
    first = page.locator("#list a").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    second = page.evaluate("document.activeElement.getAttribute('href')")
    check(second == page.locator("#list a").nth(1).get_attribute("href"), "arrow keys move through the list")
    with moving(page):
        page.keyboard.press("Enter")
    check(page.locator("#list [aria-current]").count() == 1, "Enter marks the topic in the list")
    check(page.evaluate("location.hash") == second, "Enter opens the topic")
    check(page.evaluate("document.activeElement.getAttribute('href')") == second, "the focus stays in the list")
    check("Topic" in page.locator("#announcement").inner_text(), "and the topic is announced")
    page.keyboard.press("End")
    last = page.locator("#list a").last.get_attribute("href")
    check(page.evaluate("document.activeElement.getAttribute('href')") == last, "End goes to the last")
    page.select_option("#order", "coherence")
    # A mark such as "repeats 8" may precede the value.
    texts = page.evaluate("[...document.querySelectorAll('#list .value')].map(value => value.lastChild.textContent)")
    values = [text.replace("−", "-") for text in texts]
    coherence = [float(text.split()[-1]) for text in values if "–" not in text]
    check(coherence == sorted(coherence, reverse=True), "the list sorts by coherence", coherence)
    page.select_option("#order", "size")


def check_topic(page):
    # Via the overview, because this topic may be open already.
    go(page, "#overview")
    go(page, "#topic=0")
    check(page.evaluate("document.activeElement.tagName") == "H2", "the heading of a topic gets the focus")
    check("Topic 0" in page.title(), "and the window its name", page.title())
    before = page.locator(".term-table tbody th").all_text_contents()
    page.locator("#lambda").focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    after = page.locator(".term-table tbody th").all_text_contents()
    check(page.locator("output").inner_text() == "λ = 0.00" and before != after, "the slider ranks the terms by relevance")
    check(page.evaluate("document.activeElement.id") == "lambda", "and keeps the focus")
    expected = page.evaluate("""() => {
        const topic = data.topics[0];
        const rows = pairs(topic.terms).map(([t, l]) => [data.terms.texts[t], -l / 1000 - Math.log(data.terms.counts[t] / data.terms.total)]);
        return d3.sort(rows, (row) => -row[1]).slice(0, 5).map((row) => row[0]);
    }""")
    check(after[:5] == expected, "λ = 0 is the order of lift", (after[:5], expected))
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    drawn(page)
    nearest = page.locator(".nearest a").first
    href = nearest.get_attribute("href")
    with moving(page):
        nearest.click()
    check(page.evaluate("location.hash") == href, "a nearest topic opens")
    with moving(page):
        page.go_back()
    check(page.evaluate("location.hash") == "#topic=0", "and the browser goes back")
    bubble = page.locator(".map .bubble").first
    with moving(page):
        bubble.dispatch_event("click")
    check(page.evaluate("location.hash") != "#topic=0", "a circle opens its topic")
    summary = page.locator("details:not(.passage) summary").first
    if summary.count():
        summary.click()
        wait(page, "document.querySelectorAll('details[open] table').length === 1")
        check(True, "a chart shows its table")
        page.locator("#lambda").focus()
        page.keyboard.press("ArrowLeft")
        drawn(page)
        wait(page, "document.querySelectorAll('details[open] table').length === 1")
        check(True, "and keeps it when the topics are relabelled")


def check_labels(page):
    """Checks the figures of labels, if topics are labels."""
    label = page.evaluate("data.topics[0].label ?? null")
    go(page, "#topic=0")
    if label is None:
        check(page.locator("main .labels tbody").count() == 0, "topics are no labels")
        return
    check(heading(page) == label["label"], "a label is the title of its topic", heading(page))
    check("documents have the label" in page.locator("main").inner_text(), "and its figures are there")
    go(page, "#overview")
    rows = page.locator("main .labels tbody tr")
    shown = page.evaluate("Math.min(30, data.topics.length)")
    check(rows.count() == shown, f"the overview lists {shown} labels")
    named = rows.filter(has=page.get_by_role("link", name=label["label"], exact=True)).locator("td").all_text_contents()
    if label["predicted"] and named:
        precision, f1 = label["hits"] / label["predicted"], label["f1"]
        check(abs(float(named[2]) - precision) < 6e-4 and abs(float(named[4]) - f1) < 6e-4, "with precision and F1", named)
    page.fill("#query", label["label"])
    found = page.locator("#results [aria-label=Topics] [data-href]").first
    check(found.get_attribute("data-href") == "#topic=0", "a label is found by its name")
    page.fill("#query", "")
    page.evaluate("document.activeElement.blur()")


def check_search(page):
    term = page.evaluate("data.terms.texts[5]")
    page.keyboard.press("/")
    check(page.evaluate("document.activeElement.id") == "query", "/ goes to the search")
    page.keyboard.type(term)
    # Labels with the term in their names are listed before it.
    for _ in range(page.locator("#results [aria-label=Topics] [data-href]").count() + 1):
        page.keyboard.press("ArrowDown")
    active = page.locator("#query").get_attribute("aria-activedescendant")
    check(active and page.locator(f"#{active}").inner_text().startswith(term), "a term is found", active)
    with moving(page):
        page.keyboard.press("Enter")
    check(heading(page) == term and page.locator("main .topic-link").count() > 0, "its topics are listed")
    document = page.evaluate("data.documents.ids.length ? documentId(0) : null")
    if document:
        page.fill("#query", page.evaluate("data.documents.ids[0]"))
        with moving(page):
            page.locator("#results [aria-label=Documents] [data-href]").first.dispatch_event("pointerdown")
        check(heading(page) == document, "a document is found")
        number = page.evaluate("data.documents.numbers[0]")
        check(page.evaluate("location.hash") == f"#document={number}", "its address is its doc_id")
        check(page.locator("main section").last.locator("a").count() > 0, "with its topics and those that list it")
        passage = page.evaluate("topics[0].passages?.findIndex(Boolean) ?? -1")
        if passage >= 0:
            go(page, page.evaluate("place => documentHref(pairs(topics[0].documents)[place][0])", passage))
            check(page.locator("main details.passage[open]").count() > 0, "and the passages of a document are shown")
    page.fill("#query", "topic 1")
    with moving(page):
        page.locator("#results [data-href]").first.click()
    check(page.evaluate("location.hash") == "#topic=1", "a topic is found by its number")
    page.fill("#query", "qqqqqqqqq")
    check("Nothing found" in page.locator("#results").inner_text(), "an empty search says so")
    page.keyboard.press("Escape")
    check(page.locator("#results").is_hidden(), "Escape closes the results")


def check_words(page):
    """Checks that several words, the last of them unfinished, find the topic that has most of them."""
    topic, words = page.evaluate("[data.topics[0].number, relevantTerms(data.topics[0], 2, 0).map((entry) => entry.text)]")
    page.fill("#query", " ".join(words)[:-1])
    found = page.locator("#results [aria-label^='Topics with'] [data-href]").first
    check(found.get_attribute("data-href") == f"#topic={topic}", "several words find their topic", words)
    if page.evaluate("data.documents.ids.length"):
        check(page.locator("#results [aria-label^='Documents nearest'] [data-href]").count() > 0, "and documents")
    with moving(page):
        page.keyboard.press("Enter")
    check(page.locator("main .with-term tbody tr").count() > 0, "and open a view of all topics")
    most = page.evaluate("d3.max(data.terms.texts, (_, term) => d3.sum(topicsOfTerm(term), ([, part]) => part))")
    check(0.9 < most < 1.001, "the topics share the uses of a term", most)


def check_names(page):
    """Renames, hides and merges topics, and reads the file that is saved."""
    go(page, "#topic=1")
    page.fill("#topic-name", 'A "name", שם')
    with moving(page):
        page.locator(".steps a").last.click()
    go(page, "#topic=1")
    drawn(page)
    listed = page.locator('#list [data-topic="1"] .words')
    check('A "name", שם' in listed.inner_text() and heading(page) == 'A "name", שם', "a topic gets a name", listed.inner_text())
    go(page, "#topic=0")
    before = page.evaluate("topics[1].share")
    page.fill("#topic-into", "no number")
    page.keyboard.press("Tab")
    check("does not begin with a topic's number" in page.evaluate("document.getElementById('topic-into').validationMessage"), "a topic is merged by number")
    page.fill("#topic-into", page.locator('#topic-numbers option[value^="1 "]').get_attribute("value"))
    page.keyboard.press("Tab")
    drawn(page)
    check(page.locator('#list [data-topic="0"]').count() == 0 and page.evaluate("topics[1].share") > before, "a merged topic leaves the list")
    go(page, "#names")
    with page.expect_download() as download:
        page.locator("#names-save").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8")
    check(saved == 'topic,name,hidden,merged_into\n0,,false,1\n1,"A ""name"", שם",false,\n', "the names are saved as a file", saved)
    page.reload()
    page.wait_for_selector("#names-save")
    check('A "name", שם' in page.locator('#list [data-topic="1"] .words').inner_text(), "and kept by the browser")
    page.locator("#names-file").set_input_files({"name": "n.csv", "mimeType": "text/csv", "buffer": b"topic,name,hidden,merged_into\n99999,x,,\n"})
    wait(page, "document.querySelector('[role=alert]').textContent.includes('n.csv, line 2: topic is “99999”')")
    page.locator("#names-file").set_input_files({"name": "n.csv", "mimeType": "text/csv", "buffer": b"topic,name,hidden,merged_into\r\n1,,true,\r\n"})
    wait(page, "!document.querySelector('#list [data-topic=\"1\"]')")
    check(page.evaluate("topics[0].merged_into") == 1, "a file of names can be opened, and leaves other topics as they are")
    check("n.csv is about 1 topic; what was said about 1 of them is replaced" in page.locator("main").inner_text(), "and it is said what it replaced")
    page.locator("#names-discard").click()
    drawn(page)
    check(page.locator('#list [data-topic="1"]').count() == 1, "and the names of the report are there again")


def check_addresses(page):
    for address in ["#topic=99999", "#term=<b>nothing</b>", "#document=x", "#topic=%E0%A4%A", "#trends=x", "#value=x"]:
        go(page, address)
        check(heading(page) == "Not in this report", f"{address} is not in the report")
    check(page.locator("main b").count() == 0, "addresses of nothing say so, as text")
    with moving(page):
        page.locator("h1 a").click()
    check(heading(page) == "Overview", "the title goes to the overview")


def make_trend(page):
    """Gives the page a column of years with a gap; the first document is of 2991."""
    page.evaluate("""() => {
        const every = (of) => topics.map(() => of);
        data.trends.push({ name: "made", kind: "time", values: ["2990", "2991", "3000"], documents: [9, 9, 1], tokens: [90, 90, 10],
            others: 0, without: 0, shares: every([10000, 20000, 0]), interval_above: 0, intervals: every([10, 50, 10, 50]) });
        data.documents.columns.push("made");
        data.documents.values.push(data.documents.ids.map((_, i) => (i ? "3000" : "2991")));
    }""")


def saved(page, name, scratch):
    """Returns the text of a file that a button saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save {name}", exact=True).click()
    path = scratch / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_text()


def check_trends(page, scratch):
    make_trend(page)
    go(page, "#overview")
    go(page, "#topic=0")
    chart = page.locator("section", has=page.get_by_role("heading", name="Share by made"))
    wait(page, "[...document.querySelectorAll('section')].some((e) => e.querySelector('h3')?.textContent === 'Share by made' && e.querySelector('svg'))")
    places = chart.locator("g:has(> .dot)").last.locator(".dot").evaluate_all("all => all.map((dot) => Number(dot.getAttribute('cx')))")
    check(abs((places[1] - places[0]) / (places[2] - places[0]) - 365 / 3652) < 0.001, "years are at their places", places)
    lines = [chart.locator(f".{name}").get_attribute("d") for name in ["line", "gap", "area"]]
    check([line.count("M") for line in lines] == [1, 1, 1], "a line with its interval ends where years are missing", lines)
    rows = list(csv.reader(io.StringIO(saved(page, "topic 0 by made as CSV", scratch))))
    check(rows[0] == ["topic", "name", "made", "share", "low", "high", "documents"], "a chart is saved as CSV", rows[0])
    check([row[2:] for row in rows[1:]] == [["2990", "0.1", "0.09", "0.15", "9"], ["2991", "0.2", "0.18", "0.3", "9"], ["3000", "0", "", "", "1"]], "with its values", rows)
    svg = ElementTree.fromstring(saved(page, "map as SVG", scratch))
    circles = list(svg.iter("{http://www.w3.org/2000/svg}circle"))
    check(circles and all(circle.get("fill", "").startswith("rgb") for circle in circles), "the map is saved as SVG, with its colours")
    with moving(page):
        chart.locator("svg").click(position={"x": places[1], "y": 60})
    check(page.evaluate("location.hash") == "#value=made=2991=0", "a click on a year opens it")
    check(heading(page) == "2991", "with its name", heading(page))
    if page.evaluate("data.documents.ids.length"):
        check(page.locator(".documents tbody tr").count() == 1, "and with its documents in the report")
        check(f"1 of the 9 {page.evaluate('UNITS')} with this value" in page.locator("main").inner_text(), "and the number of all")
        page.fill("#query", page.evaluate("relevantTerms(topics[topicsIn(0)[0][0].number], 1)[0].text") + " 2991")
        nearest = page.locator("#results [aria-label^='Documents nearest'][aria-label$=': made 2991'] [data-href]")
        check(nearest.count() == 1 and nearest.get_attribute("data-href") == page.evaluate("documentHref(0)"), "a year beside words narrows the documents")
        page.fill("#query", "")
    go(page, "#trends=made")
    wait(page, "document.querySelectorAll('.multiples a').length === data.topics.length")
    check(page.locator(".layer-0").count() == 2, "all topics have a chart, and the largest are on top of each other")
    first = page.locator(".multiples a").first
    href = first.get_attribute("href")
    with moving(page):
        first.click()
    check(page.evaluate("location.hash") == href, "a small chart opens its topic")


def check_looks(page, colours):
    """Checks each view at each width, and with axe-core at the least and the largest; of dark ones only the contrast."""
    rules = {"resultTypes": ["violations"]} | ({"runOnly": ["color-contrast"]} if colours == "dark" else {})
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        for address in ["#overview", "#topic=0", "#trends=made", "#value=made=2991=0", *(["#topics"] if width < 760 else [])]:
            go(page, address)
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            wide = page.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, f"{address} fits into {width}, {colours}", wide)
            cut = "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel)"
            found = page.evaluate(cut)
            check(width < 1300 or not found, "and so do its tables", found)
            if width in (WIDTHS[0], WIDTHS[-1]):
                # The list is the same beside each view.
                around = {"exclude": [["nav"]]} if address not in ("#overview", "#topics") else None
                found = Axe().run(page, context=around, options=rules)
                check(found.violations_count == 0, "axe-core finds no violation", found.generate_report())
    ground = lambda: page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    before = ground()
    page.locator("#theme").click()
    check(ground() != before, "the switch changes the colours")


def check_sweep(browser, file, scratch):
    check_loading(browser, file)
    with opened(browser, file) as page:
        wait(page, "document.querySelectorAll('.four svg, .flow').length === 5")
        rows = list(csv.reader(io.StringIO(saved(page, "models as CSV", scratch))))
        check(len(rows) == 1 + page.evaluate("allModels.length"), "the models are saved as CSV")
        number = page.locator("#size option").last.get_attribute("value")
        page.select_option("#size", number)
        check(page.locator(".topics .topic").count() == int(number), f"{number} topics are listed")
        page.locator(".topics summary").first.press("Enter")
        wait(page, "document.querySelector('.topics details[open] tbody tr') !== null")
        check(True, "and show their partners in other seeds")
        page.locator(".flow [tabindex='0']").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")
        check("Nearest with fewer topics" in page.locator(".panel").inner_text(), "arrow keys follow a topic to larger numbers")
        for settings in page.locator("#settings option").all_inner_texts():
            page.select_option("#settings", settings)
            wait(page, "document.querySelectorAll('.four svg, .flow').length === 5")
            check(page.locator(".command code").last.inner_text().endswith(settings), f"{settings} has its figures")
    for width, colours in [(WIDTHS[0], "light"), (WIDTHS[-1], "dark")]:
        with opened(browser, file, width, colours) as page:
            wait(page, "document.querySelectorAll('.four svg, .flow').length === 5")
            wide = page.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, f"the sweep fits into {width}, {colours}", wide)
            found = Axe().run(page, options={"resultTypes": ["violations"]})
            check(found.violations_count == 0, "axe-core finds no violation", found.generate_report())


def check_paper(page):
    go(page, "#topic=0")
    page.emulate_media(media="print")
    check(page.locator("#query").is_hidden() and page.locator(".term-table").is_visible(), "paper shows the topic without controls")
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    check(1 <= pages <= 8, f"a topic prints on {pages} pages")
    page.emulate_media(media="screen")


if __name__ == "__main__":
    main()
