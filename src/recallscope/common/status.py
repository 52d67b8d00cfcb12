"""How an experiment, a search or a prediction ended: four statuses, and never a number."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How an experiment ended. Never merged, and never a number.

    >>> print(Status.FAILED.advice)
    The run broke off with the error given as the reason; it says nothing about capacity.
    """

    OK = "ok"
    NOT_REACHED = "not_reached"
    INFEASIBLE = "infeasible"
    FAILED = "failed"

    @property
    def advice(self) -> str:
        """One sentence on what it means and what to do about it."""
        return _ADVICE[self]


_ADVICE = {
    Status.OK: "The experiment ran to its end and was tested.",
    Status.NOT_REACHED: "The target was not reached within the range searched; widen the range.",
    Status.INFEASIBLE: (
        "The experiment does not fit into this machine; change what the reason names."
    ),
    Status.FAILED: (
        "The run broke off with the error given as the reason; it says nothing about capacity."
    ),
}
