"""A library in C that, loaded before others, has the time of day wrong by what a file says.

Durations stay right. libfaketime 0.9.10 makes each `time.sleep` of Python 3.11 fail if it is to
leave durations alone, so studies that disturb clocks use this library.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
/* The time of day, off by as many seconds as a file says at the moment. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static volatile long *offset;
    if (!real) {
        offset = mmap(0, 8, PROT_READ, MAP_SHARED, open(getenv("CLOCK_OFFSET"), O_RDONLY), 0);
        real = dlsym(RTLD_NEXT, "clock_gettime");
    }
    int failed = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += *offset;
    return failed;
}
"""


def wrong_clock(file: Path, seconds: int = 0) -> dict[str, str]:
    """The environment of a process whose clock is off by the seconds in a file, written first."""
    library = file.with_name("clock.so")
    if not library.exists():
        source = file.with_name("clock.c")
        source.write_text(_SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    set_clock(file, seconds)
    return {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(file)}


def set_clock(file: Path, seconds: int) -> None:
    """Put the clocks that follow a file off by some seconds, also those of running processes."""
    with file.open("r+b" if file.exists() else "wb", buffering=0) as opened:
        opened.write(struct.pack("l", seconds))
