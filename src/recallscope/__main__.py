"""`python -m recallscope` is `recallscope`: where both begin."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line."""
    # Ctrl-C while it is imported ends the process: as an exception it could be lost, and there is
    # nothing to clean up yet. Where it is ignored on purpose (nohup), it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from recallscope.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
