"""The report: its words, its figures, and the page as a browser shows it."""

from __future__ import annotations

import base64
import csv
import io
import math
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from inline_code import inline_code
from lanes import slow_after_first
from made_up_report import FACTS, RUDE, statements
from matplotlib.figure import Figure

from browser import browser, open_tab
from recallscope.common.errors import ProblemError
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import draw_panel, picture_figure
from recallscope.plot.style import save
from reproduction.report import report_page, write_figures, write_report
from reproduction.verdict import Verdict


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, statements(), FACTS)
    return path


@pytest.fixture(scope="module")
def page(written) -> str:
    return written.read_text(encoding="utf-8")


def shown(**changes) -> Panel:
    fields = {"title": "title", "x": "x", "y": "y", "series": [], **changes}
    return Panel(**fields)


def measured(x, y, low=None, high=None, **changes) -> Series:
    return Series(label="seen", kind=Kind.MEASURED, x=x, y=y, low=low, high=high, **changes)


@pytest.mark.slow
def test_all_verdicts_are_said_in_words(page):
    assert {found.verdict for _, found in statements() if found} == set(Verdict)
    for verdict in Verdict:
        assert f"</span>{verdict}</span>" in page
    assert (
        "Of 6 statements attributed to the paper, 1 is supported, 1 is refuted, 1 is "
        "open, 2 are not yet measured and 1 is not testable"
    ) in page
    assert "python -m reproduction run products --size full" in page
    assert "between −1.2 and −0.8" in page
    assert "The first 200 of 299 rows" in page
    for fact in (FACTS.revision, FACTS.date, FACTS.time, "123,456", *FACTS.commands):
        assert fact in page


def test_text_is_never_markup(page):
    assert "<script>alert" not in page
    assert "Tom &amp; &#34;Jerry&#34; &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page


def test_the_page_has_no_code_in_its_attributes(page):
    assert inline_code(page) == []


def test_the_page_names_no_other_place(page):
    addresses = re.findall(r"""(?:src|href|srcset|action)=["']([^"']*)""", page)
    ours = ("#", "data:", "https://arxiv.org/abs/2603.15923")
    assert len(addresses) > 20
    assert all(address.startswith(ours) for address in addresses)
    assert 'href="data:,"' in page  # or browsers ask for an icon
    assert "default-src 'none'" in page


