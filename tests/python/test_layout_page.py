"""The page of a layout in a real browser (Debian's chromium, headless, driven by selenium).

Every number on the page is compared with `placements`, and bank counts with the lines below: never with the tables
that the page was made from.
"""

import re
import shutil
import threading
from pathlib import Path

import pytest

from tirx.layout import placements
from tirx.layout.show import View, hardware
from tirx.layout.show.reading import read_layout
from tirx.layout.show.serve import make_server

PAPER = "S[(8, 2, 4, 2):(4@laneid, 1@warpid, 1@laneid, 1)] + R[2:4@warpid] + 5@warpid"
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1500,1300""".split()
SWIZZLES = {"32B": 1, "64B": 2, "128B": 3}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (tirx[test])")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("chromium and chromedriver are not installed (apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield Page(found)
    found.quit()


class Page:
    """The few things that the tests do with a browser."""

    def __init__(self, driver):
        self.driver, self.js = driver, driver.execute_script

    def open(self, url):
        self.driver.get(url)
        return self

    def cell(self, name):
        return self.driver.find_element("id", name)

    def choose(self, name, value):
        """Another option of a menu; what selenium's click on an option does, without its seconds on large pages."""
        offered = self.js(_CHOOSE, self.cell(name), value)
        assert value in offered, f"{value} is not among {offered}"

    def type(self, name, text):
        from selenium.webdriver import Keys

        self.cell(name).send_keys(
            Keys.CONTROL + "a", Keys.NULL, text + "\n"
        )  # clear() would ask for nothing first

    def press(self, *keys):
        from selenium.webdriver import ActionChains, Keys

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(getattr(Keys, key))
        chain.perform()

    def hover(self, name):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).move_to_element(self.into_view(self.cell(name))).perform()

    def into_view(self, element):
        """Away from the bar at the lower edge, which would be in front of it."""
        self.js("arguments[0].scrollIntoView({block: 'center', inline: 'nearest'})", element)
        return element

    def detail(self):
        return self.cell("detail").text

    def wait(self, condition, seconds=20):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.02).until(lambda _: condition())

    def grid(self, selector):
        """{(row label, column label): text} of a grid."""
        return {(r, c): t for r, c, t in self.js(_READ_GRID, selector)}

    def errors(self):
        return [e for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]


_READ_GRID = """
const grid = document.querySelector(arguments[0]), rows = [...grid.children], out = [];
const head = [...rows[0].children].map((c) => c.textContent);
for (const row of rows.slice(1)) {
  const cells = [...row.children];
  cells.slice(1).forEach((c, i) => out.push([cells[0].textContent, head[i + 1], c.textContent]));
}
return out;
"""


_CHOOSE = """
const [menu, value] = arguments, offered = [...menu.options].map((o) => o.value);
if (!menu.disabled && offered.includes(value) && menu.value !== value) {
  menu.value = value;
  menu.dispatchEvent(new Event('change', {bubbles: true}));
}
return menu.disabled ? [menu.value] : offered;
"""

# Per phase and bank: the number of boxes drawn and the number of words said.
_READ_BANKS = """return [...document.querySelectorAll('.phase')].map((p) => [...p.querySelectorAll('[data-bank]')]
  .map((b) => [b.querySelectorAll('.word').length, Number(b.dataset.words)]))"""


@pytest.fixture
def saved(browser, tmp_path):
    """Opens the saved page of a view; afterwards the console must be clean and nothing must have been loaded."""

    def show(view):
        view.save(tmp_path / "page.html")
        return browser.open((tmp_path / "page.html").as_uri())

    yield show
    assert browser.errors() == []
    assert browser.js("return performance.getEntriesByType('resource').map((e) => e.name)") == []


def place_of(text):
    """A place as `placements` writes it, from "warpid 5, laneid 3, m 0"."""
    return frozenset((a, int(v)) for a, v in re.findall(r"(\w+) (-?\d+)", text) if int(v))


