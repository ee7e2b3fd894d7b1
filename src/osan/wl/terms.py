"""What a color stands for, written down: colors, literals, tuples and multisets of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from hashlib import blake2b
from numbers import Integral, Rational, Real
from typing import Any, TypeAlias, Union

from osan.errors import OsanError

# A color by its number, a text that stands for itself, or terms put together.
Term: TypeAlias = Union[int, str, "tuple[Term, ...]", "Multiset"]


class Multiset:
    """How often each of some terms occurs.

    >>> Multiset(["a", 3, "a"]).counts == {"a": 2, 3: 1}
    True
    """

    def __init__(self, items: Iterable[Term] = (), counts: dict[Term, int] | None = None) -> None:
        self.counts: dict[Term, int] = dict(Counter(items)) if counts is None else counts
        self._key = frozenset(self.counts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Multiset) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Multiset({self.counts})"


def colors_in(term: Term) -> list[int]:
    """The colors in a term.

    >>> colors_in((1, "a", Multiset([2, 2])))
    [1, 2]
    """
    if isinstance(term, int):
        return [term]
    if isinstance(term, str):
        return []
    return [color for part in _parts(term) for color in colors_in(part)]


def renamed(term: Term, name: Callable[[int], Term]) -> Term:
    """A term with other names for its colors."""
    if isinstance(term, int):
        return name(term)
    if isinstance(term, str):
        return term
    if isinstance(term, Multiset):
        counts: Counter[Term] = Counter()
        for part, count in term.counts.items():
            counts[renamed(part, name)] += count
        return Multiset(counts=dict(counts))
    return tuple(renamed(part, name) for part in term)


def _parts(term: tuple[Term, ...] | Multiset) -> Iterable[Term]:
    return term.counts if isinstance(term, Multiset) else term


def encoded_term(term: Term) -> bytes:
    """A term without numbers of colors as bytes, injectively and the same on every machine.

    >>> encoded_term(("a", Multiset(["c", "b", "c"])))
    b'(1:a{1:b*1,1:c*2,})'
    """
    if isinstance(term, str):
        text = term.encode()
        return b"%d:%s" % (len(text), text)
    if isinstance(term, Multiset):
        items = sorted((encoded_term(part), count) for part, count in term.counts.items())
        return b"{" + b"".join(b"%s*%d," % item for item in items) + b"}"
    if isinstance(term, tuple):
        return b"(" + b"".join(map(encoded_term, term)) + b")"
    raise TypeError(f"a color has no portable name: {term}")


def digest(term: Term) -> str:
    """128 bits of a term, as 32 hexadecimal digits."""
    return blake2b(encoded_term(term), digest_size=16).hexdigest()


def literal(label: Hashable) -> str:
    """A label as text: equal texts for equal labels, on every machine.

    >>> literal("C"), literal(6), literal(6.0), literal((1.5, None))
    ("'C'", '6', '6', '(1.5, none)')
    """
    if label is None:
        return "none"
    if isinstance(label, str):
        return ascii(str(label))  # what repr escapes depends on the version of Python
    if isinstance(label, Real) or hasattr(label, "__index__"):
        return _number(label)
    if isinstance(label, tuple):
        return f"({', '.join(map(literal, label))})"
    raise OsanError(
        f"label: expected None, a number, a text or a tuple of them, got {type(label).__name__}; "
        "others have no name that is the same everywhere"
    )


def _number(label: Any) -> str:
    """A number as text: fractions that no float equals as such, others as integers and floats."""
    try:
        number = int(label) if isinstance(label, Integral) else float(label)
    except OverflowError:  # a fraction that is larger than all floats
        number = math.inf
    if number == label:
        return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)
    if isinstance(label, Rational):
        return (
            f"{label.numerator}/{label.denominator}" if int(label.denominator) > 1 else str(label.numerator)
        )
    raise OsanError(
        f"label: expected a number that a float can hold, got {label!r} of type {type(label).__name__}"
    )
