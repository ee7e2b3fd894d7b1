"""What a test is: one validated description that every function of :mod:`osan.wl` takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, get_args

from osan.arguments import integer, switch
from osan.errors import OsanError
from osan.parts import resolve
from osan.wl.plans import AGGREGATIONS, PLANS, SWL_PLANS, PlanBuilder
from osan.wl.titles import from_title
from osan.words import Neighborhood, Operation

# What a subgraph is made of.
Chosen = Literal["vertex", "edge", "ego"]
# Larger numbers of vertices or hops are mistakes. Tuples are few only over a single vertex, and no one needs
# long ones of it.
_MOST, _MOST_IN_TUPLES = 10**6, 64


@dataclass(frozen=True)
class WLTest:
    """A Weisfeiler-Leman style test. It accepts the settings that it uses and rejects all others.

    Parameters
    ----------
    name
        A key of :data:`osan.wl.plans.PLANS`, or ``"module:name"`` for a :class:`osan.wl.plans.PlanBuilder`
        of yours.

        - ``"wl"``: k-WL (1-WL is color refinement, k >= 2 the folklore version of the paper's appendix).
          Takes ``k`` and ``oblivious``.
        - ``"oswl"``: k-OSWL, a multiset over v of multisets over g.
        - ``"vs-oswl"``: vertex-subgraph k-OSWL, a multiset over g of multisets over v. With the policies
          below it is also the DS-WL test of ESAN.
        - ``"id"``, ``"nested"``, ``"kernel"``, ``"dss"``: the tests that match identity-aware GNNs, nested
          GNNs, GNN-as-kernel and DSS-GNN. ``"id"`` takes ``k`` and ``hops``, ``"nested"`` and ``"kernel"``
          take ``hops``.
        - ``"swl"``, ``"pswl"``, ``"gswl"``, ``"sswl"``, and the same with ``"vs-"``: the subgraph tests of
          Zhang et al. (2023) with one marked vertex, per vertex (SV) and per subgraph (VS). ``"swl"`` takes
          any set of ``aggregations``.
    k
        Size of the tuples (k-WL, ordered OSWL), of the vertex or edge subsets, or of ID-GNN's walks.
    neighborhood
        The square of the paper: ``"edges"`` is N(v), ``"all"`` is V(G).
    ordered
        All tuples of V(G)^k, or all k-subsets. A graph with fewer than k vertices (edges) has one k-subset,
        all of them, as in :func:`osan.bags.all_subsets`. By default, tuples where vertices are marked and
        subsets otherwise.
    operation
        What is done with the chosen vertices or edges: ``"mark"``, ``"delete"`` or ``"select"`` (only they
        remain; with edges, also their ends).
    what
        ``"vertex"``, ``"edge"``, or ``"ego"``: the ego-nets of all vertices.
    hops
        Radius of the ego-nets; ``None`` is the whole component.
    mark_center
        Whether the center of each ego-net is marked (ESAN's "ego+").
    oblivious
        Oblivious instead of folklore k-WL.
    aggregations
        For ``"swl"`` and ``"vs-swl"``: which of ``Lu``, ``Lv``, ``Gu``, ``Gv``, ``Puu``, ``Pvv`` and ``Pvu``
        (:data:`osan.wl.plans.AGGREGATIONS`) a copy sees, as in ``"Lu+Gv"``; ``"Lu"`` by default.

    Examples
    --------
    >>> str(WLTest("vs-oswl", k=2))
    'vertex-subgraph 2-OSWL'
    >>> str(WLTest("vs-oswl", what="ego", operation="select", hops=2))
    'vertex-subgraph OSWL, select 2-ego'
    >>> WLTest("oswl", k=-1)
    Traceback (most recent call last):
    osan.errors.OsanError: k: expected at least 0 for test 'oswl', got -1
    """

    name: str = "wl"
    k: int = 1
    neighborhood: Neighborhood = "edges"
    ordered: bool | None = None
    operation: Operation | None = None
    what: Chosen = "vertex"
    hops: int | None = None
    mark_center: bool = False
    oblivious: bool = False
    aggregations: tuple[str, ...] | str | None = None

    def __post_init__(self) -> None:
        builder = self.builder
        for field in ("mark_center", "oblivious", *(["ordered"] if self.ordered is not None else [])):
            object.__setattr__(self, field, switch(getattr(self, field), field))
        for field, value, allowed in (
            ("neighborhood", self.neighborhood, get_args(Neighborhood)),
            ("operation", self.operation, (None, *get_args(Operation))),
            ("what", self.what, get_args(Chosen)),
        ):
            if value not in allowed:
                names = [name for name in allowed if name is not None]
                raise OsanError(f"{field}: expected {_either(names)}, got {value!r}{_suggest(value, names)}")
        self._check_number("k", builder.least_k)
        if self.hops is not None:
            self._check_number("hops", 0)
        self._fix(builder)
        self._fill_defaults()
        self._sort_aggregations()
        self._check_combination()

    @property
    def builder(self) -> PlanBuilder:
        """What the name stands for: the entry of :data:`osan.wl.plans.PLANS`."""
        builder = resolve(self.name, PLANS, "test")
        if not isinstance(builder, PlanBuilder):
            raise OsanError(f"test {self.name!r}: expected an osan.wl.plans.PlanBuilder, got {builder!r}")
        return builder

    def _check_number(self, field: str, least: int) -> None:
        value = integer(getattr(self, field), field, most=_MOST)
        object.__setattr__(self, field, value)  # numpy integers become int
        if value < least:
            raise OsanError(f"{field}: expected at least {least} for test {self.name!r}, got {value}")

    def _fix(self, builder: PlanBuilder) -> None:
        """Set what this test does not leave open, and reject any other value."""
        for field, value in builder.fixed.items():
            given = getattr(self, field)
            if given not in (value, self.__dataclass_fields__[field].default):
                open_fields = [f.name for f in fields(self) if f.name not in ("name", *builder.fixed)]
                takes = _listed(open_fields, "and") if open_fields else "no settings"
                raise OsanError(
                    f"{field}: expected no value for test {self.name!r}, got {given!r}; it takes {takes}"
                )
            object.__setattr__(self, field, value)

    def _fill_defaults(self) -> None:
        if self.operation is None:
            operation = {"vertex": "mark", "edge": "delete", "ego": "select"}[self.what]
            object.__setattr__(self, "operation", operation)
        if self.ordered is None:
            object.__setattr__(self, "ordered", self.what == "vertex" and self.operation == "mark")

    def _sort_aggregations(self) -> None:
        """Names in one order, whatever the order and form in which they are given."""
        given = self.aggregations
        if given is None:
            given = ("Lu",) if self.name in SWL_PLANS else None
        elif isinstance(given, str):
            given = tuple(name.strip() for name in given.split("+"))
        elif not isinstance(given, Iterable):
            raise OsanError(f"aggregations: expected names such as 'Lu+Gv', got {given!r}")
        for name in given or ():
            if name not in AGGREGATIONS:
                known = list(AGGREGATIONS)
                raise OsanError(
                    f"aggregations: expected {_either(known)}, got {name!r}{_suggest(name, known)}"
                )
        ordered = None if given is None else tuple(name for name in AGGREGATIONS if name in given)
        object.__setattr__(self, "aggregations", ordered)

    def _check_combination(self) -> None:
        if self.what != "edge" and (self.ordered or self.name in ("wl", "id")):
            integer(self.k, "k", most=_MOST_IN_TUPLES)
        if self.ordered and (self.what != "vertex" or self.operation != "mark"):
            raise OsanError(
                f"ordered: expected False to {self.operation} {self.what} subsets, got True; "
                "ordered tuples can only be marked"
            )
        if self.what != "vertex" and self.operation == "mark":
            raise OsanError(f"operation: expected 'delete' or 'select' for what={self.what!r}, got 'mark'")
        if self.what == "ego" and "what" not in self.builder.fixed and self.k != 1:
            raise OsanError(
                f"k: expected 1, got {self.k}; an ego-net has one center, its radius is set by hops="
            )
        if self.mark_center and (self.what != "ego" or self.operation == "delete"):
            raise OsanError(
                f"mark_center: expected what='ego' with operation='select', got what={self.what!r} with "
                f"operation={self.operation!r}"
            )
        if self.hops is not None and self.what != "ego":
            raise OsanError(f"hops: expected what='ego', got what={self.what!r}")

    def __str__(self) -> str:
        return self.builder.title(self)


def make_test(test: str | WLTest, k: int | None = None, **settings: Any) -> WLTest:
    """A :class:`WLTest` from its name and settings. An unknown setting raises with a suggestion.

    Titles are names, too, as ``str`` of a test gives them for tests with marks and without a policy.

    >>> make_test("vertex-subgraph 2-OSWL") == make_test("vs-oswl", 2)
    True
    """
    if isinstance(test, WLTest):
        if k is not None or settings:
            given = sorted({"k": k, **settings} if k is not None else settings)
            raise OsanError(f"test: expected a name beside {', '.join(given)}=, got the whole test {test}")
        return test
    known = [field.name for field in fields(WLTest) if field.name not in ("name", "k")]
    for name in settings:
        if name not in known:
            raise OsanError(f"setting: expected {_either(known)}, got {name!r}{_suggest(name, known)}")
    if isinstance(test, str) and test not in PLANS and (found := from_title(test)) is not None:
        test, k, settings = _joined(test, found, k, settings)
    return WLTest(test, 1 if k is None else k, **settings)


def _joined(
    title: str, found: tuple[str, int | None, dict[str, Any]], k: int | None, settings: dict[str, Any]
) -> tuple[str, int | None, dict[str, Any]]:
    """The test with a title, and what is given beside it, which must agree."""
    name, titled_k, titled = found
    both = {**titled, "k": titled_k} if titled_k is not None else titled
    for field, value in {**settings, "k": k}.items():
        if value is not None and field in both and value != both[field]:
            raise OsanError(f"{field}: expected {both[field]!r}, as in {title!r}, or no value, got {value!r}")
    return name, k if titled_k is None else titled_k, {**settings, **titled}


def _either(names: list[str]) -> str:
    return _listed(names, "or")


def _listed(names: list[str], word: str) -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def _suggest(value: object, names: list[str]) -> str:
    close = get_close_matches(str(value), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
