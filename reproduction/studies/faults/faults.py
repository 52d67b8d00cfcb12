"""Inject faults into real sweeps, and compare what is left with an undisturbed one.

    faults --faults 1000 --csv faults.csv

A sweep of small cells is run again and again on a store, by real processes: workers, drivers and
raylets are killed, drivers are interrupted or killed in the midst of a commit, files are damaged,
disks fill up or become read-only, clocks jump, two drivers run at once, and two change the schema
at once. Cells exceed their time limit, and a sweep has 900 MB. After every fault the store is
read: no record may be lost, doubled or corrupt. When the sweep is complete its records must equal,
bit for bit, those of a sweep without faults. Some kinds need more than every machine has: mounting
a small disk and making a control group need root, clocks need a C compiler. Kinds that are left
out are listed.

A commit is a file of rows and then an entry of the log. A kill in the midst of one counts only if
the file is there afterwards, and no entry names it. Other kills come at a random moment after the
driver has imported what it needs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deltalake import DeltaTable

from recallscope import Store
from recallscope.common.csv_files import write_csv
from recallscope.measure.sweep_file import read_sweep
from recallscope.sweeps.executors.job import Answer, Job
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import Workers
from recallscope.sweeps.jobs import cell_workers
from reproduction.studies.faults.clock import set_clock, wrong_clock
from reproduction.studies.faults.one_product import OneProduct

SWEEP = """
seeds = 20
test_samples = 256
[problem]
vocab = 64
[grid]
dim = [16, 24, 32]
length = [4, 8]
samples = [64, 1000, 60000]
"""
SMALL_SWEEP = """
seeds = 4
test_samples = 256
[problem]
dim = 256
length = 4
samples = 64
[grid]
vocab = [64, 200000]
"""
OTHER_SWEEP = """
seeds = 20
test_samples = 256
[problem]
vocab = 64
samples = 100
dim = 16
length = 4
learner = "adam"
steps = 5
batch = 32
"""
MEMORY = 900 * 10**6  # bytes
WORKER = "loky.backend.popen"
PATIENCE = 120.0  # seconds that a driver may take to end
LATEST = 2.0  # seconds after its limit that a cell may still run


class TroubleError(AssertionError):
    """What must not happen has happened."""


COMMITS_OFTEN = """
from recallscope.common.interrupts import interrupts_obeyed
with interrupts_obeyed(130):  # as the command does before it imports torch
    from recallscope.sweeps import dispatch, writer
