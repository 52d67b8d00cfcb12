"""`recallscope cite`: BibTeX of what results made with this software rest on."""

from __future__ import annotations

from recallscope import __version__

_ENTRIES = """@inproceedings{{vural2026learning,
  title = {{Learning to Recall with Transformers Beyond Orthogonal Embeddings}},
  author = {{Vural and Bietti and Soltanolkotabi and Wu}},
  booktitle = {{International Conference on Learning Representations}},
  year = {{2026}},
  eprint = {{2603.15923}},
  archivePrefix = {{arXiv}},
  note = {{The task, the models and the three gradient steps}},
}}

@software{{recallscope,
  title = {{recallscope: how many facts can a transformer learn to recall, from how much data}},
  author = {{{{The recallscope authors}}}},
  version = {{{version}}},
  year = {{2026}},
  license = {{Apache-2.0}},
  note = {{The closed forms, the lower bound and the measurements}},
}}"""


def bibtex(version: str) -> str:
    """Entries for the paper and for this version of the software.

    >>> print(bibtex("1.2")[:32])
    @inproceedings{vural2026learning
    """
    return _ENTRIES.format(version=version)


def cite() -> None:
    """Print BibTeX for the paper and for this software."""
    print(bibtex(__version__))
