"""``convert``, ``methods``, ``demo``, ``doctor``, the options of all, and how fast they start."""

import json
import os
import re
import subprocess
import sys
from functools import partial

import numba
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix import kernels
from directrix.cli import compiling, demo
from directrix.kernels import CacheFolder, Survey
from directrix.registry import COMMANDS


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.bz2", ".txt.xz"])
def test_convert_keeps_every_bit(files, tmp_path, suffix):
    target = tmp_path / f"copy{suffix}"
    result = succeed("convert", files.train, target)
    assert "150 rows, 15 queries, 4 features" in result.stderr
    a, b = dx.read_letor(files.train), dx.read_letor(target)
    assert a.features.tobytes() == b.features.tobytes()
    assert a.labels.tobytes() == b.labels.tobytes()
    assert a.query_ids == b.query_ids
    assert list(a.doc_ids) == list(b.doc_ids)


def test_convert_writes_judgments(files, tmp_path):
    run("convert", files.test, tmp_path / "test.qrels")
    qrels, q = dx.read_trec_qrels(tmp_path / "test.qrels"), dx.read_letor(files.test)
    assert qrels.labels.tolist() == q.labels.tolist()
    assert list(qrels.doc_ids) == list(q.doc_ids)


def test_methods_lists_all_and_shows_one():
    table = run("methods").stdout.splitlines()
    names = [m.name for m in dx.methods()]
    assert [line.split()[0] for line in table[1:]] == names
    assert not [line for line in table if "<" in line]  # no function is shown as an address
    assert "Eq. 22" in run("methods", "approxap").stdout
    assert "[10], [50]" in run("methods", "MLP").stdout
    assert "ApproxNDCG" in json.loads(run("methods", "auto", "-f", "json").stdout)[0]["tries"]["NDCG"]
    found = json.loads(run("methods", "--format", "json").stdout)
    assert [entry["name"] for entry in found] == names
    assert found[names.index("ApproxNDCG")]["grid"]["alpha"] == [3.0, 10.0, 30.0]
    assert run("methods", "ApproxXX").exit_code == 2


def test_doctor_describes_the_installation():
    facts = json.loads(run("doctor", "-f", "json").stdout)
    assert facts["directrix"] == dx.__version__
    assert facts["threads"] == dx.get_threads()
    assert {"python", "numpy", "numba", "scikit-learn"} <= set(facts)


def test_doctor_shows_the_kernels_that_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels._CONFIG, "CACHE_DIR", "")
    found = json.loads(run("doctor", "-f", "json").stdout)["kernels"]
    assert 0 <= found["compiled"] <= found["kernels"]
    folders = [place["folder"].rsplit("/", 1)[1] for place in found["places"]]
    if "NUMBA_CACHE_DIR" in os.environ:  # modules that were imported before this test keep to its folder
        assert set(folders) == {"_kernels_*"}
    else:
        assert folders == ["__pycache__", "_kernels_*"]
    stale = tmp_path / "a.f.nbc"
    stale.write_bytes(bytes(3 * 2**20))
    places = [
        CacheFolder("/a/*", writable=True, files=7, size=2**20),
        CacheFolder("/b/*", writable=False, files=0, size=0),
    ]
    monkeypatch.setattr(kernels, "survey", lambda: Survey("a-cpu", 9, 7, 2, places, [stale]))
    shown = [
        line.split(None, 1) for line in run("doctor").stdout.replace("kept in", "kept").splitlines()[-5:]
    ]
    assert shown == [
        ["kernels", "9, compiled for a-cpu: 7"],
        ["from", "the wheel  2 that Python calls, with all that they call, compiled for x86-64-v3"],
        ["kept", "/a/* (writable, 7 files, 1.0 MiB)"],
        ["kept", "/b/* (not writable, 0 files, 0.0 MiB)"],
        ["stale", "1 files, 3.0 MiB; directrix doctor --compile removes them"],
    ]


