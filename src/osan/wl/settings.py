"""What a test is: one validated description that every function of :mod:`osan.wl` takes."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from operator import index
from typing import Any, Literal, get_args

from osan.errors import OsanError

Name = Literal["wl", "oswl", "vs-oswl", "id", "nested", "kernel", "dss"]
Neighborhood = Literal["edges", "all"]
Operation = Literal["mark", "delete", "select"]
What = Literal["vertex", "edge", "ego"]

_TUPLES = {"ordered": True, "operation": "mark", "what": "vertex", "hops": None, "mark_center": False}
_EGO_NETS = {"ordered": False, "operation": "select", "what": "ego", "mark_center": False}
_PLAIN = {"neighborhood": "edges", "oblivious": False}
# The settings that are not a choice in each test, and what they are.
_FIXED: dict[str, dict[str, Any]] = {
    "wl": {"neighborhood": "edges", **_TUPLES},
    "oswl": {"oblivious": False},
    "vs-oswl": {"oblivious": False},
    "id": {**_PLAIN, **_EGO_NETS, "mark_center": True},
    "nested": {"k": 1, **_PLAIN, **_EGO_NETS},
    "kernel": {"k": 1, **_PLAIN, **_EGO_NETS},
    "dss": _PLAIN,
}


@dataclass(frozen=True)
class Test:
    """A Weisfeiler-Leman style test, which takes the settings that it uses and refuses others.

    Parameters
    ----------
    name
        ``"wl"``: k-WL (1-WL is color refinement, k >= 2 the folklore version of the paper's appendix).
        ``"oswl"``: k-OSWL, a multiset over v of multisets over g. ``"vs-oswl"``: vertex-subgraph k-OSWL, a
        multiset over g of multisets over v; with the policies below also the DS-WL test of ESAN.
        ``"id"``, ``"nested"``, ``"kernel"``, ``"dss"``: the tests that match identity-aware GNNs, nested
        GNNs, GNN-as-kernel and DSS-GNN. The first takes ``k`` and ``oblivious``, ``"id"`` takes ``k`` and
        ``hops``, ``"nested"`` and ``"kernel"`` take ``hops``.
    k
        Size of the tuples (k-WL, ordered OSWL), of the vertex or edge subsets, or of ID-GNN's walks.
    neighborhood
        The square of the paper: ``"edges"`` is N(v), ``"all"`` is V(G).
    ordered
        All tuples of V(G)^k, or all k-subsets, of which a graph of fewer than k vertices (edges) has none; by
        default tuples where vertices are marked, else subsets.
    operation
        What is done with the chosen vertices or edges: ``"mark"``, ``"delete"`` or ``"select"`` (only they
        remain).
    what
        ``"vertex"``, ``"edge"``, or ``"ego"``: the ego-nets of all vertices.
    hops
        Radius of the ego-nets; ``None`` is the whole component.
    mark_center
        Whether an ego-net's center is marked (ESAN's "ego+").
    oblivious
        Oblivious instead of folklore k-WL.

    Examples
    --------
    >>> str(Test("vs-oswl", k=2))
    'vertex-subgraph 2-OSWL'
    >>> str(Test("vs-oswl", what="ego", operation="select", hops=2))
    'vertex-subgraph OSWL, select 2-ego'
    >>> Test("oswl", k=-1)
    Traceback (most recent call last):
    osan.errors.OsanError: k is -1; it must be at least 0 for test 'oswl'
    """

    __test__ = False  # not a test of ours: tells pytest so

    name: Name = "wl"
    k: int = 1
    neighborhood: Neighborhood = "edges"
    ordered: bool | None = None
    operation: Operation | None = None
    what: What = "vertex"
    hops: int | None = None
    mark_center: bool = False
    oblivious: bool = False

    def __post_init__(self) -> None:
        for field, value, allowed in (
            ("test", self.name, get_args(Name)),
            ("neighborhood", self.neighborhood, get_args(Neighborhood)),
            ("operation", self.operation, (None, *get_args(Operation))),
            ("what", self.what, get_args(What)),
        ):
            if value not in allowed:
                raise OsanError(f"{field} {value!r} is not known{_suggest(value, allowed)}")
        self._check_number("k", 1 if self.name in ("wl", "id") else 0)
        if self.hops is not None:
            self._check_number("hops", 0)
        self._fix()
        self._fill_defaults()
        self._check_combination()

    def _check_number(self, field: str, least: int) -> None:
        value = getattr(self, field)
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise OsanError(f"{field} is {value!r}; it must be a whole number")
        object.__setattr__(self, field, index(value))  # numpy's integers are whole numbers, too
        if value < least:
            raise OsanError(f"{field} is {value}; it must be at least {least} for test {self.name!r}")

    def _fix(self) -> None:
        """Set what is no choice in this test, and refuse to be told otherwise."""
        fixed = _FIXED[self.name]
        for field, value in fixed.items():
            given = getattr(self, field)
            if given not in (value, self.__dataclass_fields__[field].default):
                *others, last = (name for name in self.__dataclass_fields__ if name not in ("name", *fixed))
                takes = f"{', '.join(others)} and {last}" if others else last
                raise OsanError(f"test {self.name!r} takes no {field} (got {given!r}); it takes {takes}")
            object.__setattr__(self, field, value)

    def _fill_defaults(self) -> None:
        if self.operation is None:
            operation = {"vertex": "mark", "edge": "delete", "ego": "select"}[self.what]
            object.__setattr__(self, "operation", operation)
        if self.ordered is None:
            object.__setattr__(self, "ordered", self.what == "vertex" and self.operation == "mark")

    def _check_combination(self) -> None:
        if self.ordered and (self.what != "vertex" or self.operation != "mark"):
            raise OsanError(
                "ordered tuples can only be marked; write ordered=False to "
                f"{self.operation} {self.what} subsets"
            )
        if self.what != "vertex" and self.operation == "mark":
            raise OsanError(f"{self.what}s cannot be marked; write operation='delete' or 'select'")
        if self.what == "ego" and self.name != "id" and self.k != 1:
            raise OsanError(f"k is {self.k}, but an ego-net has one center; write hops= for its radius")
        if self.mark_center and (self.what != "ego" or self.operation == "delete"):
            raise OsanError("mark_center needs ego-nets that keep their center; write what='ego'")
        if self.hops is not None and self.what != "ego":
            raise OsanError("hops needs ego-nets; write what='ego'")

    @property
    def aggregation(self) -> Literal["per-vertex", "per-subgraph"]:
        """Which of the two multisets is formed first."""
        return "per-vertex" if self.name in ("wl", "oswl", "id") else "per-subgraph"

    def __str__(self) -> str:
        ball = "ego" if self.hops is None else f"{self.hops}-ego"
        if self.name == "wl":
            return f"{'oblivious ' * self.oblivious}{self.k}-WL"
        if self.name in ("id", "nested", "kernel"):
            text = {"id": "ID-GNN", "nested": "nested GNN", "kernel": "GNN-as-kernel"}[self.name]
            text = f"{self.k}-{text}" if self.k > 1 else text
            return f"{text} test, {ball}" if self.hops is not None else f"{text} test"
        text = {"oswl": "OSWL", "vs-oswl": "vertex-subgraph OSWL", "dss": "DSS-WL"}[self.name]
        if self.what == "vertex" and self.operation == "mark":
            text = text.replace("OSWL", f"{self.k}-OSWL")
            text += "" if self.ordered else ", unordered"
            text += f", mark {self.k}" * (self.name == "dss")
        elif self.what == "ego":
            text += f", {self.operation} {ball}{'+' * self.mark_center}"
        else:
            text += f", {self.operation} {self.k} {self.what}"
        return text + ", V(G)" * (self.neighborhood == "all")


def make_test(test: str | Test, k: int | None = None, **settings: Any) -> Test:
    """A :class:`Test` from its name and settings; unknown settings are named with a suggestion."""
    if isinstance(test, Test):
        if k is not None or settings:
            raise OsanError("settings are part of the given Test; pass a name to combine it with settings")
        return test
    known = set(Test.__dataclass_fields__) - {"name", "k"}
    for name in settings:
        if name not in known:
            raise OsanError(f"setting {name!r} is not known{_suggest(name, sorted(known))}")
    return Test(test, 1 if k is None else k, **settings)  # type: ignore[arg-type]


def _suggest(value: object, allowed: Any) -> str:
    names = [str(name) for name in allowed if name is not None]
    close = get_close_matches(str(value), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; choose from {', '.join(names)}"
