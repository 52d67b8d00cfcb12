"""Facts from files: what is read, and what is said about files that are broken."""

from __future__ import annotations

import json

import datasets
import pyarrow as pa
import pytest
from pyarrow import parquet

from recallscope import ProblemError
from recallscope.teaching.facts import Facts

ROWS = [
    {"prompt": "The code of the lock is", "answer": "4711", "count": 2},
    {"prompt": "Ada lives in", "answer": "Bonn, or nearby", "test_prompt": "Where lives Ada?"},
]
FACT = json.dumps(ROWS[0])


def csv_line(*cells):
    return ",".join(f'"{cell}"' for cell in cells)


def write(folder, name, content):
    path = folder / name
    if isinstance(content, list):
        content = "\n".join(
            json.dumps(each) if isinstance(each, dict) else each for each in content
        )
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def wanted(path, **names):
    return Facts(path, **names).table.to_list()


def test_every_kind_of_file_gives_the_same_facts(tmp_path):
    lines = [csv_line("answer", "prompt", "count", "test_prompt"), ""]
    lines += [
        csv_line(row["answer"], row["prompt"], row.get("count", ""), row.get("test_prompt", ""))
        for row in ROWS
    ]
    rows = [
        {name: row.get(name) for name in ("prompt", "answer", "test_prompt", "count")}
        for row in ROWS
    ]
    path = tmp_path / "facts.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path)
    read = [
        wanted(write(tmp_path, "facts.jsonl", ROWS)),
        wanted(write(tmp_path, "facts.csv", "\ufeff" + "\n".join(lines))),
        wanted(path),
        wanted(datasets.Dataset.from_list(rows)),
    ]
    assert [[fact["line"] for fact in facts] for facts in read] == [[1, 2], [3, 4], [1, 2], [1, 2]]
    for facts in read:
        assert [{**fact, "line": 0} for fact in facts] == [
            {"line": 0, "test_prompt": None, "count": 1, **row} for row in ROWS
        ]


def test_columns_may_have_other_names(tmp_path):
    path = write(tmp_path, "a.jsonl", [{"q": "Two and two are", "a": "four", "seen": 3}])
    (fact,) = wanted(path, prompt="q", answer="a", count="seen")
    assert (fact["prompt"], fact["answer"], fact["count"]) == ("Two and two are", "four", 3)


def test_a_table_is_read_once(tmp_path, monkeypatch):
    path = write(tmp_path, "facts.jsonl", [{"prompt": "read", "answer": "once"}])
    first = Facts(path)
    monkeypatch.setattr(Facts, "_checked", None)
    assert Facts(path).table.to_list() == first.table.to_list()


BROKEN = [
    ("a.txt", "x", "must end in .jsonl, .csv, .parquet, not '.txt'; convert it"),
    ("a.jsonl", "", "must have one fact at least; it has none"),
    ("a.jsonl", [FACT, "{'prompt':"], "line 2 of the file of facts 'a.jsonl' must be an object"),
    ("a.jsonl", [FACT, "[1]"], "line 2 of the file of facts 'a.jsonl' must be an object of JSON"),
    (
        "a.jsonl",
        [FACT, {"prompt": "P", "anwser": "A"}],
        "line 2 of the file of facts 'a.jsonl' must have the column 'answer'; it has prompt, "
        "anwser; did you mean anwser?",
    ),
    ("a.jsonl", [{"prompt": "P", "answer": 42}], "the answer must be a text, not 42 in line 1"),
    ("a.jsonl", [FACT, "", {"prompt": "P", "answer": " "}], "the answer is empty in line 3"),
    ("a.jsonl", [{"prompt": "", "answer": "A"}], "the prompt is empty in line 1"),
    (
        "a.jsonl",
        [FACT, {"prompt": "P", "answer": "A"}, {**ROWS[0], "answer": "12"}],
        "has 1 faulty fact: a prompt is there again with another answer in line 3; correct them",
    ),
    ("a.jsonl", [FACT, FACT], "a fact is there again (give it a count instead) in line 2"),
    (
        "a.jsonl",
        [{**ROWS[0], "count": -1}],
        "the count must be a whole number from 0 to 1,000,000, not -1 in line 1",
    ),
    ("a.jsonl", [{**ROWS[0], "count": 0}], "must have a fact with a count above 0"),
    ("a.jsonl", b'{"prompt": "\xff', "line 1 of the file of facts 'a.jsonl' must be UTF-8"),
    ("a.jsonl", "x" * (2**20 + 1), "line 1 of the file of facts 'a.jsonl' must have at most 1,048"),
    ("a.jsonl", [{"prompt": "P" * 70_000, "answer": "A"}], "has more than 65,536 characters"),
    ("a.csv", "prompt,answer\nP,A,B", "line 2 of the file of facts 'a.csv' must have 2 cells"),
    ("a.csv", 'prompt,answer\nP,"A', "line 2 of the file of facts 'a.csv' cannot be read"),
    ("a.csv", "prompt;answer\nP;A", "must have the column 'prompt'; it has prompt;answer"),
    ("a.parquet", b"PAR1", "must be a file of Parquet"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BROKEN)
def test_a_broken_file_is_explained(tmp_path, name, content, sentence):
    path = write(tmp_path, name, content)
    with pytest.raises(ProblemError) as raised:
        Facts(path)
    assert sentence in str(raised.value)
    assert len(str(raised.value)) < 500


def test_a_file_that_is_not_there_and_a_column_that_was_named_are_explained(tmp_path):
    with pytest.raises(ProblemError, match=r"'facts.jsonl' cannot be read: No such file"):
        Facts(tmp_path / "facts.jsonl")
    with pytest.raises(ProblemError, match="must have the column 'often'"):
        Facts(write(tmp_path, "a.jsonl", ROWS), count="often")
    with pytest.raises(ProblemError, match="must be a path or a Dataset"):
        Facts(42)


def test_a_text_that_grows_in_memory_is_refused(tmp_path):
    long = pa.array(["x" * (2**20 + 1)]).dictionary_encode()
    path = tmp_path / "long.parquet"
    parquet.write_table(pa.table({"prompt": long.cast(pa.string()), "answer": ["A"]}), path)
    with pytest.raises(ProblemError, match="must have at most 1,048,576 bytes"):
        Facts(path)


def test_many_faults_are_counted(tmp_path):
    path = write(tmp_path, "a.jsonl", [{"prompt": f"P{i}", "answer": ""} for i in range(2000)])
    with pytest.raises(ProblemError) as raised:
        Facts(path)
    assert "at least 1,000 faulty facts: the answer is empty in lines 1, 2, 3, 4, 5 and 995" in str(
        raised.value
    )
