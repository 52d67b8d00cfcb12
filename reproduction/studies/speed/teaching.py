"""The speed of `teach` relative to a bare loop with the same model, batch and precision.

    speed/teaching --model FILE.gguf [--csv teaching.csv]

The bare loop is what one would write with torch and transformers: AdamW, bfloat16 by autocast,
logits and softmax only where answers stand, eager attention, nothing logged and nothing watched.
`teach` runs with its callback at its default. Times are of all steps, without loading the model.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import torch
from datasets import Dataset
from torch.nn import functional

from recallscope import Facts, teach
from recallscope.teaching.checkpoint import load_checkpoint
from recallscope.teaching.tokens import Tokens, batch_of
from reproduction.studies.kept_runs import write_table
from reproduction.studies.own_facts.invented_facts import invented_facts

FACTS, BATCH, EXPOSURES, RATE = 256, 128, 10, 1e-3


def bare(path: Path, facts: Facts) -> float:
    """Seconds of the training as one would write it."""
    model, tokenizer = load_checkpoint(path, torch.float32)
    tokens = Tokens(facts, tokenizer, 2048)
    end = tokenizer.eos_token_id
    rows = [[*tokens.ids(fact), end] for fact in range(FACTS)]
    answers = [int(answer) + 1 for answer in tokens.answers]
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, fused=True)
    started = time.perf_counter()
    for _ in range(EXPOSURES):
        order = random.sample(range(FACTS), FACTS)
        for start in range(0, FACTS, BATCH):
            chosen = order[start : start + BATCH]
            batch = batch_of([rows[fact] for fact in chosen], [answers[fact] for fact in chosen])
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(
                    input_ids=batch.ids, logits_to_keep=batch.positions, use_cache=False
                ).logits
            asked = batch.labels != -100
            functional.cross_entropy(logits[asked].float(), batch.labels[asked]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
    return time.perf_counter() - started


def ours(path: Path, facts: Facts) -> tuple[float, float]:
    """Seconds of the same by `teach`, with all looks; and those of looks."""
    model, tokenizer = load_checkpoint(path, torch.float32)
    started = time.perf_counter()
    taught = teach(
        *(facts, model),
        tokenizer=tokenizer,
        exposures=EXPOSURES,
        batch=BATCH,
        rate=RATE,
        precision="bfloat16",
        progress=False,
    )
    return time.perf_counter() - started, sum(look.seconds for look in taught.looks)


def main() -> None:
    """Time both in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    facts = Facts(Dataset.from_list(invented_facts(FACTS, seed=1)))
    rows = []
    for turn in range(asked.turns):
        of_bare = bare(asked.model, facts)
        of_teach, of_looks = ours(asked.model, facts)
        rows.append(
            {
                "turn": turn,
                "steps": EXPOSURES * FACTS // BATCH,
                "bare_seconds": of_bare,
                "teach_seconds": of_teach,
                "seconds_of_looks": of_looks,
                "bare_over_teach": of_bare / of_teach,
            }
        )
        print(rows[-1])
    if asked.csv:
        write_table(rows, asked.csv)


if __name__ == "__main__":
    main()
