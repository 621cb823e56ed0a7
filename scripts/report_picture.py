"""Takes the picture of a report in the README, 1,200 pixels wide.

    scripts/report_picture.py out/demo '#trends=date' docs/figures/report.png

out/demo is the result of scripts/demo, and what follows is an address within its report. Needs Chromium, as
scripts/check_report.py does.
"""

import sys
from pathlib import Path

from check_report import launch
from playwright.sync_api import sync_playwright


def main():
    report, address, picture = Path(sys.argv[1]) / "report.html", sys.argv[2], Path(sys.argv[3])
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            sys.exit("no Chromium: set TOPICMILL_CHROMIUM, or install one (on Debian, apt install chromium)")
        page = browser.new_page(viewport={"width": 1200, "height": 840}, color_scheme="light", reduced_motion="reduce")
        page.goto(report.resolve().as_uri() + address)
        page.wait_for_selector("main h2", state="attached")
        page.wait_for_timeout(500)
        page.screenshot(path=picture)
        browser.close()
    print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