def cell_places(text):
    """The places of "W5,9 T3 r1"."""
    names = {"W": "warpid", "T": "laneid", "r": "m", "": "m"}
    places = [{}]
    for word in text.split():
        short, values = re.fullmatch(r"([A-Za-z]*)([\d,]+)", word).groups()
        places = [{**p, names[short]: int(v)} for p in places for v in values.split(",")]
    return {frozenset((a, v) for a, v in p.items() if v) for p in places}


# ---- the paper's tile ----


def test_every_cell_of_both_grids(saved):
    layout = read_layout(PAPER)
    page, want = saved(View(layout, (8, 16))), placements(layout)
    elements = page.grid("#elements")
    assert len(elements) == 128
    for (row, col), text in elements.items():
        assert cell_places(text) == want[int(row) * 16 + int(col)]
    grids = page.driver.find_elements("css selector", "#places figure")
    seen = 0
    for n, figure in enumerate(grids, 1):
        warp = figure.find_element("css selector", "figcaption").text
        for (lane, reg), text in page.grid(f"#places figure:nth-child({n}) .grid").items():
            row, col = map(int, text.split(","))
            assert place_of(f"{warp}, laneid {lane}, m {reg}") in want[row * 16 + col]
            seen += 1
    assert seen == sum(len(p) for p in want) == 256


def test_pointing_at_an_element_shows_its_places(saved):
    layout = read_layout(PAPER)
    page, want = saved(View(layout, (8, 16))), placements(layout)
    page.hover("e61")
    assert page.detail().startswith("element (3, 13) is at ")
    assert {place_of(t) for t in page.detail().split("; and at ")} == want[61]
    marked = page.js("return [...document.querySelectorAll('#places .there')].map("
                     "(c) => [c.closest('figure').innerText, c.textContent])")  # fmt: skip
    assert [text for _, text in marked] == ["3,13", "3,13"]
    assert {head.split("\n")[0] for head, _ in marked} == {"warpid 6", "warpid 10"}
    assert page.js("return document.querySelectorAll('#elements .here').length") == 1


@pytest.mark.slow
def test_pointing_at_a_place_shows_its_elements(saved):
    """Two elements in one place (stride 0) are both shown."""
    page = saved(View(read_layout("S[(2, 4):(0, 1)]"), (2, 4)))
    page.hover("p3")
    assert page.detail() == "place m 3 holds element (0, 3), (1, 3)"
    assert page.js("return [...document.querySelectorAll('#elements .there')].map((c) => c.id)") == [
        "e3",
        "e7",
    ]


