"""One of several parts of a sweep, for jobs that do not communicate."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapreplace

from recallscope.common.checks import shown, whole_number
from recallscope.common.errors import ProblemError
from recallscope.experiment.cell import Cell, Settings

_MOST_PARTS = 10**5


def check_part(part: object) -> tuple[int, int]:
    """The number of a part and the number of parts, or an error that says what was expected."""
    if not isinstance(part, tuple) or len(part) != 2:
        raise ProblemError(f"a part is its number and how many there are, not {shown(part)}")
    count = whole_number("the number of parts", part[1], 1, _MOST_PARTS)
    return whole_number("part", part[0], 1, count), count


def part_of(cells: Iterable[Cell], settings: Settings, part: tuple[int, int]) -> list[Cell]:
    """The cells of one part, in their order; `cells` has no duplicates.

    Parts take about equally long: cells are assigned by falling cost, each to the part with the
    least load. Parts depend on the cells alone, so every job finds the same parts at any time.

    >>> from recallscope import Problem
    >>> problem = Problem(vocab=64, samples=512, dim=16, length=4)
    >>> cells = [Cell(problem, seed) for seed in range(5)]
    >>> [[cell.seed for cell in part_of(cells, Settings(), (part, 2))] for part in (1, 2)]
    [[0, 2, 4], [1, 3]]
    """
    from recallscope.sweeps.dispatch import share_maker  # check_part does not need it

    number, count = check_part(part)
    cells = list(cells)
    share = share_maker(cells, settings)
    costs = [share(cell.problem) for cell in cells]
    loads = [(0.0, each) for each in range(1, count + 1)]
    mine = []
    for index in sorted(range(len(cells)), key=lambda index: -costs[index]):
        load, least = loads[0]
        if least == number:
            mine.append(index)
        heapreplace(loads, (load + costs[index], least))
    return [cells[index] for index in sorted(mine)]
