"""Commands of `directrix` in this process, as a shell would run them."""

import re

import typer
from typer.testing import CliRunner

from directrix.cli.main import app


def _options(command, name=""):
    """Yield every command by its name, with its options and those of all commands."""
    of_all = "--help", "--threads"
    yield (
        name,
        {*of_all, *(option for param in command.params for option in (*param.opts, *param.secondary_opts))},
    )
    for word, part in getattr(command, "commands", {}).items():
        yield from _options(part, f"{name} {word}".strip())


OPTIONS = dict(_options(typer.main.get_command(app)))
"""The options of every command."""
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_CALL = re.compile(rf"\bdirectrix ({'|'.join(sorted(filter(None, OPTIONS), reverse=True))})\b([^`\n|;&]*)")
_FOREIGN = re.compile(
    r"--(?:abbrev|always|array|cpus|defaults|dirty|documents|error-unmatch|exclude|files|force-reinstall"
    r"|grid|index-url|logdir|mem|memory-limit|no-deps|no-install-recommends|no-optional-locks|nthreads"
    r"|only|queries|repeat|rm|scope|strict|trees|upgrade|user)"
)
"""Options of pip, docker, git and other programs, and of benchmarks."""


def wrong_options(text, command=""):
    """Options that a text gives to ``directrix COMMAND``, or else to this command, and that it lacks."""
    calls = [
        (option, OPTIONS[name]) for name, rest in _CALL.findall(text) for option in _OPTION.findall(rest)
    ]
    known = OPTIONS[command] if command else set().union(*OPTIONS.values())
    calls += [
        (option, known) for option in _OPTION.findall(_CALL.sub("", text)) if not _FOREIGN.fullmatch(option)
    ]
    return [option for option, of_command in calls if option not in of_command]


def run(*arguments, given=None):
    """Run a command, with bytes as standard input; the result has exit_code, stdout and stderr."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception  # a traceback that the user would see
    words = [str(argument) for argument in arguments[:2]]
    name = next((name for name in (" ".join(words), *words[:1]) if name in OPTIONS), None)
    if name and result.exit_code != 2:  # the message on wrong usage repeats what was typed
        typed = " ".join(map(str, arguments))
        wrong = [option for option in wrong_options(result.stderr, name) if option not in typed]
        assert wrong == [], result.stderr
    return result


def succeed(*arguments, given=None):
    """Run a command that must succeed."""
    result = run(*arguments, given=given)
    assert result.exit_code == 0, result.stderr
    return result


def refused(*arguments, status=1, lines=60):
    """Run a command that must fail and print nothing; return its message on one line, without frames."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert len(result.stderr.splitlines()) <= lines
    return " ".join(result.stderr.replace("│", " ").split())
