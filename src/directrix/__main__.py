"""``python -m directrix`` is the command ``directrix``."""

from directrix.cli.main import app

app(prog_name="directrix")
