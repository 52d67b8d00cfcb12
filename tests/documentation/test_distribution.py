"""The wheel and the source distribution: the same bytes twice, with all they need and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_what_is_built_is_the_same_twice_and_complete(tmp_path):
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    tool = tmp_path / "tool"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tool), "hatchling"]
    subprocess.run(pip, check=True)
    built = []
    for number in range(2):
        copy = tmp_path / f"copy{number}"
        for name in tracked.stdout.splitlines():
            if (ROOT / name).exists():
                target = copy / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes((ROOT / name).read_bytes())
                os.utime(target, (10**9 + number, 10**9 + number))
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build"],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(tool)},
            check=True,
            capture_output=True,
        )
        built.append({path.name: path.read_bytes() for path in (copy / "dist").iterdir()})
    assert built[0] == built[1]
    wheel, source = sorted(built[0], key=lambda name: not name.endswith(".whl"))
    mine = {name.removeprefix("src/") for name in tracked.stdout.split() if name.startswith("src/")}
    with zipfile.ZipFile(tmp_path / "copy0/dist" / wheel) as file:
        inside = {name for name in file.namelist() if ".dist-info/" not in name}
        assert inside == mine
        assert any(name.endswith("licenses/LICENSE") for name in file.namelist())
    with tarfile.open(tmp_path / "copy0/dist" / source) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "docs/index.md"} <= inside
    assert {f"src/{name}" for name in mine} <= inside
    assert not any(name.startswith((".ci", ".github", "runs")) for name in inside)
