"""Add compiled kernels to a wheel: ``python -m tools.wheel dist``, after ``directrix doctor --compile``.

The folder has the wheel for any platform. Another one, for this Python and platform, is written there, with
the kernels that Python calls; their files contain the kernels that they call. ``make dist`` does it for the
processor `directrix.kernels.BASELINE`.
"""

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

import directrix
from directrix.cli.compiling import compile_step, steps
from directrix.kernels import BASELINE, all_kernels, survey


def main(dist: Path) -> None:
    """Write the wheel that has compiled kernels."""
    found = survey()
    if found.processor != BASELINE or found.compiled < found.kernels:
        sys.exit(
            f"{found.compiled} of {found.kernels} kernels are compiled, for {found.processor}; "
            f"all are needed, for {BASELINE}. Type: make dist"
        )
    for name in steps():
        compile_step(name)
    (plain,) = dist.glob("*-py3-none-any.whl")
    with tempfile.TemporaryDirectory() as folder:
        _wheel("unpack", "--dest", folder, plain)
        (root,) = Path(folder).iterdir()
        _add_license(next(root.glob("*.dist-info")))
        for kernel in all_kernels():
            store = kernel._cache
            place = root / store.shipped.relative_to(Path(directrix.__file__).parents[1])
            place.mkdir(exist_ok=True)
            for path in store.read:
                shutil.copy(path, place)
        _wheel("pack", "--dest-dir", folder, root)
        (packed,) = Path(folder).glob("*.whl")
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        _wheel("tags", "--python-tag", python, "--abi-tag", python, "--platform-tag", _platform(), packed)
        (tagged,) = set(Path(folder).glob("*.whl")) - {packed}
        print(f"{tagged.name}: {tagged.stat().st_size / 2**20:.1f} MiB")
        shutil.copy(tagged, dist)


def _add_license(info: Path) -> None:
    """State the license of Numba, whose compiled kernels contain parts of its library."""
    name, source = "LICENSE-numba", distribution("numba")
    (found,) = (path for path in source.files or () if path.match("licenses/LICENSE"))
    shutil.copyfile(str(found.locate()), info / "licenses" / name)
    metadata = (info / "METADATA").read_text("utf-8")
    for before, after in (
        ("License-Expression: Apache-2.0\n", "License-Expression: Apache-2.0 AND BSD-2-Clause\n"),
        ("License-File: NOTICE\n", f"License-File: NOTICE\nLicense-File: {name}\n"),
    ):
        assert metadata.count(before) == 1
        metadata = metadata.replace(before, after)
    (info / "METADATA").write_text(metadata, "utf-8")


def _platform() -> str:
    """Oldest platform of Numba's own wheel: where it runs, its code runs."""
    lines = (distribution("numba").read_text("WHEEL") or "").splitlines()
    return min(line.rsplit("-", 1)[1] for line in lines if line.startswith("Tag: "))


def _wheel(*arguments: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "wheel", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
