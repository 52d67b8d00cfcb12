"""Pack the full-size runs of the paper's claims into the package.

    recallscope paper run all --size full --store FOLDER
    python studies/bundle.py FOLDER

Replaces src/recallscope/paper/bundle: records, posteriors, and a manifest with hashes, verdicts and
the commit of the predictions that the runs judge.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from recallscope import __version__
from recallscope.common.formatting import format_duration
from recallscope.paper.bundle import BUNDLE, pack
from recallscope.paper.predictions import FILE, LATER


def _commit_of(path: Path) -> str:
    """The last commit that changed a file."""
    command = ["git", "log", "-1", "--format=%H", "--", str(path)]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    place = Path(sys.argv[1]) / "full"
    new = BUNDLE.with_name("bundle.new")
    shutil.rmtree(new, ignore_errors=True)
    made_with = {"recallscope": __version__, "cores": os.cpu_count()}
    found = pack(place, new, made_with, predicted_by=(_commit_of(FILE), _commit_of(LATER)))
    shutil.rmtree(BUNDLE, ignore_errors=True)
    new.rename(BUNDLE)
    for name, claim in found["claims"].items():
        print(f"{name}: {claim['verdict']}")
    print(f"{found['runs']} runs, {found['readings']} readings, ", end="")
    print(f"{format_duration(found['core_seconds'])} of one core")


if __name__ == "__main__":
    main()
