"""The paper's claims: the quick checks, and that exactly the explained ones come out otherwise."""

import re
from pathlib import Path

import pytest

from osan.wl.theory import checks, run

# Each is explained in docs/theory.md.
CONTRADICTED = [
    r"1-OSWL does not separate \| X, Y over the 2 x [23] grid",
    r"2-OSWL does not separate \| X, Y over the 3 x 3 grid",
    r"[12]-OSWL does not separate \| backbone X_[12]",
    r"1-WL separates a pair that .*1-OSWL does not",
    r"GNN-as-kernel test, 1-ego separates only what 1-OSWL separates",
]
QUICK = [check for check in checks() if not check.slow]


@pytest.mark.parametrize("check", QUICK, ids=lambda check: f"{check.place}: {check.claim}, {check.instance}")
def test_claim(check):
    contradicted = any(re.search(p, f"{check.claim} | {check.instance}") for p in CONTRADICTED)
    assert run(check).agrees == (not contradicted)


def test_what_does_not_fit_is_left_open():
    large = next(check for check in checks() if "backbone X_3" in check.instance)
    verdict = run(large, max_memory=10**6)
    assert verdict.agrees is None
    assert "needs about" in verdict.note


def test_every_contradiction_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
    for words in (
        "**Small grids (Lemma sepnew1).**",
        "**The four-cycle backbone (Proposition pwlweakerthankplus1wl) for k = 1 and k = 2.**",
        '**1-WL against 1-OSWL (Proposition 2, "and vice versa", k = 1).**',
        "**GNN-as-kernel (Proposition 5).**",
    ):
        assert words in page
    # None of the patterns above is left from a claim that is no longer made.
    claims = [f"{check.claim} | {check.instance}" for check in checks()]
    assert all(any(re.search(pattern, claim) for claim in claims) for pattern in CONTRADICTED)


def test_checks_are_distinct():
    keys = [(c.place, c.claim, c.instance) for c in checks()]
    assert len(keys) == len(set(keys))


def test_the_page_prints_what_it_says(capsys):
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/theory.md", "exec"), {})
        assert capsys.readouterr().out.split() == re.findall(r"# (\w+)$", block, re.MULTILINE)
