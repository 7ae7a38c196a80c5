"""``directrix certify``: whether a model is a local optimum of a measure, and on request until it is one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli.files import Missing, MissingOption, as_wide_as, check_writable, read_data
from directrix.cli.output import Format, FormatOption, print_json, print_rows, progress_bar, remark
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.experiments.optimality.certificate import Certificate

_STEPS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"


def certify(
    model: Annotated[Path, typer.Argument(help="Model file of `directrix train`.", show_default=False)],
    data: Annotated[
        Path, typer.Argument(help="Data, LETOR / svmlight: those it was trained on.", show_default=False)
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="Repeat for several. Default: what the model was trained for.",
            show_default=False,
        ),
    ] = None,
    eps: Annotated[float, typer.Option(help="Share of directions that may rise unseen.")] = 0.01,
    delta: Annotated[float, typer.Option(help="Chance of a wrong certificate.")] = 0.01,
    steps: Annotated[str, typer.Option(help="Lengths of the steps, with commas.")] = _STEPS,
    relative: Annotated[
        bool, typer.Option("--relative", help="Multiply steps by the norm of the weights.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Linear models: the best of all points of every line too.")
    ] = False,
    one_weight: Annotated[
        bool, typer.Option("--one-weight", help="One weight at a time, not random directions.")
    ] = False,
    polish: Annotated[
        bool, typer.Option("--polish", help="Follow rising directions until a test finds none; needs -o.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write with --polish.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the directions.")] = 0,
    missing: MissingOption = Missing.error,
    form: FormatOption = Format.table,
) -> None:
    """Test whether the weights of a model are a local optimum of a measure.

    They are moved in random directions (459 for the default --eps and --delta), and the measure is computed
    anew after each step. With --polish the weights follow what rises, and the model that is written has
    passed the test. JSON: {"model": .., "data": .., "rows": [{"measure": .., "n_rising": ..}]}.
    """
    from directrix.cli.settings import usage
    from directrix.experiments.optimality import certify as certificate_of
    from directrix.experiments.optimality import polish as polished_of
    from directrix.experiments.optimality.directions import check_steps, n_directions
    from directrix.measures.names import measure as parse_measure
    from directrix.rankers.model_file import load

    with usage():
        goals = [parse_measure(name) for name in dict.fromkeys(measures or [])]
        n_directions(eps, delta)
        lengths = check_steps(_numbers(steps))
        _check_polish(output, len(goals), polish=polish, other=exact or one_weight)
    if output is not None:
        check_writable(output, model, data)
    ranker = load(model)
    q = as_wide_as(read_data(data, missing), ranker.n_features_in_, data, f"the model {model}")
    rows: list[dict[str, Any]] = []
    chosen: dict[str, Any] = {"eps": eps, "delta": delta, "steps": lengths, "relative": relative}
    for goal in goals or [ranker.measure_]:
        with progress_bar("certifying") as progress:
            found = certificate_of(
                ranker, q, goal, exact=exact, one_weight=one_weight, seed=seed, progress=progress, **chosen
            )
        rows.append({"polished": False, **found.to_dict()})
        _say(found)
        if not polish or output is None:
            continue
        with progress_bar("polishing") as progress:
            better = polished_of(ranker, q, goal, seed=seed, progress=progress, **chosen)
        better.ranker.save(output)
        kept = {"start": better.start, "moves": better.moves, "tests": better.tests}
        rows.append({"polished": True, **better.certificate.to_dict(), **kept})
        _say(better.certificate)
        remark(f"saved: {output} ({better.moves} moves); look at data that it was not polished on, too")
    if form is Format.json:
        print_json({"model": str(model), "data": str(data), "rows": rows})
    else:
        print_rows(*_table(rows, form), form)


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"--steps {text!r}: numbers with commas are needed, e.g. --steps 0.1,1.") from None


def _check_polish(output: Path | None, n_goals: int, *, polish: bool, other: bool) -> None:
    """Refuse options that do not go together."""
    if polish and output is None:
        raise InputError("--polish makes a new model; say where to write it: -o polished.json.")
    if output is not None and not polish:
        raise InputError("-o is where --polish writes the new model; add --polish.")
    if polish and n_goals > 1:
        raise InputError(f"--polish follows one measure, {n_goals} were given; give -m once.")
    if polish and other:
        raise InputError(
            "--polish tests by steps in random directions; leave out --exact and --one-weight, and type "
            "`directrix certify` with them on the polished model."
        )


def _say(found: Certificate) -> None:
    for line in found.text().splitlines():
        remark(line)


def _table(rows: list[dict[str, Any]], form: Format) -> tuple[list[str], list[list[Any]]]:
    head = ["model", "measure", "value", "directions", "rising", "level", "largest rise", "step"]
    head += ["confidence", "local optimum"]
    names = ("measure", "value", "n_directions", "n_rising", "n_level", "largest_rise", "largest_step")
    lines = []
    for row in rows:
        line = ["polished" if row["polished"] else "given", *(row[name] for name in names)]
        if form is Format.table:  # four decimals would hide it
            line[6] = f"{row['largest_rise']:.1e}"
            line[7] = "" if line[7] is None else f"{line[7]:g}"
        single = row["directions"] != "random"  # nothing was drawn: no confidence, and no claim about others
        verdict = ("of single weights" if single else "yes") if row["is_local_optimum"] else "no"
        lines.append([*line, "" if single else row["confidence"], verdict])
    if rows[0]["exact"]:
        for k, where in enumerate(("within", "anywhere")):
            head += [f"lines rising {where}", f"rise {where}"]
            for line, row in zip(lines, rows, strict=True):
                rise = row["exact"][k]["largest_rise"]
                line += [row["exact"][k]["n_rising"], f"{rise:.1e}" if form is Format.table else rise]
    return head, lines
