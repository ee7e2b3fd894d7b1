"""The runs behind the paper's tables. Listing them needs no torch: settings are built on demand."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import TYPE_CHECKING

from osan.errors import OsanError
from osan.experiments.figures import PaperRow, paper_rows, table_name

if TYPE_CHECKING:
    from osan.training.settings import Settings

# EXP: five times ten folds.
_RUNS = {"exp": 50}


@dataclass(frozen=True)
class Recipe:
    """A run of the paper: its key and the rows that report it."""

    key: str
    rows: tuple[PaperRow, ...]

    @property
    def runs(self) -> int:
        """The number of seeds behind the reported mean: five, on EXP five times ten folds."""
        return _RUNS.get(self.rows[0].dataset, 5)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the run, for seed 0."""
        from osan.experiments.protocols import settings_for

        row = self.rows[0]
        return settings_for(
            row.dataset,
            _policy(row),
            "random" if row.method == "Random" else "imle",
            downstream=row.downstream.lower(),
            auxiliary=row.method != "I-MLE ablation",
        )


@cache
def recipes() -> dict[str, Recipe]:
    """Every run of the paper by its key, in the order of the tables; a row in several tables is one run.

    >>> recipes()["ogbg-molesol/gin/imle/delete-1-vertex/x3"].settings.selection.policy
    'delete 1 vertex x 3'
    """
    rows: dict[str, list[PaperRow]] = {}
    for row in paper_rows():
        if not row.quoted:
            rows.setdefault(_key(row), []).append(row)
    return {key: Recipe(key, tuple(some)) for key, some in rows.items()}


def recipe(key: str) -> Recipe:
    """The recipe with a key; an unknown key raises an error with a suggestion."""
    known = recipes()
    if key not in known:
        close = get_close_matches(key, known, n=1, cutoff=0.3)
        hint = f"did you mean {close[0]!r}?" if close else "osan recipes lists them"
        raise OsanError(f"unknown recipe {key!r}; {hint}")
    return known[key]


def matches(name: str, pattern: str | None) -> bool:
    """Whether a run has a name like ``*imle*``, or one that contains the pattern; any, without a pattern.

    Commas separate alternatives.

    >>> matches("exp/gin/imle", "exp/*"), matches("exp/gin/imle", "imle"), matches("exp/gin/imle", "zinc")
    (True, True, False)
    >>> matches("exp/gin/imle", "zinc/*, exp/*"), matches("exp/gin/imle", "zinc/*,")
    (True, False)
    """
    if not pattern:
        return True
    alternatives = [each.strip() for each in pattern.split(",")]
    return any(each and (fnmatchcase(name, each) or each in name) for each in alternatives)


def find_recipes(table: str, only: str | None = None) -> list[Recipe]:
    """The recipes of a table (``"all"``: of every table) whose keys match the pattern ``only``.

    >>> [r.key for r in find_recipes("exp", "*imle*")]
    ['exp/gin/imle/delete-1-vertex/x3', 'exp/gin/imle/delete-1-edge/x3']
    """
    label = None if table == "all" else table_name(table)
    out = [r for r in recipes().values() if label is None or any(row.table == label for row in r.rows)]
    matching = [r for r in out if matches(r.key, only)]
    if not matching:
        raise OsanError(
            f"only: expected a pattern that matches one of {len(out)} recipes, such as {out[0].key!r}, "
            f"got {only!r}"
        )
    return matching


def _key(row: PaperRow) -> str:
    """The key of a row, equal to the name of its settings."""
    start = f"{row.dataset}/{row.downstream.lower()}"
    if row.method == "Baseline":
        return f"{start}/baseline"
    policy, _, count = _policy(row).rpartition(" x ")
    method = "random" if row.method == "Random" else "imle"
    if row.method == "I-MLE ablation":
        method += "-no-auxiliary"
    slug = policy.replace(" ", "-")
    return f"{start}/all/{slug}" if count == "all" else f"{start}/{method}/{slug}/x{count}"


def _policy(row: PaperRow) -> str:
    """The policy of a row in the one-line form of :class:`osan.selection.Policy`."""
    if row.method == "Baseline":
        return ""
    operation, type_ = row.operation.lower(), row.type.lower()
    if row.operation == "MST":
        what = "tree"
    elif type_.endswith("-ego"):
        what = f"{operation} {type_}"
    else:
        # ESAN takes all subgraphs with one vertex or edge deleted.
        size = "1" if row.size == "all" else row.size
        plural = {"vertex": "vertices", "edge": "edges"}[type_]
        what = f"{operation} {size} {type_ if size == '1' else plural}"
    cover = "cover " if row.method.endswith("covered") else ""
    # "unordered" ends in the same letters.
    ordered = " ordered" if row.method == "I-MLE ordered" else ""
    return f"{cover}{what}{ordered} x {row.subgraphs}"
