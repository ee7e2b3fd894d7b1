"""Policies: what a subgraph is made of, and what is done with it, in one readable line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from osan.errors import OsanError

Operation = Literal["delete", "select", "mark"]
What = Literal["vertex", "edge", "ego", "tree"]
EgoWeight = Literal["mean", "sum", "root"]

_GRAMMAR = re.compile(
    r"(?P<cover>cover )?"
    r"(?:(?P<tree>tree)"
    r"|(?P<operation>delete|select|mark) "
    r"(?:(?P<ego>\d+)-ego(?: by (?P<by>mean|sum|root))?|(?P<size>\d+) (?P<what>vertex|vertices|edges?)))"
    r"(?P<ordered> ordered)?"
    r"(?: x (?P<count>\d+|all))?"
)
_FORMS = (
    "'delete 1 vertex', 'select 20 edges', 'delete 2-ego', 'select 7-ego by root', 'tree', "
    "'cover delete 3 vertices', 'mark 2 vertices ordered', each with ' x 3' for three subgraphs or ' x all'"
)


@dataclass(frozen=True)
class Policy:
    r"""What is chosen, how much of it, and what is done with it.

    A weight :math:`\theta_{ij}` says how much vertex (or edge) j should be *part of* the i-th subgraph
    (paper, section "Data-driven Subgraph-enhanced GNNs"), so ``delete k`` keeps the n - k largest weights
    and ``select k`` keeps the k largest; ``mark k`` keeps the graph and marks the k largest.

    Parameters
    ----------
    operation
        ``"delete"``, ``"select"`` or ``"mark"`` (vertices only); a tree is always selected.
    what
        ``"vertex"``, ``"edge"``, ``"ego"`` (all vertices within ``size`` hops of a center) or ``"tree"``
        (a maximum spanning tree, or forest where the graph is not connected).
    size
        How many vertices or edges, or the radius of the ego-net; 0 for ``"tree"``, which has none.
    ordered
        Rank what is kept (vertices only): the vertex of rank r among K kept ones has value K + 1 - r.
    cover
        Choose the subgraphs jointly, so that every vertex is part of at least one of them.
    by
        The weight of an ego-net: ``"mean"`` or ``"sum"`` over its vertices, or that of its ``"root"`` alone.
    count
        The number m of subgraphs per graph, or ``"all"`` for every subgraph of this kind.

    Examples
    --------
    >>> policy = Policy.parse("delete 2 vertices ordered x 3")
    >>> policy.operation, policy.what, policy.size, policy.ordered, policy.count
    ('delete', 'vertex', 2, True, 3)
    >>> str(policy)
    'delete 2 vertices ordered x 3'
    >>> str(Policy("select", "ego", 7))
    'select 7-ego'
    """

    operation: Operation = "select"
    what: What = "vertex"
    size: int = 0
    ordered: bool = False
    cover: bool = False
    by: EgoWeight = "mean"
    count: int | Literal["all"] = 1

    def __post_init__(self) -> None:
        _one_of("operation", self.operation, ("delete", "select", "mark"))
        _one_of("what", self.what, ("vertex", "edge", "ego", "tree"))
        _one_of("by", self.by, ("mean", "sum", "root"))
        least = 0 if self.what == "tree" else 1
        if not _is_integer(self.size) or self.size < least or (self.what == "tree" and self.size != 0):
            allowed = "0, since a tree has no size" if self.what == "tree" else "an integer of at least 1"
            raise OsanError(f"policy: size of a {self.what} policy must be {allowed}, not {self.size!r}")
        if self.count != "all" and (not _is_integer(self.count) or self.count < 1):
            raise OsanError(
                f"policy: count (subgraphs per graph) must be 'all' or at least 1, not {self.count!r}"
            )
        if self.what == "tree" and self.operation != "select":
            raise OsanError(f"policy: a tree can only be selected, not {self.operation!r}")
        only_vertices = {
            "operation 'mark'": self.operation == "mark",
            "ordered": self.ordered,
            "cover": self.cover,
        }
        for name, used in only_vertices.items():
            if used and self.what != "vertex":
                raise OsanError(f"policy: {name} is for vertices only, not for what={self.what!r}")
        if self.cover and (self.ordered or self.operation == "mark"):
            raise OsanError(
                "policy: cover goes with unordered 'delete' and 'select', not with order or marks"
            )
        if self.by != "mean" and self.what != "ego":
            raise OsanError(f"policy: by={self.by!r} weighs ego-nets; what={self.what!r} has none")

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Read the one-line form; ``str`` writes it.

        Examples
        --------
        >>> Policy.parse("cover delete 3 vertices").cover
        True
        >>> Policy.parse("delete vertices")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        osan.errors.OsanError: policy: 'delete vertices' is not understood; allowed are ...
        """
        match = _GRAMMAR.fullmatch(" ".join(text.lower().split()))
        if match is None:
            raise OsanError(f"policy: {text!r} is not understood; allowed are forms such as {_FORMS}")
        what = "tree" if match["tree"] else "ego" if match["ego"] else match["what"][:4]
        names = {"tree": "tree", "ego": "ego", "vert": "vertex", "edge": "edge"}
        count = match["count"] or "1"
        return cls(
            operation=cast(Operation, match["operation"] or "select"),
            what=cast(What, names[what]),
            size=int(match["ego"] or match["size"] or 0),
            ordered=match["ordered"] is not None,
            cover=match["cover"] is not None,
            by=cast(EgoWeight, match["by"] or "mean"),
            count="all" if count == "all" else int(count),
        )

    def __str__(self) -> str:
        many = "" if self.size == 1 else "s"
        noun = {
            "vertex": f"{self.size} " + ("vertices" if many else "vertex"),
            "edge": f"{self.size} edge{many}",
            "ego": f"{self.size}-ego" + (f" by {self.by}" if self.by != "mean" else ""),
            "tree": "tree",
        }[self.what]
        words = [
            "cover" if self.cover else "",
            "" if self.what == "tree" else self.operation,
            noun,
            "ordered" if self.ordered else "",
            "" if self.count == 1 else f"x {self.count}",
        ]
        return " ".join(word for word in words if word)

    @property
    def weighs_edges(self) -> bool:
        """Whether weights and choices have one row per edge rather than per vertex."""
        return self.what in ("edge", "tree")

    @property
    def is_subset(self) -> bool:
        """Whether each choice is a free subset (or ranking) of a given size, as in the paper's Z."""
        return self.what in ("vertex", "edge") and not self.cover


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise OsanError(f"policy: {name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
