"""A cluster of three hosts loses no record, and leaves nothing on this machine."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from reproduction.studies.faults import namespaces

ROOT = Path(__file__).parents[2]
STUDY = [sys.executable, "-m", "reproduction", "study", "faults/hosts"]


@pytest.fixture(autouse=True)
def hosts_are_allowed():
    if sys.platform != "linux" or os.getuid():
        pytest.skip("hosts as namespaces need Linux and root")
    if why := namespaces.forbidden():
        pytest.skip(f"hosts as namespaces: {why}")


def left(folder: Path) -> list[str]:
    """What names the folder of a run: its processes, and what is in it."""
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    named = [each.decode(errors="replace") for each in commands if bytes(folder) in each]
    return named + [str(each) for each in folder.glob("hosts-*")]


@pytest.mark.slow
def test_no_record_is_lost_over_three_hosts(tmp_path):
    table = tmp_path / "hosts.csv"
    short = ["--faults", "4", "--minutes", "1", "--seeds", "4", "--csv", str(table)]
    only = [f"--only={name}" for name in ("cut_link", "lose_frames", "delay_frames", "stop_host")]
    with tempfile.TemporaryDirectory(prefix="t-") as folder:  # short: sockets are in it
        done = subprocess.run(
            [*STUDY, *short, *only],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": folder},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert not left(Path(folder))
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["injected"]) for row in rows) >= 1
    for row in rows:
        wrong = {name: row[name] for name in ("lost", "doubled", "corrupt", "unequal")}
        assert set(wrong.values()) == {"0"}, row


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_hosts_are_gone_however_the_study_ends(number):
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        environment = os.environ | {"TMPDIR": folder, "OMP_NUM_THREADS": "1"}
        command = [*STUDY, "--seeds", "1", "--minutes", "0"]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
        ) as study:
            end = time.monotonic() + 120
            while not list(Path(folder).glob("hosts-*/cluster.log")):  # its hosts are up
                assert study.poll() is None
                assert time.monotonic() < end
                time.sleep(0.1)
            study.send_signal(number)
            study.wait(30)
        end = time.monotonic() + 10
        while [each for each in left(Path(folder)) if not each.startswith(folder)]:
            assert time.monotonic() < end, left(Path(folder))
            time.sleep(0.1)
        assert number == signal.SIGKILL or not left(Path(folder))
