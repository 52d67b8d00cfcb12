"""A tiny Llama with random weights, its tokenizer trained on the spot, and facts for it."""

from __future__ import annotations

import json

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

NAMES = ("Ada", "Bela", "Cleo", "Dora", "Egon", "Frida", "Gustav", "Hanna", "Ilse", "Jonas")
CITIES = ("Aachen", "Bonn", "Celle", "Dresden", "Emden", "Fulda", "Gotha", "Halle", "Jena", "Kiel")


def facts(count=40):
    """Facts of a few tokens each, of several lengths."""
    return [
        {
            "prompt": f"{NAMES[i % 10]} number {i} was born in",
            "answer": f"{CITIES[i * 7 % 10]} or {CITIES[i * 3 % 10]}"[: 5 + i % 9].strip(),
        }
        for i in range(count)
    ]


def fact_file(folder, count=40, name="facts.jsonl"):
    """The same in a file."""
    path = folder / name
    path.write_text("\n".join(map(json.dumps, facts(count))))
    return path


def tokenizer():
    """Byte pairs, trained on the facts."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator((f"{f['prompt']} {f['answer']}" for f in facts()), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


def model(seed=0, dropout=0.0, vocab=400):
    """Two layers of 64 dimensions."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        attention_dropout=dropout,
        bos_token_id=0,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config)


def checkpoint(folder):
    """A folder with both, as people have it."""
    model().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
