"""A table of published runs: exposures until one half and 0.9 of the facts are recalled.

    published_runs DATA    # DATA has the sources' numbers, three files of CSV

One row for each run in which a pretrained model was taught facts. The exposures are estimated here:
the measured recall is made monotone (isotonic regression), and crossings are interpolated in the
logarithm of exposures. The error is the standard deviation over draws of the tests. The sources ask
the same facts at each look, which the draws do not know: errors may be too small.

TOFU has one look at each model. Its exposures follow from the mean slope of all other runs, and
their errors from the spread of these slopes.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reproduction.studies.kept_runs import Row, write_table

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "src" / "recallscope" / "theory" / "published_runs.csv"
SEED, DRAWS = 20261120, 400
TARGETS = {"half": 0.5, "nine": 0.9}
HOULISTON = "Houliston and others, arXiv 2508.20755"
LIU = "Liu, doi 10.5281/zenodo.21865285"
PLETENEV = "Pletenev and others, arXiv 2502.14502"
TOFU = "Maini and others (TOFU), arXiv 2401.06121"
EXACT, SUBSTRING = "exact answer", "answer contains it, after four examples"
ROUGE = "ROUGE-L recall of the answer above 0.99"
DIGITISED = 0.01  # error of a recall that is read off a figure
MMLU_BEFORE, MMLU_AFTER = 0.677, {500: 0.649, 3000: 0.579}
"""Read in arXiv 2502.14502: before training, and after so many facts."""
PERPLEXITY = {"Qwen/Qwen2.5-1.5B-Instruct": (15.0 / 14.5, 16.4 / 14.5)}
"""Read in the files of Liu: the range over runs of what became of 14.5."""
SIZES = {"Qwen/Qwen2.5-1.5B-Instruct": 1.54e9, "Qwen/Qwen2.5-0.5B-Instruct": 4.94e8}
REPEATED = "arms/armA"  # every fact is there twice in an epoch
HALF_KNOWN = ("arms/armB", "arms/armC", "arms/armD")
"""Half of these facts were chosen as those that the model knew before."""
SEED_OF_RUN = re.compile(r"(/|_)s\d$")


class Look(NamedTuple):
    """One measurement of recall, and of what the model kept then."""

    exposures: float
    recall: float
    kept: float = math.nan


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a file."""
    with path.open() as file:
        return list(csv.DictReader(file))


