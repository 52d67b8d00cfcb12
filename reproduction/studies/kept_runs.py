"""Runs of a study are saved one by one, so a study resumes; and seeds nobody could know.

Each line of the file of a study is one run, as JSON; the table is written from all of them.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def kept(path: Path) -> list[Row]:
    """The runs so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(rows: Iterable[Row], path: Path) -> None:
    """Add runs to those kept."""
    with path.open("a") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def run_and_keep(
    work: Callable[..., list[Row]], tasks: Sequence[tuple[Any, ...]], processes: int, path: Path
) -> None:
    """Do every task in a separate process, and keep its runs."""
    with ProcessPoolExecutor(processes) as pool:
        futures = [pool.submit(work, *task) for task in tasks]
        for number, future in enumerate(as_completed(futures)):
            keep(future.result(), path)
            print(f"{number + 1} of {len(tasks)}", end="\r", flush=True)


def run_rest(
    work: Callable[..., list[Row]],
    tasks: Sequence[tuple[Any, ...]],
    names: Sequence[str],
    path: Path,
    processes: int,
) -> None:
    """Do the tasks whose runs are not kept yet, and write the table of all, in the tasks' order.

    A run is that of a task if its columns of these names are the task.
    """

    def task_of(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    done = {task_of(row) for row in kept(path)}
    run_and_keep(work, [task for task in tasks if task not in done], processes, path)
    write_table(
        sorted(kept(path), key=lambda row: tasks.index(task_of(row))), path.with_suffix(".csv")
    )


def write_table(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Rows as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def table(path: Path) -> list[Row]:
    """The runs of a study from its table, which is in the repository."""
    with path.with_suffix(".csv").open() as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def seed_from(predictions: Path) -> int:
    """The first seed of runs that judge predictions: from the hash of the file that holds them."""
    return int(hashlib.sha256(predictions.read_bytes()).hexdigest()[:10], 16)
