"""Facts taught to a tiny checkpoint: full, LoRA, resumed, diverged, and by the command."""

from __future__ import annotations

import csv
import json
import os
import signal
import statistics
import subprocess
import sys
from importlib import import_module

import pytest
import tiny_llama
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from recallscope import ProblemError, Taught, teach
from recallscope.teaching.callback import FACTS
from recallscope.teaching.facts import Facts
from recallscope.teaching.recall import recall
from recallscope.teaching.teach import PRECISIONS
from recallscope.teaching.tokens import Tokens

HOW = {"precision": "float32", "batch": 10, "exposures": 25, "rate": 3e-3}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_llama.checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture
def facts(tmp_path):
    return tiny_llama.fact_file(tmp_path)


def test_all_parameters_learn_the_facts_and_are_saved(tmp_path, facts, checkpoint):
    done = []
    folder = tmp_path / "taught"
    taught = teach(facts, checkpoint, folder=folder, progress=lambda *now: done.append(now), **HOW)
    assert taught.recall == 1
    assert taught.advice() == "The model knows the facts."
    assert (taught.steps, taught.sample) == (100, 32)
    assert taught.trained_parameters == taught.parameters
    assert done[-1] == (100, 100)
    assert taught.exposures_to(0.5) < taught.exposures_to(0.9) < 25
    saved = AutoModelForCausalLM.from_pretrained(folder / "model")
    tokens = Tokens(Facts(facts), AutoTokenizer.from_pretrained(folder / "model"), 64)
    assert recall(saved, tokens).right.all()
    prompt = torch.tensor([tokens.ids(0)[: -int(tokens.answers[0])]])
    made = saved.generate(prompt, max_new_tokens=20, do_sample=False, pad_token_id=0)
    assert tokens.tokenizer.decode(made[0], skip_special_tokens=True) == (
        f"{tiny_llama.facts()[0]['prompt']} {tiny_llama.facts()[0]['answer']}"
    )