def few_steps(monkeypatch, *, writable=True):
    """Let ``--compile`` take some of its steps, and find folders that can be written or not."""
    places = [CacheFolder("/a/*", writable=writable, files=0, size=0)]
    monkeypatch.setattr(kernels, "survey", lambda: Survey("a-cpu", 9, 7, 0, places, []))
    every = compiling.steps()
    names = (
        "measures",
        "surrogates lambdas",
        "surrogates dorm",
        "method ListNet",
        "soft ranks",
        "stumps",
        "reading",
    )
    monkeypatch.setattr(compiling, "steps", lambda: {name: every[name] for name in names})


@pytest.mark.slow
def test_doctor_compiles_and_says_how_long_it_took(monkeypatch):
    few_steps(monkeypatch)
    result = run("--threads", 1, "doctor", "--compile", "-f", "json")
    dx.set_threads(None)
    assert "compiling: 1 of 7, measures" in result.stderr
    assert re.search(
        r"^(compiled|everything was compiled already:) \d+ kernel signatures (read )?in \d+\.\d s$",
        result.stderr,
        re.M,
    )
    assert set(json.loads(result.stdout)["compile"]) == {"seconds", "compiled", "found", "removed"}


def test_doctor_refuses_to_compile_for_nothing(monkeypatch, files):
    assert run("doctor", files.train, "--compile").exit_code == 2
    with monkeypatch.context() as patched:
        few_steps(patched, writable=False)
        refused = run("doctor", "--compile")
    assert refused.exit_code == 1
    assert "/a/* cannot be written. Set the environment variable NUMBA_CACHE_DIR" in refused.stderr
    kernels.all_kernels()  # those imported later would stay functions of Python in other tests
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert "NUMBA_DISABLE_JIT turns compilation off" in run("doctor", "--compile").stderr


