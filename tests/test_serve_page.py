"""The live page in a real browser: what it shows, that it moves, keys, a phone, and that it asks nobody."""

import contextlib
import os
import shutil

import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import sync_playwright

from elman.serve.demo import demonstration
from serving import served

BROWSER = next(
    filter(
        None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
    ),
    None,
)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
    pytest.mark.xdist_group("browser"),
]
PATIENCE = 60_000  # milliseconds: only a page that is broken takes so long


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A demonstration whose arm is about to change its law."""
    store = tmp_path_factory.mktemp("demo") / "store.db"
    with served(store, beside=demonstration(rate=60)) as connect:
        yield connect.port


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as running:
        launched = running.chromium.launch(executable_path=BROWSER, args=FLAGS.split())
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, port):
    """Opens pages; at the end there was no error in any, and no request to another host."""
    wrong, own = [], f"http://127.0.0.1:{port}/"
    with contextlib.ExitStack() as stack:

        def opened(path="", **options):
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
            page.on("pageerror", lambda error: wrong.append(f"{error}: {error.stack}"))
            page.on("request", lambda request: request.url.startswith(own) or wrong.append(request.url))
            page.goto(own + path)
            return page

        yield opened
    assert wrong == []


def shot(page, name):
    """Keep a picture where somebody wants to look at it."""
    folder = os.environ.get("ELMAN_SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def shown_rows(page):
    return int(page.locator("dl.facts dd").nth(4).inner_text().replace(",", ""))


def pixels(page, which=0):
    return page.evaluate(f"document.querySelectorAll('.chart canvas')[{which}].toDataURL()")


def wait_for_rows(page, more=1):
    cell = "Number(document.querySelector('table.rows tbody td')?.textContent.replaceAll(',', ''))"
    now = page.evaluate(cell + " || 0")
    page.wait_for_function(f"wanted => {cell} >= wanted", arg=now + more)


def test_the_three_streams_are_seen_and_move(open_page):
    page = open_page()
    page.wait_for_function("() => document.querySelectorAll('.streams li').length === 3")
    page.wait_for_function("() => document.querySelector('.figure.rows').textContent.includes('K')")
    before = page.locator("canvas.spark").first.evaluate("canvas => canvas.toDataURL()")
    page.wait_for_function(
        "before => document.querySelector('canvas.spark').toDataURL() !== before", arg=before
    )
    shot(page, "overview-light")

    assert page.locator(".line .name b").all_inner_texts() == ["arm", "load", "requests"]
    assert page.locator("#status").inner_text() == "live"
    assert "3 streams" in page.locator("#totals").inner_text()


def test_a_change_is_marked_after_it_happens(open_page):
    page = open_page("#/streams/arm")
    page.wait_for_selector(".flag")
    text = page.locator("li.change").first.inner_text()
    shot(page, "stream-light")

    row = int(text.split()[1].replace(",", ""))
    assert 1500 < row < 3000  # the law changes at row 1,500


def test_what_matters_is_listed_by_how_far_the_answer_moves(open_page):
    page = open_page("#/streams/arm")
    page.wait_for_selector(".bars .track")
    sizes = [float(text) for text in page.locator(".bars li:has(.track) b").all_inner_texts()]

    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0


def test_the_curves_of_a_stream_move_until_they_are_paused(open_page):
    page = open_page("#/streams/load")
    wait_for_rows(page)
    before = pixels(page)
    wait_for_rows(page)
    assert pixels(page) != before

    page.get_by_role("button", name="Pause").click()
    still = pixels(page), page.locator("table.rows tbody td").first.inner_text()
    rows = shown_rows(page)
    page.wait_for_function(
        "rows => Number(document.querySelectorAll('dl.facts dd')[4].textContent.replaceAll(',', '')) > rows",
        arg=rows + 20,
    )
    assert (pixels(page), page.locator("table.rows tbody td").first.inner_text()) == still

    page.get_by_role("button", name="Resume").click()
    wait_for_rows(page)


def test_a_part_can_be_zoomed_with_the_mouse_and_the_keys(open_page):
    page = open_page("#/streams/load")
    wait_for_rows(page)
    over = page.locator(".chart .u-over").first
    box = over.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 60, steps=5)
    page.mouse.up()
    newest = page.get_by_role("button", name="Newest rows")
    newest.wait_for()
    shot(page, "stream-zoomed")
    page.keyboard.press("0")
    newest.wait_for(state="hidden")
    page.keyboard.press("+")
    newest.wait_for()
    held = pixels(page)
    page.keyboard.press("ArrowLeft")
    assert pixels(page) != held
    newest.click()
    newest.wait_for(state="hidden")


def test_everything_can_be_reached_with_the_keyboard(open_page):
    page = open_page()
    page.wait_for_selector(".line")
    page.keyboard.press("/")
    page.keyboard.type("loa")
    page.wait_for_function("() => document.querySelectorAll('.streams li:not([hidden])').length === 1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('load')")
    page.keyboard.press(" ")
    page.get_by_role("button", name="Resume").wait_for()
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    shot(page, "keys")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    page.keyboard.press("Escape")
    page.wait_for_selector("h1:text-is('Streams')")


@pytest.mark.parametrize("path", ["", "#/streams/requests", "docs"])
def test_it_fits_a_phone_in_the_dark(open_page, path):
    phone = {"width": 360, "height": 740}
    page = open_page(path, viewport=phone, is_mobile=True, has_touch=True, color_scheme="dark")
    page.wait_for_selector(".line, table.rows td, details")
    name = path.rpartition("/")[2] or "overview"
    shot(page, f"phone-{name}")

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_theme_can_be_chosen(open_page):
    page = open_page("#/streams/arm", color_scheme="light")
    wait_for_rows(page)
    light = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    page.keyboard.press("t")
    page.keyboard.press("t")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    wait_for_rows(page)
    shot(page, "stream-dark")

    assert page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") != light


def test_a_hundred_streams_are_listed_sorted_and_found(browser, tmp_path):
    with served(tmp_path / "store.db") as connect:
        client = connect()
        for i in range(100):
            client.put(f"/streams/s{i}", {"model": "SRNN-WOGD", "options": {"n_hidden": 2, "window": 5}})
            client.post(f"/streams/s{i}/rows", {"X": [[k % 7] for k in range(30)], "y": list(range(30))})
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{connect.port}/")
        page.wait_for_function("() => document.querySelectorAll('.streams li').length === 100")
        shot(page, "hundred")
        names = page.locator(".line .name b").all_inner_texts()
        page.get_by_role("searchbox").fill("s99")
        visible = page.locator(".streams li:not([hidden])").count()
        page.close()

    assert names == [f"s{i}" for i in range(100)]
    assert visible == 1


def test_a_forecaster_shows_the_rows_ahead_and_each_target_can_be_looked_at(browser, tmp_path):
    with served(tmp_path / "store.db") as connect:
        client = connect()
        client.put("/streams/load", {"model": "Forecaster", "options": {"horizon": 6}})
        client.put("/streams/two", {"model": "SRNN-WOGD", "options": {"n_hidden": 2, "window": 5}})
        for i in range(60):
            client.post("/streams/load/rows", {"x": [], "y": i % 6})
            client.post("/streams/two/rows", {"x": [i % 5], "y": [i % 5, 1000 + i % 3]})
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{connect.port}/#/streams/load")
        page.locator("section[aria-label='The rows ahead'] canvas").wait_for()
        shot(page, "forecaster")
        hidden = page.locator("section[aria-label='What matters']").is_hidden()
        page.goto(f"http://127.0.0.1:{connect.port}/#/streams/two")
        page.get_by_label("Target").select_option("target 2 of 2")
        page.locator("table.rows tbody td", has_text="1,00").first.wait_for()
        page.close()

    assert hidden


def test_a_stream_that_is_not_there_is_said(browser, port):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"http://127.0.0.1:{port}/#/streams/nothing")
    page.get_by_role("heading", name="There is no stream “nothing”").wait_for()
    shot(page, "nothing")
    page.get_by_role("link", name="All streams").click()
    page.wait_for_selector(".line")
    page.close()
