"""Hand Ethernet frames between two network devices, each a while after it came.

    faults/relay DEVICE DEVICE SECONDS

It makes both devices (TAP) and runs until it is killed. It stands in for `tc qdisc add ... netem
delay`, which many kernels are built without; unlike netem it is one process, and copies each frame.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import struct
import sys
import time
from collections import deque

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
MOST_FRAMES = 20_000  # on the way; what comes beyond is dropped, as by a full queue
LARGEST_FRAME = 65_536


def tap(name: str) -> int:
    """A network device whose other end is the file that is returned."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return file


def relay(first: str, second: str, seconds: float) -> None:
    """Hand on frames until this process is killed."""
    files = [tap(first), tap(second)]
    others = dict(zip(files, reversed(files), strict=True))
    waiting: deque[tuple[float, int, bytes]] = deque()
    with selectors.DefaultSelector() as ready:
        for file in files:
            ready.register(file, selectors.EVENT_READ)
        while True:
            left = waiting[0][0] - time.monotonic() if waiting else None
            for key, _ in ready.select(left if left is None else max(0.0, left)):
                try:
                    frame = os.read(key.fd, LARGEST_FRAME)
                except OSError:  # the device is down
                    time.sleep(0.01)
                    continue
                if len(waiting) < MOST_FRAMES:
                    waiting.append((time.monotonic() + seconds, others[key.fd], frame))
            while waiting and waiting[0][0] <= time.monotonic():
                _, to, frame = waiting.popleft()
                try:
                    os.write(to, frame)
                except OSError:  # its device is down: the frame is lost, as on a cut line
                    continue


if __name__ == "__main__":
    relay(sys.argv[1], sys.argv[2], float(sys.argv[3]))
