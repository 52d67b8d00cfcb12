"""Pack the full-size runs of the paper's claims into the package.

    recallscope paper run all --size full --store FOLDER
    python studies/bundle.py FOLDER

Replaces src/recallscope/paper/bundle: records, readings, and a manifest with hashes and verdicts.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from recallscope import __version__
from recallscope.common.formatting import format_duration
from recallscope.paper.bundle import BUNDLE, pack


def main() -> None:
    place = Path(sys.argv[1]) / "full"
    new = BUNDLE.with_name("bundle.new")
    shutil.rmtree(new, ignore_errors=True)
    found = pack(place, new, {"recallscope": __version__, "cores": os.cpu_count()})
    shutil.rmtree(BUNDLE, ignore_errors=True)
    new.rename(BUNDLE)
    for name, claim in found["claims"].items():
        print(f"{name}: {claim['verdict']}")
    print(f"{found['runs']} runs, {found['readings']} readings, ", end="")
    print(f"{format_duration(found['core_seconds'])} of one core")


if __name__ == "__main__":
    main()
