"""A server of PostgreSQL in a new folder, for as long as it is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def programs():
    """Folder with the programs of the server; None: not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    initdb = shutil.which("initdb") or next((str(folder / "initdb") for folder in folders[::-1]), None)
    return Path(initdb).parent if initdb and shutil.which("psql") else None


@contextlib.contextmanager
def server():
    """A function that runs a script of psql, and returns what it prints; the socket is in the folder."""
    folder = tempfile.mkdtemp(prefix="directrix-", dir="/tmp")  # names of sockets are short
    found, as_user = programs(), []
    if os.geteuid() == 0:  # the server refuses root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    initialize = [str(found / "initdb"), "-D", f"{folder}/data", "-U", "tester", "--auth=trust"]
    settings = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off")
    options = [word for setting in settings for word in ("-c", setting)]
    start = [*as_user, str(found / "postgres"), "-D", f"{folder}/data", *options]

    def run(sql):
        command = ["psql", "-h", folder, "-U", "tester", "-d", "postgres", "-XqAt", "-v", "ON_ERROR_STOP=1"]
        return subprocess.run(
            [*command, "-f", "-"], input=sql, text=True, capture_output=True, check=True, timeout=300
        ).stdout

    process = None
    try:
        subprocess.run(
            [*as_user, *initialize, "-E", "UTF8", "--no-sync"], check=True, capture_output=True, cwd="/"
        )
        process = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        for _ in range(600):
            with contextlib.suppress(subprocess.CalledProcessError):
                run("SELECT 1")
                break
            time.sleep(0.1)
        yield run
    finally:
        if process:
            process.terminate()
            process.wait(60)
        shutil.rmtree(folder)
