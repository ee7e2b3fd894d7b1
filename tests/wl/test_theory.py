"""The paper's claims: the quick checks, and that exactly the explained ones come out otherwise."""

import re
from pathlib import Path

import pytest

from osan.errors import OsanError
from osan.graphs import fuerer_grid_pair
from osan.wl import WLTest, refine
from osan.wl.theory import Check, checks, diagram, run

# Each is explained in docs/theory.md.
CONTRADICTED = [
    r"1-OSWL does not separate \| X, Y over the 2 x [23] grid",
    r"2-OSWL does not separate \| X, Y over the 3 x 3 grid",
    r"for every u there is a t such that \(t, u\) is shielding",
    r"every \(t, u\) is shielding once the twist is moved \| X, Y over the (2 x 9|3 x 13) grid",
    r"[12]-OSWL does not separate \| backbone X_[12]",
    r"^3-OSWL does not separate \| backbone X_3",
    r"1-WL separates a pair that .*1-OSWL does not",
    r"GNN-as-kernel test, 1-ego separates only what 1-OSWL separates",
]
QUICK = [check for check in checks() if not check.slow]


@pytest.mark.parametrize("check", QUICK, ids=lambda check: f"{check.place}: {check.claim}, {check.instance}")
def test_claim(check):
    contradicted = any(re.search(p, f"{check.claim} | {check.instance}") for p in CONTRADICTED)
    assert run(check).agrees == (not contradicted)


@pytest.mark.parametrize(
    ("instance", "claim"),
    [
        ("backbone X_3", ""),
        ("all graphs with up to 7", "2-OSWL separates nothing"),
        ("all graphs with up to 7", "1-WL separates a pair"),
    ],
)
def test_what_does_not_fit_is_left_open(instance, claim):
    large = next(check for check in checks() if instance in check.instance and claim in check.claim)
    verdict = run(large, max_memory=10**6)
    assert verdict.agrees is None
    assert "needs about" in verdict.note


def test_only_what_does_not_fit_is_left_open():
    """A check that cannot be computed for another reason is an error, not an open question."""
    with pytest.raises(OsanError, match="k: expected at least 0"):
        run(Check("here", "claim", "instance", True, lambda _: bool(WLTest("oswl", -1))))


@pytest.mark.parametrize("n", [4, 7])
def test_how_many_rounds_the_grids_take(n):
    """2-WL needs n rounds by the colors of vertices, n - 1 by those of pairs (docs/theory.md)."""
    history = refine(fuerer_grid_pair(2, n), "wl", 2, history=True).history
    pairs = [sorted(x.ravel().tolist()) != sorted(y.ravel().tolist()) for x, y in history]
    vertices = [sorted(x.diagonal().tolist()) != sorted(y.diagonal().tolist()) for x, y in history]
    assert (pairs.index(True), vertices.index(True)) == (n - 1, n)


def test_every_contradiction_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
    for words in (
        "**Small grids (Lemma sepnew1).**",
        "**Shields (Proposition makeshield).**",
        "**The four-cycle backbone (Proposition pwlweakerthankplus1wl) for k = 1 and k = 2.**",
        '**1-WL against 1-OSWL (Proposition 2, "and vice versa", k = 1).**',
        "**GNN-as-kernel (Proposition 5).**",
    ):
        assert words in page
    # None of the patterns above is left from a claim that is no longer made.
    claims = [f"{check.claim} | {check.instance}" for check in checks()]
    assert all(any(re.search(pattern, claim) for claim in claims) for pattern in CONTRADICTED)


def test_the_page_counts_the_rows():
    """All rows, those that do not hold, and those among them that are not a claim of the paper."""
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
    against = [c for c in checks() if any(re.search(p, f"{c.claim} | {c.instance}") for p in CONTRADICTED)]
    bracketed = [c for c in against if c.place in ("(vertex-subgraph)", "(per vertex)")]
    assert f"The full table has {len(checks())} rows" in page
    assert f" {len(against)} do not hold" in page
    words = {5: "five", 6: "six", 7: "seven"}
    assert f"{words[len(bracketed)]} of the {len(against)} rows that do not hold" in " ".join(page.split())


def test_checks_are_distinct():
    keys = [(c.place, c.claim, c.instance) for c in checks()]
    assert len(keys) == len(set(keys))


def test_the_page_prints_what_it_says(capsys):
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/theory.md", "exec"), {})
        assert capsys.readouterr().out.split() == re.findall(r"# (\w+)$", block, re.MULTILINE)


def test_the_diagram_shows_every_arrow_with_its_pair(monkeypatch):
    """What the arrows claim is among the rows above, so it is not computed again here."""
    monkeypatch.setattr(diagram, "_check", lambda: None)
    (ax,) = diagram.draw_subgraph_tests().axes
    texts = [" ".join(text.get_text().replace(",\nin", " in").split()) for text in ax.texts]
    for step in diagram.STEPS:
        assert any(text.startswith(f"{step.witness} (n = ") for text in texts)
    assert sum(text.arrow_patch is not None for text in ax.texts if hasattr(text, "arrow_patch")) == 8
    claims = {check.claim for check in checks()}
    for step in [*diagram.STEPS, *diagram.APART]:
        assert f"{step.more} separates a pair that {step.less} does not" in claims
