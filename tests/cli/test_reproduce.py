"""``directrix lab reproduce``: files, tables, and a run that is taken up again."""

import importlib.util
import json
import sys

import pytest
from tests.commands import refused, run, succeed
from tests.docs.blocks import blocks
from tests.experiments.artificial import write_collection

from directrix import InputError
from directrix.papers import PAPERS, find_paper

FILES = {
    *("cells.jsonl", "page.md", "report.html", "settings.json", "tables.json", "tables.tex", "tables.txt"),
    *("tables", "figures"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("trec"))


@pytest.fixture(scope="module")
def done(data, tmp_path_factory):
    """A folder with a quick run, and what it printed."""
    folder = tmp_path_factory.mktemp("out") / "yue"
    result = succeed("lab", "reproduce", "yue2007", "--data", data, "-o", folder, "--quick", "--jobs", 1)
    return folder, result


def without_times(document):
    """The numbers of a document: all but seconds."""
    return document["per_query"], [t for t in document["tables"] if "seconds per trial" not in t["columns"]]


def test_the_folder_and_the_screen_have_the_tables_of_the_paper(done):
    folder, result = done
    assert {path.name for path in folder.iterdir()} == FILES
    assert result.stdout.strip() == (folder / "tables.txt").read_text().strip()
    titles = [line.split(":")[0] for line in result.stdout.splitlines() if line.startswith("Table ")]
    assert titles == [f"Table {number}" for number in range(1, 12)]
    shown, claims = result.stdout.split("Claims of the paper.")
    assert shown.count("SVMacc4") == 3 + 4  # tables 9-11, and the four data sets of the table of C
    assert claims.count("SVMmap is better than SVMacc4") == 4
    assert "0.242" not in result.stdout  # a published value: this is a quick run
    assert (
        "holds: 0; does not hold: 0; not significant at this number of queries: 0; not tested: 30" in claims
    )
    assert f"written: {folder}/tables.txt" in result.stderr


def test_json_is_what_the_folder_has(data, done):
    folder, _ = done
    result = run("lab", "reproduce", "yue2007", "--data", data, "-o", folder, "--quick", "--format", "json")
    document = json.loads(result.stdout)
    assert document == json.loads((folder / "tables.json").read_text())
    *_, last = document["per_query"]
    assert last["name"] == "all without the best"
    assert len(last["values"]["SVMroc"]) == len(last["queries"])


def test_settings_say_what_the_figures_depend_on(done):
    settings = json.loads((done[0] / "settings.json").read_text())
    assert settings["fixed"]["seed"] == 0
    assert settings["fixed"]["grid"]["bins"] == 50
    assert len(settings["fixed"]["grid"]["hinge_c"]) == 3  # --quick
    assert settings["trials"] == 2
    assert settings["fixed"]["data"].keys() == {"TREC-7"}
    assert {"numpy", "scikit-learn", "python"} <= settings["installation"].keys()
    assert settings["seconds"]["all parts"] > 0


def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_tables(data, done, tmp_path):
    folder, _ = done
    lines = (folder / "cells.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "settings.json").write_text((folder / "settings.json").read_text())
    (tmp_path / "cells.jsonl").write_text("".join(lines[:5]) + lines[5][:40])  # killed in the sixth
    succeed("lab", "reproduce", "yue2007", "--data", data, "-o", tmp_path, "--quick", "--jobs", 1)
    now = (tmp_path / "cells.jsonl").read_text().splitlines(keepends=True)
    assert now[:5] == lines[:5]  # their seconds too: not run again
    assert len(now) == len(lines) == 12
    tables = [json.loads((where / "tables.json").read_text()) for where in (folder, tmp_path)]
    assert without_times(tables[0]) == without_times(tables[1])


def test_a_finished_run_is_only_shown(data, done):
    folder, first = done
    before = (folder / "cells.jsonl").read_bytes()
    again = run("lab", "reproduce", "yue2007", "--data", data, "-o", folder, "--quick")
    assert again.stdout == first.stdout
    assert (folder / "cells.jsonl").read_bytes() == before


def test_more_trials_keep_those_that_are_there(data, done, tmp_path):
    folder, _ = done
    for name in ("settings.json", "cells.jsonl"):
        (tmp_path / name).write_text((folder / name).read_text())
    succeed(
        "lab", "reproduce", "yue2007", "--data", data, "-o", tmp_path, "--quick", "--trials", 3, "--jobs", 1
    )
    assert (tmp_path / "cells.jsonl").read_text().startswith((folder / "cells.jsonl").read_text())
    assert (tmp_path / "cells.jsonl").read_text().count("\n") == 16


def test_a_run_of_other_settings_is_refused(data, done):
    folder, _ = done
    message = refused("lab", "reproduce", "yue2007", "--data", data, "-o", folder, "--quick", "--seed", 1)
    assert "belongs to a run with seed 0, which cannot be resumed with seed 1" in message
    assert f"-o {folder}-2" in message


def test_the_page_says_how_to_make_it_again_and_has_nothing_that_a_test_would_run(done):
    page = (done[0] / "page.md").read_text()
    assert "what `directrix lab reproduce yue2007 --data DIR --quick` writes; the same command" in page
    assert "**Table 6: Comparison with base functions**" in page
    assert blocks(page) == []


def test_latex_has_a_table_for_each(done):
    text = (done[0] / "tables.tex").read_text()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 16
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert r"39/11 **" not in text  # a published value


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["nobody1999", "--data", "."],
            2,
            "'nobody1999' is not the name of a paper. Give one of these. ",
        ),
        (["yue2007", "--data", "."], 1, "qrels.trec7.txt; the judgments and runs of TREC-7 are needed"),
        (["yue2007", "--data", ".", "--jobs", "0"], 2, "--jobs 0: a number of parallel training runs"),
        (["yue2007"], 2, "--data"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, monkeypatch, arguments, status, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("lab", "reproduce", *arguments, status=status)
    assert not list(tmp_path.iterdir())


def test_an_output_that_is_a_file_is_refused_before_the_work(data, tmp_path):
    (tmp_path / "out").write_text("mine")
    assert "is a file; a folder is needed" in refused(
        "lab", "reproduce", "yue2007", "--data", data, "-o", tmp_path / "out", "--quick"
    )
    assert (tmp_path / "out").read_text() == "mine"


def test_a_paper_is_asked_with_all_options_and_its_claims_are_printed(asked, tmp_path):
    options = ("--seed", 7, "--trials", 3, "--quick", "--jobs", 2)
    result = succeed("lab", "reproduce", "some2010", "--data", tmp_path, "-o", tmp_path / "o", *options)
    (request,) = asked
    assert (request.seed, request.trials, request.quick, request.jobs) == (7, 3, True, 2)
    assert request.command == "directrix lab reproduce some2010 --data DIR --trials 3 --quick --seed 7"
    assert "Claims checked: 3; holds: 1; does not hold: 1; not significant" in result.stdout
    lines = result.stdout.splitlines()
    at = lines.index("✗ does not hold    Sect. 6: LambdaRank is best")
    assert lines[at + 1].strip() == "0.42, p = 1e-05"
    assert "Claims" not in result.stderr


def test_json_has_claims_and_values_by_query(asked, tmp_path):
    result = run("lab", "reproduce", "some2010", "--data", tmp_path, "-o", tmp_path / "o", "-f", "json")
    document = json.loads(result.stdout)
    assert [claim["verdict"] for claim in document["claims"]] == ["holds", "not significant", "does not hold"]
    first = document["per_query"][0]
    assert (first["name"], first["measure"], len(first["queries"])) == ("OHSUMED", "nDCG@10", 30)
    assert len(first["values"]["ListNet"]) == 30
    assert document["missing"] == [{"what": "TD2003", "why": "the data are not there."}]


def test_the_page_may_be_written_for_a_site_too(asked, tmp_path):
    site = tmp_path / "site"
    succeed("lab", "reproduce", "some2010", "--data", tmp_path, "-o", tmp_path / "o", "--page", site)
    assert sorted(str(p.relative_to(site)) for p in site.rglob("*.*")) == [
        "some2010.md",
        "some2010/02-table-3-chosen.csv",
        "some2010/accuracy.png",
        "some2010/claims.csv",
    ]
    assert "](some2010/accuracy.png)" in (site / "some2010.md").read_text()
    assert str(tmp_path) not in (site / "some2010.md").read_text()


def test_a_page_folder_that_is_a_file_is_refused_before_the_work(asked, tmp_path):
    (tmp_path / "pages").write_text("")
    assert "is a file; a folder is needed" in refused(
        "lab",
        "reproduce",
        "some2010",
        "--data",
        tmp_path,
        "-o",
        tmp_path / "run",
        "--page",
        tmp_path / "pages",
    )
    assert asked == []


def test_without_matplotlib_nothing_begins(asked, tmp_path, monkeypatch):
    monkeypatch.setattr("directrix.reports.figures.importlib.util.find_spec", without("matplotlib"))
    assert 'pip install "directrix[plot]"' in refused(
        "lab", "reproduce", "some2010", "--data", tmp_path, "-o", tmp_path / "o"
    )
    assert asked == []
    assert not (tmp_path / "o").exists()


def without(name):
    """As `importlib.util.find_spec` is where a package is not installed."""
    find = importlib.util.find_spec
    return lambda asked, *rest: None if asked == name else find(asked, *rest)


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_of_the_list_is_found(name):
    assert callable(find_paper(name).reproduce)


def test_trials_of_a_paper_that_has_none_are_refused(tmp_path):
    result = run("lab", "reproduce", "he2010", "--data", tmp_path, "-o", tmp_path / "o", "--trials", 3)
    assert result.exit_code == 2
    message = " ".join(result.stderr.replace("│", " ").split())
    assert "trials=3: he2010 has no random splits" in message
    assert not (tmp_path / "o").exists()


def test_what_the_data_lack_is_one_error(monkeypatch, asked, tmp_path):
    def fail(request):
        raise InputError(f"{request.data}/letor: is missing")

    made_by_hand = sys.modules["directrix.papers.some2010_page"].PAPER
    monkeypatch.setattr(made_by_hand, "reproduce", fail)
    result = run("lab", "reproduce", "some2010", "--data", "nowhere", "-o", tmp_path / "o")
    assert result.exit_code == 1
    assert result.stderr.strip() == "error: nowhere/letor: is missing"
    assert not (tmp_path / "o").exists()
