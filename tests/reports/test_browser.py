"""The HTML page in a browser: sorting, queries by mouse and by keys, dark, a phone, hostile names."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from directrix.reports.figures import draw
from directrix.reports.html import html
from directrix.reports.report import Claim, Curve, Figure, Panel, PerQuery, Section
from directrix.tables import Table

from .hand_made import HOSTILE, per_query, report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]


def page_of(value):
    return html(value, {figure.name: draw(figure, "svg").decode() for figure in value.figures})


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("html") / "report.html"
    path.write_text(page_of(report()), encoding="utf-8")
    return path


@pytest.fixture
def look(browser, written):
    """Open a file; at the end nothing may have been loaded beside it, and no error written."""
    opened = []

    def look(path=written, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        opened.append((context, path, said, asked))
        return page

    yield look
    for context, path, said, asked in opened:
        context.close()
        assert said == []
        assert asked == [path.as_uri()]


def column(page, table, number):
    """Texts of a column of a table with that caption."""
    rows = page.locator(f"table:has(caption:text('{table}')) tbody tr")
    return [row.locator("> *").nth(number).inner_text() for row in rows.all()]


def sort(page, table, number):
    return page.locator(f"table:has(caption:text('{table}')) thead tr:last-child th").nth(number)


def test_a_click_sorts_up_then_down_then_as_it_was(look):
    page = look()
    before = column(page, "Table 2", 0)
    head = sort(page, "Table 2", 1)
    head.locator("button").click()
    assert column(page, "Table 2", 1) == ["0.100", "0.439", "0.447", "0.451"]
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.locator("#said").inner_text() == "Rows by nDCG@10, ascending"
    head.locator("button").click()
    assert column(page, "Table 2", 0) == ["ApproxNDCG", "ListNet", "SVMmap", "10 trees"]
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert column(page, "Table 2", 0) == before
    assert head.get_attribute("aria-sort") == "none"


def test_numbers_sort_by_their_digits_and_cells_without_value_stand_last(look):
    page = look()
    sort(page, "Table 3", 1).locator("button").click()
    assert column(page, "Table 3", 1) == ["20", "100"]
    head = sort(page, "Table 2", 4)
    head.locator("button").click()
    assert column(page, "Table 2", 4) == ["0.003", "0.006", "3", "–"]  # not as text, not as rounded
    head.locator("button").click()
    assert column(page, "Table 2", 4) == ["3", "0.006", "0.003", "–"]
    sort(page, "Table 2", 2).locator("button").click()
    assert column(page, "Table 2", 2) == ["0.000", "0.446", "0.447", "–"]
    assert head.get_attribute("aria-sort") == "none"  # one column at a time


def test_text_sorts_with_its_numbers(look):
    page = look()
    sort(page, "Table 2", 0).locator("button").click()
    assert column(page, "Table 2", 0) == ["10 trees", "ApproxNDCG", "ListNet", "SVMmap"]


def test_sorting_works_by_keyboard(look):
    page = look()
    sort(page, "Table 2", 1).locator("button").focus()
    page.keyboard.press("Enter")
    assert column(page, "Table 2", 1)[0] == "0.100"
    page.keyboard.press("Space")
    assert column(page, "Table 2", 1)[0] == "0.451"
    sort(page, "Claims", 2).locator("button").focus()
    page.keyboard.press("Enter")
    assert column(page, "Claims", 2) == ["✓ holds", "≈ not significant", "✗ does not hold"]
    page.keyboard.press("Enter")
    assert column(page, "Claims", 2) == ["✗ does not hold", "≈ not significant", "✓ holds"]


def test_full_digits_are_in_the_title(look):
    cell = look().locator("td[title='0.4512345']")
    assert cell.inner_text() == "0.451"
    assert cell.get_attribute("data-value") == "0.4512345"


def differences():
    """Queries by falling difference of the first two methods."""
    part = report().per_query[0]
    by = part.values["ApproxNDCG"] - part.values["ListNet"]
    order = np.lexsort((np.arange(len(by)), -by))
    return [(part.query_ids[i], float(by[i])) for i in order]


def test_the_methods_are_compared_query_by_query(look):
    page = look()
    by = [value for _, value in differences()]
    score = page.locator("#score").inner_text()
    assert (
        f"ApproxNDCG is higher on {sum(v > 0 for v in by)}, ListNet on {sum(v < 0 for v in by)} of 30"
        in score
    )
    assert f"{abs(np.mean(by)):.4f}" in score
    options = page.locator("#query option").all_inner_texts()
    assert [text.split()[0] for text in options] == [query for query, _ in differences()]
    page.locator("#second").select_option("ApproxNDCG")
    assert "is higher on 0, ApproxNDCG on 0 of 30 queries, level on 30" in page.locator("#score").inner_text()


def test_a_query_is_chosen_by_mouse(look):
    page = look()
    box = page.locator("#plot").bounding_box()
    for place in (0, 11, 29):
        page.locator("#plot").click(position={"x": box["width"] * (place + 0.5) / 30, "y": 20})
        query, value = differences()[place]
        said = page.locator("#chosen").inner_text()
        assert said.startswith(f"Query {query}: ApproxNDCG ")
        assert f"{abs(value):.4f}" in said
        assert page.locator("#query").input_value() == str(place)


def test_a_query_is_chosen_by_keys(look):
    page = look()
    plot = page.locator("#plot")
    plot.focus()
    for key, place in (
        *(("ArrowRight", 1), ("ArrowUp", 2), ("ArrowLeft", 1), ("PageUp", 11), ("PageDown", 1), ("End", 29)),
        *(("ArrowRight", 29), ("Home", 0), ("ArrowLeft", 0)),
    ):
        page.keyboard.press(key)
        assert page.locator("#query").input_value() == str(place), key
        assert plot.get_attribute("aria-valuenow") == str(place + 1)
        assert plot.get_attribute("aria-valuetext").startswith(f"Query {differences()[place][0]}:")
    page.locator("#after").focus()
    page.keyboard.press("Enter")
    assert page.locator("#query").input_value() == "1"
    page.locator("#query").select_option(index=5)
    assert page.locator("#chosen").inner_text().startswith(f"Query {differences()[5][0]}:")


def test_the_two_rankings_stand_side_by_side_with_their_labels(look):
    page = look()
    part = report().per_query[0]
    query = part.query_ids.index(differences()[0][0])
    for side, method in enumerate(("ApproxNDCG", "ListNet")):
        rows = page.locator(f"#ranking-{side} tbody tr")
        other = [doc for doc, _, _ in part.rankings[("ListNet", "ApproxNDCG")[side]][query]]
        assert rows.count() == 10
        for rank, (doc, label, score) in enumerate(part.rankings[method][query], 1):
            cells = rows.nth(rank - 1).locator("> *").all_inner_texts()
            there = str(other.index(doc) + 1) if doc in other else "–"
            assert cells == [str(rank), "■" * label + "□" * (2 - label) + f" {label}", doc, cells[3], there]
            assert float(cells[3]) == pytest.approx(score, rel=1e-3)
    left, right = (page.locator(f"#ranking-{side}").bounding_box() for side in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_measures_of_the_same_rankings_share_them(look, tmp_path):
    first, other = report().per_query
    again = replace(first, measure="AP", values={name: 1 - v for name, v in first.values.items()})
    text = page_of(report(per_query=(first, other, again), figures=()))
    assert text.count('"D003"') == page_of(report(figures=())).count('"D003"')
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    page = look(tmp_path / "report.html")
    page.locator("#set").select_option("OHSUMED, AP")
    options = page.locator("#query option").all_inner_texts()
    (place,) = [i for i, text in enumerate(options) if text.startswith("105 ")]
    page.locator("#query").select_option(index=place)
    shown = page.locator("#ranking-1 tbody th").all_inner_texts()
    assert shown == [doc for doc, _, _ in first.rankings["ListNet"][5]]
    assert len(shown) == 10


def test_a_query_without_ranking_says_so(look):
    page = look()
    place = [query for query, _ in differences()].index("129")  # the last, of which none was kept
    page.locator("#query").select_option(index=place)
    assert page.locator("#ranking-0 p").inner_text() == "No ranking of this query was kept."


def test_another_measure_has_its_own_queries_and_methods(look):
    page = look()
    page.locator("#first").select_option("LambdaRank")
    page.locator("#set").select_option("MQ2008, AP")
    assert page.locator("#first option").all_inner_texts() == ["ApproxNDCG", "ListNet", "SVMmap"]
    assert "of 12 queries" in page.locator("#score").inner_text()
    assert "difference of AP" in page.locator("#score").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_light_or_dark_as_asked_and_can_be_changed(look, scheme):
    page = look(color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('figure svg text')).fill"
    colors = {
        "light": ("rgb(255, 255, 255)", "rgb(34, 38, 43)"),
        "dark": ("rgb(21, 24, 28)", "rgb(228, 231, 235)"),
    }
    assert (page.evaluate(ground), page.evaluate(ink)) == colors[scheme]
    button = page.locator("#theme")
    assert button.get_attribute("aria-pressed") == str(scheme == "dark").lower()
    button.click()
    other = {"light": "dark", "dark": "light"}[scheme]
    assert (page.evaluate(ground), page.evaluate(ink)) == colors[other]
    assert button.inner_text() == scheme.capitalize()
    page.emulate_media(media="print")
    assert page.evaluate(ground) == colors["light"][0]  # paper is white


def test_on_a_phone_tables_scroll_and_the_page_does_not(look):
    page = look(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        frames = page.evaluate(
            "[...document.querySelectorAll('.frame, .ranking')].map(f => [f.scrollWidth, f.clientWidth])"
        )
        assert any(inner > outer for inner, outer in frames)
        assert all(outer <= width for _, outer in frames)


def test_the_first_tab_skips_to_the_content(look):
    page = look()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_everything_has_a_name_and_no_id_stands_twice(look, tmp_path):
    (one,) = report().figures
    value = report(figures=(one, replace(one, name="again")))
    drawing = draw(replace(one, panels=one.panels[:1]), "svg").decode()
    pictures = {figure.name: drawing for figure in value.figures}
    (tmp_path / "report.html").write_text(html(value, pictures), encoding="utf-8")
    page = look(tmp_path / "report.html")
    unnamed = """[...document.querySelectorAll('button, select, [role=slider], [role=img], [role=region]')]
        .filter(n => !(n.getAttribute('aria-label') || n.textContent.trim() || n.labels?.length)).length"""
    assert page.evaluate(unnamed) == 0
    assert page.get_by_role("img", name="Errors fall as alpha grows").count() == 2
    assert page.get_by_role("slider").count() == 1
    assert (
        page.evaluate(
            "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(n => n.id))"
        )
        == 0
    )


def hostile():
    """Every text of a report is one that would break out if it could."""
    values = {
        HOSTILE: np.array([0.5, 0.25]),
        "__proto__": np.array([0.25, np.nan]),
        "1": np.array([0.0, 1.0]),
    }
    rankings = {HOSTILE: (((HOSTILE, 1, 2.0), ("D2", 0, float("-inf"))), ())}
    line = Curve(HOSTILE, np.arange(3.0), np.arange(3.0))
    table = Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, 1),), groups=((HOSTILE, 2),), notes=(HOSTILE,))
    return report(
        title=HOSTILE,
        paper=HOSTILE,
        summary=(HOSTILE,),
        figures=(Figure("f", HOSTILE, (Panel(HOSTILE, (line,), HOSTILE, HOSTILE),), HOSTILE),),
        claims=(Claim(HOSTILE, HOSTILE, "holds", HOSTILE),),
        missing=((HOSTILE, HOSTILE),),
        how=(HOSTILE,),
        differs=(HOSTILE,),
        settings={HOSTILE: HOSTILE},
        command=HOSTILE,
        per_query=(PerQuery(HOSTILE, HOSTILE, (HOSTILE, "q2"), values, rankings),),
        sections=(Section(HOSTILE, (table,), (HOSTILE,)),),
    )


def test_no_name_breaks_out(look, tmp_path):
    (tmp_path / "report.html").write_text(page_of(hostile()), encoding="utf-8")
    page = look(tmp_path / "report.html")
    assert page.locator("b").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("h1").inner_text().startswith("</script><b>x</b>")
    assert page.locator("#first option").all_text_contents() == [HOSTILE, "__proto__", "1"]
    assert "On 1 queries one has no value." in page.locator("#score").inner_text()
    assert page.locator("#ranking-0 tbody th").first.inner_text().startswith("</script><b>")
    assert page.locator("#ranking-0 tbody tr").nth(1).locator("td").nth(2).inner_text() == "–"


@pytest.fixture
def changed(browser, written, tmp_path):
    """A function that opens the report with one text of it replaced."""

    def opened(text, other):
        path = tmp_path / "report.html"
        path.write_text(written.read_text(encoding="utf-8").replace(text, other), encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        return page

    return opened


def test_no_other_script_may_run(changed):
    page = changed("</body>", "<script>document.title = 'run'</script></body>")
    assert page.title() == "Some et al. (2010) on OHSUMED"
    page.close()


def test_links_and_forms_cannot_be_sent_elsewhere(changed):
    page = changed("<body>", '<base href="https://example.org/"><body><form action="sent.html"></form>')
    assert page.evaluate("document.baseURI").startswith("file:")
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.evaluate("document.forms[0].submit()")
    page.wait_for_timeout(200)
    assert any("form-action 'none'" in text for text in refused)
    assert page.url.endswith("report.html")
    page.close()


def test_a_report_of_text_alone_opens(look, tmp_path):
    bare = report(figures=(), claims=(), per_query=(), missing=(), differs=(), sections=())
    (tmp_path / "report.html").write_text(page_of(bare), encoding="utf-8")
    page = look(tmp_path / "report.html")
    assert page.locator("h2").all_inner_texts() == ["In short", "What was done", "How to repeat it"]


def test_thousands_of_queries_are_drawn_at_once(look, tmp_path):
    many = per_query(n=5000, methods=("a", "b"))
    value = report(per_query=(PerQuery("MSLR", "AP", many.query_ids, many.values),), figures=())
    (tmp_path / "report.html").write_text(page_of(value), encoding="utf-8")
    page = look(tmp_path / "report.html")
    page.locator("#plot").focus()
    page.keyboard.press("End")
    assert page.locator("#plot").get_attribute("aria-valuenow") == "5000"
    assert page.locator("#plot *").count() == 4
