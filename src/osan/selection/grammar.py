"""What the text of a policy can say about each kind of choice; reading it needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from osan.words import Operation, What

if TYPE_CHECKING:
    from osan.selection.problem import Problem


@dataclass(frozen=True)
class Words:
    """The words of a kind: see the attributes of :class:`~osan.selection.problem.Problem`."""

    plural: str
    operations: tuple[Operation, ...] = ("delete", "select")
    sized: bool = True
    hyphen: bool = False
    bare: bool = False
    orders: bool = False
    by: tuple[str, ...] = ()
    weighs: What = "vertex"
    distinct: bool = False


# The words of the kinds that come with osan, by noun; tests/selection/test_policy.py compares them with the
# classes. Those of other kinds are read from their classes.
WORDS = {
    "vertex": Words("vertices", ("delete", "select", "mark"), orders=True, distinct=True),
    "edge": Words("edges", weighs="edge", distinct=True),
    "ego": Words("ego", hyphen=True, by=("mean", "sum", "root")),
    "tree": Words("trees", ("select",), sized=False, bare=True, weighs="edge"),
    "element": Words("elements", orders=True, distinct=True),
}
# Those of the kinds of policies that begin with "cover".
COVER_WORDS = {"vertex": Words("vertices")}


def words_of(what: str | type[Problem], cover: bool = False) -> Words:
    """The words of a noun, ``module:Name`` or a class; a kind outside of osan is imported.

    >>> words_of("tree").operations
    ('select',)
    """
    table = COVER_WORDS if cover else WORDS
    if isinstance(what, str) and what in table:
        return table[what]
    from osan.selection.kinds import kind_named

    kind = kind_named(what, cover)
    return Words(**{field.name: getattr(kind, field.name) for field in fields(Words)})


def noun_named(word: str) -> str | None:
    """The noun of a kind for its singular or plural, or ``module:Name`` as it is; ``None`` if there is none.

    >>> noun_named("vertices"), noun_named("path")
    ('vertex', None)
    """
    if ":" in word:
        return word
    for noun, words in WORDS.items():
        if word in (noun, words.plural):
            return noun
    from osan.selection.kinds import KINDS

    return next((noun for noun, kind in KINDS.items() if word in (noun, kind.plural)), None)