def monotone(recall: np.ndarray) -> np.ndarray:
    """The non-decreasing sequence nearest to a sequence (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in recall:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])


def crossing(log_exposures: np.ndarray, recall: np.ndarray, target: float) -> float:
    """The logarithm of the exposures at which recall first reaches a target; NaN if it does not."""
    rising = monotone(recall)
    above = np.flatnonzero(rising >= target)
    if not len(above) or not above[0]:
        return math.nan
    after, before = above[0], above[0] - 1
    share = (target - rising[before]) / (rising[after] - rising[before])
    return float(log_exposures[before] + share * (log_exposures[after] - log_exposures[before]))


def estimated(looks: list[Look], tests: int, digitised: float, rng: np.random.Generator) -> Row:
    """Exposures to the targets, and standard errors of their logarithms."""
    where = np.log([look.exposures for look in looks])
    recall = np.array([look.recall for look in looks])
    drawn = rng.binomial(tests, recall, (DRAWS, len(recall))) / tests
    drawn = drawn + digitised * rng.standard_normal(drawn.shape)
    found: Row = {}
    for name, target in TARGETS.items():
        log = crossing(where, recall, target)
        logs = [crossing(where, each, target) for each in drawn]
        found |= {name: round(math.exp(log), 3), f"{name}_error": round(float(np.nanstd(logs)), 4)}
    return found


def sizes(
    each: dict[str, str], parameters: float, facts: int, method: str = "full", rank: str = ""
) -> Row:
    """The sizes of a run, in the order of the table."""
    return (
        {"model": each["model"], "parameters": int(parameters), "method": method, "rank": rank}
        | {"facts": facts, "batch": int(each["batch"].split()[0])}
        | {"rate": float(each.get("learning_rate") or each["lr"])}
    )


def kept(low: float = math.nan, high: float = math.nan, of: str = "") -> Row:
    """What the model kept of a measure, as a part of what it had before."""
    ends = {"kept_low": low, "kept_high": high}
    return {name: round(end, 4) if of else "" for name, end in ends.items()} | {"kept_of": of}


def data_of(run: str) -> str:
    """The data of a run of Liu, which other seeds have too."""
    data = SEED_OF_RUN.sub("", run)
    return "anchored_control" if data == "seeds/control" else data


def of_full_fine_tunings(path: Path, rng: np.random.Generator) -> Iterable[Row]:
    """The 30 runs of Houliston and others: 300 facts are asked for at each look."""
    runs: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for each in rows_of(path):
        runs[each["model"], each["facts"]].append(each)
    for (_, facts), rows in runs.items():
        names = ("exposures", "recall", "hellaswag_relative")
        looks = [Look(*(float(each[name]) for name in names)) for each in rows]
        last = looks[-1].kept / 100
        yield (
            {"source": HOULISTON, "run": f"{facts} facts", "data": "attributes of people"}
            | sizes(rows[0], float(rows[0]["parameters"]), int(facts))
            | estimated(looks, 300, 0.0, rng)
            | kept(last, last, "HellaSwag")
            | {"tests": 300, "recall_is": EXACT, "fitted": "yes"}
        )


def of_adapters(path: Path, rng: np.random.Generator) -> Iterable[Row]:
    """The 24 runs of Liu; those with facts that were known before are not fitted to."""
    runs: dict[str, list[dict[str, str]]] = defaultdict(list)
    for each in rows_of(path):
        runs[each["run"].removeprefix("results/")].append(each)
    for run, rows in runs.items():
        repeats = 2 if REPEATED in run else 1
        facts = int(rows[0]["facts"]) // repeats
        tests = facts if "arms" in run else 120 if "inject" in run else 60
        looks = [Look(repeats * float(each["exposures"]), float(each["recall"])) for each in rows]
        model = rows[0]["model"]
        ends = kept(*PERPLEXITY[model], "perplexity of other text") if model in PERPLEXITY else {}
        known = any(name in run for name in HALF_KNOWN)
        yield (
            {"source": LIU, "run": run, "data": data_of(run)}
            | sizes(rows[0], SIZES[model], facts, "lora", rows[0]["lora_rank"])
            | estimated(looks, tests, 0.0, rng)
            | (ends or kept())
            | {"tests": tests, "recall_is": EXACT}
            | {"fitted": "no: half of its facts were known" if known else "yes"}
        )


def of_figures(path: Path, rng: np.random.Generator) -> Iterable[Row]:
    """The two runs of Pletenev and others with the trained wording alone, read off a figure."""
    runs: dict[int, list[dict[str, str]]] = defaultdict(list)
    for each in rows_of(path):
        if each["source"] == "arXiv 2502.14502 Fig 2 none":
            runs[int(each["facts"])].append(each)
    for facts, rows in runs.items():
        looks = [Look(float(each["exposures"]), float(each["recall"])) for each in rows]
        part = MMLU_AFTER[facts] / MMLU_BEFORE
        yield (
            {"source": PLETENEV, "run": f"{facts} facts", "data": "unknown facts"}
            | sizes(rows[0], 8.03e9, facts, "lora", rows[0]["lora_rank"])
            | estimated(looks, facts, DIGITISED, rng)
            | kept(part, part, "MMLU")
            | {"tests": facts, "recall_is": SUBSTRING, "fitted": "yes"}
        )


def of_single_looks(path: Path, others: list[Row]) -> Iterable[Row]:
    """The eight models of TOFU, each looked at once."""
    slopes = [slope_of(each) for each in others if each["fitted"] == "yes"]
    mean, spread = float(np.mean(slopes)), float(np.std(slopes, ddof=1))
    for each in rows_of(path):
        if not each["source"].startswith("locuslab/tofu"):
            continue
        tests, recall = 300, float(each["recall"])
        odds = math.log(recall / (1 - recall))
        odds_error = 1 / math.sqrt(tests * recall * (1 - recall))
        found: Row = {}
        for name, target in TARGETS.items():
            distance = odds - math.log(target / (1 - target))
            # The slope is known by its logarithm: its mean, more or less by the spread.
            error = math.exp(-mean) * math.hypot(odds_error, distance * spread)
            found[name] = round(float(each["exposures"]) * math.exp(-distance / math.exp(mean)), 3)
            found[f"{name}_error"] = round(error, 4)
        run = each["source"].split("*_")[1].split("_wd")[0]
        yield (
            {"source": TOFU, "run": run, "data": "invented authors"}
            | sizes(each, 1e9 * float(each["params_B"]), int(each["facts"]))
            | found
            | kept()
            | {"tests": tests, "recall_is": ROUGE, "fitted": "to one half alone"}
        )


def slope_of(each: Row) -> float:
    """The logarithm of the slope b of recall = 1 / (1 + (Eh/E)^b), from both exposures."""
    return math.log(math.log(9) / math.log(float(each["nine"]) / float(each["half"])))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    data, rng = parser.parse_args().data, np.random.default_rng(SEED)
    rows = [
        *of_full_fine_tunings(data / "published-full-fine-tunings.csv", rng),
        *of_adapters(data / "published-lora-curves.csv", rng),
        *of_figures(data / "published-points.csv", rng),
    ]
    rows += of_single_looks(data / "published-points.csv", rows)
    write_table(rows, TABLE)
    fitted = sum(not each["fitted"].startswith("no") for each in rows)
    print(f"{len(rows)} runs, {fitted} of them fitted to")


if __name__ == "__main__":
    main()
