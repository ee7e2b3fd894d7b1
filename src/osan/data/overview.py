"""The list of all datasets; making it needs no torch."""

from __future__ import annotations

from osan.data.published.catalog import CORPORA, PUBLISHED
from osan.data.published.paths import Folder, data_root
from osan.data.published.places import cached_file, locate

# The first lines of the docstrings of the generated tasks.
_GENERATED = {
    "twisted-pairs": "Whether a CFI graph is twisted: k-OSAN can tell, (k - 1)-OSAN cannot.",
    "csl-generated": (
        "Circular skip links: the ten classes CSL(41, s) of Murphy et al. (2019) with 15 graphs each."
    ),
    "planted-motif": "The sum of the features of the only triangle of a graph.",
}


def overview(root: Folder = None, cache: Folder = None) -> list[dict[str, str]]:
    """One row per dataset: name, task, readiness, source and license.

    Readiness is ``"embedded"`` (generated), ``"cached"`` (processed), ``"raw"`` (files found) or
    ``"missing"``.
    """
    rows = []
    for name, source in PUBLISHED.items():
        place = locate(source, root, cache)
        state = "missing"
        if place is not None:
            state = "cached" if cached_file(source, place, cache).is_file() else "raw"
        rows.append(_row(name, f"{source.kind}, {source.metric}", state, source.source, source.license))
    for name, (file, origin, license) in CORPORA.items():
        folder = data_root(root)
        found = folder is not None and (folder / file).exists()
        rows.append(_row(name, "pairs of graphs", "raw" if found else "missing", origin, license))
    for name, task in _GENERATED.items():
        rows.append(_row(name, task, "embedded", "generated", "MIT"))
    return rows


def _row(name: str, task: str, ready: str, source: str, license: str) -> dict[str, str]:
    return {"name": name, "task": task, "ready": ready, "source": source, "license": license}
