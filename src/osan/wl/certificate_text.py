"""Certificates in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osan.wl.terms import Multiset, Term
from osan.words import counted

if TYPE_CHECKING:
    from osan.wl.explain import Certificate


def told(certificate: Certificate) -> str:
    """A certificate in words: the count that differs, and then each color, newest round first."""
    graph = certificate.example[0]
    names = ("first", "second")
    most, least = max(certificate.counts), min(certificate.counts)
    lines = [
        f"{certificate.test} separates the graphs {_after(certificate.round)}:",
        f"{counted(most, certificate.unit)} of the {names[graph]} graph {'has' if most == 1 else 'have'} "
        f"{_top(certificate)}, and {counted(least, certificate.unit)} of the {names[1 - graph]} graph.",
    ]
    word = "mark" if certificate.marks else "entry"
    for i, reason in enumerate(certificate.reasons):
        if reason.atom is not None:
            lines.append(f"c{i}, at the start: {in_words(reason.atom, word)}")
            continue
        seen = "; ".join(f"{name}: {written(term)}" for name, term in reason.seen.items())
        lines.append(f"c{i}, after round {reason.round}: was c{reason.before}; {seen}")
    return "\n".join(lines)


def _after(round_: int) -> str:
    return f"after round {round_}" if round_ else "at the start"


def _top(certificate: Certificate) -> str:
    """The color of the unit; where it is a multiset, with what over."""
    if list(certificate.color.counts.values()) == [1]:
        return f"the color {written(certificate.color)}"
    over = "subgraphs" if certificate.unit == "vertex" else "vertices"
    whose = "its" if max(certificate.counts) == 1 else "their"
    return f"the colors {written(certificate.color)} over {whose} {over}"


def written(term: Term) -> str:
    """A term in words.

    >>> written(Multiset([1, 1, ("'double'", 2)]))
    "2 x c1, 'double' c2"
    >>> written(Multiset([("none>", 1), ("'double'<", 2)]))
    "-> c1, 'double' <- c2"
    """
    if isinstance(term, int):
        return f"c{term}"
    if isinstance(term, str):
        return _code(term)
    if isinstance(term, Multiset):
        parts = sorted(((_inner(part), count) for part, count in term.counts.items()), key=_in_order)
        return ", ".join(f"{count} x {part}" if count > 1 else part for part, count in parts) or "none"
    words = map(_inner, term)
    return f"({', '.join(words)})" if all(isinstance(part, int) for part in term) else " ".join(words)


def _inner(term: Term) -> str:
    return f"{{{written(term)}}}" if isinstance(term, Multiset) else written(term)


def _code(code: str) -> str:
    """The code of an arc, with an arrow if it has a direction: away from the place, or toward it."""
    arrow = {"<": "<-", ">": "->"}.get(code[-1:])
    if arrow is None:
        return code
    return arrow if code[:-1] == "none" else f"{code[:-1]} {arrow}"


def _in_order(item: tuple[str, int]) -> tuple[int, int, str]:
    return -item[1], len(item[0]), item[0]


def in_words(atom: Term, word: str = "mark") -> str:
    """An atomic type in words; ``word`` is what the entries of a tuple are called.

    >>> in_words(("'C'", "marked"))
    "label 'C', marked"
    >>> none, edge = Multiset(), Multiset([""])
    >>> in_words((("none", "none"), ("=", "-", "-", "="), (none, edge, edge, none)))
    'label none; mark 1: adjacent'
    >>> in_words((("none", "none"), ("=", "-", "-", "="), (edge, edge, edge, Multiset(["'a'", "'a'"]))))
    "label none, loop; mark 1: adjacent, loop x 2 ('a', 'a')"
    """
    assert isinstance(atom, tuple)
    if isinstance(atom[0], str):
        label, mark = atom
        return f"label {label}" + (", marked" if mark == "marked" else "")
    labels, equal, joined = atom
    assert isinstance(labels, tuple)
    assert isinstance(equal, tuple)
    assert isinstance(joined, tuple)
    size, first = len(labels), 1 if word == "entry" else 0
    told = [f"label {labels[0]}{_loops(joined[0])}"]
    for i in range(1, size):
        label = "" if labels[i] == labels[0] else f", label {labels[i]}"
        relation = f"{_adjacent(joined[i])}{label}{_loops(joined[i * size + i])}"
        told.append(f"{word} {first + i}: {'itself' if equal[i] == '=' else relation}")
    between = [
        f"{word} {first + i} and {first + j}: {'equal' if equal[place] == '=' else _adjacent(joined[place])}"
        for i in range(1, size)
        for j in range(i + 1, size)
        for place in [i * size + j]
    ]
    return "; ".join([*told, *between])


def _adjacent(arcs: Term) -> str:
    return _counted("adjacent", _codes(arcs)) or "not adjacent"


def _loops(arcs: Term) -> str:
    """The loops at a vertex, each of which is an arc of both directions in a directed graph."""
    loops = [code.removesuffix(">") for code in _codes(arcs) if not code.endswith("<")]
    told = _counted("loop", ["" if code == "none" else code for code in loops])
    return f", {told}" if told else ""


def _codes(arcs: Term) -> list[str]:
    assert isinstance(arcs, Multiset)
    return [str(code) for code, count in arcs.counts.items() for _ in range(count)]


def _counted(word: str, codes: list[str]) -> str:
    """How many arcs there are, and their codes if they have some; empty without arcs."""
    if not codes:
        return ""
    told = ", ".join(sorted(map(_code, filter(None, codes))))
    many = f" x {len(codes)}" if len(codes) > 1 else ""
    return f"{word}{many}" + (f" ({told})" if told else "")
