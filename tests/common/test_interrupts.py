"""An interrupt takes effect at any moment, and once only."""
# ruff: noqa: PT012 (an interrupt comes in the midst of a block)

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from recallscope.common.interrupts import clean_up_needed, interrupts_obeyed


@pytest.fixture(autouse=True)
def python_handles_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


class Thing:
    pass


def in_a_weak_reference():
    thing = Thing()
    kept = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    assert kept() is None


def in_a_finaliser():
    class Finalised:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Finalised()


def where_nothing_gets_out():
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


def work(seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


# Python drops exceptions in callbacks and finalisers, and says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("lost", [in_a_weak_reference, in_a_finaliser, where_nothing_gets_out])
def test_an_interrupt_that_python_loses_takes_effect(lost):
    lost()  # without our handler it has no effect
    with pytest.raises(KeyboardInterrupt), interrupts_obeyed():
        lost()
        work()


def test_clean_up_is_not_interrupted_again():
    cleaned = []
    with pytest.raises(KeyboardInterrupt), interrupts_obeyed():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            work(0.35)  # long enough to be asked three times more
            signal.raise_signal(signal.SIGINT)  # by an impatient user
            try:
                raise OSError
            except OSError:
                work(0.15)
            cleaned.append(True)
    assert cleaned == [True]
    work(0.15)  # no late interrupt


def test_it_waits_for_the_end_of_an_import(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), interrupts_obeyed():
        import slow_module

        assert slow_module.whole
        work()


def test_a_foreign_handler_is_not_replaced():
    seen = []
    mine = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    with interrupts_obeyed():
        signal.raise_signal(signal.SIGINT)
    assert seen == [True]
    signal.signal(signal.SIGINT, mine)


def test_outside_of_the_main_thread_nothing_changes():
    found = []

    def enter():
        with interrupts_obeyed():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


COMMAND = """
import signal, sys
from recallscope.common.interrupts import clean_up_needed, interrupts_obeyed
sys.path.insert(0, {folder!r})
with interrupts_obeyed(exit_code=130):
    try:
        {how}
    finally:
        print("cleaned up")
"""


@pytest.mark.parametrize("by", ["SIGINT", "SIGTERM"])
def test_a_command_leaves_an_import_at_once_unless_there_is_something_to_clean_up(by, tmp_path):
    (tmp_path / "slow_module.py").write_text(
        f"import signal, time\nsignal.raise_signal(signal.{by})\ntime.sleep(0.3)\n"
    )

    def ended(how: str) -> subprocess.CompletedProcess[str]:
        program = COMMAND.format(folder=str(tmp_path), how=how)
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    at_once = ended("import slow_module")
    assert (at_once.returncode, at_once.stdout) == (130, "")
    assert at_once.stderr == "recallscope: stopped\n"
    cleaned = ended(
        "with clean_up_needed():\n            import slow_module, time\n            time.sleep(5)"
    )
    assert cleaned.stdout == "cleaned up\n"
    assert "KeyboardInterrupt" in cleaned.stderr


def test_the_need_to_clean_up_ends_with_its_block():
    from recallscope.common import interrupts

    with clean_up_needed():
        assert interrupts._Asker.to_clean_up == 1
    assert interrupts._Asker.to_clean_up == 0
