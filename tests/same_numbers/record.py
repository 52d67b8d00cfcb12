"""Record the numbers of some problems again, by their names; of all of them without a name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from asked import ASKED, made_by, numbers_of

RECORDED = Path(__file__).with_name("recorded.json")

if __name__ == "__main__":
    found = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name in sys.argv[1:] or ASKED:
        found[name] = {"made_by": made_by()} | numbers_of(ASKED[name])
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")