def test_doctor_names_the_optional_packages(monkeypatch):
    import importlib.metadata

    def without_torch(name, known=importlib.metadata.version):
        if name in ("torch", "piqp"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "4.5.6" if name == "lightgbm" else known(name)

    monkeypatch.setattr(importlib.metadata, "version", without_torch)
    facts = json.loads(run("doctor", "-f", "json").stdout)
    assert facts["lightgbm"] == "4.5.6"
    assert facts["torch"] == 'not installed: pip install "directrix[torch]"'
    assert facts["piqp"] == "not installed: pip install piqp"


def test_doctor_audits_files_and_what_they_share(files):
    result = succeed("doctor", files.train, files.train, files.test)
    assert "150" in result.stdout
    found = json.loads(run("doctor", files.train, files.test, "-f", "json").stdout)
    assert [entry["n_queries"] for entry in found["files"]] == [15, 8]
    assert found["overlaps"][0]["queries"] == 0


def test_doctor_counts_missing_values(tmp_path):
    (tmp_path / "d.txt").write_text("1 qid:1 1:NULL 2:1\n0 qid:1 1:1 2:2\n")
    result = succeed("doctor", tmp_path / "d.txt")
    assert "1 values are missing" in result.stderr


def test_demo_compares_the_methods_and_saves_the_chosen_model(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_data", partial(demo._data, n_docs=12, n_features=10))  # seconds, not minutes
    monkeypatch.setattr(demo, "_SHORT", {"epochs": 5})
    result = succeed("demo", "-o", tmp_path / "demo", "-f", "json")
    rows = json.loads(result.stdout)["rows"]
    assert rows[0]["method"] == "Regression"
    assert rows[-1]["method"] == "auto"
    assert rows[-1]["difference"] > 0.02
    assert rows[-1]["p"] < 0.001
    assert "surrogate error of ApproxNDCG, alpha 10" in result.stderr
    assert dx.load(tmp_path / "demo" / "model.json").n_features_in_ == 10
    assert "459 random directions" in result.stderr
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "test queries" in page


def test_version():
    result = run("--version")
    assert (result.exit_code, result.stdout.strip()) == (0, f"directrix {dx.__version__}")


def test_threads_are_set_for_the_run():
    try:
        assert json.loads(run("--threads", "3", "doctor", "-f", "json").stdout)["threads"] == 3
    finally:
        dx.set_threads(None)


OF_SCIKIT_LEARN = {"numpy", "scipy", "scipy.sparse", "sklearn", "pandas", "polars", "pyarrow", "narwhals"}
OF_KERNELS = {"numpy", "scipy", "numba"}
OF_TYPER = {"pydantic", "rich"}
HEAVY = OF_SCIKIT_LEARN | OF_KERNELS | OF_TYPER | {"lightgbm", "torch", "matplotlib"}


def modules_after(code):
    program = f"{code}\nimport sys\nprint('modules', *(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        ("import directrix", set()),
        ("from directrix.cli.main import app", set()),
        ("directrix --version", OF_TYPER),
        ("directrix --help", OF_TYPER),
        ("directrix train --help", OF_TYPER),
        ("directrix evaluate {qrels} {run} -m nDCG@10", OF_TYPER | OF_KERNELS),
        ("directrix evaluate {files.test} {files.scores}", OF_TYPER | OF_KERNELS),
        ("directrix evaluate {files.test} {files.model}", OF_TYPER | OF_KERNELS),
        ("directrix predict {files.model} {files.test}", OF_TYPER | OF_KERNELS),
        ("directrix predict {trees} {files.test}", OF_TYPER | OF_KERNELS),
        ("directrix compare {qrels} {run} {other}", OF_TYPER | OF_KERNELS | {"scipy.sparse"}),
        ("import directrix as dx; dx.read_trec_run('{run}')", {"numpy"}),
        ("import directrix as dx; dx.evaluate('nDCG', [2.0, 1.0], [0, 1], group=[2])", OF_KERNELS),
        ("import directrix as dx; dx.load('{files.model}')", OF_SCIKIT_LEARN),
        (
            "import directrix as dx; q = dx.read_letor('{files.test}');"
            "dx.load('{files.model}').predict_queries(q)",
            OF_SCIKIT_LEARN | OF_KERNELS,
        ),
    ],
)
def test_each_start_imports_only_what_it_needs(code, modules, files, tmp_path):
    for name in ("run", "other"):
        (tmp_path / name).write_text(f"1 Q0 a 1 2 {name}\n2 Q0 a 1 2 {name}\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    dx.BoostedRanker(n_trees=2).fit_queries(dx.read_letor(files.test)).save(tmp_path / "trees")
    code = code.format(files=files, **{n: tmp_path / n for n in ("run", "other", "qrels", "trees")})
    if code.startswith("directrix "):
        code = f"from directrix.cli.main import app\napp({code.split()[1:]}, standalone_mode=False)"
    if "numba" in modules:  # it loads scipy.linalg, which loads scipy.sparse in older versions
        modules = modules | modules_after("import scipy.linalg")
    assert modules_after(code) <= modules


def test_a_closed_pipe_is_no_error(files):
    command = f"{sys.executable} -m directrix predict {files.model} {files.test} | head -1"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in found.stderr


def test_python_m_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "directrix", "predict", "--help"], capture_output=True, text=True, check=True
    )
    assert "Usage: directrix predict" in done.stdout


def test_a_shell_can_complete_the_names_of_commands():
    asked = {"_DIRECTRIX_COMPLETE": "complete_bash", "COMP_WORDS": "directrix lab cro", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "directrix"], capture_output=True, text=True, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["crossval"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_arguments_in_capitals_and_no_types_of_python(command):
    *group, word = command.split()
    assert word in run(*group, "--help").stdout
    assert (group or [word])[0] in run("--help").stdout
    text = succeed(*group, word, "--help").stdout
    assert not re.search(r"list\[|Path\]|<class|None", text)
    _, _, arguments = text.partition("[OPTIONS]")
    arguments = arguments.partition("\n")[0]
    assert arguments == arguments.upper(), "an argument without metavar="


def test_the_list_of_commands_has_their_first_sentence_alone():
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", succeed("--help").stdout).split())
    assert "Test which of several rankings of the same queries differ by more than chance. explain " in text
    assert "Exit status 3" in succeed("compare", "--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [("predict", "a", "b", "--missing", "zzz"), ("demo", "-f", "xml"), ("compare", "a", "b", "--test", "z")],
)
def test_a_wrong_choice_is_said_in_our_words(arguments):
    message = refused(*arguments, status=2)
    assert "Value error" not in message
    assert "is not one of" in message
