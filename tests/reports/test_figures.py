"""Figures: deterministic, readable, text as text."""

import io
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from directrix.errors import InputError
from directrix.reports.figures import GRID, INK, across, data_of, draw
from directrix.reports.report import Curve, Figure, Panel
from tests.messages import rejects

from .hand_made import HOSTILE, report

ACCURACY = report().figures[0]


def drawn(*curves, **panel):
    made = Panel("p", curves, "x", "y", **panel)
    return draw(Figure("f", "t", (made,), "a"), "svg").decode()


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_a_figure_has_the_same_bytes_every_time(form):
    lines, bars = (replace(ACCURACY, panels=(panel,)) for panel in ACCURACY.panels)
    first = draw(lines, form)
    assert first == draw(lines, form)
    assert first != draw(bars, form)
    assert b"matplotlib v" not in first.lower()
    assert b"<dc:date>" not in first
    assert b"CreationDate" not in first


def test_the_fonts_are_in_the_pdf_as_truetype():
    pdf = draw(ACCURACY, "pdf")
    assert pdf.startswith(b"%PDF-")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_the_points_of_a_figure_are_a_table():
    curves = Curve("a", np.array([1.0, 2.0]), np.array([0.5, np.nan])), Curve("b", [0], [3], "bars")
    panels = Panel("left", curves, "x", "y"), Panel("", curves[1:], "x", "height", x_names=("one",))
    table = data_of(Figure("f", "t", panels, "a"))
    assert table.columns == ("panel", "curve", "x", "y")
    assert list(map(str, table.rows)) == [
        "('left', 'a', 1.0, 0.5)",
        "('left', 'a', 2.0, nan)",
        "('left', 'b', 0.0, 3.0)",
        "('height', 'b', 'one', 3.0)",
    ]


def test_png_is_an_image_with_a_white_ground():
    from matplotlib import image

    pixels = image.imread(io.BytesIO(draw(ACCURACY, "png")))
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 1200
    np.testing.assert_allclose(pixels[0, 0], 1.0, rtol=0, atol=0)


def test_svg_has_its_labels_as_text_and_colors_that_a_page_can_replace():
    svg = draw(ACCURACY, "svg").decode()
    assert {"OHSUMED", "alpha (1 / score)", "error", "bound", "LambdaRank"} <= set(texts(svg))
    assert INK in svg
    assert GRID in svg
    assert "fill: #ffffff" not in svg


def test_a_label_is_text_whatever_is_in_it():
    names = ("a $x_1$ b", "$", "_hidden", "\\frac", HOSTILE, "<&>")
    x = np.arange(3.0)
    svg = drawn(*(Curve(name, x, x) for name in names), x_names=names)
    assert "<b>" not in svg
    for name in names:
        plain = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert svg.count(f">{plain}</text>") == 2, name  # legend and axis


def test_curves_without_label_make_no_legend():
    x = np.arange(3.0)
    assert 'id="legend_1"' not in drawn(Curve("", x, x))
    assert 'id="legend_1"' in drawn(Curve("a", x, x))


def test_panels_of_the_same_curves_share_a_legend():
    line = Curve("only once", np.arange(3.0), np.arange(3.0))
    panels = tuple(Panel(str(i), (line,), "x", "y") for i in range(3))
    assert texts(draw(Figure("f", "t", panels, "a"), "svg").decode()).count("only once") == 1


def test_panels_stand_in_rows():
    assert [across(n) for n in (1, 2, 3, 4, 5, 7)] == [1, 2, 3, 2, 3, 3]
    line = Curve("", np.arange(3.0), np.arange(3.0))
    svg = draw(Figure("f", "t", (Panel("p", (line,), "x", "y"),) * 5, "a"), "svg").decode()
    assert len(re.findall(r'id="axes_\d+"', svg)) == 5


@pytest.mark.parametrize(("most", "expected"), [(50.0, ["1", "2", "5", "10", "20", "50"]), (1000.0, [])])
def test_a_short_logarithmic_axis_has_plain_numbers(most, expected):
    svg = drawn(Curve("", np.array([1.0, most]), np.array([0.31, 0.32])), x_scale="log")
    assert [text for text in texts(svg) if text in ("1", "2", "5", "10", "20", "50")] == expected


def test_values_that_an_axis_cannot_show_are_left_out_without_a_warning():
    nan, inf = np.nan, np.inf
    x = np.array([0.0, 1.0, 2.0])
    rows = ([nan, 1.0, 2.0], [0.0] * 3, [-1.0, -2.0, -3.0], [nan] * 3, [0.0, 1.0, 10.0], [inf, 1.0, 2.0])
    styles = ("line", "points", "dashed", "bars")
    sets = [tuple(Curve("c", x, np.array(y), style) for style in styles) for y in rows]
    sets.append((Curve("c", np.zeros(0), np.zeros(0)),))
    panels = tuple(Panel("p", curves, "x", "y", x_scale="log", y_scale="log") for curves in sets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(Figure("f", "t", panels, "a"), "svg").startswith(b"<?xml")


def test_bars_of_two_curves_stand_next_to_each_other():
    svg = drawn(*(Curve(name, np.arange(2.0), np.ones(2), "bars") for name in "ab"))
    bars = re.findall(r'<path d="([^"]+)" clip-path="[^"]+" style="fill: (#\w+)"', svg)
    edges = {}
    for path, color in bars:
        x = [float(text) for text in re.findall(r"[ML] ([\d.]+)", path)]
        edges.setdefault(color, []).append((min(x), max(x)))
    first, second = (sorted(spans) for spans in edges.values())
    for (_, right), (left, _) in zip(first, second, strict=True):
        np.testing.assert_allclose(right, left, rtol=0, atol=1e-3)  # side by side
    assert second[0][1] < first[1][0]  # with room between the groups


def test_curves_have_one_y_for_each_x():
    with rejects(InputError):
        Curve("a", np.arange(2.0), np.arange(3.0))
