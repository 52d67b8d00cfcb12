"""Several hosts on one machine: namespaces of Linux with a network between them.

The script runs itself again in namespaces that it makes, and each host has separate ones for its
network, processes and name. Hosts share files, as over a network file system, and one bridge. When
the script ends, even by SIGKILL, the kernel ends every process in them and removes all of it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reproduction.studies.faults.clock import wrong_clock

APART = ["--mount", "--pid", "--net", "--fork", "--mount-proc", "--kill-child"]
INSIDE = "RECALLSCOPE_HOSTS"  # the folder, in the environment of the script in its namespaces
NEEDED = ("cc", "unshare", "nsenter", "setpriv", "ip", "nft")
NETWORK = "10.77.0."
HERE = f"{NETWORK}254"
RELAY = Path(__file__).with_name("relay.py")
# A process 1 that waits for what others left behind, and nothing else.
INIT = ("bash", "-c", "while :; do sleep 3600; done")


class NetworkError(RuntimeError):
    """This machine forbids what is needed; with its words."""


def ordered(*command: object) -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise NetworkError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def forbidden() -> str | None:
    """Why no hosts can be made on this machine; None if they can."""
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    links = "ip link add one type veth peer name two && ip link add lan type bridge"
    rule = "nft add table bridge t && nft add chain bridge t c && nft add rule bridge t c numgen"
    tried = ["unshare", *APART, "sh", "-c", f"{links} && {rule} random mod 100 '<' 5 drop"]
    try:
        ordered(*tried)
    except NetworkError as error:
        return str(error)
    return None if os.access("/dev/net/tun", os.W_OK) else "/dev/net/tun cannot be opened"


def inside() -> Path | None:
    """The folder of this run, if this is the script in its namespaces; else None."""
    return Path(os.environ[INSIDE]) if INSIDE in os.environ else None


def run_inside() -> int:
    """Run this script again in new namespaces, and remove its folder; its exit code."""
    if why := forbidden():
        raise NetworkError(why)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it is run by nohup
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The names of sockets in it are at most 107 bytes long.
    folder = tempfile.mkdtemp(prefix="hosts-")
    try:
        # The kernel kills the script when this process is gone, however it ended.
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *APART, sys.executable, *sys.argv]
        with subprocess.Popen(command, env=os.environ | {INSIDE: folder}) as script:
            try:
                return script.wait()
            except KeyboardInterrupt:
                with suppress(subprocess.TimeoutExpired):
                    script.wait(10)  # it was interrupted too, if it was from a terminal
                raise
            finally:
                script.kill()
    finally:
        for _ in range(100):  # what the kernel has not ended yet may still write to it
            shutil.rmtree(folder, ignore_errors=True)
            if not Path(folder).exists():
                break
            time.sleep(0.1)


class Host:
    """Processes with a separate network, which can be cut, slowed, stopped and killed."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number, self.address = name, number, f"{NETWORK}{number}"
        self.hours = 0  # by which its clock is off
        self._shell: subprocess.Popen[bytes] | None = None
        self._relay: subprocess.Popen[bytes] | None = None

    def boot(self, hours: int = 0) -> None:
        """Make it and connect it; its clock is off by some hours."""
        self.hours = hours
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--uts", *APART, *INIT]
        self._shell = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        children = Path(f"/proc/{self._shell.pid}/task/{self._shell.pid}/children")
        while not (found := children.read_text().split()):
            time.sleep(0.01)
        self.init = int(found[0])
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{self.init}/ns/net").readlink() == own:
            time.sleep(0.01)
        while Path(f"/proc/{self.init}/comm").read_text().strip() != INIT[0]:
            time.sleep(0.01)  # its own /proc is not mounted yet
        self._plug()

    def _plug(self) -> None:
        name = self.name
        peer = ["name", f"{name}-in", "address", f"02:00:00:00:00:{self.number:02x}"]
        ordered("ip", "link", "add", name, "type", "veth", "peer", *peer)
        ordered("ip", "link", "set", f"{name}-in", "netns", self.init)
        ordered("ip", "link", "set", name, "master", "lan", "up")
        orders = (
            f"hostname {name} && ip link set lo up && ip link set {name}-in name eth0 && "
            f"ip addr add {self.address}/24 dev eth0 && ip link set eth0 up && "
            f"ip route add default via {HERE}"
        )
        ordered(*self.within(), "sh", "-c", orders)

    def within(self) -> list[str]:
        """What to put before a command that is to run on this host."""
        spaces = ["--mount", "--pid", "--net", "--uts"]
        enter = ["nsenter", "--target", str(self.init), *spaces, "--"]
        if not self.hours:
            return enter
        file = Path(os.environ[INSIDE]) / f"{self.name}.clock"
        clock = wrong_clock(file, 3600 * self.hours)
        return [*enter, "env", *(f"{name}={value}" for name, value in clock.items())]

    @property
    def alive(self) -> bool:
        return self._shell is not None and self._shell.poll() is None

    def processes(self, *words: str) -> list[int]:
        """Its processes but the first; only those whose command has one of the words, if any."""
        found = []
        with suppress(OSError):
            own = Path(f"/proc/{self.init}/ns/pid").readlink()
            for entry in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    if int(entry.name) != self.init and (entry / "ns" / "pid").readlink() == own:
                        command = (entry / "cmdline").read_text(errors="replace")
                        if not words or any(word in command for word in words):
                            found.append(int(entry.name))
        return found

    def send(self, number: int, *words: str) -> int:
        """Send a signal to its processes; how many got it."""
        sent = 0
        for pid in self.processes(*words):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
                sent += 1
        return sent

    def stop(self) -> None:
        """Stop all of its processes, as a machine that is suspended."""
        self.send(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue them, and each `nsenter` out here, which stops and continues with its child."""
        self.send(signal.SIGCONT)
        entering = f"nsenter\0--target\0{self.init}\0"
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if line.read_text(errors="replace").startswith(entering):
                    os.kill(int(line.parent.name), signal.SIGCONT)

    def kill(self) -> None:
        """End all of its processes at once, and its network with them."""
        self.fast()
        if self._shell is not None:
            with suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
            self._shell.wait()
            self._shell = None
        # The kernel removes the network a moment after its last process.
        subprocess.run(["ip", "link", "del", self.name], capture_output=True)

    def cut(self) -> None:
        ordered("ip", "link", "set", self.name, "down")

    def heal(self) -> None:
        ordered("ip", "link", "set", self.name, "up")

    def lose(self, percent: int) -> None:
        """Drop so many of a hundred frames from it and to it."""
        nft("add", "table", "bridge", self.name)
        hook = "{ type filter hook forward priority 0 ; }"
        nft("add", "chain", "bridge", self.name, "lossy", hook)
        for side in ("iifname", "oifname"):
            which = [side, self.name, "numgen", "random", "mod", "100", "<", str(percent)]
            nft("add", "rule", "bridge", self.name, "lossy", *which, "counter", "drop")

    def lose_nothing(self) -> int:
        """Drop no more; how many frames were."""
        rules = nft("list", "chain", "bridge", self.name, "lossy").split()
        nft("delete", "table", "bridge", self.name)
        return sum(int(rules[i + 1]) for i, word in enumerate(rules) if word == "packets")

    def slow(self, seconds: float) -> None:
        """Hold every frame from it and to it for so long."""
        near, far = f"{self.name}-a", f"{self.name}-b"
        relay = [sys.executable, str(RELAY), near, far, str(seconds)]
        self._relay = subprocess.Popen(relay)
        while subprocess.run(["ip", "link", "show", far], capture_output=True).returncode:
            if self._relay.poll() is not None:
                raise NetworkError(f"the relay of {self.name} ended")
            time.sleep(0.05)
        ordered("ip", "link", "add", f"{self.name}-s", "type", "bridge")
        ordered("ip", "link", "set", f"{self.name}-s", "up")
        ordered("ip", "link", "set", near, "master", f"{self.name}-s", "up")
        ordered("ip", "link", "set", far, "master", "lan", "up")
        ordered("ip", "link", "set", self.name, "master", f"{self.name}-s")

    def fast(self) -> None:
        """Hold nothing any more."""
        if self._relay is not None:
            subprocess.run(["ip", "link", "set", self.name, "master", "lan"], capture_output=True)
            self._relay.kill()
            self._relay.wait()
            self._relay = None
            ordered("ip", "link", "del", f"{self.name}-s")


def nft(*words: str) -> str:
    return ordered("nft", *words)


class Lan:
    """Hosts on one bridge, which this process is on too."""

    def __init__(self, *names: str) -> None:
        self.hosts = {name: Host(name, number) for number, name in enumerate(names, 1)}

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def __iter__(self) -> Iterator[Host]:
        return iter(self.hosts.values())

    def __enter__(self) -> Lan:
        if inside() is None:
            raise NetworkError("hosts are only made in namespaces of this script")
        ordered("ip", "link", "set", "lo", "up")
        ordered("ip", "link", "add", "lan", "type", "bridge", "forward_delay", "0")
        ordered("ip", "addr", "add", f"{HERE}/24", "dev", "lan")
        ordered("ip", "link", "set", "lan", "up")
        for host in self:
            host.boot()
        return self

    def __exit__(self, *exception: object) -> None:
        for host in self:
            host.kill()
        ordered("ip", "link", "del", "lan")
