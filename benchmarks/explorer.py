"""The explorer page in a browser against osan.wl, pair by pair and test by test.

python benchmarks/explorer.py                 # the presets, 200 random pairs, BREC's basic pairs
python benchmarks/explorer.py --pairs 2000    # more random pairs (minutes)
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


def compare(page, name: str, pairs: list[tuple[Graph, Graph]]) -> int:
    """Print how many verdicts are equal; the number of wrong ones."""
    done, wrong, separated, left_out = 0, 0, Counter(), 0
    seconds = {"page": 0.0, "osan.wl": 0.0}
    for a, b in pairs:
        cases_here = [case for case in cases() if fits(page, a, b, case)]
        left_out += len(cases()) - len(cases_here)
        start = time.perf_counter()
        script = "all => all.map((each) => Osan.distinguishes(...each))"
        answers = page.evaluate(script, asked(a, b, cases_here))
        middle = time.perf_counter()
        truth = [verdict(a, b, *case) for case in cases_here]
        seconds["page"] += middle - start
        seconds["osan.wl"] += time.perf_counter() - middle
        done += len(truth)
        for case, answer, expected in zip(cases_here, answers, truth, strict=True):
            separated[case] += expected
            if answer != expected:
                wrong += 1
                print("WRONG", case, answer, asked(a, b, [case]))
    times = ", ".join(f"{side} {value:.0f} s" for side, value in seconds.items())
    print(f"{name}: {len(pairs)} pairs, {done} verdicts, {wrong} wrong, {left_out} too large; {times}")
    print("  separated:", ", ".join(f"{'/'.join(map(str, case))} {n}" for case, n in separated.items()))
    return wrong


def fits(page, a: Graph, b: Graph, case: tuple[str, str, int]) -> bool:
    """Whether the page takes the pair."""
    if max(a.num_vertices, b.num_vertices) <= 16:
        return True
    (question,) = asked(a, b, [case])
    script = "([a, b, ...t]) => Osan.cost([a, b].map(Osan.decodeGraph6), Osan.testOf(...t)).fits"
    return page.evaluate(script, question)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="number of random pairs")
    options = parser.parse_args()
    complaints: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "explorer.html")
        path.write_text(explorer_page(), encoding="utf-8")
        print(f"page: {path.stat().st_size / 1000:.0f} kB")
        try:
            with opened(path, complaints) as page:
                wrong = sum(compare(page, name, pairs) for name, pairs in gathered(options.pairs).items())
        except BaseException as error:
            if type(error).__name__ != "Skipped":  # raised by pytest.skip
                raise
            print(f"skipped: {error}")
            return
    print(f"complaints of the browser: {complaints or 'none'}")
    sys.exit(1 if wrong or complaints else 0)


if __name__ == "__main__":
    main()