writer._FIRST_COMMIT = writer._BETWEEN_COMMITS = 0.05
dispatch._TASK_SECONDS = 0.05
from recallscope.cli.main import main
main()
"""


class Driver:
    """A sweep in a separate process, which commits often, so that faults hit commits."""

    def __init__(
        self, store: Path | str, file: Path, executor: str, log: Path, **more: object
    ) -> None:
        command = ["sweep", str(file), "--store", str(store), "--executor", executor]
        if executor != "serial":
            command += ["--workers", "2"]
        command += more.get("options", [])  # type: ignore[arg-type]
        environment = dict(more.get("environment", {}))  # type: ignore[call-overload]
        around = [*more.get("around", [])]  # type: ignore[call-overload]
        self.executor, self.log = executor, log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*around, sys.executable, "-c", COMMITS_OFTEN, *command],
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=os.environ | environment,
            )
        self.pid = self.process.pid

    @property
    def code(self) -> int | None:
        """How it ended; None while it has not."""
        return self.process.poll()

    def wait(self, longest: float = PATIENCE) -> float:
        """Wait for the end; seconds it took."""
        started = time.monotonic()
        while self.code is None:
            if time.monotonic() - started > longest:
                os.kill(self.pid, signal.SIGKILL)
                raise TroubleError(f"a driver did not end: {tail(self.log)}")
            time.sleep(0.005)
        return time.monotonic() - started

    def send(self, number: int) -> bool:
        """Send a signal to the driver; whether it was still there."""
        if self.code is not None:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
            return True
        return False

    def has_torch(self) -> bool:
        """Whether it has imported torch."""
        with suppress(OSError):
            return "libtorch" in Path(f"/proc/{self.pid}/maps").read_text()
        return False

    def family(self, *words: str) -> list[int]:
        """Descendants, and workers of Ray, whose command line has one of the words."""
        children: dict[int, list[int]] = defaultdict(list)
        lines: dict[int, str] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError, IndexError, ValueError):
                    stat = (entry / "stat").read_text()
                    children[int(stat.rsplit(")", 1)[1].split()[1])].append(int(entry.name))
                    lines[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
        found, todo = [], [self.pid]
        while todo:
            for child in children[todo.pop()]:
                todo.append(child)
                if any(word in lines.get(child, "") for word in words):
                    found.append(child)
        return found


def wait_for(workers: Workers, job: Job) -> Answer:
    """What comes of one job."""
    workers.submit(job)
    while not (done := workers.finished(1.0)):
        pass
    return done[0][1]


def results(store: Path | str) -> dict:
    """What a store has of every cell, without times and versions."""
    records = Store(store).records()
    return {(record.problem.key, record.seed): record.result() for record in records}


def unequal(have: dict, expected: dict) -> list:
    """The cells whose record is not that of an undisturbed run."""
    return [cell for cell, result in have.items() if expected.get(cell) != result]


def tail(log: Path) -> str:
    return log.read_text(errors="replace")[-600:] if log.exists() else ""


class Trial:
    """One store from its first record to its last, with faults on the way."""

    def __init__(
        self, folder: Path, expected: dict, of_other: dict, rng: random.Random, counts: Counter
    ) -> None:
        self.folder, self.expected, self.rng, self.counts = folder, expected, rng, counts
        self.of_other = of_other
        self.store = folder / "store"
        self.file = folder / "sweep.toml"
        self.file.write_text(SWEEP)
        self.log = folder / "log"
        self.seen: set = set()
        self.twice = 0
        self.at_once = False
        self.stops: list[float] = []
        self.late: list[float] = []

    def driver(self, executor: str | None = None, **more: object) -> Driver:
        executor = executor or self.rng.choice(["serial", "serial", "processes"])
        return Driver(self.store, self.file, executor, self.log, **more)

    def check(self, expected: dict | None = None) -> int:
        """Read the store and check it; how many records it has."""
        expected = expected or self.expected
        if not Store(self.store).exists():
            return 0
        have = results(self.store)
        rows = DeltaTable(self.store).count()
        if self.at_once:  # both may have run a cell, which counts once
            self.twice = rows - len(have)
        if rows != len(have) + self.twice:
            raise TroubleError(f"{rows} rows of {len(have)} records; {tail(self.log)}")
        if other := unequal(have, expected):
            raise TroubleError(f"another record: {have[other[0]]} for {expected.get(other[0])}")
        lost = self.seen - set(have)
        if lost:
            raise TroubleError(f"{len(lost)} records were lost")
        self.seen = set(have)
        return len(have)

    def finish(self) -> None:
        """Run to the end, and compare everything."""
        driver = self.driver()
        driver.wait()
        if driver.code != 0:
            raise TroubleError(f"the last run ended with {driver.code}: {tail(self.log)}")
        if self.check() != len(self.expected):
            raise TroubleError("records are missing at the end")

    def pause(self, longest: float = 1.2) -> None:
        time.sleep(self.rng.uniform(0, longest))

    def begin(self, driver: Driver) -> None:
        """Wait until a driver has imported torch, and a random while more."""
        while driver.code is None and not driver.has_torch():
            time.sleep(0.02)
        self.pause(1.0)

    # The faults. Each starts a driver, disturbs it, and leaves a store that resumes.

    def kill_driver(self) -> None:
        driver = self.driver()
        self.begin(driver)
        self.counts["driver killed"] += driver.send(signal.SIGKILL)
        driver.wait()
        self.check()

    def interrupt_driver(self) -> None:
        driver = self.driver()
        self.begin(driver)
        if driver.send(signal.SIGINT):
            self.counts["Ctrl-C"] += 1
            self.stops.append(driver.wait())
            if driver.code not in (0, 130, -signal.SIGINT):
                raise TroubleError(f"Ctrl-C ended with {driver.code}: {tail(self.log)}")
        driver.wait()
        self.check()

    def kill_workers(self) -> None:
        driver = self.driver("processes")
        while driver.code is None:
            self.pause(0.4)
            for worker in driver.family(WORKER)[: self.rng.randint(1, 2)]:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
                    self.counts["worker killed"] += 1
            time.sleep(self.rng.choice([0.3, 2.0]))  # time to get on, or not
        never_began = driver.code == 2 and "end before they begin" in tail(self.log)
        if driver.code not in (0, 1) and not never_began:  # killed in a row while they started
            raise TroubleError(
                f"killed workers ended the driver with {driver.code}: {tail(self.log)}"
            )
        self.check()

    def outlive_limit(self) -> None:
        self.be_late(self.rng.choice(["serial", "processes"]))

    def be_late(self, executor: str) -> None:
        """A worker is in the midst of one long product when its time is over."""
        limit = self.rng.uniform(1.0, 2.0)
        with cell_workers(executor, 1, limits=Limits(seconds=limit)) as workers:
            for _ in range(2):
                wait_for(workers, OneProduct(16))  # the worker is up
                started = time.monotonic()
                done = wait_for(workers, OneProduct(10_000))
                self.late.append(time.monotonic() - started - limit)
                if not done.late or self.late[-1] > LATEST:
                    raise TroubleError(f"{self.late[-1]:.1f} s late on {executor}: {done}")
                self.counts[f"limit outlived, {executor}"] += 1

    def small_memory(self) -> None:
        """What does not fit into a container is said to be infeasible, and the rest is run."""
        executor = self.rng.choice(["serial", "processes"])
        file, kept = self.folder / "small.toml", self.folder / f"small {self.rng.random()}"
        file.write_text(SMALL_SWEEP)
        command = ["sweep", str(file), "--store", str(kept), "--executor", executor]
        with small_group(MEMORY) as join, self.log.open("ab") as output:
            code = subprocess.run(
                [sys.executable, "-m", "recallscope", *command],
                stdout=output,
                stderr=output,
                preexec_fn=join,
                timeout=PATIENCE,
            ).returncode
        statuses = Counter((r.problem.vocab, str(r.status)) for r in Store(kept).records())
        if code != 1 or statuses != {(64, "ok"): 4, (200_000, "infeasible"): 4}:
            raise TroubleError(f"in 900 MB: {code}, {statuses}: {tail(self.log)}")
        self.counts[f"900 MB, {executor}"] += 1

    def kill_in_a_commit(self) -> None:
        """The driver is killed as soon as there is a new file of rows.

        If an entry of the log names it by then, the kill came after the commit.
        """
        driver = self.driver()
        before = {path.name for path in self.store.glob("*.parquet")}
        while driver.code is None:
            new = {path.name for path in self.store.glob("*.parquet")} - before
            if new:
                driver.send(signal.SIGKILL)
                driver.wait()
                in_time = not new & self.named_in_the_log()
                self.counts["driver killed in a commit" if in_time else "driver killed"] += 1
            before |= new
        self.check()

    def named_in_the_log(self) -> set[str]:
        """The files of rows that an entry of the log names."""
        entries = [path.read_text() for path in (self.store / "_delta_log").glob("*.json")]
        return set(re.findall(r"part-[^\"/]*?\.parquet", "".join(entries)))

    def damage_a_file(self) -> None:
        driver = self.driver("serial")
        self.pause()
        driver.send(signal.SIGKILL)
        driver.wait()
        files = sorted(self.store.glob("*.parquet"))
        if not files:
            return
        chosen = self.rng.choice(files)
        content = chosen.read_bytes()
        chosen.write_bytes(content[: self.rng.randrange(len(content))])
        self.counts["file cut off"] += 1
        self.seen = set()  # what was in it is lost until it is run again
        Store(self.store).compact(["damaged"])
        self.at_once = True  # it may have had one of two rows of a cell
        self.check()
        self.at_once = False

    def change_schema(self) -> None:
        """Two drivers whose problems have other fields create a store at once."""
        shutil.rmtree(self.store, ignore_errors=True)
        self.seen, self.at_once = set(), True
        other = self.folder / "other.toml"
        other.write_text(OTHER_SWEEP)
        drivers = [self.driver("serial"), Driver(self.store, other, "serial", self.log)]
        for driver in drivers:
            driver.wait()
        if {driver.code for driver in drivers} != {0}:
            raise TroubleError(f"two schemas: {[d.code for d in drivers]}: {tail(self.log)}")
        self.counts["schema changed by two at once"] += 1
        if self.check(self.expected | self.of_other) != len(self.expected) + len(self.of_other):
            raise TroubleError("records are missing after a change of schema")
        shutil.rmtree(self.store)
        self.seen, self.at_once = set(), False

    def two_drivers(self) -> None:
        """Two drivers run the same sweep at once, and a cell that both have run counts once."""
        self.at_once = True
        drivers = [self.driver("serial"), self.driver(self.rng.choice(["serial", "processes"]))]
        self.pause(6.0)
        if self.rng.random() < 0.5:
            drivers[0].send(signal.SIGKILL)
        for driver in drivers:
            driver.wait()
        codes = {driver.code for driver in drivers}
        if not codes <= {0, -signal.SIGKILL}:
            raise TroubleError(f"two drivers ended with {codes}: {tail(self.log)}")
        self.counts["two drivers at once"] += 1
        self.check()
        self.at_once = False

    def jump_clock(self) -> None:
        """The clock of the driver and of its workers goes years ahead, and back."""
        offset = self.folder / "offset"
        driver = self.driver(environment=wrong_clock(offset))
        time.sleep(1.0)
        for _ in range(4):
            self.pause(0.6)
            set_clock(offset, self.rng.choice([0, 3, -3600, 10**8, -(10**8)]))
            self.counts["clock jumped"] += driver.code is None
        driver.wait()
        if driver.code != 0:
            raise TroubleError(
                f"a clock that jumps ended a driver with {driver.code}: {tail(self.log)}"
            )
        self.check()

    def fill_disk(self) -> None:
        if not self.store.exists():
            self.kill_driver()
        if not self.store.exists():
            return
        used = sum(-(-file.stat().st_size // 4096) * 4 for file in self.store.rglob("*"))
        with small_disk(self.folder, kilobytes=used + self.rng.randint(12, 150)) as disk:
            shutil.copytree(self.store, disk / "store", dirs_exist_ok=True)
            self.on_disk(disk, "disk full", lambda: mount("remount,size=64m", disk))

    def make_read_only(self) -> None:
        if not self.store.exists():
            return
        with small_disk(self.folder, kilobytes=65_536) as disk:
            shutil.copytree(self.store, disk / "store", dirs_exist_ok=True)
            driver = Driver(disk / "store", self.file, "serial", self.log)
            self.pause(0.6)
            for _ in range(20):  # a disk cannot be turned over while a file is open for writing
                done = mount("remount,ro", disk, check=False)
                if done or driver.code is not None:
                    break
                time.sleep(0.01)
            driver.wait()
            if done and driver.code not in (0, 2):
                raise TroubleError(f"a read-only disk ended a driver with {driver.code}")
            again = Driver(disk / "store", self.file, "serial", self.log)
            again.wait()
            if done:
                self.counts["disk read-only"] += 1
                complete = again.code == 0 and set(results(disk / "store")) == set(self.expected)
                if again.code != 2 and not complete:  # there was nothing left to write
                    raise TroubleError(f"a read-only disk was taken for a store: {again.code}")
            mount("remount,rw", disk)
            self.take_over(disk)

    def on_disk(self, disk: Path, name: str, repair) -> None:
        driver = Driver(disk / "store", self.file, "serial", self.log)
        driver.wait()
        if driver.code == 2:
            self.counts[name] += 1
            if "No space left" not in tail(self.log):
                raise TroubleError(f"a full disk was not reported: {tail(self.log)}")
        elif driver.code != 0:
            raise TroubleError(f"a full disk ended a driver with {driver.code}: {tail(self.log)}")
        repair()
        self.take_over(disk)

    def take_over(self, disk: Path) -> None:
        """Resume with what the small disk holds."""
        shutil.rmtree(self.store)
        shutil.copytree(disk / "store", self.store)
        self.check()

    def kill_ray(self) -> None:
        """Workers, the raylet, the GCS or the driver of a sweep on Ray.

        Without a raylet or GCS the driver may end with an error, and the next one goes on.
        """
        shutil.rmtree(self.store, ignore_errors=True)  # or there is no time for faults
        self.seen = set()
        driver = self.driver("ray")
        targets = {
            "Ray worker killed": ("ray::_call", "ray::IDLE", "default_worker"),
            "agent of Ray killed": ("ray::DashboardAgent", "ray::RuntimeEnvAgent"),
            "raylet killed": ("raylet/raylet",),
            "GCS killed": ("gcs_server",),
        }
        vital = ("raylet killed", "agent of Ray killed", "GCS killed")
        while driver.code is None and not Store(self.store).exists():
            time.sleep(0.05)
        died = False
        for _ in range(self.rng.randint(2, 5)):
            name = self.rng.choice([*targets, *["Ray worker killed"] * 4])
            self.pause(0.5)
            for pid in self.rng.sample(found := driver.family(*targets[name]), min(1, len(found))):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.counts[name] += 1
                    died = died or name in vital
            time.sleep(self.rng.choice([0.3, 2.0]))
        if self.rng.random() < 0.3:
            self.counts["driver on Ray killed"] += driver.send(signal.SIGKILL)
        driver.wait()
        if driver.code not in (0, -signal.SIGKILL) and not died:
            raise TroubleError(f"a sweep on Ray ended with {driver.code}: {tail(self.log)}")
        self.check()


class small_disk:  # noqa: N801
    """A separate disk, in memory."""

    def __init__(self, folder: Path, kilobytes: int) -> None:
        self.path, self.size = folder / "disk", kilobytes

    def __enter__(self) -> Path:
        self.path.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={self.size}k", "tmpfs", self.path],
            capture_output=True,
        )
        if done.returncode:
            raise PermissionError("no small disk can be mounted")
        return self.path

    def __exit__(self, *exception: object) -> None:
        subprocess.run(["umount", "-l", self.path], check=True)


class small_group:  # noqa: N801
    """A control group with little memory, of either version; gives what a process calls to join."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        top = Path("/sys/fs/cgroup")
        old = (top / "memory").is_dir()
        self.path = (top / "memory" if old else top) / f"recallscope-{os.getpid()}"
        self.limit = "memory.limit_in_bytes" if old else "memory.max"

    def __enter__(self) -> Callable[[], None]:
        try:
            self.path.mkdir()
            (self.path / self.limit).write_text(str(self.memory))
        except OSError as error:
            with suppress(OSError):
                self.path.rmdir()
            raise PermissionError("no control group can be made") from error
        return lambda: (self.path / "cgroup.procs").write_text(str(os.getpid())) and None

    def __exit__(self, *exception: object) -> None:
        for _ in range(100):
            with suppress(OSError):  # its processes are still ending
                self.path.rmdir()
                return
            time.sleep(0.05)