def test_adapters_learn_and_the_model_under_them_does_not(tmp_path, facts, checkpoint):
    folder = tmp_path / "taught"
    taught = teach(
        facts, checkpoint, rank=8, folder=folder, seed=3, **(HOW | {"exposures": 60, "rate": None})
    )
    assert taught.rank == 8
    assert taught.recall > 0.5
    assert taught.trained_parameters < taught.parameters / 2
    assert {path.name for path in (folder / "model").iterdir()} >= {
        *("adapter_config.json", "adapter_model.safetensors", "tokenizer.json"),
    }
    config = json.loads((folder / "model" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (8, 16)
    assert all("lora" in name for name in load_file(folder / "model/adapter_model.safetensors"))


KILLED = """
import json, os, signal, sys
import datasets, torch
from recallscope.teaching.callback import RecallCallback
from recallscope import teach

datasets.config.HF_DATASETS_CACHE = sys.argv[4]
look = RecallCallback.on_step_end
def end(self, args, state, control, **given):
    look(self, args, state, control, **given)
    if state.global_step == 47:
        os.kill(os.getpid(), signal.SIGKILL)
RecallCallback.on_step_end = end
torch.set_num_threads(1)
teach(sys.argv[1], sys.argv[2], folder=sys.argv[3], progress=False, **json.loads(sys.argv[5]))
"""


def test_a_killed_training_is_resumed_to_the_same_table(tmp_path, facts, checkpoint, threads):
    threads(1)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    given = [*map(str, (facts, checkpoint, killed, tmp_path / "cache")), json.dumps(HOW)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *given],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (killed / FACTS).exists()
    last = tmp_path / "killed" / "checkpoint-40" / "trainer_state.json"
    assert last.exists()
    (killed / "checkpoint-90").mkdir()  # as one that was being written
    (killed / "checkpoint-90" / "trainer_state.json").write_text('{"global_step": 9')
    resumed = teach(facts, checkpoint, folder=killed, progress=False, **HOW)
    first = teach(facts, checkpoint, folder=whole, progress=False, **HOW)
    assert (killed / FACTS).read_bytes() == (whole / FACTS).read_bytes()
    assert [look.loss for look in resumed.looks] == [look.loss for look in first.looks]
    with pytest.raises(ProblemError, match=r"has another training \(rate 0.003\); give another"):
        teach(facts, checkpoint, folder=killed, **(HOW | {"rate": 2e-3}))


TOGETHER = """
import json, os, sys
import datasets, torch
from recallscope import teach

datasets.config.HF_DATASETS_CACHE = sys.argv[3]
torch.set_num_threads(1)
taught = teach(sys.argv[1], sys.argv[2], progress=False, every=20, **json.loads(sys.argv[4]))
with open(f"{sys.argv[3]}.{os.environ['RANK']}", "w") as file:
    json.dump(taught.to_dict(), file)
"""


@pytest.mark.slow
def test_two_processes_give_the_recall_of_one(tmp_path, facts, checkpoint):
    script = tmp_path / "together.py"
    script.write_text(TOGETHER)
    cache = tmp_path / "cache"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    given = [*map(str, (script, facts, checkpoint, cache)), json.dumps(HOW)]
    done = subprocess.run([*launch, *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = (
        Taught.from_dict(json.loads((tmp_path / f"cache.{rank}").read_text())) for rank in (0, 1)
    )
    one = teach(facts, checkpoint, every=20, **HOW)
    for taught in (first, second):
        assert (taught.facts, taught.batch, taught.steps) == (40, 10, 100)
        assert len(taught.missing) == round(40 * (1 - taught.recall))
        assert [look.recall for look in taught.looks] == pytest.approx(
            [look.recall for look in one.looks], abs=0.1
        )


def test_a_loss_that_diverges_ends_with_a_sentence(facts, checkpoint):
    taught = teach(facts, checkpoint, **(HOW | {"rate": 30.0}))
    assert taught.status == "failed"
    assert str(taught).startswith("failed: the loss diverged from 6")
    assert "at a rate of 30; give a rate of 10" in str(taught)
    assert taught.steps < 60
    assert Taught.from_dict(taught.to_dict()).reason == taught.reason


def test_a_training_ends_at_a_recall_or_a_time(facts, checkpoint):
    early = teach(facts, checkpoint, until=0.5, every=4, **HOW)
    assert early.status == "ok"
    assert early.steps < 100
    assert early.looks[-2].recall < 0.5 <= early.looks[-1].recall == early.recall
    assert teach(facts, checkpoint, minutes=1e-9, **HOW).steps == 1


def test_counts_say_how_often_a_fact_is_seen(tmp_path, checkpoint):
    rows = [{**fact, "count": (0, 1, 4)[i % 3]} for i, fact in enumerate(tiny_llama.facts())]
    path = tmp_path / "counted.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    taught = teach(path, checkpoint, folder=tmp_path / "taught", **(HOW | {"exposures": 5}))
    assert taught.facts == 26
    assert taught.looks[-1].exposures == pytest.approx(5 * 65 / 26)
    assert taught.steps == 35  # of 65 in an exposure, in batches of 10
    with (tmp_path / "taught" / FACTS).open(newline="") as file:
        table = list(csv.DictReader(file))
    never, once, often = (
        [float(row["loss"]) for row in table if row["count"] == count] for count in "014"
    )
    assert statistics.mean(often) < statistics.mean(once) < statistics.mean(never)


def test_a_batch_in_parts_gives_the_same(facts):
    whole, parts = (
        teach(
            facts,
            tiny_llama.model(),
            tokenizer=tiny_llama.tokenizer(),
            accumulate=accumulate,
            **(HOW | {"exposures": 3}),
        )
        for accumulate in (1, 5)
    )
    assert [look.loss for look in parts.looks] == pytest.approx(
        [look.loss for look in whole.looks], rel=1e-4
    )


def test_bfloat16_and_another_wording(tmp_path, checkpoint):
    rows = [{**fact, "test_prompt": f"So {fact['prompt']}"} for fact in tiny_llama.facts()]
    path = tmp_path / "worded.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    taught = teach(path, checkpoint, **(HOW | {"precision": "bfloat16"}))
    assert taught.recall > 0.9
    assert 0 < taught.test_recall <= taught.recall


def test_what_cannot_be_taught_is_explained(tmp_path, facts, checkpoint):
    def said(*given, **how):
        with pytest.raises(ProblemError) as raised:
            teach(*given, **how)
        return str(raised.value)

    assert "must be a folder with a checkpoint; there is no such" in said(facts, tmp_path / "no")
    assert "must be a folder with a config.json or one .gguf" in said(facts, tmp_path)
    assert "exposures must be a number up to 10^6, not 0" in said(facts, checkpoint, exposures=0)
    assert "did you mean float32?" in said(facts, checkpoint, precision="float31")
    assert "recall at which a training ends" in said(facts, checkpoint, until=2)
    assert "minutes must be a number above 0, not 0" in said(facts, checkpoint, minutes=0)
    assert "give a batch of 12" in said(facts, checkpoint, batch=10, accumulate=4)
    assert "needs its tokenizer" in said(facts, tiny_llama.model())
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "tokenizer.json").write_bytes((checkpoint / "tokenizer.json").read_bytes())
    (pickled / "config.json").write_bytes((checkpoint / "config.json").read_bytes())
    torch.save(tiny_llama.model().state_dict(), pickled / "pytorch_model.bin")
    assert "cannot be loaded" in said(facts, pickled)


def test_the_command_reports_all_of_it(tmp_path, command, facts, checkpoint):
    keep = tmp_path / "keep.txt"
    keep.write_text("Ada and Bela like the sea.\n\nNobody was born in Kiel.")
    missing, figure = tmp_path / "missing.csv", tmp_path / "curve.svg"
    done = command(
        *("teach", str(facts), "--model", str(checkpoint), "--exposures", "12"),
        *("--keep", str(keep), "--rate", "3e-3", "--precision", "float32", "--batch", "10"),
        *("--table", str(missing), "--figure", str(figure)),
    )
    assert done.returncode == 0, done.stderr
    for text in ("exposures to one half", "perplexity of kept texts", "Next: ", "missing"):
        assert text in done.stdout
    assert missing.read_text().startswith("line,prompt,answer,count,tokens,recalled,loss")
    assert figure.exists()
    document = command(
        *("teach", str(facts), "--model", str(checkpoint), "--exposures", "1", "--json"),
    )
    assert json.loads(document.stdout)["facts"] == 40


def test_the_precisions_of_the_command_are_those_of_the_function():
    assert import_module("recallscope.cli.teach").PRECISIONS == PRECISIONS
