"""Fit the law of exposures to published runs, and predict runs, models and sources left out.

    published_runs/law            # prints the constants of theory/pretrained.py
    published_runs/law judge      # exposures.csv, probes.csv, forms.csv and priors.csv: what is
                                   # left out is a model or a source
    published_runs/law figure      # docs/plan-published.png, from exposures.csv
    published_runs/law recall DATA    # recall.csv: recall at every look of the sources' files
    published_runs/law load DATA      # the exponent of the load, by capacities of adapters

The response is the logarithm of the exposures to one half. It has normal errors: of its estimation,
by run, by model and data, and by source. Constants and standard deviations are the means of draws
from their posterior (Metropolis). Priors are wide, except that standard deviations are half-normal
with 0.35: of four sources little can be said without one.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import least_squares, minimize, minimize_scalar
from scipy.stats import beta

from recallscope.common.csv_files import read_csv
from recallscope.planning.teaching_picture import short_name
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.theory.pretrained import (
    CONSTANTS,
    NO_LOAD,
    Case,
    Constants,
    Learning,
    Spread,
    after_probe,
    expected,
    exposures_to,
    recall_after,
    slope_after_probe,
)
from recallscope.theory.published_runs import fitted_runs, published_runs
from reproduction.studies.end_of_training.end_figures import draw
from reproduction.studies.kept_runs import Row, write_table
from reproduction.studies.published_runs.published_runs import (
    HOULISTON,
    LIU,
    PLETENEV,
    REPEATED,
    TOFU,
    rows_of,
    slope_of,
)

HERE = Path(__file__).parent
CHOICES = ("fit", "judge", "figure", "recall", "load")
SEED, DRAWS, BURN_IN, EVERY = 20261120, 9000, 3000, 20
SPREAD = 0.35
"""The scale of the half-normal prior of standard deviations: about half of log 2."""
PRIORS = (0.2, SPREAD, 0.5, 0.7)
"""The second was chosen after the third was seen to be wide, and before the others."""
INSIDE = 1.6449


class Form(NamedTuple):
    """A form of log Eh, by its constants, with their normal priors."""

    value: Callable[[np.ndarray, Runs], np.ndarray]
    priors: tuple[tuple[float, float], ...]


class Runs(NamedTuple):
    """Columns of the table, and what is fitted."""

    facts: np.ndarray
    parameters: np.ndarray
    batch: np.ndarray
    rate: np.ndarray
    lora: np.ndarray
    source: np.ndarray
    model: np.ndarray
    group: np.ndarray
    values: np.ndarray
    errors: np.ndarray

    def some(self, chosen: np.ndarray) -> Runs:
        """The chosen ones."""
        return Runs(*(column[chosen] for column in self))


def runs_of(
    value: Callable[[Row], float], error: Callable[[Row], float], of: Sequence[Row]
) -> Runs:
    """Columns of rows of the table."""

    def column(name: str) -> np.ndarray:
        return np.array([each[name] for each in of])

    names = ("facts", "parameters", "batch", "rate")
    model = np.char.add(column("source"), column("model"))
    return Runs(
        *(column(name).astype(float) for name in names),
        column("method") == "lora",
        column("source"),
        model,
        np.char.add(model, column("data")),
        np.array([value(each) for each in of]),
        np.array([error(each) for each in of]),
    )


def to_one_half() -> Runs:
    """Runs that are fitted to, by the exposures to one half."""
    return runs_of(
        lambda each: math.log(each["half"]), lambda each: each["half_error"], fitted_runs()
    )


def slopes() -> Runs:
    """Runs of which two exposures are known, by the logarithm of the slope."""
    rows = [each for each in published_runs() if each["fitted"] == "yes"]

    def error(each: Row) -> float:
        width = math.log(each["nine"] / each["half"])
        return math.hypot(each["half_error"], each["nine_error"]) / width

    return runs_of(slope_of, error, rows)


def size_of(runs: Runs) -> np.ndarray:
    """Of a model, as the law takes it."""
    return np.log(runs.parameters / 1e9)


def with_floor(log_learning: np.ndarray, log_floor: float, runs: Runs) -> np.ndarray:
    """The sum of what learning takes and of the least number of steps."""
    return np.logaddexp(log_learning, log_floor + np.log(runs.batch / runs.facts))


SCALE, POWER, FLOOR = (1.6, 1.0), (0.0, 0.2), (2.3, 1.0)
FORMS = {
    "a constant": Form(lambda c, runs: c[0] + 0 * runs.facts, (SCALE,)),
    "parameters": Form(lambda c, runs: c[0] + c[1] * size_of(runs), (SCALE, POWER)),
    "parameters, facts": Form(
        lambda c, runs: c[0] + c[1] * size_of(runs) + c[2] * np.log(runs.facts / 5000),
        (SCALE, POWER, POWER),
    ),
    "floor": Form(lambda c, runs: with_floor(c[0] + 0 * runs.facts, c[1], runs), (SCALE, FLOOR)),
    "parameters, floor": Form(
        lambda c, runs: with_floor(c[0] + c[1] * size_of(runs), c[2], runs), (SCALE, POWER, FLOOR)
    ),
    "facts, floor": Form(
        lambda c, runs: with_floor(c[0] + c[1] * np.log(runs.facts / 5000), c[2], runs),
        (SCALE, POWER, FLOOR),
    ),
    "parameters, facts, floor": Form(
        lambda c, runs: with_floor(
            c[0] + c[1] * size_of(runs) + c[3] * np.log(runs.facts / 5000), c[2], runs
        ),
        (SCALE, POWER, FLOOR, POWER),
    ),
    "parameters, floor, LoRA": Form(
        lambda c, runs: with_floor(c[0] + c[1] * size_of(runs) + c[3] * runs.lora, c[2], runs),
        (SCALE, POWER, FLOOR, (0.0, 0.3)),
    ),
    "steps": Form(lambda c, runs: c[0] + np.log(runs.batch / runs.facts), ((3.0, 3.0),)),
    "steps times rate": Form(
        lambda c, runs: c[0] + np.log(runs.batch / runs.facts / runs.rate), ((-4.0, 4.0),)
    ),
}
CHOSEN = "parameters, floor"


class Alike(NamedTuple):
    """Which pairs of runs have the same source, and the same model and data: 1 or 0."""

    source: np.ndarray
    group: np.ndarray

    def covariance(self, source: float, group: float) -> np.ndarray:
        """Of their values, from what they have in common."""
        return source**2 * self.source + group**2 * self.group


def alike(runs: Runs, others: Runs) -> Alike:
    """Pairs of runs and others."""
    pairs = ((runs.source, others.source), (runs.group, others.group))
    return Alike(*((mine[:, None] == theirs[None]).astype(float) for mine, theirs in pairs))


def log_posterior(drawn: np.ndarray, runs: Runs, pairs: Alike, form: Form, spread: float) -> float:
    """Of constants, followed by the logarithms of the three standard deviations."""
    count = len(form.priors)
    constants, deviations = drawn[:count], np.exp(drawn[count:])
    source, group, run = deviations
    within = pairs.covariance(source, group) + np.diag(run**2 + runs.errors**2)
    try:
        root = np.linalg.cholesky(within)
    except np.linalg.LinAlgError:
        return -math.inf
    off = solve_triangular(
        root, runs.values - form.value(constants, runs), lower=True, check_finite=False
    )
    likelihood = -0.5 * off @ off - np.log(np.diag(root)).sum()
    prior = -0.5 * sum(
        ((each - mean) / scale) ** 2
        for each, (mean, scale) in zip(constants, form.priors, strict=True)
    )
    prior += float((drawn[count:] - 0.5 * (deviations / spread) ** 2).sum())
    return float(likelihood + prior)


def posterior(runs: Runs, form: Form, spread: float = SPREAD) -> tuple[np.ndarray, np.ndarray]:
    """Draws of constants, and of the three standard deviations."""
    rng, count, pairs = np.random.default_rng(SEED), len(form.priors), alike(runs, runs)
    start = np.array([mean for mean, _ in form.priors] + [-1.2, -1.5, -1.8])
    here = minimize(
        lambda drawn: -log_posterior(drawn, runs, pairs, form, spread), start, method="Nelder-Mead"
    ).x
    now, steps = log_posterior(here, runs, pairs, form, spread), 0.1 * np.eye(len(here))
    drawn: list[np.ndarray] = []
    for number in range(DRAWS):
        if number in (BURN_IN // 3, 2 * BURN_IN // 3):  # steps as wide as the posterior
            wide = np.cov(np.array(drawn[-BURN_IN // 3 :]).T) + 1e-6 * np.eye(len(here))
            steps = np.linalg.cholesky(wide) * 2.4 / math.sqrt(len(here))
        there = here + steps @ rng.standard_normal(len(here))
        next_one = log_posterior(there, runs, pairs, form, spread)
        if math.log(rng.random()) < next_one - now:
            here, now = there, next_one
        drawn.append(here)
    kept = np.array(drawn[BURN_IN:])
    return kept[:, :count], np.exp(kept[:, count:])


ONE_MEAN = Form(lambda c, runs: c[0] + 0 * runs.facts, ((1.5, 1.0),))


def fitted(halves: Runs, log_slopes: Runs, spread: float = SPREAD) -> Constants:
    """The constants of the law, by some runs."""
    constants, deviations = posterior(halves, FORMS[CHOSEN], spread)
    mean, slope_deviations = posterior(log_slopes, ONE_MEAN, spread)
    of_half, of_slope = (each.mean(axis=0).tolist() for each in (deviations, slope_deviations))
    return Constants(
        *constants.mean(axis=0).tolist(),
        tuple(tuple(row) for row in np.cov(constants.T).tolist()),
        *of_half,
        float(mean.mean()),
        float(mean.std()),
        *of_slope,
    )


@cache
def fitted_without(source: str, spread: float = SPREAD) -> Constants:
    """The constants by all other sources."""
    halves, log_slopes = to_one_half(), slopes()
    return fitted(
        halves.some(halves.source != source),
        log_slopes.some(log_slopes.source != source),
        spread,
    )


def predicted(known: Runs, new: Runs, form: Form) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of new runs, of sources that may be known."""
    constants, deviations = posterior(known, form)
    pairs, to_new = alike(known, known), alike(known, new)
    means, variances = [], []
    for each, (source, group, run) in zip(constants[::EVERY], deviations[::EVERY], strict=True):
        within = pairs.covariance(source, group) + np.diag(run**2 + known.errors**2)
        between = to_new.covariance(source, group)
        weights = np.linalg.solve(within, between)
        off = known.values - form.value(each, known)
        means.append(form.value(each, new) + weights.T @ off)
        left = source**2 + group**2 + run**2 - (weights * between).sum(axis=0)
        variances.append(left + new.errors**2)
    return np.mean(means, axis=0), np.sqrt(np.var(means, axis=0) + np.mean(variances, axis=0))


