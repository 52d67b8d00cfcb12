"""Put full-size runs of the claims into the package, with their verdicts.

recallscope paper run all --size full --store my-runs
python tools/pack_claims.py my-runs
python tools/claims_page.py
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

from recallscope.paper.bundle import BUNDLE, pack
from recallscope.paper.predictions import FILE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    store = parser.parse_args().store
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%H", "--", str(FILE)],
        cwd=FILE.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    new = BUNDLE.with_name("bundle-new")
    written = pack(store / "full", new, {"recallscope": version("recallscope")}, commit)
    shutil.rmtree(BUNDLE)
    new.rename(BUNDLE)
    for name, found in written["claims"].items():
        print(f"{name}: {found['verdict']}")


if __name__ == "__main__":
    main()
