"""What theory says in words."""

from __future__ import annotations

from recallscope.parts.data_files import sentences_next_to

SAID = sentences_next_to(__file__, "sentences.toml")
