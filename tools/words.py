"""Plain words: a word that an international reader would stumble over has a plainer one.

python tools/words.py   # lists what to replace; exit code 1 if there is anything
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]

# A space in a pattern is any space, also the end of a line and the # of the next comment. A pattern
# with a capital letter is for words that have it; the others are for words in any case.
WRITE_INSTEAD = {
    # Words that are rare, or that have another meaning elsewhere.
    r"anew": "again",
    r"nought": "zero",
    r"torn": "corrupt",
    r"endless(ly)?": "population, or infinite",
    r"bent": "curved, or poor fit",
    r"twins?": "Monte Carlo",
    r"goes? on (from|where|with)": "resume",
    r"Chance of": "p-value",
    r"\(chance": "p =",
    r"facts a parameter": "facts per parameter",
    r"(seeds|runs|tests) a (cell|search|seed)": "per",
    r"critical batch(es)?": "critical sample size",
    r"(holds?|held) (\w+ ){0,4}against": "compare with, or check against",
    r"must lie": "expected range",
    r"worlds?": "instance",
    r"keepers?": "writer",
    r"kindly": "(leave it out)",
    r"(carry|carries|carried) out": "run",
    r"whilst|amongst|hitherto|thereof|wherein|herein|betwixt": "(a plainer word)",
    r"told|tells": "reports, shows, raises",
    r"beside": "next to, alongside",
    r"mend(s|ed|ing)?": "fix",
    r"minds?": "note, matter",
    r"of (its|your|our|their|one's|his|her) own": "its, your, separate",
    r"so that|for a result": "so, or a new sentence",
    r"in the way(?! (that|in|of|it|they|we|you))": "bottleneck",
    r"binds": "is the dominant error source",
    r"held by|tests? holds?": "tested by",
    r"(few|more|many|most|all|\d+) looks": "evaluations",
    r"whose is what": "attribution",
    r"hand(s|ed|ing)?( |_)over": "pass, register",
    r"comes?( |_)along": "is built in",
    r"deaf": "swallows exceptions",
    r"knock(s|ed|ing)?": "probe",
    r"journey": "(say what happens)",
    # Sentences that begin with anything but their subject, or that are riddles.
    r"[A-Z][a-z]+(?<!e)ed (is|are)": "the subject first",
    r"that (is|are) none": "the name of the thing, such as NaN",
    r"(samples|data|theory|forms) teach(es)?": "the model stores",
    r"to \w+ (it|them|all|one|that|this) (costs?|takes?|means?|needs?)": "a gerund, or if you",
    # Words of the field.
    r"(the|a|this|that|which|what) share|shares? of": "fraction",
    r"(the|its|their|a|measured|fitted) powers?(?![ -]laws?| of (a|the) test)": "exponent",
    r"(hold|holds|held|holding) (\w+ ){0,3}facts|can hold": "store",
    r"embedding tables?|tables? of embeddings": "embedding matrix",
    r"(?<!gradient[\s_])descent": "gradient descent",
    r"the edge": "the capacity threshold",
    r"the marks?": "the trigger",
    r"clarity": "signal-to-noise ratio",
    r"sealed": "preregistered",
    r"measured laws?": "fitted law",
    # Parts of the package and its pages.
    r"rooms?": "package, space",
    r"floors|top floor": "layers",
    r"doors?": "guide",
    r"strangers?('s)?": "plugin",
}
ALLOWED = {
    ("CHANGELOG.md", "- Renamed, in"): "names that are no more",
    ("CHANGELOG.md", "`torn` shards are `corrupt`"): "the same",
    ("CHANGELOG.md", "| `World`"): "the same",
    ("CHANGELOG.md", "| `Audit`'s `told`"): "the same",
    ("CHANGELOG.md", "| `from_dict(told=…)`"): "the same",
    ("CHANGELOG.md", "| a law's `chance`"): "the same",
    ("src/recallscope/parts/fields.toml", "The share of"): "the same as below",
    ("docs/commands.md", "The share of"): "the same",
    **{
        (file, part): "part of the hashes of learners that were made from ours"
        for part in ("descent_rate", "_DESCENT")
        for file in (
            "src/recallscope/learning/training/optimisers.py",
            "src/recallscope/learning/training/rates.py",
            "studies/training.py",
        )
    },
    **{
        (f"src/recallscope/paper/{file}", part): "the name of a prediction"
        for file, part in (
            ("findings.toml", '"share of '),
            ("findings.toml", "fewer dimensions than the edge"),
            ("claims/oscillations.py", "share of looks at which the loss rose"),
        )
    },
    ("tools/claims_page.py", "fewer dimensions than the edge"): "the name of a prediction",
}
"""Lines where a word is right after all: the file, a part of the line, and why."""

_CHECKED = (
    *(f"src/**/*.{kind}" for kind in ("py", "pyi", "j2", "toml", "css", "js", "html")),
    *("tests/**/*.py", "studies/*.py", "studies/*.md", "tools/*", "docs/**/*.md", "examples/**/*"),
    *("*.md", "*.toml", "*.yml"),
)
_LISTS = {"tools/words.py", "tests/test_words.py"}
_FROZEN = {
    f"src/recallscope/paper/{name}": "committed before its runs: seeds and a manifest have its hash"
    for name in (
        "predictions.toml",
        "predictions-0.3.toml",
        "sweeps/full/capacity-one-step.toml",
        "sweeps/full/random-long.toml",
    )
}
_GENERATED = re.compile(r"docs/claims(/[\w-]+)?\.md")  # from texts that are checked where they are


def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words; an underscore ends one, so names in code are read too."""
    spaced = pattern.replace("[ -]", r"[\s-]+").replace(" ", r"[\s#]+")
    return re.compile(rf"(?:{spaced})(?![a-z0-9])")


_PATTERNS = [
    (_compiled(pattern), pattern != pattern.lower(), instead)
    for pattern, instead in WRITE_INSTEAD.items()
]
_INSIDE = re.compile(r"[A-Za-z0-9-]")

Found = dict[tuple[str, str], list[str]]
"""Messages by file and word."""


def found_in(text: str) -> list[tuple[int, str, str]]:
    """The line, the word, and what to write instead, in the order of the text."""
    found, lower = [], text.lower()
    for pattern, capital, instead in _PATTERNS:
        for match in pattern.finditer(text if capital else lower):
            start = match.start()
            # Asked here and not in the pattern: one that begins with a letter is found much faster.
            if start == 0 or not _INSIDE.match(text, start - 1):
                word = " ".join(re.findall(r"[^\s#]+", match[0])).lower()
                found.append((text.count("\n", 0, start) + 1, word, instead))
    return sorted(found)


def found_below(root: Path) -> Found:
    """All that the files of a checkout have."""
    found: Found = defaultdict(list)
    paths = {path for pattern in _CHECKED for path in root.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        if name in _LISTS or name in _FROZEN or "__pycache__" in name or _GENERATED.fullmatch(name):
            continue
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        for line, word, instead in found_in(text):
            if not any(name == file and part in lines[line - 1] for file, part in ALLOWED):
                found[name, word].append(f"{name}:{line}: {word}: {instead}")
    return found


def main(root: Path = ROOT) -> int:
    """Print what is wrong, and return the exit code."""
    found = [message for _, messages in sorted(found_below(root).items()) for message in messages]
    print("\n".join(found) if found else "Words are plain.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
