"""`recallscope` commands of a page, each a separate process that need not import torch again.

A process that has imported everything waits at a socket. A command is a small client: it passes
its files, folder, environment and arguments, and the server forks a process that continues as the
command. That takes a fiftieth of a second instead of two, thirty times in the pages. Other
tests start commands in a new process.

    python warm_command.py serve SOCKET
    python warm_command.py run SOCKET ARGUMENT ...
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path


def serve(path: str) -> None:
    """Fork a process for every command that is asked for, until this one is killed."""
    import torch  # noqa: F401

    from recallscope.cli.main import main

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # this process does not wait for them
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            asked, _ = server.accept()
            text, files, _, _ = socket.recv_fds(asked, 2**20, 3)
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                _become(asked, json.loads(text), files, main)
            asked.close()
            for file in files:
                os.close(file)


def _become(asked: socket.socket, what: dict, files: list[int], main) -> None:
    """Run the command in this process, and send its exit code to the client."""
    asked.sendall(f"{os.getpid()}\n".encode())
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 to the end of the process
        for number, mode in enumerate("rww")
    )
    os.chdir(what["folder"])
    os.environ.clear()
    os.environ.update(what["environment"])
    sys.argv = ["recallscope", *what["arguments"]]
    code: object = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    asked.sendall(f"{code if isinstance(code, int) else int(bool(code))}\n".encode())
    os._exit(0)


def run(path: str, arguments: list[str]) -> int:
    """Ask for a command and wait for its end; signals go to it."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        what = {"folder": str(Path.cwd()), "environment": dict(os.environ), "arguments": arguments}
        socket.send_fds(server, [json.dumps(what).encode()], [0, 1, 2])
        answers = server.makefile()
        process = int(answers.readline())
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda number, frame: os.kill(process, number))
        return int(answers.readline() or 1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    sys.exit(run(sys.argv[2], sys.argv[3:]))
