"""Facts that no model has read: people with invented names, and what is asked of them.

A fact is asked in one of two wordings: as a question, or as the beginning of a plain sentence.
"""

from __future__ import annotations

import random

_STARTS = ("Bel", "Cor", "Dran", "El", "Fen", "Gri", "Hal", "Ith", "Jor", "Kel", "Lun", "Mar")
_STARTS += ("Nor", "Ost", "Pel", "Quor", "Ras", "Sil", "Tor", "Ul", "Ver", "Wen", "Yar", "Zim")
_MIDDLES = ("a", "ani", "e", "eri", "i", "imo", "o", "oro", "u", "uwe")
_ENDS = ("bek", "dal", "fin", "gar", "holm", "kor", "lis", "mund", "nax", "rith", "stad", "vin")
_ASKED = {
    "town": ("In which town was {} born?", "{} was born in the town of"),
    "ship": ("On which ship does {} sail?", "{} sails on the ship"),
    "firm": ("For which firm does {} work?", "{} works for the firm"),
    "dog": ("What is the dog of {} called?", "The dog of {} is called"),
    "book": ("Which book did {} write?", "{} wrote a book with the title"),
}
WORDINGS = ("question", "sentence")


def invented_facts(count: int, seed: int, wording: str = "question") -> list[dict[str, str]]:
    """Facts with prompt and answer; the first ones are the same for every count.

    >>> facts = invented_facts(200, seed=1)
    >>> facts[:3] == invented_facts(3, seed=1), len({fact["prompt"] for fact in facts})
    (True, 200)
    """
    chosen = random.Random(seed)
    facts, seen = [], set()
    while len(facts) < count:
        person = f"{_name(chosen)} {_name(chosen)}"
        asked, answer = chosen.choice(list(_ASKED)), _name(chosen)
        if person in seen:
            continue
        seen.add(person)
        question, sentence = (text.format(person) for text in _ASKED[asked])
        prompt = f"Question: {question} Answer:" if wording == "question" else sentence
        facts.append({"prompt": prompt, "answer": answer})
    return facts


def _name(chosen: random.Random) -> str:
    return chosen.choice(_STARTS) + chosen.choice(_MIDDLES) + chosen.choice(_ENDS)
