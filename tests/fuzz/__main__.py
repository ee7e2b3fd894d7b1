"""Fuzz for a while: ``make fuzz MINUTES=30``, or ``python tests/fuzz --minutes 30 --seed 7``."""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from targets import all_targets, one

# A target that takes longer hangs.
PATIENCE = 20
# An input counts for at least so many seconds, or short texts would be nearly all inputs.
LEAST = 0.001


def hangs(number: int, frame: object) -> None:
    """Called when an input takes too long."""
    raise TimeoutError(f"more than {PATIENCE} s of processor time")


def main() -> int:
    """Try inputs until the time or their number is reached; 1 if one of them shows a problem."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--inputs", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="Targets whose names contain this.")
    asked = parser.parse_args()
    faulthandler.enable()
    signal.signal(signal.SIGVTALRM, hangs)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    counts, problems, begin = Counter[str](), [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        everything = {k: v for k, v in all_targets(Path(folder)).items() if asked.only in k}
        spent = dict.fromkeys(everything, 0.0)
        rng = random.Random(asked.seed)
        while sum(counts.values()) < asked.inputs and time.monotonic() - begin < 60 * asked.minutes:
            # The target that has had the least time comes next, so that slow ones do not take it all.
            name = min(spent, key=spent.__getitem__)
            for _ in range(20):
                start = time.process_time()
                signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
                given, problem = one(everything[name], rng)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                spent[name] += max(LEAST, time.process_time() - start)
                counts[name] += 1
                if problem:
                    problems.append((name, problem, given))
                    print(f"{name}: {problem}\n    {given[:120]!r}", flush=True)
            if sum(counts.values()) % 5000 < 20:
                print(f"{sum(counts.values())} inputs, {time.process_time():.0f} s", flush=True)
        left = list(Path(folder).rglob(".*.*-*-*"))
        os.chdir("/")
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    for i, (name, _, given) in enumerate(problems):
        kept = Path(tempfile.gettempdir(), "fuzz-found")
        kept.mkdir(exist_ok=True)
        (kept / f"{i}-{name.replace('/', '-').replace(' ', '-')}").write_bytes(given)
    total, seconds = sum(counts.values()), time.monotonic() - begin
    print(f"{total} inputs, {len(problems)} problems, {len(left)} half-written files, {seconds:.0f} s")
    return 1 if problems or left else 0


if __name__ == "__main__":
    sys.exit(main())