def left_out(form: Form, by: str, runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Errors of all runs, each predicted without its model or source; their expected size."""
    of = getattr(runs, by)
    errors, sizes = np.zeros(len(of)), np.zeros(len(of))
    for name in np.unique(of):
        new = of == name
        mean, deviation = predicted(runs.some(~new), runs.some(new), form)
        errors[new], sizes[new] = runs.values[new] - mean, deviation
    return errors, sizes


def summary(errors: np.ndarray, sizes: np.ndarray) -> Row:
    """Factors by which predictions are off, and how many are inside their 90 % interval."""
    off = np.exp(np.abs(errors))
    return {
        "runs": len(errors),
        "median_factor": round(float(np.median(off)), 3),
        "factor_of_90_percent": round(float(np.quantile(off, 0.9)), 3),
        "largest_factor": round(float(off.max()), 3),
        "inside": int((np.abs(errors) <= INSIDE * sizes).sum()),
        "median_half_width": round(float(np.exp(INSIDE * np.median(sizes))), 3),
    }


def judge_forms() -> list[Row]:
    """Every form, with each model and each source left out."""
    runs, rows = to_one_half(), []
    for name, form in FORMS.items():
        for by in ("model", "source"):
            rows.append({"form": name, "left_out": by} | summary(*left_out(form, by, runs)))
            print(*rows[-1].values(), flush=True)
    return rows


def learning_without(by: str) -> list[Learning]:
    """How quickly each run learns, predicted without its model or its source.

    Of a source that is left out nothing is known, as of a new user. Of a model that is left out
    other models of its source are known.
    """
    runs, log_slopes, rows = to_one_half(), slopes(), fitted_runs()
    if by == "source":
        return [expected(case_of(row), fitted_without(row["source"])) for row in rows]
    found: list[Learning | None] = [None] * len(rows)
    for name in np.unique(runs.model):
        new = runs.model == name
        same = runs.some(new)
        half = predicted(runs.some(~new), same, FORMS[CHOSEN])
        slope = predicted(log_slopes.some(log_slopes.model != name), same, ONE_MEAN)
        for place, number in enumerate(np.flatnonzero(new)):
            spreads = (
                Spread(float(mean[place]), 0.0, float(size[place])) for mean, size in (half, slope)
            )
            found[number] = Learning(*spreads)
    return [each for each in found if each is not None]


def case_of(row: Row) -> Case:
    """The sizes of a run."""
    return Case(row["parameters"], row["facts"], row["batch"])


def judge_priors() -> list[Row]:
    """How wide intervals are, and how many hold the run, by the prior of standard deviations."""
    rows = []
    for spread in PRIORS:
        table = []
        for row in fitted_runs():
            learning = expected(case_of(row), fitted_without(row["source"], spread))
            for name, target in (("half", 0.5), ("nine", 0.9)):
                if name == "half" or row["fitted"] == "yes":
                    ends = exposures_to(target, learning, NO_LOAD)
                    wide = math.sqrt(ends.high / ends.low)
                    table.append((name, ends.low <= row[name] <= ends.high, wide))
        judged: Row = {"prior": spread}
        for name in ("half", "nine"):
            mine = [each for each in table if each[0] == name]
            judged |= {f"{name}_runs": len(mine), f"{name}_inside": sum(each[1] for each in mine)}
            judged[f"{name}_half_width"] = round(float(np.median([each[2] for each in mine])), 3)
        rows.append(judged)
        print(*judged.values(), flush=True)
    return rows


def judge_runs() -> list[Row]:
    """Exposures of every run, as predicted without its model and without its source."""
    table = []
    for by in ("model", "source"):
        for row, learning in zip(fitted_runs(), learning_without(by), strict=True):
            judged = {"left_out": by, "source": row["source"], "run": row["run"]}
            judged |= {"model": row["model"], "facts": row["facts"]}
            for name, target in (("half", 0.5), ("nine", 0.9)):
                if name == "nine" and row["fitted"] != "yes":
                    continue
                ends = exposures_to(target, learning, NO_LOAD)
                judged |= {name: row[name]}
                judged |= {f"{name}_{end}": round(getattr(ends, end), 3) for end in ends._fields}
            table.append({name: judged.get(name, "") for name in _JUDGED})
    return table


_ENDS = ("", "_value", "_low", "_high")
_JUDGED = ["left_out", "source", "run", "model", "facts"]
_JUDGED += [f"{name}{end}" for name in ("half", "nine") for end in _ENDS]


def judge_probes() -> list[Row]:
    """Exposures of runs after the one with the fewest facts of the same model is known.

    All other runs of the source are left out.
    """
    table = []
    rows = fitted_runs()
    for row in rows:
        group = [
            each
            for each in rows
            if all(each[name] == row[name] for name in ("source", "model", "data"))
        ]
        probed = min(group, key=lambda each: each["facts"])
        if probed["facts"] == row["facts"] or "TOFU" in row["source"]:
            continue  # TOFU has next to equal numbers of facts
        constants = fitted_without(row["source"])
        known = probed["half"], probed["half_error"]
        half = after_probe(case_of(row), case_of(probed), *known, constants)
        error = math.hypot(probed["half_error"], probed["nine_error"])
        error /= math.log(probed["nine"] / probed["half"])
        slope = slope_after_probe(math.exp(slope_of(probed)), error, constants)
        judged = {"source": row["source"], "model": row["model"], "facts": row["facts"]}
        judged |= {"facts_of_probe": probed["facts"]}
        for name, target in (("half", 0.5), ("nine", 0.9)):
            ends = exposures_to(target, Learning(half, slope), NO_LOAD)
            judged |= {name: row[name]}
            judged |= {f"{name}_{end}": round(getattr(ends, end), 3) for end in ends._fields}
        table.append(judged)
    return table


def said_of(rows: list[Row], name: str) -> str:
    """By which factor exposures are off, and how many are inside, with a binomial interval."""
    some = [row for row in rows if row.get(name) not in ("", None)]
    off = np.array([abs(math.log(row[name] / row[f"{name}_value"])) for row in some])
    width = [math.log(row[f"{name}_high"] / row[f"{name}_low"]) / 2 for row in some]
    inside = sum(row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] for row in some)
    low, high = binomial(inside, len(some))
    return (
        f"{name}: {len(some)} runs, off by {math.exp(np.median(off)):.2f} (median), 90 % within "
        f"{math.exp(np.quantile(off, 0.9)):.2f}, worst {math.exp(off.max()):.2f}; inside {inside} "
        f"({low:.2f} to {high:.2f}), median half-width {math.exp(np.median(width)):.2f}"
    )


def binomial(inside: int, count: int) -> tuple[float, float]:
    """A 95 % interval of a fraction (Clopper and Pearson)."""
    low = beta.ppf(0.025, inside, count - inside + 1) if inside else 0.0
    high = beta.ppf(0.975, inside + 1, count - inside) if inside < count else 1.0
    return float(low), float(high)


def report(rows: list[Row]) -> None:
    """By what was left out, in all and by source."""
    for by in ("model", "source"):
        mine = [row for row in rows if row["left_out"] == by]
        for source in ("all", *dict.fromkeys(row["source"] for row in mine)):
            some = [row for row in mine if source in ("all", row["source"])]
            for name in ("half", "nine"):
                if any(row[name] != "" for row in some):
                    print(f"{by} left out, {source}: {said_of(some, name)}")


def looks_of(data: Path) -> dict[tuple[str, str, str], list[tuple[float, float]]]:
    """Exposures and recall at each look of the sources' files, by source, run and model."""
    looks: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for each in rows_of(data / "published-full-fine-tunings.csv"):
        key = (HOULISTON, f"{each['facts']} facts", each["model"])
        looks[key].append((float(each["exposures"]), float(each["recall"])))
    for each in rows_of(data / "published-lora-curves.csv"):
        run = each["run"].removeprefix("results/")
        seen = float(each["exposures"]) * (2 if REPEATED in run else 1)
        looks[LIU, run, each["model"]].append((seen, float(each["recall"])))
    for each in rows_of(data / "published-points.csv"):
        at = (each["exposures"], float(each["recall"]))
        if each["source"] == "arXiv 2502.14502 Fig 2 none":
            key = (PLETENEV, f"{each['facts']} facts", each["model"])
        elif each["source"].startswith("locuslab/tofu"):
            key = (TOFU, each["source"].split("*_")[1].split("_wd")[0], each["model"])
        else:
            continue
        looks[key].append((float(at[0]), at[1]))
    return looks


def judge_recall(data: Path) -> list[Row]:
    """Errors of recall at all looks, by what was left out and by source."""
    looks, table = looks_of(data), []
    for by in ("model", "source"):
        found: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
        for row, learning in zip(fitted_runs(), learning_without(by), strict=True):
            for exposures, measured in looks[row["source"], row["run"], row["model"]]:
                ends = recall_after(exposures, learning, NO_LOAD)
                found[row["source"]].append((measured, *ends))
        every = [each for some in found.values() for each in some]
        for source, some in {"all": every, **found}.items():
            measured, value, low, high = np.array(some).T
            narrow = high - low <= _WIDE
            inside = (low <= measured) & (measured <= high)
            others = [each[0] for name, mine in found.items() if name != source for each in mine]
            constant = float(np.median(others)) if source != "all" else float(np.median(measured))
            table.append(
                {"left_out": by, "source": source, "looks": len(some)}
                | {"error": round(float(np.abs(value - measured).mean()), 4)}
                | {"error_of_a_constant": round(float(np.abs(constant - measured).mean()), 4)}
                | {"inside": int(inside.sum())}
                | {"printed": int(narrow.sum()), "inside_of_printed": int(inside[narrow].sum())}
            )
            print(*table[-1].values())
    return table


def error_of_form(data: Path) -> float:
    """What 90 % of looks are within, of the curve through both exposures of their own run."""
    looks, off = looks_of(data), []
    for row in fitted_runs():
        if row["fitted"] == "yes":
            slope = math.exp(slope_of(row))
            for exposures, measured in looks[row["source"], row["run"], row["model"]]:
                off.append(abs(measured - 1 / (1 + (row["half"] / exposures) ** slope)))
    return float(np.quantile(off, 0.9))


def judge_elsewhere(data: Path) -> list[Row]:
    """Recall of runs that nothing was fitted to, as the law of all sources predicts it."""
    table = []
    for each in rows_of(data / "published-points.csv"):
        kind = next((name for name, mark in ELSEWHERE.items() if mark in each["source"]), None)
        if kind is None or not each["facts"].isdigit():
            continue
        seen, batch = float(each["exposures"].split()[0]), float(each["batch"].split()[0])
        case = Case(1e9 * float(each["params_B"]), float(each["facts"]), batch)
        ends = recall_after(seen, expected(case, CONSTANTS), NO_LOAD)
        named = {"kind": kind, "run": each["source"].split("/")[-1], "model": each["model"]}
        named |= {"method": each["method"], "rank": each["lora_rank"], "facts": each["facts"]}
        numbers = {name: round(getattr(ends, name), 4) for name in ends._fields}
        table.append(named | {"exposures": seen, "measured": float(each["recall"])} | numbers)
    for kind in ELSEWHERE:
        some = [row for row in table if row["kind"] == kind]
        off = np.mean([abs(row["measured"] - row["value"]) for row in some])
        inside = sum(row["low"] <= row["measured"] <= row["high"] for row in some)
        print(f"{kind}: {len(some)} points, off by {off:.3f}, {inside} inside")
    return table


_WIDE = 0.5  # an interval that is wider is not printed
ELSEWHERE = {
    "one paraphrase": "Fig 2 1para",
    "ten paraphrases": "Fig 2 10para",
    "one known fact for each": "Fig 2 1HK",
    "ten known facts for each": "Fig 2 10HK",
    "rephrased questions, judged": "2505.00263",
    "sentences, asked by cloze": "in-cell-learning",
}


def fit_load(data: Path) -> list[Row]:
    """The exponent of the load, by adapters that are given more and more facts.

    Each adapter has its own most recall and its own capacity; the exponent is that of all.
    """
    adapters: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for each in rows_of(data / "published-points.csv"):
        if "lora-capacity" in each["source"]:
            key = f"{each['model']}, rank {each['lora_rank']}"
            adapters[key].append((float(each["facts"]), float(each["recall"])))

    def off(exponent: float) -> tuple[float, list[Row]]:
        total, rows = 0.0, []
        for name, points in adapters.items():
            facts, recall = np.array(points).T

            def errors(given: np.ndarray, facts=facts, recall=recall) -> np.ndarray:
                return given[0] / (1 + (facts / np.exp(given[1])) ** exponent) - recall

            best = least_squares(errors, [0.95, math.log(np.median(facts))])
            total += float((best.fun**2).sum())
            rows.append(
                {"adapter": name, "most_recall": round(float(best.x[0]), 3)}
                | {"facts_at_one_half_of_it": round(math.exp(best.x[1]))}
            )
        return total, rows

    found = minimize_scalar(lambda exponent: off(exponent)[0], bounds=(0.5, 6), method="bounded")
    looks = sum(map(len, adapters.values()))
    print(f"exponent {found.x:.2f}; {looks} points, error {math.sqrt(found.fun / looks):.3f}")
    return off(found.x)[1]


def draw_figure() -> None:
    """Predicted over measured exposures of every run, without its source."""
    rows = [row for row in read_csv(HERE / "exposures.csv") if row["left_out"] == "source"]
    panels = []
    for name, title in (("half", "exposures to one half"), ("nine", "exposures to 0.9")):
        some = [row for row in rows if row[name] is not None]
        ends = [min(row[name] for row in some), max(row[name] for row in some)]
        series = []
        for source in dict.fromkeys(row["source"] for row in some):
            mine = [row for row in some if row["source"] == source]
            columns = ([row[f"{name}{end}"] for row in mine] for end in _ENDS)
            series.append(Series(short_name(source), Kind.MEASURED, *columns))
        series.append(Series("equal", Kind.REFERENCE, ends, ends))
        axes = {"x": "measured", "y": "predicted", "log_x": True, "log_y": True}
        panels.append(Panel(title=title, series=series, **axes))
    draw("plan-published.png", Picture(caption="", panels=panels))


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="fit", choices=CHOICES)
    parser.add_argument("data", nargs="?", type=Path)
    given = parser.parse_args()
    if given.what in ("recall", "load") and given.data is None:
        parser.error("give the folder with the sources' files")
    if given.what == "fit":
        for name, value in fitted(to_one_half(), slopes())._asdict().items():
            print(name, np.round(value, 4).tolist())
    elif given.what == "judge":
        table = judge_runs()
        write_table(table, HERE / "exposures.csv")
        report(table)
        probes = judge_probes()
        write_table(probes, HERE / "probes.csv")
        for name in ("half", "nine"):
            print(f"after a probe, {said_of(probes, name)}")
        write_table(judge_forms(), HERE / "forms.csv")
        write_table(judge_priors(), HERE / "priors.csv")
    elif given.what == "figure":
        draw_figure()
    elif given.what == "recall":
        print(f"error of the form {error_of_form(given.data):.4f}")
        write_table(judge_recall(given.data), HERE / "recall.csv")
        write_table(judge_elsewhere(given.data), HERE / "elsewhere.csv")
    else:
        write_table(fit_load(given.data), HERE / "load.csv")


if __name__ == "__main__":
    main()
