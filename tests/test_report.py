"""The report: its words, its figures, and the page as a browser shows it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from matplotlib.text import Text
from recallscope.plotting.geometry import place_marks
from recallscope.plotting.matplotlib_backend import matplotlib_figure
from recallscope.plotting.plotly_backend import plotly_figure

from browser import browser
from made_up_report import FACTS, RUDE, claims
from recallscope.paper.report import report, write_report
from recallscope.paper.verdict import Verdict
from recallscope.plotting.panels import Kind, Panel, Picture, Series
from recallscope.plotting.style import save
from recallscope.problem import ProblemError


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, claims(), FACTS)
    return path


@pytest.fixture(scope="module")
def page(written) -> str:
    return written.read_text(encoding="utf-8")


def shown(**changes) -> Panel:
    fields = {"title": "title", "x": "x", "y": "y", "series": [], **changes}
    return Panel(**fields)


def measured(x, y, low=None, high=None, **changes) -> Series:
    return Series(label="seen", kind=Kind.MEASURED, x=x, y=y, low=low, high=high, **changes)


def test_all_verdicts_are_said_in_words(page):
    assert {found.verdict for _, found in claims() if found} == set(Verdict)
    for verdict in Verdict:
        assert f"</span>{verdict}</span>" in page
    assert (
        "Of the paper&#39;s 6 claims, 1 is supported, 1 is contradicted, 2 are inconclusive and 2"
        in page
    )
    assert "recallscope paper run products --size full" in page
    assert "between −1.2 and −0.8" in page
    assert "The first 200 of 299 rows" in page
    for fact in (FACTS.revision, FACTS.date, FACTS.machine, "123,456", *FACTS.commands):
        assert fact in page


def test_text_is_never_markup(page):
    assert "<script>alert" not in page
    assert "Tom &amp; &#34;Jerry&#34; &lt;script&gt;alert(1)&lt;/script&gt;" in page
    # Three scripts, and one with data for each panel: nothing opens or ends one in between.
    panels = sum(len(found.picture.panels) for _, found in claims() if found)
    assert len(re.findall("<script", page)) == len(re.findall("</script>", page)) == 3 + panels


def test_the_page_names_no_other_place(page):
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    addresses = re.findall(r"""(?:src|href|srcset|action)=["']([^"']*)""", without_scripts)
    ours = ("#", "data:", "report-figures/", "https://arxiv.org/abs/2603.15923")
    assert len(addresses) > 20
    assert all(address.startswith(ours) for address in addresses)
    assert 'href="data:,"' in page  # or browsers ask for an icon
    assert "default-src 'none'" in page


def test_numbers_come_back_from_the_csv(page):
    address = re.search(r'download="rude.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    rows = list(csv.DictReader(io.StringIO(unquote(address[1]))))
    assert rows == [{RUDE: RUDE, "other": "0.5"}]


def test_figures_lie_beside_the_page_and_nothing_else(written):
    folder = written.with_name("report-figures")
    names = {path.name for path in folder.iterdir()}
    drawn = ("products", "depth", "families", "rude")
    assert names == {f"{name}.{kind}" for name in drawn for kind in ("pdf", "png")}
    assert {path.name for path in written.parent.iterdir()} == {"report.html", "report-figures"}
    assert (folder / "products.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "products.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_findings_make_the_same_page_and_figures(written, page, tmp_path):
    assert report(claims(), FACTS) == page
    write_report(tmp_path / "report.html", claims()[:1], FACTS)
    for kind in ("pdf", "png"):
        name = Path("report-figures") / f"products.{kind}"
        assert (tmp_path / name).read_bytes() == (written.parent / name).read_bytes()


@pytest.mark.parametrize("missing", ["plotly.offline", "jinja2"])
def test_what_is_missing_is_said(monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ProblemError, match=r"pip install '\.\[paper\]'"):
        write_report(tmp_path / "report.html", claims(), FACTS)
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_is_a_problem(tmp_path):
    with pytest.raises(ProblemError, match="there is no folder"):
        write_report(tmp_path / "none" / "report.html", claims(), FACTS)
    (tmp_path / "report-figures").write_text("in the way")
    with pytest.raises(ProblemError, match="the report was not written"):
        write_report(tmp_path / "report.html", claims(), FACTS)
    assert [path.name for path in tmp_path.iterdir()] == ["report-figures"]


def test_a_report_of_nothing_is_a_page(tmp_path):
    assert "Of the paper&#39;s 0 claims, none has a verdict." in report([], FACTS)
    assert "not yet measured" in report([(claims()[0][0], None)], replace(FACTS, manifest=()))


def test_open_bars_end_in_arrows_inside_the_axes():
    panel = shown(series=[measured([1, 2], [5, 6], low=[-math.inf, 5], high=[7, math.inf])])
    drawing = place_marks(panel)
    (mark,) = drawing.marks
    assert mark.down.tolist() == [True, False]
    assert mark.up.tolist() == [False, True]
    assert drawing.y.low < mark.low[0] < 5
    assert 6 < mark.high[1] < drawing.y.high
    arrows = plotly_figure(Picture(caption="", panels=[panel]))[0]["data"][1]
    assert arrows["marker"]["symbol"] == ["triangle-up", "triangle-down"]
    assert arrows["x"] == [2, 1]


def test_a_zero_on_a_log_axis_is_an_arrow_and_says_so():
    panel = shown(log_y=True, series=[measured([1, 2, 3], [0.0, 0.1, 1.0])])
    (mark,) = place_marks(panel).marks
    assert mark.down.tolist() == [True, False, False]
    assert 0 < mark.y[0] < 0.1
    assert mark.said[0] == "x: 1\ny: 0"


def test_one_infinite_bar_does_not_squeeze_the_rest():
    low, high = [0.9, 1.9, 2.9, 3.9], [1.1, 2.1, 3.1, 1e9]
    drawing = place_marks(shown(series=[measured([1, 2, 3, 4], [1, 2, 3, 4], low, high)]))
    assert drawing.y.high < 10
    assert drawing.marks[0].up.tolist() == [False, False, False, True]


def test_what_was_not_measured_is_not_drawn():
    series = measured(
        [1, 2, 3], [0.5, math.nan, math.inf], [0.4, math.nan, 0.8], [0.6, 1, math.inf]
    )
    (mark,) = place_marks(shown(series=[series])).marks
    assert mark.x.tolist() == [1, 3]
    assert mark.y[1] == 0.8  # a bound: the end that is known
    assert mark.up.tolist() == [False, True]


def test_names_stand_side_by_side_and_lines_become_steps():
    first, second = measured(["a", "b"], [1, 2]), measured(["b", "c"], [2, 3])
    line = Series(label="line", kind=Kind.THEORY, x=["a", "c"], y=[1, 3])
    drawing = place_marks(shown(series=[first, second, line]))
    assert drawing.x.names == ["a", "b", "c"]
    assert drawing.marks[0].x.tolist() == [-0.125, 0.875]
    assert drawing.marks[1].x.tolist() == [1.125, 2.125]
    np.testing.assert_allclose(drawing.marks[2].x, [-0.4, 0.4, np.nan, 1.6, 2.4, np.nan])
    assert [piece.stop - piece.start for piece in drawing.marks[2].pieces()] == [2, 2]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([32, 64, 128], ["32", "64", "128"]),
        ([99.5, 1000, 1e6], ["100", "1000", "10000", "100000", "10⁶"]),
        ([90.5, 700], ["100", "200", "500"]),
        ([48, 68, 96], ["48", "68", "96"]),
        ([48, 50, 96], ["50", "70", "100"]),
        ([0.97, 1.02], ["0.98", "1", "1.02"]),
    ],
)
def test_ticks_of_log_axes_are_plain_numbers(values, labels):
    drawing = place_marks(shown(log_x=True, series=[measured(values, values)]))
    assert drawing.x.labels == labels


@pytest.mark.parametrize("count", range(6))
def test_any_number_of_panels_is_drawn(count, tmp_path):
    panel = shown(series=[measured([1, 2], [1, 2])])
    picture = Picture(caption="$5 and more.", panels=[panel] * count)
    figure = matplotlib_figure(picture, "Costs $4, or $5")
    assert len(figure.axes) == 2 * count
    save(figure, tmp_path / "figure.png")
    assert len(plotly_figure(picture)) == count
    json.dumps(plotly_figure(picture), allow_nan=False)


def test_no_word_of_a_printed_figure_is_cut():
    panel = shown(title=20 * "title ", x=20 * "dims ", series=[measured(["one", "two"], [1, 2])])
    for count in (1, 2, 3):
        picture = Picture(caption=60 * "What a caption says. ", panels=[panel] * count)
        figure = matplotlib_figure(picture, 30 * "Claim ")
        figure.canvas.draw()
        words = figure.findobj(lambda each: isinstance(each, Text) and each.get_text())
        assert len(words) > 4
        for each in words:
            box = each.get_window_extent()
            assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, each
            assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, each


def test_looks_are_shared_by_number():
    series = [
        measured([1], [1], colour=3),
        Series(label="t", kind=Kind.THEORY, x=[1], y=[1], colour=3),
    ]
    reference = Series(label="r", kind=Kind.REFERENCE, x=[1, 2], y=[1, 1])
    marks = place_marks(shown(series=[*series, reference])).marks
    assert marks[0].colour == marks[1].colour != marks[2].colour == "#767676"


DRAWN = """[...document.querySelectorAll("[data-figure]")].map(panel => ({
  wanted: Number(panel.dataset.traces),
  traces: panel.data ? panel.data.length : -1,
  drawings: panel.querySelectorAll("svg.main-svg").length,
  width: panel.querySelector("svg.main-svg").getBoundingClientRect().width,
  room: panel.getBoundingClientRect().width,
}))"""

# Wider than the window and not in a box of its own that scrolls.
STICKING_OUT = """[...document.querySelectorAll("body *")].filter(each =>
  each.getBoundingClientRect().right > innerWidth + 1
  && !each.closest(".box, pre, svg, .skip, .js-plotly-plot"))
  .map(each => each.outerHTML.slice(0, 80))"""

HOVER = """(() => {
  const panel = document.querySelector("[data-figure]");
  Plotly.Fx.hover(panel, [{curveNumber: 0, pointNumber: 4}]);
  return panel.querySelector(".hoverlayer").textContent;
})()"""


@pytest.mark.parametrize(("width", "mobile"), [(1280, False), (390, True)])
def test_a_browser_shows_all_of_it_and_asks_for_nothing(written, tmp_path, width, mobile):
    address = written.as_uri()
    with browser() as chromium:
        tab = chromium.open(address, width, mobile=mobile)
        drawn = tab.evaluate(DRAWN)
        assert len(drawn) == 9
        for panel in drawn:
            assert panel["traces"] == panel["wanted"]
            assert panel["drawings"] >= 2
            assert 0.9 * panel["room"] < panel["width"] <= panel["room"] + 1
        tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(STICKING_OUT) == []
        assert "above 200" in tab.evaluate(HOVER)
        assert tab.evaluate("document.querySelectorAll('[id]').length") == tab.evaluate(
            "new Set([...document.querySelectorAll('[id]')].map(each => each.id)).size"
        )
        seen = tmp_path / "seen.png"  # pytest keeps it for a while, to be looked at
        tab.screenshot(seen)
        assert seen.stat().st_size > 50_000
        asked = [url for url in tab.requests if not url.startswith("data:")]
        assert asked == [address]
        assert tab.complaints == []


def test_the_browser_would_tell(tmp_path):
    """A page that does all that a report must not is caught at all of it."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><link rel=icon href=data:,><img src='http://example.invalid/a.png'>"
        "<script>console.warn('hm'); console.error('no'); throw new Error('thrown')</script>"
    )
    with browser() as chromium:
        tab = chromium.open(bad.as_uri(), 390)
        assert "http://example.invalid/a.png" in tab.requests
        said = " ".join(tab.complaints)
        assert all(word in said for word in ("hm", "no", "thrown", "ERR_NAME_NOT_RESOLVED"))
