"""``directrix lab certify``: whether weights are a local optimum of a measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark, show
from directrix.cli.reading import ModelOptions, check_writable, load_model
from directrix.data.shards.context import is_on_cluster
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.tables import Table


_STEPS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"


def lab_certify_command(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    measures: Annotated[
        list[str] | None,
        options.option(
            "--measure",
            "-m",
            metavar="NAME,...",
            help="Measures to test, e.g. AP,nDCG@10; repeatable. Default: the training measure.",
        ),
    ] = None,
    eps: Annotated[float, Option(help="Maximum undetected fraction of improving directions.")] = 0.01,
    delta: Annotated[float, Option(help="Maximum probability of a wrong certificate.")] = 0.01,
    steps: Annotated[str, Option(help="Step sizes, separated by commas.")] = _STEPS,
    relative: Annotated[
        bool, Option("--relative", help="Multiply step sizes by the norm of the weights.")
    ] = False,
    exact: Annotated[
        bool, Option("--exact", help="Linear models: also search every direction exactly, at all step sizes.")
    ] = False,
    one_weight: Annotated[
        bool,
        Option("--one-weight", help="Change one weight at a time instead of moving in random directions."),
    ] = False,
    polish: Annotated[
        bool, Option("--polish", help="Follow rising directions until a test finds none; requires -o.")
    ] = False,
    output: Annotated[
        Path | None, options.option("--output", "-o", help="Model file to write with --polish.")
    ] = None,
    seed: options.SeedOption = 0,
    reading: ModelOptions,
    cluster: options.ClusterOption = None,
    form: options.FormatOption = options.Format.table,
) -> None:
    """Test whether the weights of a model are a local optimum of a measure on the training data.

    Moves the weights in random directions (459 for the default --eps and --delta) and computes the measure
    after each step. With --polish, the weights follow rising directions, and the saved model passes the test.
    """
    from directrix.experiments.optimality.certificate import check_steps, n_directions
    from directrix.measures.names import measure

    with options.usage():
        goals = [measure(name) for name in options.measure_names(measures, default=())]
        n_directions(eps, delta)
        chosen = {"eps": eps, "delta": delta, "steps": check_steps(_step_sizes(steps)), "relative": relative}
        _check_polish(output, len(goals), polish=polish, other_test=exact or one_weight)
    check_writable(output, model, data)
    ranker = load_model(model, data)
    # On a cluster the data are a folder of shards, whose features no process reads as a whole.
    if is_on_cluster():
        from directrix.data.shards.queries import open_shards

        queries: Any = open_shards(data)
    else:
        queries = reading.read(ranker.model_, data, model)
    rows: list[dict[str, Any]] = []
    for goal in goals or [ranker.measure_]:
        other_tests = {"exact": exact, "one_weight": one_weight}
        rows += _certified(ranker, queries, goal, chosen, other_tests, seed, output)
    document = {"model": str(model), "data": str(data), "rows": rows}
    show(form, [_certificates(rows, is_exact=form is options.Format.tsv)], document)


def _certified(
    ranker: Any,
    queries: Any,
    measure: Any,
    chosen: dict[str, Any],
    other_tests: dict[str, Any],
    seed: int,
    output: Path | None,
) -> list[dict[str, Any]]:
    """Return the certificate of the model and, with a file to write it to, that of the polished one."""
    from directrix.experiments.optimality import certify, polish

    with progress_bar("certifying") as progress:
        certificate = certify(ranker, queries, measure, seed=seed, progress=progress, **chosen, **other_tests)
    remark(*certificate.text().split("\n"))
    rows = [{"polished": False, **certificate.to_dict()}]
    if output is not None:
        with progress_bar("polishing") as progress:
            polished = polish(ranker, queries, measure, seed=seed, progress=progress, **chosen)
        polished.ranker.save(output)
        remark(*polished.certificate.text().split("\n"))
        remark(f"saved: {output} ({polished.moves} moves); evaluate it on other data too")
        counts = {"start": polished.start, "moves": polished.moves, "tests": polished.tests}
        rows.append({"polished": True, **polished.certificate.to_dict(), **counts})
    return rows


def _step_sizes(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(
            f"--steps {text!r}: numbers separated by commas are needed, e.g. --steps 0.1,1."
        ) from None


def _check_polish(output: Path | None, n_measures: int, *, polish: bool, other_test: bool) -> None:
    """Reject options that contradict each other."""
    if polish and output is None:
        raise InputError("--polish makes a new model; give the file to write: -o polished.json.")
    if output is not None and not polish:
        raise InputError("-o names the model that --polish writes; add --polish, or leave out -o.")
    if polish and n_measures > 1:
        raise InputError(f"--polish follows one measure, but {n_measures} were given; give -m once.")
    if polish and other_test:
        raise InputError(
            "--polish tests steps in random directions; leave out --exact and --one-weight, and run "
            "`directrix lab certify` with them on the polished model."
        )


def _certificates(rows: list[dict[str, Any]], *, is_exact: bool) -> Table:
    """Return a line for every certificate; without every digit where four decimals would hide a rise."""
    from directrix.tables import Table

    heads = ["model", "measure", "value", "directions", "rising", "level", "largest rise", "step"]
    heads += ["confidence", "local optimum"]
    names = ("measure", "value", "n_directions", "n_rising", "n_level", "largest_rise", "largest_step")
    lines = []
    for row in rows:
        line = ["polished" if row["polished"] else "given", *(row[name] for name in names)]
        # Rises are small numbers, which four decimals would show as 0.
        if not is_exact:
            line[6:8] = f"{line[6]:.1e}", "" if line[7] is None else f"{line[7]:g}"
        # Where nothing is random there is no confidence, and no claim about other directions.
        single = row["directions"] != "random"
        verdict = ("of single weights" if single else "yes") if row["is_local_optimum"] else "no"
        lines.append([*line, "" if single else row["confidence"], verdict])
    if rows[0]["exact"]:
        for k, where in enumerate(("within", "anywhere")):
            heads += [f"lines rising {where}", f"rise {where}"]
            for line, row in zip(lines, rows, strict=True):
                rise = row["exact"][k]["largest_rise"]
                line += [row["exact"][k]["n_rising"], rise if is_exact else f"{rise:.1e}"]
    return Table("", tuple(heads), tuple(map(tuple, lines)), digits=4)
