"""Ctrl-C and SIGTERM that are never lost: asked again until they are obeyed.

Python raises KeyboardInterrupt wherever the main thread is. Callbacks of weak references,
finalisers and code that swallows exceptions drop it, and the program runs on. Here a separate
thread sends the signal again until the exception is on its way up.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_AGAIN = 0.1  # seconds between two asks
_FINALISERS = ("weakref.py", "_weakrefset.py")


@contextmanager
def interrupts_obeyed(exit_code: int | None = None) -> Iterator[None]:
    """Within, Ctrl-C raises KeyboardInterrupt, again and again until it is on its way up.

    While that runs its clean-up, further interrupts are ignored. Outside of the main thread, and
    where somebody else handles Ctrl-C already, nothing changes.

    Args:
        exit_code: for a command. SIGTERM then is the same as Ctrl-C. Either ends an import at once
            with this code, unless there is something to clean up (`clean_up_needed`).
    """
    command = exit_code is not None
    if threading.current_thread() is not threading.main_thread() or not (
        command or signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        yield
        return
    asker = _Asker(exit_code)
    numbers = (signal.SIGINT, signal.SIGTERM) if command else (signal.SIGINT,)
    before = {
        number: signal.signal(number, asker.handle)
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN  # as nohup has it
    }
    try:
        yield
    finally:
        asker.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def clean_up_needed() -> Iterator[None]:
    """Within, a command must not be left without running its clean-up."""
    _Asker.to_clean_up += 1
    try:
        yield
    finally:
        _Asker.to_clean_up -= 1


class _Asker:
    """Raises KeyboardInterrupt in the main thread until it is seen to be on its way."""

    to_clean_up = 0

    def __init__(self, exit_code: int | None) -> None:
        self._exit_code = exit_code
        self._signal = 0
        self._over = False
        self._sending = threading.Lock()
        # A handler may run in the middle of anything, so it takes no lock: it lets one go.
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        threading.Thread(target=self._ask_again, daemon=True, name="interrupts").start()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Called by Python in the main thread, for a signal and whenever it is sent again."""
        if not self._signal:
            self._signal = number
            self._wake.release()
        on_its_way = _chain(sys.exception(), "__context__")
        if self._over or any(isinstance(exception, KeyboardInterrupt) for exception in on_its_way):
            return
        importing = any(map(_is_import, _chain(frame, "f_back")))
        if importing and self._exit_code is not None and not self.to_clean_up:
            os.write(2, b"recallscope: stopped\n")
            os._exit(self._exit_code)
        if not any(map(_swallows_exceptions, _chain(frame, "f_back"))):
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Send nothing any more."""
        with self._sending:
            self._over = True
        with suppress(RuntimeError):  # an interrupt has woken the thread already
            self._wake.release()

    def _ask_again(self) -> None:
        self._wake.acquire()
        while True:
            time.sleep(_AGAIN)
            with self._sending:
                if self._over:
                    return
                signal.pthread_kill(threading.main_thread().ident or 0, self._signal)


def _chain(first: Any, following: str) -> Iterator[Any]:
    """A frame and its callers, or an exception and those that were being handled when it came."""
    while first is not None:
        yield first
        first = getattr(first, following)


def _is_import(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith("<frozen importlib")


def _swallows_exceptions(frame: FrameType) -> bool:
    """Code in which an exception is lost, or leaves a module half imported."""
    code = frame.f_code
    return code.co_name == "__del__" or code.co_filename.endswith(_FINALISERS) or _is_import(frame)
