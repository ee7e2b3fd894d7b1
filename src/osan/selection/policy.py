"""Policies: what a subgraph is made of and what is done with it, in one readable line."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from osan.errors import OsanError
from osan.selection.grammar import Words, noun_named, words_of
from osan.words import Operation

if TYPE_CHECKING:
    from osan.selection.problem import Problem

Channels = Literal["independent", "distinct", "in turn"]

# Words of a text are separated by spaces, those of a slug by hyphens.
_GRAMMAR = (
    r"(?P<cover>cover{s})?(?:(?P<operation>delete|select|mark){s})?"
    r"(?:(?P<size>\d+)(?P<join>[ -]))?(?P<noun>{n})"
    r"(?:{s}by{s}(?P<by>\w+))?(?P<ordered>{s}ordered)?"
)
_CHANNELS = r"(?:{s}(?P<channels>distinct|in{s}turn))?"
_TEXT = re.compile(
    _GRAMMAR.format(s=" ", n=r"[^ ]+") + r"(?: x (?P<count>\d+|all))?" + _CHANNELS.format(s=" ")
)
_SLUG = re.compile((_GRAMMAR + _CHANNELS).format(s="-", n=r".+?"))
# No graph has more, and no network sees more.
_MOST_ELEMENTS, _MOST_SUBGRAPHS = 2**31 - 1, 10**5
_FORMS = (
    "'delete 1 vertex', 'select 20 edges', 'delete 2-ego', 'select 7-ego by root', 'tree', "
    "'cover delete 3 vertices', 'mark 2 vertices ordered' or 'select module:Name', followed by ' x 3' for "
    "three subgraphs, ' x 3 distinct', ' x 3 in turn' or ' x all'"
)


@dataclass(frozen=True)
class Policy:
    r"""What is chosen, how much of it, and what is done with it.

    A weight :math:`\theta_{ij}` says how much vertex (or edge) j should be *part of* the i-th subgraph
    (paper, section "Data-driven Subgraph-enhanced GNNs"). So ``delete k`` keeps the n - k largest weights
    and ``select k`` keeps the k largest; ``mark k`` keeps the graph and marks the k largest.

    Parameters
    ----------
    operation
        ``"delete"``, ``"select"`` or ``"mark"`` (vertices only); a tree is always selected.
    what
        ``"vertex"``, ``"edge"``, ``"ego"`` (all vertices within ``size`` hops of a center), ``"tree"`` (a
        maximum spanning tree, or forest if the graph is not connected), or a custom kind: a subclass of
        :class:`~osan.selection.Problem` or its ``"module:Name"``.
    size
        How many vertices or edges, or the radius of the ego-net; 0 for kinds without a size, such as trees.
    ordered
        Rank what is kept (vertices only): the vertex of rank r among K has the value K + 1 - r.
    cover
        Choose the subgraphs jointly, so that every vertex is part of at least one of them.
    by
        The weight of an ego-net: ``"mean"`` or ``"sum"`` over its vertices, or that of its ``"root"``. Empty
        for the default of the kind.
    count
        The number m of subgraphs per graph, or ``"all"`` for every subgraph of this kind.
    channels
        What the m subgraphs know of each other. ``"independent"``: nothing, each has weights of its own.
        ``"distinct"``: all are drawn from one column of weights, without replacement, so no vertex (or edge)
        is selected, marked or deleted twice. ``"in turn"``: the same, and the weights of each draw depend on
        the draws before it.

    Examples
    --------
    >>> policy = Policy.parse("delete 2 vertices ordered x 3")
    >>> policy.operation, policy.what, policy.size, policy.ordered, policy.count
    ('delete', 'vertex', 2, True, 3)
    >>> str(policy)
    'delete 2 vertices ordered x 3'
    >>> str(Policy("select", "ego", 7))
    'select 7-ego'
    >>> Policy.parse("mark 1 vertex x 3 in turn").channels
    'in turn'
    """

    operation: Operation = "select"
    what: str | type[Problem] = "vertex"
    size: int = 0
    ordered: bool = False
    cover: bool = False
    by: str = ""
    count: int | Literal["all"] = 1
    channels: Channels = "independent"

    def __post_init__(self) -> None:
        kind = self._words
        _check("operation", self.operation, get_args(Operation))
        if kind.sized and not (_is_integer(self.size) and self.size >= 1):
            raise OsanError(f"policy: expected a size of at least 1 for {self._described}, got {self.size!r}")
        if self.size > _MOST_ELEMENTS:
            raise OsanError(f"policy: expected a size of at most {_MOST_ELEMENTS}, got {self.size:.0e}")
        if not kind.sized and self.size != 0:
            raise OsanError(f"policy: expected no size (0) for {self._described}, got {self.size!r}")
        if self.operation not in kind.operations:
            allowed = " or ".join(map(repr, kind.operations))
            raise OsanError(f"policy: expected {allowed} for {self._described}, got {self.operation!r}")
        if self.count != "all" and not (_is_integer(self.count) and self.count >= 1):
            raise OsanError(
                f"policy: expected 'all' or at least 1 for count (subgraphs per graph), got {self.count!r}"
            )
        if self.count != "all" and self.count > _MOST_SUBGRAPHS:
            raise OsanError(
                f"policy: expected at most {_MOST_SUBGRAPHS} for count (subgraphs per graph), got "
                f"{self.count:.0e}"
            )
        if self.ordered and not kind.orders:
            raise OsanError(f"policy: expected an unordered policy for {self._described}, got ordered=True")
        _check("channels", self.channels, get_args(Channels))
        if self.in_sequence:
            self._check_sequence()
        if self.by and not kind.by:
            raise OsanError(f"policy: expected no by for {self._described}, got by={self.by!r}")
        if kind.by:
            # One value for the default, so that equal policies compare equal.
            object.__setattr__(self, "by", self.by or kind.by[0])
            _check("by", self.by, kind.by)
        if isinstance(self.what, type):
            object.__setattr__(self, "what", _importable_name(self.what))

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
        osan.errors.OsanError: policy: expected a text such as 'delete 1 vertex', ... got 'delete vertices'...
        """
        words = [word if ":" in word else word.lower() for word in text.split()]
        found = _TEXT.fullmatch(" ".join(words))
        policy = None if found is None else cls._read(found, joined=found["join"] == "-")
        if found is None or policy is None:
            raise OsanError(f"policy: expected a text such as {_FORMS}, got {text!r}{_hint(found)}")
        count = found["count"] or "1"
        return replace(policy, count="all" if count == "all" else _number(count))

    @classmethod
    def of_slug(cls, slug: str, count: int | Literal["all"] = 1) -> Policy:
        """Read what :attr:`slug` writes.

        Examples
        --------
        >>> str(Policy.of_slug("select-7-ego-by-root", count=3))
        'select 7-ego by root x 3'
        """
        found = _SLUG.fullmatch(slug)
        policy = None if found is None else cls._read(found, joined=None)
        if policy is None:
            raise OsanError(f"policy: expected a key such as 'delete-1-vertex', got {slug!r}{_hint(found)}")
        return replace(policy, count=count)

    @classmethod
    def _read(cls, found: re.Match[str], joined: bool | None) -> Policy | None:
        """The policy of a match, with one subgraph; ``None`` if its words do not fit the kind."""
        what = noun_named(found["noun"])
        if what is None:
            return None
        kind = words_of(what)
        wrong_join = joined is not None and found["size"] is not None and joined != kind.hyphen
        if kind.sized != (found["size"] is not None) or wrong_join:
            return None
        if found["operation"] is None and not kind.bare:
            return None
        return cls(
            operation=cast(Operation, found["operation"] or kind.operations[0]),
            what=what,
            size=_number(found["size"] or "0"),
            ordered=found["ordered"] is not None,
            cover=found["cover"] is not None,
            by=found["by"] or "",
            channels=cast(Channels, (found["channels"] or "independent").replace("-", " ")),
        )

    def __str__(self) -> str:
        kind = self._words
        words = [
            "cover" if self.cover else "",
            "" if kind.bare else self.operation,
            self._noun_phrase,
            f"by {self.by}" if kind.by and self.by != kind.by[0] else "",
            "ordered" if self.ordered else "",
            "" if self.count == 1 else f"x {self.count}",
            self.channels if self.in_sequence else "",
        ]
        return " ".join(word for word in words if word)

    @property
    def slug(self) -> str:
        """The text without the number of subgraphs, for names of files; :meth:`of_slug` reads it.

        Examples
        --------
        >>> Policy.parse("delete 2 vertices ordered x 3").slug
        'delete-2-vertices-ordered'
        """
        return str(replace(self, count=1)).replace(" ", "-")

    @property
    def kind(self) -> type[Problem]:
        """The class of the problems that the policy poses."""
        from osan.selection.kinds import kind_named

        return kind_named(self.what, self.cover)

    @property
    def _words(self) -> Words:
        return words_of(self.what, self.cover)

    @property
    def weighs_edges(self) -> bool:
        """Whether weights and choices have one row per edge rather than per vertex."""
        return self._words.weighs == "edge"

    @property
    def columns(self) -> int:
        """The number of columns of the weights: one for each subgraph, or one alone in a sequence.

        Examples
        --------
        >>> Policy.parse("mark 1 vertex x 3").columns, Policy.parse("mark 1 vertex x 3 distinct").columns
        (3, 1)
        """
        if self.count == "all":
            raise OsanError(f"policy: expected a number of subgraphs to choose, got {str(self)!r}")
        return 1 if self.in_sequence else self.count

    @property
    def in_sequence(self) -> bool:
        """Whether subgraphs are drawn one after another, each without what the earlier ones took."""
        return self.channels != "independent"

    def _check_sequence(self) -> None:
        if not self._words.distinct:
            raise OsanError(
                f"policy: expected vertices or edges without cover for {self.channels!r}, got "
                f"{self._described}"
            )
        if self.count == "all":
            raise OsanError(f"policy: expected a number of subgraphs for {self.channels!r}, got 'x all'")
        if self.ordered and self.operation == "delete":
            raise OsanError(
                f"policy: expected an unordered policy for 'delete' with {self.channels!r}, got ordered=True"
            )

    @property
    def _noun(self) -> str:
        return self.what if isinstance(self.what, str) else f"{self.what.__module__}:{self.what.__qualname__}"

    @property
    def _noun_phrase(self) -> str:
        kind, noun = self._words, self._noun
        if not kind.sized:
            return noun
        if kind.hyphen:
            return f"{self.size}-{noun}"
        # A subclass inherits the plural, but not the word.
        return f"{self.size} {kind.plural if self.size != 1 and noun_named(kind.plural) == noun else noun}"

    @property
    def _described(self) -> str:
        return ("a covering choice of " if self.cover else "") + repr(self._noun)


def _hint(found: re.Match[str] | None) -> str:
    """What to change in a text whose words do not fit its kind."""
    if found is None:
        return ""
    word, sized = found["noun"], found["size"] is not None
    if word in ("node", "nodes"):
        return f"; write {'vertex' if word == 'node' else 'vertices'!r} for {word!r}"
    what = noun_named(word)
    if what is None or words_of(what).sized == sized:
        return ""
    of_class = " (its class has sized = {})" if ":" in word else ""
    if sized:
        return f"; {word!r} takes no number{of_class.format(False)}"
    return f"; {word!r} needs a number{of_class.format(True)}"


def _importable_name(kind: type[Problem]) -> str | type[Problem]:
    """The ``module:Name`` of a class if it leads back to the class, else the class itself."""
    found: object = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return f"{kind.__module__}:{kind.__qualname__}" if found is kind else kind


def _number(digits: str) -> int:
    # Python refuses to read very many digits.
    return int(digits) if len(digits) < 20 else 10**20


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise OsanError(f"policy: expected {', '.join(map(repr, allowed))} for {name}, got {value!r}")
