"""Give the full-size sweeps of the claims the seeds that the predictions call for.

    python tools/claim_seeds.py

The first seed of a sweep is that of its smoke size, counted from the hash of the file of
predictions. To be run when predictions have changed, before they are committed.
"""

from __future__ import annotations

import re

from recallscope.paper.predictions import first_seed
from recallscope.paper.presets import sweep_file, sweep_of
from recallscope.paper.registry import CLAIMS


def main() -> None:
    for name in sorted({name for claim in CLAIMS.values() for name in claim.sweeps}):
        path = sweep_file(name, "full")
        seed = first_seed() + sweep_of(name, "smoke").first_seed
        text = re.sub(r"^seed = \d+$", f"seed = {seed}", path.read_text(), count=1, flags=re.M)
        path.write_text(text)
        print(name, seed)


if __name__ == "__main__":
    main()
