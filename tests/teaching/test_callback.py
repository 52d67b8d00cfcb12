"""The callback in a plain Trainer: what it sees, and that the training does not notice it."""

from __future__ import annotations

import csv

import datasets
import pytest
import tiny_llama
import torch
from transformers import Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from recallscope import ProblemError
from recallscope.teaching.callback import FACTS, HISTORY, STEPS, RecallCallback
from recallscope.teaching.facts import Facts
from recallscope.teaching.tokens import Tokens

KEPT = ["Ada and Bela like the sea.", "Nobody was born in Kiel."]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_llama.tokenizer()


@pytest.fixture
def facts(tmp_path):
    return Facts(tiny_llama.fact_file(tmp_path))


class Texts(torch.utils.data.Dataset):
    """Prompts and answers as a plain Trainer takes them."""

    def __init__(self, facts, tokenizer):
        self.tokens = Tokens(facts, tokenizer, 64)

    def __len__(self):
        return len(self.tokens.facts)

    def __getitem__(self, place):
        ids, answer = self.tokens.ids(place), int(self.tokens.answers[place])
        labels = [-100] * (len(ids) - answer) + ids[-answer:]
        filled = [0] * (32 - len(ids))
        return {"input_ids": ids + filled, "labels": labels + [-100] * len(filled)}


def trained(folder, facts, tokenizer, *callbacks, model=None, resume=None, stop=None, **how):
    arguments = {
        "output_dir": str(folder),
        "per_device_train_batch_size": 10,
        "num_train_epochs": 4,
        "learning_rate": 3e-3,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "use_cpu": True,
        **how,
    }
    trainer = Trainer(
        model or tiny_llama.model(dropout=0.1),
        TrainingArguments(**arguments),
        train_dataset=Texts(facts, tokenizer),
        processing_class=tokenizer,
        callbacks=[*callbacks],
        data_collator=lambda rows: {
            name: torch.tensor([row[name] for row in rows]) for name in rows[0]
        },
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def test_losses_and_weights_are_the_same_to_the_bit(tmp_path, facts, tokenizer):
    looking = RecallCallback(facts, every=1, keep=KEPT)
    without = trained(tmp_path / "a", facts, tokenizer)
    watched = trained(tmp_path / "b", facts, tokenizer, looking)

    def losses(trainer):
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

    assert len(losses(without)) == 16
    assert losses(watched) == losses(without)
    after = watched.model.state_dict()
    for name, weights in without.model.state_dict().items():
        assert torch.equal(weights, after[name]), name
    assert len(looking.looks) == 17


def test_it_reports_the_curve_and_every_fact(tmp_path, facts, tokenizer):
    callback = RecallCallback(facts, every=4, keep=KEPT)
    with pytest.raises(ProblemError, match="has not ended yet"):
        _ = callback.result
    trained(tmp_path, facts, tokenizer, callback, num_train_epochs=30)
    taught = callback.result
    assert [look.exposures for look in taught.looks] == [place * 1.0 for place in range(31)]
    assert taught.looks[0].recall == 0
    assert taught.recall > 0.5
    assert len(taught.missing) == round(40 * (1 - taught.recall))
    half = taught.exposures_to(0.5)
    assert taught.looks[int(half)].recall <= 0.5 <= taught.looks[int(half) + 1].recall
    assert taught.exposures_to(1.1) is None
    assert (taught.batch, taught.steps, taught.rank, taught.rate) == (10, 120, None, 3e-3)
    assert taught.kept_after > 1.1 * taught.kept_before
    assert "mix in such texts" in taught.advice()
    assert type(taught).from_dict(taught.to_dict()) == taught
    assert "recall" in str(taught)
    titles = [axes.get_title() for axes in taught.plot().axes]
    assert [title for title in titles if title] == ["recall", "loss", "kept texts"]

    def table(name):
        with (tmp_path / name).open(newline="") as file:
            return list(csv.DictReader(file))

    assert [float(row["recall"]) for row in table(STEPS)] == [look.recall for look in taught.looks]
    every = table(FACTS)
    assert len(every) == 40
    assert every[3]["prompt"] == "Dora number 3 was born in"
    assert sum(row["recalled"] == "True" for row in every) == round(40 * taught.recall)
    for row in every:
        if row["recalled"] == "True":
            assert 0 < float(row["first_recalled"]) <= 30


def test_a_resumed_training_has_the_same_table_of_facts(tmp_path, facts, tokenizer):
    how = {"save_strategy": "steps", "save_steps": 5, "num_train_epochs": 10}
    whole = RecallCallback(facts, every=3, sample=20)
    trained(tmp_path / "a", facts, tokenizer, whole, **how)
    trained(tmp_path / "b", facts, tokenizer, RecallCallback(facts, every=3, sample=20), **how)
    history = tmp_path / "b" / HISTORY
    with history.open("a") as file:
        file.write('{"look": {"step": 9')  # as a process leaves it that is killed
    resumed = RecallCallback(facts, every=3, sample=20)
    checkpoint = str(tmp_path / "b" / "checkpoint-20")
    trained(tmp_path / "b", facts, tokenizer, resumed, resume=checkpoint, **how)
    assert (tmp_path / "a" / FACTS).read_bytes() == (tmp_path / "b" / FACTS).read_bytes()
    assert [look.recall for look in resumed.looks] == [look.recall for look in whole.looks]
    other = RecallCallback(facts, every=3, sample=19)
    with pytest.raises(ProblemError, match="is the curve of other facts, another sample"):
        trained(tmp_path / "b", facts, tokenizer, other, resume=checkpoint, **how)


@pytest.fixture
def many():
    rows = [
        {"prompt": f"Number {i} of {i % 7} is", "answer": f"{i * 7 % 100}", "count": i % 2}
        for i in range(3000)
    ]
    return Facts(datasets.Dataset.from_list(rows))


def test_by_default_a_sample_is_looked_at(tmp_path, many, tokenizer):
    callback = RecallCallback(many, keep=KEPT)
    trained(tmp_path, many, tokenizer, callback, max_steps=40)
    taught = callback.result
    assert [look.step for look in taught.looks] == [0, 8, 16, 24, 32, 40]
    assert (taught.facts, taught.sample) == (1500, 32)  # the others have no count
    assert taught.looks[0].kept_perplexity > 100


@pytest.mark.parametrize("examples", [10_000, 100_000, 10**6])
def test_looks_take_a_small_part_of_the_work(many, examples):
    callback = RecallCallback(many)
    callback._kept = []
    callback._plan(1000, examples)
    assert len(callback._steps) == 20
    asked = (len(callback._steps) + 1) * len(callback._sample)
    assert asked <= 0.025 * 3 * examples  # forward passes, of three


def test_a_trainer_without_a_tokenizer_is_explained(tmp_path, facts):
    with pytest.raises(ProblemError, match=r"has no tokenizer; give RecallCallback\("):
        RecallCallback(facts).on_train_begin(None, None, None, model=tiny_llama.model())
