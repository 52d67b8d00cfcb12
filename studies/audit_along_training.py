"""The audit along the training of a small GPT-2: effective dimension and recall.

    pip install transformers
    python studies/audit_along_training.py     # docs/audit-training.png, studies/audit-along-….csv

One layer, everything is trained (tied embeddings, positions, attention, MLP) by AdamW on fresh
samples of the task. The trigger is a row of the embedding matrix that is added to the marked token.
Checkpoints are saved as transformers saves them, and audited as a folder.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from recallscope import RecallStream, RecallTask, audit
from recallscope.common.csv_files import write_csv

HERE = Path(__file__).parent
VOCAB, LENGTH, DIM = 256, 8, 32
BATCH, TESTS = 256, 4096
SAVED = (0, 25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600)


def new_model() -> GPT2LMHeadModel:
    """An embedding matrix with a row for each token and one for the trigger."""
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB + 1,
            n_positions=LENGTH,
            n_embd=DIM,
            n_layer=1,
            n_head=1,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )


def answers(model: GPT2LMHeadModel, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """Logits of labels, read at the last position."""
    table = model.transformer.wte.weight
    marked = torch.nn.functional.one_hot(position, tokens.shape[1]).to(table.dtype)
    shown = table[tokens] + marked[..., None] * table[VOCAB]
    return model(inputs_embeds=shown).logits[:, -1, :VOCAB]


def recall(model: GPT2LMHeadModel, task: RecallTask) -> float:
    tokens, position, label = map(torch.from_numpy, task.draw(0, TESTS, "test"))
    with torch.no_grad():
        return (answers(model, tokens, position).argmax(dim=1) == label).double().mean().item()


def trained(folder: Path) -> dict[int, float]:
    """Recall by step; a checkpoint of each is left in the folder."""
    task, model = RecallTask(VOCAB, LENGTH, 0), new_model()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.003)
    found = {}
    stream = iter(RecallStream(task, samples=BATCH * SAVED[-1], block=BATCH))
    for step in range(SAVED[-1] + 1):
        if step in SAVED:
            model.save_pretrained(folder / f"step-{step}")
            found[step] = recall(model, task)
            print(f"step {step}: recall {found[step]:.3f}", flush=True)
        if step == SAVED[-1]:
            break
        tokens, position, label = next(stream)
        loss = torch.nn.functional.cross_entropy(answers(model, tokens, position), label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return found


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Two panels over steps."""
    steps = [row["step"] for row in rows]
    figure, (above, below) = plt.subplots(2, 1, figsize=(5, 4.6), sharex=True, layout="constrained")
    above.plot(steps, [row["recall"] for row in rows], "o-", color="#0072b2")
    above.set_ylabel("recall on fresh samples")
    above.set_ylim(0, 1.03)
    below.plot(steps, [row["raw"] for row in rows], "o-", color="#d55e00", label="of the table")
    below.axhline(DIM, color="#777777", linewidth=0.8, label="dimensions of a row")
    below.set_ylabel("effective dimension")
    below.set_ylim(0, DIM * 1.1)
    below.set_xlabel("training step")
    below.set_xscale("symlog", linthresh=25, linscale=0.5)
    below.set_xlim(-3, 2000)
    ticks = [0, 25, 100, 400, 1600]
    below.set_xticks(ticks, [str(each) for each in ticks])
    below.minorticks_off()
    below.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Train, audit, and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        recalls = trained(Path(place))
        found = audit(place)
    rows = []
    for step, each in zip(found.steps or [], found.checkpoints, strict=True):
        table = each.tables[0].statistics
        rows.append(
            {
                "step": int(step),
                "recall": recalls[int(step)],
                **table.effective_dim,
                "mean_share": table.mean_share,
                "one_step_half": each.facts.one_step[0.5],
                "bottleneck": each.facts.bottleneck,
            }
        )
    write_csv(rows, str(HERE / "audit-along-training.csv"))
    draw(rows, HERE.parent / "docs" / "audit-training.png")


if __name__ == "__main__":
    main()
