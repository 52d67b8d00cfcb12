"""Teaching facts to a checkpoint, by the Trainer of transformers and the adapters of peft."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from recallscope.common.checks import check_target, choice, shown, step_size, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.common.formatting import format_number
from recallscope.common.given_files import read_json
from recallscope.common.new_files import write_whole
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.common.status import Status
from recallscope.model.kinds.huggingface import quiet
from recallscope.task.examples import IGNORED
from recallscope.teaching.callback import RecallCallback, context_of
from recallscope.teaching.checkpoint import load_checkpoint, weights_key, with_adapters
from recallscope.teaching.facts import Facts
from recallscope.teaching.kept import Texts
from recallscope.teaching.recall import takes_positions
from recallscope.teaching.taught import Taught
from recallscope.teaching.tokens import Tokens, batch_of
from recallscope.theory.pretrained import usual_batch

with missing_explained("teach"):
    import accelerate as _  # noqa: F401  # the Trainer would say so in several lines
    from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed
    from transformers.trainer_callback import PrinterCallback

PRECISIONS = ("auto", "float32", "bfloat16")
_WARM_UP = 0.05  # of the steps
_CHECKPOINTS, _KEPT = 10, 2  # of a training
_LOGS = 100  # losses that are looked at, of a training
_WORSE, _IN_A_ROW = 1.0, 3  # nats above the first loss, and for how many losses
_SETTINGS, _MODEL = "teach.json", "model"  # in the folder


def teach(
    facts: Facts | str | Path,
    model: Any,
    *,
    tokenizer: Any = None,
    rank: int | None = None,
    exposures: float = 20,
    batch: int | None = None,
    accumulate: int = 1,
    rate: float | None = None,
    precision: str = "auto",
    keep: Texts | None = None,
    every: int | None = None,
    sample: int | None = None,
    until: float | None = None,
    minutes: float | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    progress: ProgressCallback | bool = True,
) -> Taught:
    """Teach facts to a model, and report which of them it recalls.

    Args:
        facts: `Facts`, or a path to a file of them.
        model: a folder with a checkpoint of transformers or a file of GGUF, or a model, which is
            trained in place.
        tokenizer: of a model that is no folder.
        rank: of LoRA adapters on all matrices, scaled by 2; all parameters learn if not given.
        exposures: how often each fact is seen.
        batch: facts for each step; 128, or fewer if there are fewer than 384 facts.
        accumulate: in how many parts a batch is computed, to save memory.
        rate: the learning rate. If not given, 10⁻³ for all parameters and 2·10⁻³ for adapters at
            576 dimensions. It falls with their second power, and with their power 0.78.
        precision: 'float32' or 'bfloat16'; 'auto' is bfloat16 where the processor has it.
        keep: texts whose perplexity is measured before and after, as in `RecallCallback`.
        every: steps between looks, as in `RecallCallback`.
        sample: facts of a look, as in `RecallCallback`.
        until: end once a look finds this recall, before all exposures are over.
        minutes: end at the first step after so much time.
        folder: for checkpoints, tables and the trained model; a training that was stopped is
            resumed from it. Nothing is saved if not given.
        seed: of the order of facts, the adapters and the sample.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (steps done, steps in all).

    Returns:
        Recall along the way and at the end, and the facts that are missing.

    Raises:
        ProblemError: faulty facts, a checkpoint that cannot be loaded, or a folder of another
            training.

    >>> import torch
    >>> from datasets import Dataset
    >>> from tokenizers import Tokenizer, models
    >>> from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
    >>> words = {word: place for place, word in enumerate("one two three four is".split())}
    >>> backend = Tokenizer(models.WordLevel(words))
    >>> from tokenizers.pre_tokenizers import Whitespace
    >>> backend.pre_tokenizer = Whitespace()
    >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="is")
    >>> facts = Dataset.from_list([{"prompt": "one", "answer": "two"},
    ...                            {"prompt": "three", "answer": "four"}])
    >>> config = GPT2Config(vocab_size=5, n_embd=16, n_layer=1, n_head=1, n_positions=8)
    >>> _ = torch.manual_seed(0)
    >>> teach(Facts(facts), GPT2LMHeadModel(config), tokenizer=tokenizer, exposures=60,
    ...       rate=0.01, precision="float32").recall
    1.0
    """
    facts = facts if isinstance(facts, Facts) else Facts(facts)
    if not isinstance(exposures, Real) or not 0 < exposures <= 1e6:
        raise ProblemError(f"exposures must be a number up to 10^6, not {shown(exposures)}")
    choice("precision", precision, PRECISIONS)
    if until is not None:
        check_target(until, "the recall at which a training ends")
    if minutes is not None and not (isinstance(minutes, Real) and minutes > 0):
        raise ProblemError(f"minutes must be a number above 0, not {shown(minutes)}")
    seed = whole_number("seed", seed, 0, 2**32 - 1)
    rank = None if rank is None else whole_number("rank", rank, 1, 2**16)
    number = int((facts.counts > 0).sum())
    batch = usual_batch(number) if batch is None else whole_number("batch", batch, 1)
    if rate is not None:
        step_size("rate", rate)
    half = precision == "bfloat16" or (precision == "auto" and _has_bfloat16())
    watching = RecallCallback(facts, every=every, sample=sample, keep=keep, seed=seed)
    named = type(model).__name__
    if folder is not None and isinstance(model, (str, Path)):
        named = weights_key(model)
    if isinstance(model, (str, Path)):
        # What does not learn needs no more precision than the products have.
        kind = torch.bfloat16 if half and rank is not None else torch.float32
        model, own = load_checkpoint(model, kind)
        tokenizer = tokenizer or own
    if tokenizer is None:
        raise ProblemError("a model that is no folder needs its tokenizer; give tokenizer=…")
    set_seed(seed)
    if rank is not None:
        model = with_adapters(model, rank)
    if rate is None:
        rate = usual_rate(model.config.get_text_config().hidden_size, rank is not None)
    settings = {
        "facts": facts.key,
        "model": named,
        "rank": rank,
        "exposures": float(exposures),
        "batch": batch,
        "rate": rate,
        "precision": "bfloat16" if half else "float32",
        "seed": seed,
    }
    with ExitStack() as ends:
        if folder is None:
            place = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        else:
            place = _checked_folder(Path(folder), settings)
        ends.enter_context(quiet())
        update = ends.enter_context(shown_progress(progress, "teach"))
        arguments = _arguments(settings, accumulate, place, folder is not None, number, facts)
        tokens = Tokens(facts, tokenizer, context_of(model, tokenizer))
        stopping = _Watch(update, watching, until, minutes)
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=_Seen(facts),
            data_collator=_Collator(tokens, takes_positions(model)),
            compute_loss_func=_loss,
            processing_class=tokenizer,
            callbacks=[watching, stopping],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=_last_whole_checkpoint(place))
        if folder is not None and not stopping.why:
            trainer.save_model(str(place / _MODEL))
    return watching.end_as(Status.FAILED, stopping.why) if stopping.why else watching.result


def usual_rate(dim: int, adapters: bool) -> float:
    """A learning rate for a hidden size, for adapters or for all parameters.

    Measured at 576 dimensions (SmolLM2-135M). How it falls follows published rates: 2·10⁻⁵ for all
    parameters and 4·10⁻⁴ for adapters at 4096.

    >>> [float(f"{usual_rate(dim, False):.1g}") for dim in (576, 4096)]
    [0.001, 2e-05]
    >>> [float(f"{usual_rate(dim, True):.1g}") for dim in (576, 4096)]
    [0.002, 0.0004]
    """
    if adapters:
        return float(min(2e-3 * (576 / dim) ** 0.78, 5e-3))
    return float(min(1e-3 * (576 / dim) ** 2, 2e-3))


def _has_bfloat16() -> bool:
    """Whether the processor, or the accelerator, multiplies in bfloat16."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    if torch.accelerator.is_available():
        return False
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _arguments(
    settings: dict[str, Any], accumulate: int, place: Path, saved: bool, number: int, facts: Facts
) -> Any:
    """What the Trainer is given."""
    world = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
    world = max(world, _launched())
    parts = whole_number("accumulate", accumulate, 1) * world
    batch = settings["batch"]
    if batch % parts:
        raise ProblemError(
            f"a batch must be a multiple of its parts: {batch} facts cannot be divided into "
            f"{parts}; give a batch of {math.ceil(batch / parts) * parts}"
        )
    of_pass = math.ceil(int(facts.counts.sum()) / batch)
    steps = math.ceil(of_pass * settings["exposures"])
    return TrainingArguments(
        output_dir=str(place),
        per_device_train_batch_size=batch // parts,
        gradient_accumulation_steps=accumulate,
        num_train_epochs=settings["exposures"],
        learning_rate=settings["rate"],
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=round(_WARM_UP * steps),
        weight_decay=0.0,
        bf16=settings["precision"] == "bfloat16",
        use_cpu=not torch.accelerator.is_available(),
        seed=settings["seed"],
        logging_steps=max(1, steps // _LOGS),
        logging_nan_inf_filter=False,  # a loss that is no number would be logged as 0
        save_strategy="steps" if saved else "no",
        save_steps=max(1, steps // _CHECKPOINTS),
        save_total_limit=_KEPT,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        ddp_find_unused_parameters=False,
    )


def _launched() -> int:
    """How many processes accelerate or torchrun has started."""
    text = os.environ.get("WORLD_SIZE", "1")
    return int(text) if text.isdecimal() else 1


def _checked_folder(place: Path, settings: dict[str, Any]) -> Path:
    """The folder, for these settings: new, empty, or that of the same training."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProblemError(f"the folder {str(place)!r:.200}: {error.strerror}") from None
    noted = place / _SETTINGS
    if noted.exists():
        before = read_json(noted, "settings of a training", 2**16)
        other = [name for name, value in settings.items() if before.get(name) != value]
        if other:
            was = ", ".join(f"{name} {before.get(name)!r:.80}" for name in other)
            raise ProblemError(
                f"the folder {str(place)!r:.200} has another training ({was}); give another "
                "folder, or the same settings to resume"
            )
    else:
        write_whole(noted, "settings of the training", json.dumps(settings, indent=2))
    return place


def _last_whole_checkpoint(place: Path) -> str | None:
    """The last checkpoint that was written to its end, as its last file shows."""
    found = []
    for state in place.glob("checkpoint-*/trainer_state.json"):
        try:
            found.append((int(json.loads(state.read_bytes())["global_step"]), str(state.parent)))
        except (ValueError, LookupError, TypeError):  # the process ended while it was written
            continue
    return max(found)[1] if found else None


class _Seen(torch.utils.data.Dataset[int]):
    """The numbers of the facts, each as often as it is seen at an exposure."""

    def __init__(self, facts: Facts) -> None:
        self._ends = facts.counts.cumsum(dtype="int64")

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, place: int) -> int:
        return int(self._ends.searchsorted(place, side="right"))


class _Collator:
    """Makes a batch of facts, with logits only where answers stand if the model can do that."""

    def __init__(self, tokens: Tokens, with_positions: bool) -> None:
        self._tokens, self._with_positions = tokens, with_positions

    def __call__(self, facts: Sequence[int]) -> dict[str, torch.Tensor]:
        end = self._tokens.tokenizer.eos_token_id
        closing = [] if end is None else [end]  # the model learns where an answer ends
        rows = [[*self._tokens.ids(fact), *closing] for fact in facts]
        batch = batch_of(rows, [int(self._tokens.answers[fact]) + len(closing) for fact in facts])
        given = {"input_ids": batch.ids}
        labels = batch.labels
        if self._with_positions:
            given["logits_to_keep"] = batch.positions
        else:
            labels = torch.full_like(batch.ids, IGNORED)
            labels[:, batch.positions] = batch.labels
        # The Trainer counts labels from the second on, as it takes them for the tokens themselves.
        none = torch.full((len(rows), 1), IGNORED)
        return given | {"labels": torch.cat([none, labels], dim=1)}


def _loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
    """The mean over the tokens of all answers in a batch, whatever its parts."""
    wanted = labels[:, 1:]
    asked = wanted != IGNORED  # a softmax elsewhere would take most of the loss's time
    total = functional.cross_entropy(outputs.logits[asked].float(), wanted[asked], reduction="sum")
    return total / (asked.sum() if num_items_in_batch is None else num_items_in_batch)


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Shows progress, and ends a training that diverges, has enough recall or takes too long."""

    def __init__(
        self,
        update: ProgressCallback,
        watching: RecallCallback,
        until: float | None,
        minutes: float | None,
    ) -> None:
        self._update, self._watching, self._until = update, watching, until
        self._end = None if minutes is None else time.monotonic() + 60 * minutes
        self.why = ""

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._update(state.global_step, state.max_steps)
        looks = self._watching.looks  # of which this step may have one: it is called before this
        enough = self._until is not None and looks and looks[-1].recall >= self._until
        late = self._end is not None and time.monotonic() > self._end
        if enough or late:
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        losses = [entry["loss"] for entry in state.log_history if "loss" in entry]
        if not losses:
            return
        worse = [not loss <= losses[0] + _WORSE for loss in losses[-_IN_A_ROW:]]
        if not math.isfinite(losses[-1]) or (len(losses) > _IN_A_ROW and all(worse)):
            control.should_training_stop = True
            self.why = (
                f"the loss diverged from {format_number(losses[0])} to "
                f"{format_number(losses[-1])} by step {state.global_step}, at a rate of "
                f"{format_number(args.learning_rate)}; give a rate of "
                f"{format_number(args.learning_rate / 3, 1)}"
            )
