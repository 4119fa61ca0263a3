"""The page in a real browser: it draws, zooms, sorts, filters, changes its theme, and asks nothing of the network."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcache_cli.app import app

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no Chromium on this machine")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,1000",
    "--force-prefers-reduced-motion",
)  # fmt: skip
STATES = ("fresh", "open", "closed", "waiting", "urgent", "new", "old")


def two_route_log(path: Path) -> Path:
    """Seven models of different traffic, three routes, a clock in front of some prompts, markup in a name."""
    rows = []
    for n in range(42):
        model = f"model-{n % 7}" if n % 7 else "<b>model-0</b>"
        clock = f"It is 09:{n:02}. " if n % 2 else ""
        rows.append(
            {
                "id": f"r{n}",
                "timestamp": f"2026-10-05T09:{n:02}:00Z",
                "route": f"/{STATES[n % 3]}",
                "request": {
                    "model": model,
                    "messages": [
                        {"role": "system", "content": clock + "Be kind and brief. " * (20 + 10 * (n % 7))},
                        {"role": "user", "content": f"Question {n}?"},
                    ],
                },
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[object]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    folder = tmp_path_factory.mktemp("browser")
    page = folder / "report.html"
    log = two_route_log(folder / "log.jsonl")
    result = CliRunner().invoke(app, ["report", str(log), "-o", str(page), "-q"])
    assert result.exit_code == 0, result.output
    options = Options()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.page_address = page.as_uri()
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(browser):
    browser.get(browser.page_address)
    return browser


def find(page, selector: str):
    return page.find_elements("css selector", selector)


def boxes(page) -> list[str]:
    return [box.get_attribute("aria-label") for box in find(page, "#icicle-frame g[role=treeitem]")]


def first_column(page, table: str) -> list[str]:
    return [row.text for row in find(page, f"[data-table={table}] tbody tr th") if row.is_displayed()]


def press(page, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(page).send_keys(key).perform()


def test_page_draws_without_a_word_on_the_console(page):
    assert find(page, "#icicle-frame rect")
    assert find(page, "#chart-timeline rect")
    assert find(page, "#chart-lifetime polyline")
    assert page.get_log("browser") == []


def test_page_sends_no_request_but_for_itself(page):
    page.get_log("performance")  # what the browser's own first page asked for
    page.get(page.page_address)
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert page.page_address in asked
    assert all(url == page.page_address or url.startswith("data:") for url in asked), asked


def test_script_from_elsewhere_is_refused(page):
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
    )
    assert page.execute_script("return window.ran") is None
    assert "Content Security Policy" in page.get_log("browser")[0]["message"]


def test_heads_sort_by_number_and_by_name(page):
    requests = find(page, "[data-table=model] thead th button")[2]
    requests.click()
    cells = find(page, "[data-table=model] tbody tr td:nth-child(3)")
    down = [int(cell.get_attribute("data-v").partition(".")[0]) for cell in cells]
    assert down == sorted(down, reverse=True)
    assert len(set(down)) > 1
    head = find(page, "[data-table=model] thead th")[2]
    assert head.get_attribute("aria-sort") == "descending"
    requests.click()
    assert head.get_attribute("aria-sort") == "ascending"
    find(page, "[data-table=model] thead th button")[0].click()
    names = first_column(page, "model")
    assert names == ["<b>model-0</b>", *(f"model-{n}" for n in range(1, 7))]
    assert head.get_attribute("aria-sort") == "none"


def test_filter_keeps_rows_with_every_word(page):
    field = find(page, "[data-table=model] [data-filter]")[0]
    field.send_keys("MODEL-3")
    assert first_column(page, "model") == ["model-3"]
    assert find(page, "[data-table=model] [data-shown]")[0].text == "1 of 7 rows"
    field.clear()
    field.send_keys(" ")
    assert len(first_column(page, "model")) == 7


def test_click_zooms_into_a_box_and_a_crumb_leads_back(page):
    everything = boxes(page)
    box = max(
        (
            g
            for g in find(page, "#icicle-frame g[aria-expanded=true]")
            if "begin with" in g.get_attribute("aria-label")
        ),
        key=lambda g: g.size["width"],
    )
    label = box.get_attribute("aria-label")
    box.find_element("css selector", "rect").click()
    zoomed = boxes(page)
    assert zoomed[0] == label
    assert len(zoomed) < len(everything)
    assert find(page, "#icicle-detail")[0].text == label
    assert find(page, "#crumbs [aria-current]")[0].text != "all requests"
    find(page, "#crumbs button")[0].click()
    assert boxes(page) == everything


def test_keyboard_walks_and_zooms_the_tree(page):
    from selenium.webdriver.common.keys import Keys

    page.execute_script("document.querySelector('#icicle-frame g[tabindex=\"0\"]').focus()")
    everything = boxes(page)

    def here() -> str:
        return page.switch_to.active_element.get_attribute("aria-label")

    start = here()
    press(page, Keys.ARROW_DOWN)
    child = here()
    assert child != start
    press(page, Keys.ARROW_UP)
    assert here() == start
    press(page, Keys.ARROW_RIGHT)
    assert here() not in (start, child)
    press(page, Keys.ARROW_LEFT, Keys.ARROW_DOWN, Keys.ENTER)
    assert boxes(page)[0] == here() == child
    press(page, Keys.ESCAPE, Keys.ESCAPE)
    assert boxes(page) == everything
    assert len(find(page, "#icicle-frame [tabindex='0']")) == 1


def test_theme_follows_the_system_and_the_button(page):
    def ground() -> str:
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = ground()
    dark_system = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", dark_system)
    dark = ground()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert dark != light
    button = find(page, "#theme")[0]
    button.click()
    assert (button.text, ground()) == ("Theme: dark", dark)
    button.click()
    assert (button.text, ground()) == ("Theme: light", light)


CONTRAST = """
const luminance = (c) => {
  const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (e) => {
  for (let n = e; n; n = n.parentElement) {
    const c = getComputedStyle(n).backgroundColor;
    if (!c.startsWith("rgba(0, 0, 0, 0")) return c;
  }
  return "rgb(255, 255, 255)";
};
const low = [];
for (const e of document.querySelectorAll("body *:not(svg *):not(script)")) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) continue;
  const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) low.push(e.outerHTML.slice(0, 120));
}
return low;
"""


def test_text_stands_out_in_both_themes(page):
    assert page.execute_script(CONTRAST) == []
    find(page, "#theme")[0].click()
    assert page.execute_script(CONTRAST) == []


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_page_never_scrolls_sideways(page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_page_prints_on_light_paper_without_its_controls(page):
    find(page, "#theme")[0].click()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not find(page, "#theme")[0].is_displayed()
        assert find(page, "#icicle-frame rect")[0].is_displayed()
        ink = page.execute_script("return getComputedStyle(document.querySelector('h1')).color")
        assert ink == "rgb(22, 32, 43)"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = page.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    assert len(printed["data"]) > 20_000
