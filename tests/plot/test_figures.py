"""Requirements of every kind of figure: widths, words, ticks, fonts, and the user's axes."""

from __future__ import annotations

import itertools
import re
import zlib

import numpy as np
import pytest
from figures import KINDS, diagram, law, pictures
from lanes import slow_after_first
from matplotlib.figure import Figure
from matplotlib.text import Text

from recallscope.common.errors import ProblemError
from recallscope.plot.phase_diagram import phase_diagram_figure
from recallscope.plot.scaling import scaling_figure
from recallscope.plot.style import draw
from recallscope.plot.ticks import set_ticks

FIGURES = {name: kind.figure for name, kind in KINDS.items()} | pictures()
ONE_OF_EACH = ("critical", "scaling", "ablation", "check", "phase diagram", "phase map", "products")
WIDTHS = (3.25, 6.75)  # one column and two


@pytest.fixture(scope="module")
def drawn():
    """Every figure at both widths, laid out."""
    figures = {}
    for name, make in FIGURES.items():
        for width in WIDTHS[:1] if " of " in name or "narrow" in name else WIDTHS:
            figure = figures[name, width] = make(width=width)
            figure.draw_without_rendering()
    return figures


def words(figure):
    """All text that is seen, with its box."""
    found = figure.findobj(lambda each: isinstance(each, Text) and each.get_text().strip())
    return [(each, each.get_window_extent()) for each in found if each.get_visible()]


def test_every_figure_is_as_wide_as_asked_and_no_word_is_cut(drawn):
    for (name, width), figure in drawn.items():
        assert figure.get_figwidth() == width
        for each, box in words(figure):
            where = name, width, each.get_text()
            assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, where
            assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, where


def test_text_is_read_without_zooming(drawn):
    for where, figure in drawn.items():
        sizes = {each.get_fontsize() for each, _ in words(figure)}
        assert 6 <= min(sizes) <= max(sizes) <= 9, where


def ticks_of(axis):
    """The labels that are seen."""
    low, high = sorted(axis.get_view_interval())
    found = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for tick in found for label in (tick.label1, tick.label2)]
    return [each.get_text() for each in labels if each.get_visible() and each.get_text()]


def test_every_axis_of_numbers_has_three_labels_at_least(drawn):
    seen = 0
    for where, figure in drawn.items():
        for axes in figure.axes:
            colours = axes.get_label() == "<colorbar>"
            for axis in (axes.yaxis,) if colours else (axes.xaxis, axes.yaxis):
                labels = ticks_of(axis)
                if axes.axison and not any(re.search("[a-z]", label) for label in labels):
                    assert len(labels) >= 3, (where, axis.axis_name, labels)
                    seen += 1
    assert seen > 100


def test_no_word_lies_on_another(drawn):
    for where, figure in drawn.items():
        boxes = [
            (each.get_text(), box.padded(-1.5))
            for each, box in words(figure)
            if each.get_rotation() % 90 == 0
        ]
        for (first, box), (second, other) in itertools.combinations(boxes, 2):
            assert not box.overlaps(other), (where, first, second)


def test_a_caption_is_left_out_where_asked():
    for name in ONE_OF_EACH[:-1]:
        kind = KINDS[name]
        caption = kind.caption()
        assert "\n" not in caption
        shown = " ".join(kind.figure().get_suptitle().split())
        assert shown == " ".join(caption.split()), name
        assert kind.figure(caption=False).get_suptitle() == ""


@pytest.mark.parametrize("name", ONE_OF_EACH[:-1])
def test_every_kind_is_drawn_on_axes_of_the_users(name):
    kind = KINDS[name]
    count = kind.panels()
    axes = Figure(figsize=(3 * count, 3)).subplots(1, count, squeeze=False)[0]
    kind.draw(list(axes))
    assert all(each.has_data() for each in axes)
    assert axes[0].get_legend().get_texts()
    with pytest.raises(ProblemError, match=f"has {count} panels, so it needs as many axes, not 0"):
        kind.draw([])


@pytest.mark.parametrize("name", slow_after_first(ONE_OF_EACH, 3))
def test_fonts_are_truetype_in_pdf_and_text_is_text_in_svg(name):
    figure = FIGURES[name]()
    whole, svg = draw(figure, "pdf"), draw(figure, "svg")
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", whole, re.DOTALL):
        try:
            whole += zlib.decompress(packed)
        except zlib.error:
            continue  # not packed
    assert b"/Type3" not in whole
    assert b"/CIDFontType2" in whole or b"/TrueType" in whole
    assert b"<text" in svg
    assert b"sans-serif" in svg


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("inches", [1.2, 6.0])
def test_any_range_has_three_ticks_at_least(scale, inches):
    axes = Figure(figsize=(inches, 2)).add_axes((0, 0, 1, 1))
    axes.set_xscale(scale)
    set_ticks(axes.xaxis, base=2)
    rng = np.random.default_rng(0)
    for low, factor in zip(
        np.exp(rng.uniform(-12, 20, 100)), np.exp(np.exp(rng.uniform(-6, 3, 100))), strict=True
    ):
        axes.set_xlim(low, low * factor)
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= low * factor]
        assert len(ticks) >= 3, (low, factor)


def test_a_diagram_says_when_a_cell_is_marked_and_how_many_are():
    exact = diagram()
    exact["disagreement"].pop("tolerance")
    shown = {}
    for name, data in (("tolerant", diagram()), ("exact", exact)):
        figure = phase_diagram_figure([data])
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        shown[name] = " ".join([" ".join(legend), " ".join(figure.get_suptitle().split())])
        wrong = data["disagreement"]["count"]
        title = " ".join(figure.axes[0].get_title().split())
        assert title.endswith(f"on average, crosses in {wrong} of 400 cells")
    assert "theory off by more than 0.01 beyond the 95 % interval" in shown["tolerant"]
    assert "theory outside the 95 % interval" in shown["exact"]
    assert "One cell in twenty has a cross by chance." in shown["exact"]
    assert "by chance" not in shown["tolerant"]


def lines_of(axes):
    return [(len(line.get_xdata()), line.get_linestyle()) for line in axes.lines]


def test_theory_is_a_fine_line_where_it_is_given():
    fine = phase_diagram_figure([diagram()]).axes[0]
    coarse = phase_diagram_figure([diagram(theory_line=None)]).axes[0]
    assert (200, "-") in lines_of(fine)
    assert (200, "-") not in lines_of(coarse)
    assert len(coarse.collections) == len(fine.collections) + 1  # the contour


def test_a_law_may_have_lines_of_theory_and_of_what_was_expected():
    data = law()
    rows = [{"x": x, "value": None if x < 40 else 3e5 / x} for x in range(32, 129)]
    data["panels"][0] |= {"theory_line": rows, "expected_line": rows}
    figure = scaling_figure(data)
    assert [each for each in lines_of(figure.axes[0]) if each[0] == 97] == [(97, "-"), (97, "-.")]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == [*("measured", "power law fitted", "predicted", "expected", "bound")]
