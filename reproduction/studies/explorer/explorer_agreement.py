"""Compare the explorer with Python in a real browser: `explorer/explorer_agreement`.

Problems are drawn at random over every option, and each accuracy and each noise that the page works
out is compared with that of Python; so are the laws of the end of training. Then the times that the
page takes to answer and to draw a map. `tests/browser/test_explorer.py` does the same with fewer
problems.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "helpers"))
from agreement import (
    END_IN_PAGE,
    IN_PAGE,
    compare,
    compare_end,
    draw_problems,
    draw_trained,
    in_page,
)

from browser import browser, open_tab
from recallscope import explore

TIMES = """async () => {
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));
  const planes = [["dim", "samples"], ["length", "vocab"], ["dim", "width"]];
  const times = { answer: [], sketch: [], map: [] };
  for (let turn = 0; turn < 12; turn++) {
    const [x, y] = planes[turn % planes.length];
    const width = y === "width" ? 256 : null;
    recallscope.changed({ x, y, vocab: 512, samples: 4096 + turn, dim: 64, length: 32, width });
    await rest(50);
    for (let step = 0; step < 6; step++) {
      recallscope.changed({ dim: 60 + step });
      await rest(30);
      times.answer.push(recallscope.took.answer);
      times.sketch.push(recallscope.took.map);
    }
    times.map.push(recallscope.wholeMap());
  }
  return times;
}"""


def main(count: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        address = explore(Path(folder) / "page.html", open=False)
        tab = open_tab(chromium, address.resolve().as_uri(), 1200)
        problems = draw_problems(count, seed)
        print(json.dumps(compare(problems, in_page(tab.page, IN_PAGE, problems)), indent=1))
        trained = draw_trained(max(count // 50, 20), seed)
        print(json.dumps(compare_end(trained, in_page(tab.page, END_IN_PAGE, trained)), indent=1))
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for name, times in tab.page.evaluate(TIMES).items():
            low, middle, high = np.quantile(times, [0, 0.5, 0.95])
            print(f"{name}: {low:.1f} ms at best, {middle:.1f} in half, {high:.1f} in 95 %")
        print("console:", tab.complaints, "requests:", tab.requests[1:])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, seed=1)
