"""Commands of `directrix` in this process, as a shell would run them."""

from typer.testing import CliRunner

from directrix.cli.main import app


def run(*arguments, given=None):
    """Run a command, with bytes as standard input; the result has exit_code, stdout and stderr."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception  # a traceback that the user would see
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