def test_numbers_come_back_from_the_csv(page):
    address = re.search(r'download="rude.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    rows = list(csv.DictReader(io.StringIO(unquote(address[1]))))
    assert rows == [{RUDE: RUDE, "other": "0.5"}]


def test_no_cell_of_the_csv_is_a_formula():
    (statement, found) = next(each for each in statements() if each[0].name == "rude")
    made = report_page([(statement, replace(found, rows=[{"a": "=1+1"}]))], FACTS)
    address = re.search(r'href="data:text/csv;charset=utf-8,([^"]*)"', made)
    assert list(csv.DictReader(io.StringIO(unquote(address[1])))) == [{"a": "'=1+1"}]


def test_figures_for_print(tmp_path):
    written = write_figures([found for _, found in statements()[:2]], tmp_path / "figures")
    names = {f"{name}.{kind}" for name in ("products", "depth") for kind in ("pdf", "png")}
    assert {path.name for path in written} == names
    caption = (tmp_path / "figures" / "depth.caption.txt").read_text()
    assert caption == "Accuracy against the length of a sequence.\n"
    assert (tmp_path / "figures" / "products.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_findings_make_the_same_page(page):
    assert report_page(statements(), FACTS) == page


def test_a_page_that_cannot_be_written_is_a_problem(tmp_path):
    with pytest.raises(ProblemError, match="there is no folder"):
        write_report(tmp_path / "none" / "report.html", statements(), FACTS)


def test_a_report_of_nothing_is_a_page(tmp_path):
    assert "Of 0 statements attributed to the paper, none has a verdict." in report_page([], FACTS)
    assert "not yet measured" in report_page(
        [(statements()[0][0], None)], replace(FACTS, hashes=())
    )


def test_the_task_and_every_statement_are_explained_in_plain_words(page):
    statement = replace(statements()[0][0], plain="more data helps.")
    made = report_page([(statement, statements()[0][1])], FACTS)
    assert made.index("In plain words: more data helps.") < made.index("Written beforehand")
    assert "In plain words" not in page  # left out where there is none
    assert 'aria-label="A row of six tokens' in page
    for each, _ in statements():
        assert f'<li><a href="#statement-{each.name}">' in page


def test_exponents_are_raised_and_nothing_else_is(page):
    statement, found = statements()[0]
    made = report_page([(statement, replace(found, answer="N* ∝ d^−1.40 (a <b> c^x)."))], FACTS)
    assert made.count("N* ∝ d<sup>−1.40</sup> (a &lt;b&gt; c^x).") == 2


def test_text_in_panels_is_text(page):
    drawn = re.findall(r'<img alt="[^"]+" src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(drawn) == sum(len(found.picture.panels) for _, found in statements() if found)
    assert all(b"<text" in base64.b64decode(each) for each in drawn)


def drawn(**changes):
    """The axes of a panel."""
    axes = Figure(layout="constrained").subplots()
    draw_panel(axes, shown(**changes))
    return axes


def marks(axes, marker):
    """The positions of such markers."""
    found = [line.get_xydata() for line in axes.lines if line.get_marker() == marker]
    return np.concatenate([np.empty((0, 2)), *found]).tolist()


def test_open_bars_end_in_arrows_inside_the_axes():
    axes = drawn(series=[measured([1, 2], [5, 6], low=[-math.inf, 5], high=[7, math.inf])])
    bottom, top = axes.get_ylim()
    ((x, y),) = marks(axes, "^")
    assert x == 2
    assert 6 < y < top
    ((x, y),) = marks(axes, "v")
    assert x == 1
    assert bottom < y < 5


def test_a_zero_on_a_log_axis_is_an_arrow():
    axes = drawn(log_y=True, series=[measured([1, 2, 3], [0.0, 0.1, 1.0])])
    assert [x for x, _ in marks(axes, "v")] == [1]
    assert 0 < marks(axes, "o")[0][1] < 0.1


def test_one_infinite_bar_does_not_squeeze_the_rest():
    low, high = [0.9, 1.9, 2.9, 3.9], [1.1, 2.1, 3.1, 1e9]
    axes = drawn(series=[measured([1, 2, 3, 4], [1, 2, 3, 4], low, high)])
    assert axes.get_ylim()[1] < 10
    assert [x for x, _ in marks(axes, "^")] == [4]


def test_missing_measurements_are_not_drawn():
    series = measured(
        [1, 2, 3], [0.5, math.nan, math.inf], [0.4, math.nan, 0.8], [0.6, 1, math.inf]
    )
    axes = drawn(series=[series])
    assert marks(axes, "o") == [[1, 0.5], [3, 0.8]]  # a bound: the end that is known
    assert [x for x, _ in marks(axes, "^")] == [3]


def test_names_stand_side_by_side_and_lines_become_steps():
    first, second = measured(["a", "b"], [1, 2]), measured(["b", "c"], [2, 3])
    line = Series(label="line", kind=Kind.THEORY, x=["a", "c"], y=[1, 3])
    axes = drawn(series=[first, second, line])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [x for x, _ in marks(axes, "o")] == [-0.125, 0.875]
    assert [x for x, _ in marks(axes, "s")] == [1.125, 2.125]
    steps = axes.lines[-1].get_xdata()
    np.testing.assert_allclose(steps, [-0.4, 0.4, np.nan, 1.6, 2.4, np.nan])


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([32, 64, 128], ["32", "64", "128"]),
        ([8, 16], ["8", "10", "12", "14", "16"]),
        ([99.5, 1000, 1e6], ["100", "1000", "10000", "100000", "10⁶"]),
        ([90.5, 700], ["100", "200", "500"]),
        ([48, 68, 96], ["48", "68", "96"]),
        ([0.97, 1.02], ["0.98", "1", "1.02"]),
        ([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"]),
    ],
)
def test_ticks_of_log_axes_are_plain_numbers(values, labels):
    axes = drawn(log_x=True, series=[measured(values, values)])
    axes.figure.draw_without_rendering()
    assert [label.get_text() for label in axes.get_xticklabels()] == labels


@pytest.mark.parametrize("count", range(6))
def test_any_number_of_panels_is_drawn(count, tmp_path):
    panel = shown(series=[measured([1, 2], [1, 2])])
    picture = Picture(caption="$5 and more.", panels=[panel] * count)
    figure = picture_figure(picture, "Costs $4, or $5")
    assert len(figure.axes) == 2 * count
    save(figure, tmp_path / "figure.png")


def test_series_of_one_number_have_one_colour():
    series = [
        measured([1], [1], colour=3),
        Series(label="t", kind=Kind.THEORY, x=[1], y=[1], colour=3),
    ]
    reference = Series(label="r", kind=Kind.REFERENCE, x=[1, 2], y=[1, 1])
    looks = [line.get_color() for line in drawn(series=[*series, reference]).lines]
    assert looks[0] == looks[-2] != looks[-1] == "#767676"


DRAWN = """[...document.querySelectorAll(".panels img")].map(image => ({
  whole: image.complete && image.naturalWidth > 100,
  width: image.getBoundingClientRect().width,
  space: image.parentElement.getBoundingClientRect().width,
}))"""

# Wider than the window and not in a box that scrolls.
STICKING_OUT = """[...document.querySelectorAll("body *")].filter(each =>
  each.getBoundingClientRect().right > innerWidth + 1
  && !each.closest(".box, pre, svg, .skip"))
  .map(each => each.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize(("width", "mobile"), slow_after_first([(390, True), (1280, False)]))
def test_a_browser_shows_all_of_it_and_asks_for_nothing(written, tmp_path, width, mobile):
    address = written.as_uri()
    with browser() as chromium:
        tab = open_tab(chromium, address, width, mobile)
        page = tab.page
        drawn = page.evaluate(DRAWN)
        assert len(drawn) == 9
        for panel in drawn:
            assert panel["whole"]
            assert 0.6 * panel["space"] < panel["width"] <= panel["space"] + 1
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(STICKING_OUT) == []
        assert page.evaluate("document.querySelectorAll('[id]').length") == page.evaluate(
            "new Set([...document.querySelectorAll('[id]')].map(each => each.id)).size"
        )
        assert tab.barriers() == []
        page.evaluate("document.querySelector('#made').scrollIntoView({behavior: 'instant'})")
        contents = page.evaluate("document.querySelector('nav').getBoundingClientRect().bottom > 0")
        assert contents is not mobile  # in sight where there is space, else at the top
        seen = tmp_path / "seen.png"  # pytest keeps it for a while, for a visual check
        page.screenshot(path=seen, full_page=True)
        assert seen.stat().st_size > 50_000
        asked = [url for url in tab.requests if not url.startswith("data:")]
        assert asked == [address]
        assert tab.complaints == []


def test_the_browser_finds_planted_faults(tmp_path):
    """A page with every fault that a report must not have: all are found."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><link rel=icon href=data:,><img src='http://example.invalid/a.png'>"
        "<script>console.warn('hm'); console.error('no'); throw new Error('thrown')</script>"
    )
    with browser() as chromium:
        tab = open_tab(chromium, bad.as_uri(), 390)
        assert "http://example.invalid/a.png" in tab.requests
        said = " ".join(tab.complaints)
        assert all(word in said for word in ("hm", "no", "thrown", "ERR_NAME_NOT_RESOLVED"))
        assert any(found.startswith("image-alt") for found in tab.barriers())