def test_keys(saved):
    page = saved(View(read_layout(PAPER), (8, 16)))
    focused = lambda: page.js("return document.activeElement.id")  # noqa: E731
    page.js("document.getElementById('cells').focus()")
    page.press("TAB")
    assert focused() == "e0" and page.detail().startswith("element (0, 0)")
    page.press("ARROW_RIGHT", "ARROW_DOWN", "ARROW_DOWN")
    assert focused() == "e33" and page.detail().startswith("element (2, 1)")
    page.press("END")
    assert focused() == "e47"
    page.press("HOME", "ARROW_LEFT", "ARROW_UP")
    assert focused() == "e16"
    page.press("ENTER")
    place = focused()
    assert place.startswith("p") and page.detail() == "place laneid 4, warpid 5, m 0 holds element (1, 0)"
    page.press("ARROW_RIGHT", "ENTER")
    assert focused() == "e17"
    page.press("PAGE_DOWN")
    assert focused() == "e113"
    outline = page.js("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.press("TAB")
    assert focused().startswith("p")
    page.press("ESCAPE")
    assert page.js("return document.querySelectorAll('.here, .there').length") == 0
    assert page.js("return document.querySelectorAll('#elements [tabindex=\"0\"]').length") == 1


@pytest.mark.slow
def test_pages_behind_tabs(saved):
    page = saved(hardware.find("paper.s0s1").view())
    want = placements(hardware.find("paper.s0s1").build("float16")[0])
    tabs = page.driver.find_elements("css selector", "[role=tab]")
    assert [t.text for t in tabs] == ["pid 0", "pid 1", "pid 2", "pid 3"]
    for n in range(4):
        page.into_view(page.driver.find_elements("css selector", "[role=tab]")[n]).click()
        for (line, col), text in page.grid("#places .grid").items():
            if text:
                row, column = map(int, text.split(","))
                assert place_of(f"pid {n}, m {int(line) + int(col)}") in want[row * 128 + column]
    page.press("ARROW_LEFT")
    assert page.js("return document.querySelector('[aria-selected=true]').textContent") == "pid 2"
    page.hover("e0")
    assert page.js("return [...document.querySelectorAll('[role=tab].there')].map((t) => t.textContent)") == [
        "pid 0"
    ]


@pytest.mark.slow
def test_shapes_of_the_menu(saved):
    page, want = saved(View(read_layout(PAPER), (8, 16))), placements(read_layout(PAPER))
    names = page.js("return [...document.getElementById('shape').options].map((o) => [o.value, o.text])")
    assert "8 x 2 x 4 x 2" in [n for _, n in names] and len(names) >= 4
    for value, name in names:
        page.choose("shape", value)
        shape = [int(s) for s in name.split(" x ")]
        for (row, col), text in page.grid("#elements").items():
            x = 0
            for c, n in zip([int(v) for v in [*row.split(","), col] if v], shape):
                x = x * n + c
            assert cell_places(text) == want[x]


@pytest.mark.slow
def test_colours_come_with_words_and_patterns(saved):
    page = saved(View(read_layout(PAPER), (8, 16)))
    assert (
        page.js("return document.getElementById('legend').innerText").split("\n")[1].strip()
        == "laneid 4 to 7"
    )
    page.choose("colour", "warpid")
    assert "warpid 9" in page.cell("legend").text
    images = page.js(
        "return [...document.querySelectorAll('#legend span')].map((s) => getComputedStyle(s).backgroundImage)"
    )
    assert len(images) > 1 and len(set(images)) == len(images)


# ---- banks ----


def brute_force(shape, bits, swizzle, access):
    """(wavefronts, {bank: number of words}) per phase, from the formulas: row-major tile, xor of 16-byte chunks."""
    rows, cols = shape
    size = bits // 8
    width = 16 if access in ("row16", "rows8") else size
    start = {
        "row": lambda k: k if k < cols else None,
        "row16": lambda k: k * width // size if k * width // size < rows * cols else None,
        "column": lambda k: k * cols if k < rows else None,
        "rows8": lambda k: k * cols if k < 8 else None,
    }[access]
    phases = []
    lanes = {16: 8, 8: 16}.get(width, 32)
    for first in range(0, 32, lanes):
        words = set()
        for k in range(first, first + lanes):
            if start(k) is None:
                continue
            byte = start(k) * size
            line = byte // 128
            byte ^= (line & ((1 << SWIZZLES.get(swizzle, 0)) - 1)) << 4
            words |= {byte // 4 + j for j in range(max(1, width // 4))}
        if words:
            banks = {b: sum(w % 32 == b for w in words) for b in range(32)}
            phases.append((max(banks.values()), banks))
    return phases


@pytest.mark.slow
def test_bank_counts_of_every_choice(saved):
    shape = (32, 16)
    page = saved(View(read_layout("S[32, 16]"), shape))
    tried = conflicts = 0
    for dtype, bits in (("int8", 8), ("float16", 16), ("float32", 32)):
        page.choose("dtype", dtype)
        for swizzle in ("none", "32B", "64B", "128B"):
            page.choose("swizzle", swizzle)
            for access in ("row", "row16", "column", "rows8"):
                page.choose("access", access)
                want = brute_force(shape, bits, swizzle, access)
                drawn = page.js(_READ_BANKS)
                assert [[list(b) for b in p] for p in drawn] == [
                    [[n, n] for n in banks.values()] for _, banks in want
                ]
                total = sum(w for w, _ in want)
                text = page.cell("bank-total").text
                assert text.startswith(f"{total} wavefront") and f" {len(want)} without conflicts" in text
                assert ("conflict-free" in text) == (total == len(want))
                tried, conflicts = tried + 1, conflicts + (total > len(want))
    assert tried == 48 and 10 < conflicts < 40


@pytest.mark.slow
def test_bank_counts_of_another_shape(saved):
    """The same addresses, read as a tile of other rows."""
    page = saved(View(read_layout("S[(8, 4, 16):(64, 16, 1)]"), (32, 16), "float32"))
    names = page.js("return [...document.getElementById('shape').options].map((o) => o.text)")
    for shape in ((8, 64), (32, 16)):
        page.choose("shape", str(names.index(" x ".join(map(str, shape)))))
        for swizzle in ("none", "64B"):
            page.choose("swizzle", swizzle)
            for access in ("row", "row16", "column", "rows8"):
                page.choose("access", access)
                want = brute_force(shape, 32, swizzle, access)
                assert [[n for n, _ in p] for p in page.js(_READ_BANKS)] == [
                    list(b.values()) for _, b in want
                ]


@pytest.mark.slow
def test_swizzled_addresses_of_every_choice(saved):
    """Cells of the tile under each dtype and swizzle: the address xored by the formula."""
    page = saved(View(read_layout("S[16, 64]"), (16, 64)))
    for dtype, size in (("int8", 1), ("float16", 2), ("float32", 4)):
        page.choose("dtype", dtype)
        for swizzle in ("none", "32B", "64B", "128B"):
            page.choose("swizzle", swizzle)
            for (row, col), text in page.grid("#elements").items():
                byte = (int(row) * 64 + int(col)) * size
                byte ^= ((byte >> 7) & ((1 << SWIZZLES.get(swizzle, 0)) - 1)) << 4
                assert int(text) == byte // size


@pytest.mark.slow
def test_lanes_of_a_bank(saved):
    """Pointing at a word of a bank shows the elements that its lanes touch."""
    page = saved(View(read_layout("S[32, 64]"), (32, 64), "float32", access="column"))
    box = page.js(
        "const b = document.querySelectorAll('[data-bank=\"0\"] .word')[3]; b.id = 'box'; return b.textContent"
    )
    page.hover("box")
    assert box == "3" and page.detail() == "bank 0, word 192, lanes 3: (3, 0)"
    assert page.js("return [...document.querySelectorAll('#elements .here')].map((c) => c.id)") == ["e192"]
    assert page.cell("e192").get_attribute("data-lanes") == "3"


@pytest.mark.slow
def test_keys_in_the_banks(saved):
    page = saved(View(read_layout("S[32, 64]"), (32, 64), "float32", access="column"))
    page.js("document.querySelector('.word').focus()")
    assert page.detail() == "bank 0, word 0, lanes 0: (0, 0)"
    page.press("ARROW_RIGHT", "ARROW_RIGHT")
    assert page.detail() == "bank 0, word 128, lanes 2: (2, 0)"
    assert page.js("return [...document.querySelectorAll('#elements .here')].map((c) => c.id)") == ["e128"]
    page.press("END")
    assert page.detail() == "bank 0, word 1984, lanes 31: (31, 0)"
    assert page.js("return document.querySelectorAll('.word[tabindex=\"0\"]').length") == 1


@pytest.mark.slow
def test_keys_step_over_empty_places(saved):
    """Data path F leaves half of each slab empty: from lane 15 down is lane 32."""
    page = saved(hardware.find("tcgen05.F.0").view())
    page.js("document.getElementById('e240').focus()")
    page.press("ENTER")
    assert page.detail().startswith("place TLane 15, TCol 0 holds element (15, 0)")
    page.press("ARROW_DOWN")
    assert page.detail().startswith("place TLane 32, TCol 0 holds element (16, 0)")
    page.press("ARROW_UP")
    assert page.detail().startswith("place TLane 15")


# ---- saved and served ----


def test_a_saved_page_says_what_it_cannot_do(saved):
    page = saved(View(read_layout("S[8, 8]")))
    assert (
        not page.cell("notation").is_enabled()
        and page.cell("notation").get_attribute("value") == "S[(8, 8):(8, 1)]"
    )
    assert "--serve" in page.cell("notation-note").text
    assert not page.cell("other").is_displayed()


@pytest.mark.slow
def test_a_large_tile_says_what_was_left_out(saved):
    page = saved(View(read_layout("S[128, 256]")))
    assert "float32" in page.cell("left-out").text
    assert page.js("return document.querySelectorAll('#elements [role=gridcell]').length") == 128 * 256
    assert page.cell("cells").get_attribute("value") == "compact"
    assert page.js("return document.getElementById('e32767').textContent") == "32767"


@pytest.mark.slow
def test_the_gallery_shows_every_hardware_layout(browser, tmp_path):
    from tirx import cli

    assert cli.main(["layout", "--gallery", str(tmp_path / "all.html")]) == 0
    page = browser.open((tmp_path / "all.html").as_uri())
    names = page.js("return [...document.getElementById('document').options].map((o) => o.text)")
    assert names == [n.name for n in hardware.names()]
    for n, named in enumerate(hardware.names()):
        page.choose("document", str(n))
        layout, shape = named.build(named.dtype)
        places = placements(layout)
        size = hardware.size(named)
        for x, want in ((0, places[0]), (size - 1, places[-1])):
            page.js("document.getElementById(arguments[0]).click()", f"e{x}")
            assert {
                place_of(t)
                for t in page.detail().split(" is at ")[1].split("; touched")[0].split("; and at ")
            } == want
    assert page.errors() == []


@pytest.fixture
def served(browser):
    with make_server(View(read_layout("S[8, 8]"), dtype="float32")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield browser.open(f"http://127.0.0.1:{server.server_address[1]}/")
        server.shutdown()
    assert browser.errors() == []


def test_editing_the_notation(served):
    served.type("notation", PAPER)
    served.wait(lambda: "laneid" in served.cell("text").text)
    want = placements(read_layout(PAPER))
    for (row, col), text in served.grid("#elements").items():
        assert cell_places(text) == want[int(row) * 16 + int(col)]
    served.type("other", "16,8")
    served.wait(lambda: len({r for r, _ in served.grid("#elements")}) == 16)
    assert cell_places(served.grid("#elements")["15", "7"]) == want[127]


def test_an_invalid_layout_is_answered_beside_the_field(served):
    served.type("notation", "S[(8, 8):(8@landid, 1)]")
    served.wait(lambda: served.cell("error").is_displayed())
    assert "no axis of this name" in served.cell("error").text and "^^^^^^" in served.cell("error").text
    assert served.cell("notation").get_attribute("aria-invalid") == "true"
    assert served.cell("text").text == "S[(8, 8):(8, 1)]"
    served.type("notation", "S[(8, 8):(1, 8)]")
    served.wait(lambda: served.cell("text").text == "S[(8, 8):(1, 8)]")
    assert not served.cell("error").is_displayed() and served.grid("#elements")["1", "2"] == "17"
    served.type("other", "5,5")
    served.wait(lambda: served.cell("error").is_displayed())
    assert "64 elements" in served.cell("error").text


@pytest.mark.slow
def test_choices_that_are_left_out_are_fetched(served):
    served.type("notation", "S[128, 256]")
    served.wait(lambda: served.cell("text").text == "S[(128, 256):(256, 1)]")
    served.choose("dtype", "int8")
    served.wait(lambda: "of 8 bits" in served.cell("facts").text)
    served.choose("swizzle", "128B")
    served.wait(lambda: served.cell("text").text.startswith("ComposeLayout(4, 3, 3"))


@pytest.mark.slow
def test_a_layout_of_lanes_is_an_access(served):
    """Lane l reads four registers of row l: all lanes in four banks."""
    served.type("notation", "S[32, 4]")
    served.wait(lambda: served.cell("text").text == "S[(32, 4):(4, 1)]")
    served.type("lanes", "S[(32, 4):(1@laneid, 1)]")
    served.wait(lambda: "register" in served.cell("banks").text)
    drawn = served.js("return [...document.querySelectorAll('.phase')].map((p) => "
                      "[...p.querySelectorAll('[data-bank]')].map((b) => Number(b.dataset.words)))")  # fmt: skip
    assert drawn == [[4 if bank % 4 == register else 0 for bank in range(32)] for register in range(4)]
    assert served.cell("bank-total").text.startswith("4 wavefronts, 1 without conflicts: 3 conflicts")


def test_only_this_machine_is_answered():
    import http.client

    with make_server(View(read_layout("S[8]"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ask = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
        for host, path, status in (
            ("evil.example", "/", 403),
            ("localhost", "/", 200),
            ("127.0.0.1", "/etc/passwd", 404),
        ):
            ask.request("GET", path, headers={"Host": host})
            reply = ask.getresponse()
            assert (reply.status, bool(reply.read())) == (status, True)
        server.shutdown()


# ---- what people see ----


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(saved, dark):
    """Text stands out from its background in both schemes."""
    page = saved(View(read_layout(PAPER), (8, 16)))
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    colours = page.js("""return ['body', 'section', '#detail', '.grid [role=gridcell]'].map((s) => {
      const e = getComputedStyle(document.querySelector(s)); return [s, e.color, e.backgroundColor]; })""")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    for where, ink, back in colours:
        assert contrast(ink, back) > 5.5, (where, ink, back)
    body = dict((w, luminance(b)) for w, _, b in colours)["body"]
    assert (body < 0.1) == dark


def luminance(colour):
    parts = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow
def test_names_for_screen_readers(saved):
    page = saved(View(read_layout("S[32, 64]"), access="column"))
    unnamed = page.js("""return [...document.querySelectorAll('input, select, button, [role=grid], [role=tablist]')]
      .filter((e) => !e.closest('[hidden]') && !(e.labels?.length || e.ariaLabel || e.textContent.trim()))
      .filter((e) => !e.getAttribute('aria-labelledby'))
      .map((e) => e.outerHTML)""")
    assert unnamed == []
    page.hover("e5")
    assert page.cell("e5").get_attribute("aria-label").startswith("element (0, 5) is at m 5")


@pytest.mark.slow
def test_a_narrow_window_does_not_scroll_sideways(saved):
    page = saved(View(read_layout(PAPER), (8, 16)))
    page.driver.set_window_size(520, 900)
    wide, window = page.js("return [document.documentElement.scrollWidth, window.innerWidth]")
    page.driver.set_window_size(1500, 1300)
    assert wide <= window


@pytest.mark.slow
def test_printing_shows_whole_grids(saved):
    """On paper nothing scrolls and nothing but the drawing is printed."""
    page = saved(View(read_layout("S[64, 8]"), (64, 8), "float32"))
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden, cut = page.js("""const grid = document.getElementById('elements');
      return [document.getElementById('controls').offsetHeight, grid.scrollHeight - grid.clientHeight]""")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden == 0 and cut <= 0


def test_a_screenshot(saved, request, tmp_path):
    """The page is drawn; `--update-goldens` keeps the picture for the documentation."""
    page = saved(View(read_layout("S[(12, 8):(8, 1)]"), dtype="float32", access="column"))
    page.driver.set_window_size(1380, 1165)
    page.hover("e35")
    page.js("document.documentElement.style.overflow = 'hidden'; scrollTo(0, 0)")
    images = Path(__file__).parents[2] / "docs" / "images"
    path = (images if request.config.getoption("--update-goldens") else tmp_path) / "layout-page.png"
    page.driver.save_screenshot(str(path))
    page.driver.set_window_size(1500, 1300)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and 30_000 < len(data)
    assert 30_000 < (images / "layout-page.png").stat().st_size < 200_000
