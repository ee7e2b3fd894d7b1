"""The explorer page in a browser against osan.wl, pair by pair and test by test.

python benchmarks/explorer.py                 # the presets, 200 random pairs, BREC's basic pairs
python benchmarks/explorer.py --pairs 2000    # more random pairs (minutes)
python benchmarks/explorer.py --large         # also what the page leaves to Python (minutes)
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "report"))
from browser import opened
from explorer_pairs import asked, cases, random_pair, verdict

from osan.graphs import Graph, read_pairs
from osan.report.explore import explorer_page, presets


def gathered(count: int) -> dict[str, list[tuple[Graph, Graph]]]:
    rng = np.random.default_rng(0)
    plain = [tuple(graph.without_labels() for graph in pair) for pair in presets().values()]
    out = {"presets": plain, "random": [random_pair(rng) for _ in range(count)]}
    if "OSAN_DATA" in os.environ:
        pairs = read_pairs(Path(os.environ["OSAN_DATA"], "BREC", "brec_pairs.tsv.gz"))
        out["BREC basic"] = [(pair.a, pair.b) for pair in pairs if pair.category == "Basic"]
    return out


def compare(page, name: str, pairs: list[tuple[Graph, Graph]], large: bool) -> int:
    """Print how many verdicts are equal; the number of wrong ones."""
    done, wrong, separated, declined = 0, 0, Counter(), 0
    seconds = {"page": 0.0, "osan.wl": 0.0}
    for a, b in pairs:
        small = [case for case in cases() if fits(page, a, b, case)]
        declined += len(cases()) - len(small)
        every = cases() if large else small
        start = time.perf_counter()
        script = "all => all.map((each) => Osan.distinguishes(...each))"
        answers = page.evaluate(script, asked(a, b, every))
        middle = time.perf_counter()
        truth = [verdict(a, b, *case) for case in every]
        seconds["page"] += middle - start
        seconds["osan.wl"] += time.perf_counter() - middle
        done += len(truth)
        for case, answer, expected in zip(every, answers, truth, strict=True):
            separated[case] += expected
            if answer != expected:
                wrong += 1
                print("WRONG", case, answer, asked(a, b, [case]))
    times = ", ".join(f"{side} {value:.0f} s" for side, value in seconds.items())
    print(f"{name}: {len(pairs)} pairs, {done} verdicts, {wrong} wrong; {times}")
    if declined:
        print(
            f"  {declined} more" if not large else f"  {declined} of them", "are left to Python by the page"
        )
    print("  separated:", ", ".join(f"{'/'.join(map(str, case))} {n}" for case, n in separated.items()))
    return wrong


def fits(page, a: Graph, b: Graph, case: tuple[str, str, int]) -> bool:
    """Whether a visitor gets the verdict from the page; here the page is made to find it anyway."""
    if max(a.num_vertices, b.num_vertices) <= 16:
        return True
    (question,) = asked(a, b, [case])
    script = "([a, b, ...t]) => Osan.cost([a, b].map(Osan.decodeGraph6), Osan.testOf(...t)).fits"
    return page.evaluate(script, question)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="number of random pairs")
    parser.add_argument("--large", action="store_true", help="also compare what the page leaves to Python")
    options = parser.parse_args()
    complaints: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "explorer.html")
        path.write_text(explorer_page(), encoding="utf-8")
        print(f"page: {path.stat().st_size / 1000:.0f} kB")
        try:
            with opened(path, complaints) as page:
                sets = gathered(options.pairs).items()
                wrong = sum(compare(page, name, pairs, options.large) for name, pairs in sets)
        except BaseException as error:
            if type(error).__name__ != "Skipped":  # raised by pytest.skip
                raise
            print(f"skipped: {error}")
            return
    print(f"complaints of the browser: {complaints or 'none'}")
    sys.exit(1 if wrong or complaints else 0)


if __name__ == "__main__":
    main()