def mount(options: str, disk: Path, check: bool = True) -> bool:
    done = subprocess.run(["mount", "-o", options, disk], capture_output=True)
    if check and done.returncode:
        raise TroubleError(f"mount: {done.stderr!r}")
    return done.returncode == 0


def kinds(with_ray: bool) -> tuple[dict[str, int], list[str]]:
    """The faults that this machine allows, with their weights, and what is left out."""
    weights = {
        "kill_driver": 12,
        "interrupt_driver": 8,
        "kill_workers": 5,
        "kill_in_a_commit": 12,
        "damage_a_file": 4,
        "two_drivers": 3,
        "change_schema": 2,
        "jump_clock": 1,
        "fill_disk": 6,
        "make_read_only": 2,
        "kill_ray": 1,
        "outlive_limit": 1,
        "small_memory": 1,
    }
    out = []
    if shutil.which("cc") is None:
        out.append("jump_clock")
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder), 100):
                pass
        except (PermissionError, FileNotFoundError):
            out += ["fill_disk", "make_read_only"]
    try:
        with small_group(MEMORY):
            pass
    except PermissionError:
        out.append("small_memory")
    if not with_ray:
        out.append("kill_ray")
    return {name: weight for name, weight in weights.items() if name not in out}, out


def undisturbed(folder: Path, sweep: str = SWEEP) -> dict:
    """Every result that there must be in the end."""
    (folder / "sweep.toml").write_text(sweep)
    driver = Driver(folder / "store", folder / "sweep.toml", "serial", folder / "log")
    driver.wait(5 * PATIENCE)
    found = results(folder / "store")
    cells = set(read_sweep(folder / "sweep.toml").cells())
    if len(found) != len(cells) or driver.code:
        raise TroubleError(f"the undisturbed sweep is not complete: {tail(folder / 'log')}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=120.0, help="begin no sweep after this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", help="write the counts to a table")
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--only", action="append", help="a fault by its name; repeatable")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it is run by nohup
    rng = random.Random(given.seed)
    weights, left_out = kinds(not given.no_ray)
    if given.only:
        weights = dict.fromkeys(given.only, 1)
    counts: Counter[str] = Counter()
    stops: list[float] = []
    late: list[float] = []
    started, trials, runs = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as top:
        first = Path(top) / "undisturbed"
        first.mkdir()
        expected = undisturbed(first)
        second = Path(top) / "undisturbed other"
        second.mkdir()
        of_other = undisturbed(second, OTHER_SWEEP)
        print(f"{len(expected)} cells; faults: {', '.join(weights)}", flush=True)
        if left_out:
            print(f"not possible here: {', '.join(left_out)}", flush=True)
        while counts.total() < given.faults and time.monotonic() < started + 60 * given.minutes:
            folder = Path(top) / str(trials)
            folder.mkdir()
            trial = Trial(folder, expected, of_other, rng, counts)
            for _ in range(rng.randint(8, 16)):
                fault = rng.choices(list(weights), list(weights.values()))[0]
                try:
                    getattr(trial, fault)()
                except TroubleError:
                    print(f"in {fault}, trial {trials}", flush=True)
                    raise
                runs += 1
            trial.finish()
            stops += trial.stops
            late += trial.late
            trials += 1
            shutil.rmtree(folder)
            print(
                f"{counts.total()} faults, {trials} sweeps, {time.monotonic() - started:.0f} s: "
                f"{dict(counts)}",
                flush=True,
            )
            if given.csv:  # what was seen counts, also if it is stopped
                write(given.csv, given.seed, counts, stops)
    print(
        f"{counts.total()} faults in {trials} sweeps of {len(expected)} cells, "
        f"{time.monotonic() - started:.0f} s: 0 lost, 0 duplicated, 0 corrupt, every sweep equal "
        f"to the undisturbed one bit for bit."
    )
    if stops:
        middle, longest = statistics.median(stops), max(stops)
        print(
            f"Ctrl-C: the driver was gone after {middle:.2f} s (median), {longest:.2f} s at most."
        )
    if late:
        print(
            f"Cells past their limit were ended {statistics.median(late):.2f} s (median), "
            f"{max(late):.2f} s at most, after it."
        )


def write(path: str, seed: int, counts: Counter[str], stops: list[float]) -> None:
    """Write down what was injected so far."""
    rows: list[dict[str, object]] = [
        {"seed": seed, "fault": name, "injected": count}
        for name, count in sorted(counts.items())
        if count
    ]
    if stops:
        longest = {"fault": "longest stop after Ctrl-C, ms", "injected": round(1000 * max(stops))}
        rows.append({"seed": seed} | longest)
    if rows:
        write_csv(rows, path)


if __name__ == "__main__":
    main()
