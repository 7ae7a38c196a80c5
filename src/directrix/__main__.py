"""The command ``directrix``, which is also ``python -m directrix``."""

import sys


def main() -> None:
    """Run the command; Ctrl-C ends it without a traceback, also while it is imported."""
    try:
        from directrix.cli.main import app

        app(prog_name="directrix")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
