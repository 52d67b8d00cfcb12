"""Break a cluster of three hosts during sweeps, and compare what is left with an undisturbed one.

    faults/hosts --faults 120 --seed 49 --csv hosts.csv   # as root, on Linux

Three hosts are namespaces on one bridge (`namespaces.py`). Ray runs over all three with a token and
fixed ports, and a CPU on each of two. The store is a folder that all hosts share, or on a fourth
host behind `rclone serve s3` with credentials. Small sweeps run on the cluster, with the command on
any host, while hosts, links, clocks and disks fail. After every fault what has died is started
again, as is the sweep if it has ended, and the store is read. When the sweep is complete its
records must equal, bit for bit, those of a sweep on one host without faults. Records name the
revision of a checkout, so none of its files may be edited meanwhile.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from deltalake import DeltaTable

from recallscope import Store
from recallscope.common.csv_files import write_csv
from recallscope.sweeps.executors.ray import QUIET
from recallscope.sweeps.store.delta import StoreError
from reproduction.studies.faults import namespaces
from reproduction.studies.faults.faults import (
    SWEEP,
    Driver,
    TroubleError,
    results,
    small_disk,
    tail,
    undisturbed,
    unequal,
)
from reproduction.studies.faults.namespaces import Host, Lan

HEAD, NODES, SERVER = "h1", ("h1", "h2", "h3"), "s3"
PORTS = {
    "--node-manager-port": 6380,
    "--object-manager-port": 6381,
    "--runtime-env-agent-port": 6382,
    "--min-worker-port": 20_000,
    "--max-worker-port": 20_999,
}
# Ray takes a silent host for dead after some 20 s, and not a minute; else few faults fit.
HEALTH = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "5",
}
LOSS, DELAY = 5, 0.2  # per cent, and seconds each way
DISK = 256 * 1024  # KiB
START = 180.0  # seconds that a node may take to start
RESUMES = 20  # after which a sweep without faults must have ended


class Cluster:
    """Ray on three hosts, and a server for objects on a fourth."""

    def __init__(self, lan: Lan, folder: Path, serves: bool) -> None:
        self.lan, self.folder, self.serves = lan, folder, serves
        self.address = f"{lan[HEAD].address}:6379"
        self.log = folder / "cluster.log"
        self.starting: dict[str, subprocess.Popen[bytes]] = {}
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(32))
        self.secret = secrets.token_hex(16)
        self.environment = {
            **QUIET,
            **HEALTH,
            "OMP_NUM_THREADS": "1",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": f"http://{lan[SERVER].address}:8333",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "*",
        }
        os.environ.update(self.environment)

    def repair(self) -> None:
        """Start again what does not run; do not wait for nodes of Ray but the head."""
        for host in self.lan:
            if not host.alive:
                host.boot()
        if self.serves and not self.lan[SERVER].processes("rclone"):
            self._serve()
        if not all(self.lan[HEAD].processes(name) for name in ("gcs_server", "raylet/raylet")):
            for name in NODES:  # they cannot join another head
                self.lan[name].send(signal.SIGKILL, "raylet", "gcs_server", "ray::", "ray/_private")
            self._start_node(self.lan[HEAD])
            self._wait(HEAD)
        for name in NODES:
            starts = name in self.starting and self.starting[name].poll() is None
            if not starts and not self.lan[name].processes("raylet/raylet"):
                self._start_node(self.lan[name])

    def complete(self) -> None:
        """Start again what does not run, and wait for it."""
        while True:
            self.repair()
            for name in self.starting:
                self._wait(name)
            if all(self.lan[name].processes("raylet/raylet") for name in NODES):
                return

    def _wait(self, name: str) -> None:
        try:
            self.starting[name].wait(START)
        except subprocess.TimeoutExpired:  # what it waits for may have been killed
            self.lan[name].kill()
            self.lan[name].boot(self.lan[name].hours)

    def _serve(self) -> None:
        program = Path(sysconfig.get_path("scripts")) / "rclone"
        host = self.lan[SERVER]
        options = [f"--auth-key=key,{self.secret}", f"--addr={host.address}:8333", "--config="]
        objects = self.folder / "objects" / "disk"
        (objects / "bucket").mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            command = [*host.within(), program, "serve", "s3", *options, objects]
            subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        for _ in range(300):
            try:
                socket.create_connection((host.address, 8333), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise TroubleError(f"rclone serve s3 does not come up: {tail(self.log)}")

    def _start_node(self, host: Host) -> None:
        place = self.folder / host.name
        shutil.rmtree(place, ignore_errors=True)
        if host.name == HEAD:
            which = ["--head", "--port=6379", "--include-dashboard=false", "--num-cpus=0"]
        else:
            which = [f"--address={self.address}", "--num-cpus=1"]
        which += [f"--node-ip-address={host.address}", f"--temp-dir={place}", "--num-gpus=0"]
        which += [f"--object-store-memory={2**27}", "--disable-usage-stats"]
        which += [f"{name}={port}" for name, port in PORTS.items()]
        command = [*host.within(), sys.executable, "-m", "ray.scripts.scripts", "start", *which]
        with self.log.open("ab") as log:
            self.starting[host.name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so each host has as much time of the machine as others
            )


class Trial:
    """One sweep from its first record to its last, with faults on the way."""

    def __init__(
        self,
        cluster: Cluster,
        number: int,
        expected: dict,
        rng: random.Random,
        kinds: list[str],
    ) -> None:
        self.cluster, self.lan, self.expected, self.rng = cluster, cluster.lan, expected, rng
        self.kind = rng.choice(kinds)
        self.disk = cluster.folder / ("shared" if self.kind == "folder" else "objects") / "disk"
        name = f"facts-{number}"
        self.store = str(self.disk / name) if self.kind == "folder" else f"s3://bucket/{name}"
        self.home = cluster.lan[rng.choice([HEAD, *NODES])]  # where the command runs
        self.log = cluster.folder / f"log-{number}"
        self.seen: set = set()
        self.ends: Counter[str] = Counter()
        self.driver: Driver | None = None
        self.noted: Driver | None = None  # the last whose end was looked at

    def start(self) -> None:
        """Start the sweep, or start it again if it has ended."""
        if self.driver is not None and not self.ended():
            return
        self.cluster.complete()  # a sweep takes the CPUs that are there when it starts
        self.before = self.written()
        self.driver = Driver(
            self.store,
            self.cluster.folder / "sweep.toml",
            "ray",
            self.log,
            around=self.home.within(),
            options=["--address", self.cluster.address, "--yes"],
        )

    def written(self) -> int:
        """How many records the store has."""
        try:
            return sum(Store(self.store).by_status().values())
        except StoreError:
            return 0  # there is none yet

    def ended(self) -> bool:
        """Whether the sweep has ended; note how, and demand a sentence if it was an error."""
        code = self.driver.code
        if code is None:
            return False
        if self.noted is self.driver:
            return True
        self.noted = self.driver
        self.ends[str(code)] += 1
        if code not in (0, 2, 130, -signal.SIGKILL):
            raise TroubleError(f"a sweep ended with {code}: {tail(self.log)}")
        if "Traceback" in tail(self.log):
            raise TroubleError(f"a sweep ended with a traceback: {tail(self.log)}")
        return True

    def ready(self) -> bool:
        """Wait until the sweep has written a record; whether it is still to do."""
        for _ in range(RESUMES):
            self.cluster.repair()
            self.start()
            end = time.monotonic() + START
            while self.driver.code is None and self.written() <= self.before:
                self.cluster.repair()
                if time.monotonic() > end:
                    raise TroubleError(f"the sweep does not get on: {tail(self.log)}")
                time.sleep(0.2)
            if not self.ended():
                return True
            if self.driver.code == 0:
                return False
            self.home.hours = 0  # S3 refuses requests from a wrong clock: somebody sets it right
        raise TroubleError(f"the sweep does not start: {tail(self.log)}")

    def check(self) -> dict[str, int]:
        """Read the store: what is wrong with it."""
        try:
            have = results(self.store)
            # Of one moment: the sweep may go on meanwhile.
            keys = DeltaTable(self.store).to_pyarrow_table(columns=["key"])["key"].to_pylist()
        except StoreError:
            if self.seen:
                raise
            return {}  # there is none yet
        wrong = {
            "lost": len(self.seen - set(have)),
            "doubled": len(keys) - len(set(keys)),
            "unequal": len(unequal(have, self.expected)),
        }
        self.seen = set(have)
        return wrong

    def finish(self) -> dict[str, int]:
        """Run to the end without faults; what is wrong then, or missing."""
        for _ in range(RESUMES):
            self.cluster.repair()
            if self.driver.code != 0:  # it may be at its end since the last fault
                self.start()
            end = time.monotonic() + 2 * START
            while not self.ended():
                if time.monotonic() > end:
                    raise TroubleError(f"the sweep does not end: {tail(self.log)}")
                self.cluster.repair()
                time.sleep(0.3)
            if self.driver.code == 0:
                wrong = self.check()
                wrong["lost"] += len(set(self.expected) - self.seen)
                return wrong
            self.home.hours = 0
        raise TroubleError(f"the sweep is not complete: {tail(self.log)}")

    def stop(self) -> None:
        if self.driver is not None and self.driver.code is None:
            self.home.send(signal.SIGKILL, "recallscope\0sweep")
            self.driver.wait()

    def any_host(self) -> Host:
        return self.lan[self.rng.choice([*NODES, *([SERVER] if self.kind == "s3" else [])])]

    def any_node(self) -> Host:
        return self.lan[self.rng.choice(NODES[1:])]

    def last(self, shortest: float, longest: float) -> None:
        time.sleep(self.rng.uniform(shortest, longest))

    def briefly_or_long(self) -> None:
        """Until nobody has noticed, or everybody."""
        self.last(*self.rng.choice([*[(0.5, 4.0)] * 5, (18.0, 22.0)]))

    # The faults. Each returns its name.

    def kill_host(self) -> str:
        self.any_node().kill()
        self.last(0.5, 8.0)
        return "host killed"

    def kill_head(self) -> str:
        self.lan[HEAD].kill()
        self.last(0.5, 8.0)
        return "head killed"

    def cut_link(self) -> str:
        host = self.any_host()
        host.cut()
        self.briefly_or_long()
        host.heal()
        return "link cut and healed"

    def lose_frames(self) -> str:
        host = self.any_host()
        host.lose(LOSS)
        self.last(3.0, 7.0)
        host.lose_nothing()
        return f"{LOSS} % of frames lost"

    def delay_frames(self) -> str:
        host = self.any_host()
        host.slow(DELAY)
        self.last(3.0, 7.0)
        host.fast()
        return f"{1000 * DELAY:.0f} ms of delay each way"

    def set_clock(self) -> str:
        host = self.any_node()
        host.kill()
        host.boot(hours=self.rng.choice([-30, -7, -1, 1, 5, 48]))
        return "clock off by hours"

    def fill_disk(self) -> str:
        filler = self.disk / "filler"
        free = shutil.disk_usage(self.disk).free
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(4096, free - self.rng.randint(3, 8) * 4096))
        self.last(5.0, 9.0)
        filler.unlink()
        return "disk of the store full"

    def stop_host(self) -> str:
        host = self.any_host()
        host.stop()
        self.briefly_or_long()
        host.go_on()
        return "host stopped and continued"

    def kill_driver(self) -> str:
        self.home.send(signal.SIGKILL, "recallscope\0sweep")
        self.driver.wait()
        return "command killed"


FAULTS = {  # with weights: what starts Ray again takes longest
    "cut_link": 10,
    "stop_host": 10,
    "lose_frames": 6,
    "delay_frames": 6,
    "kill_host": 5,
    "set_clock": 3,
    "fill_disk": 3,
    "kill_driver": 1,
    "kill_head": 1,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=120)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no fault after this")
    parser.add_argument("--seeds", type=int, default=150, help="of each of the 18 problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", help="write the counts to a table")
    parser.add_argument("--store", action="append", choices=["folder", "s3"])
    parser.add_argument("--only", action="append", help="a fault by its name; repeatable")
    given = parser.parse_args()
    if (folder := namespaces.inside()) is None:
        sys.exit(namespaces.run_inside())
    with ExitStack() as stack:
        for name in ("shared", "objects"):
            (folder / name).mkdir()
            stack.enter_context(small_disk(folder / name, DISK))
        (folder / "one").mkdir()
        sweep = SWEEP.replace("seeds = 20", f"seeds = {given.seeds}")
        (folder / "sweep.toml").write_text(sweep)
        expected = undisturbed(folder / "one", sweep)
        lan = stack.enter_context(Lan(*NODES, SERVER))
        cluster = Cluster(lan, folder, serves=given.store != ["folder"])
        cluster.complete()
        print(f"{len(expected)} cells, the cluster runs", flush=True)
        inject(cluster, expected, given)


def inject(cluster: Cluster, expected: dict, given: argparse.Namespace) -> None:
    """Run sweeps and break things until it is enough; exit with 1 if a record was ever wrong."""
    rng, started = random.Random(given.seed), time.monotonic()
    weights = dict.fromkeys(given.only, 1) if given.only else FAULTS
    rows: dict[tuple[str, str], Counter[str]] = {}
    injected, trials, wrong = 0, 0, 0
    ends: Counter[str] = Counter()

    def late() -> bool:
        return injected >= given.faults or time.monotonic() - started > 60 * given.minutes

    while not late():
        trial = Trial(cluster, trials, expected, rng, given.store or ["folder", "s3"])
        try:
            while not late() and trial.ready():
                time.sleep(rng.uniform(0.0, 2.0))
                if trial.written() == len(expected):
                    break  # what comes now does not disturb the work
                if trial.driver.code is not None:
                    continue
                name = getattr(trial, rng.choices(list(weights), list(weights.values()))[0])()
                found = trial.check()
                rows.setdefault((trial.kind, name), Counter()).update(found, injected=1)
                injected += 1
                wrong += sum(found.values())
                print(
                    f"{time.monotonic() - started:.0f} s: {injected}. {name} ({trial.kind}, "
                    f"command on {trial.home.name}): {len(trial.seen)} records, {found}",
                    flush=True,
                )
            found = trial.finish()
            wrong += sum(found.values())
            rows.setdefault((trial.kind, "none: sweeps completed"), Counter()).update(found)
            rows[trial.kind, "none: sweeps completed"]["sweeps"] += 1
        except Exception:
            print(f"trial {trials}, command on {trial.home.name}: {tail(trial.log)}", flush=True)
            raise
        finally:
            trial.stop()
            if given.csv:
                write(given.csv, given.seed, rows)
            shutil.rmtree(trial.disk / f"facts-{trials}", ignore_errors=True)  # disks are small
        ends.update(trial.ends)
        trials += 1
    print(
        f"{injected} faults in {trials} sweeps of {len(expected)} cells over three hosts, "
        f"{time.monotonic() - started:.0f} s; {wrong} records lost, doubled, corrupt or unequal; "
        f"exit codes of the command: {dict(ends)}"
    )
    sys.exit(1 if wrong else 0)


def write(path: str, seed: int, rows: dict[tuple[str, str], Counter[str]]) -> None:
    """Write down what was injected so far, and what was wrong afterwards."""
    wrong = ("lost", "doubled", "corrupt", "unequal")
    table = [
        {"seed": seed, "executor": "ray", "store": kind, "fault": name}
        | {"injected": found["injected"], **{each: found[each] for each in wrong}}
        for (kind, name), found in sorted(rows.items())
    ]
    if table:
        write_csv(table, path)


if __name__ == "__main__":
    main()
