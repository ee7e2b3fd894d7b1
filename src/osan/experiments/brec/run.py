"""All pairs: resumable records, exact ceilings beside them, and counts by category."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from osan.errors import OsanError, TooLarge
from osan.experiments.brec.models import BrecModel, brec_model
from osan.experiments.brec.protocol import PairResult, Protocol, compare
from osan.files import read_text, write_bytes
from osan.graphs import Pair
from osan.wl import WLTest, distinguishes
from osan.wl.ladder import category_of


@dataclass(frozen=True)
class BrecRecord:
    """The result of a model for one pair, beside what the exact test says.

    Parameters
    ----------
    pair, category, vertices
        The position of the pair in the corpus, its category and the size of its graphs.
    result
        See :class:`PairResult`.
    possible
        Whether the test that bounds the model separates the pair; ``None`` if no test is known, or if it did
        not fit into memory.
    protocol
        How the pair was compared.
    """

    pair: int
    category: str
    vertices: int
    result: PairResult
    possible: bool | None
    protocol: Protocol


@dataclass(frozen=True)
class BrecRow:
    """The pairs of one category.

    Parameters
    ----------
    category, pairs
        The category and the number of pairs that were run.
    separated, ceiling
        How many the model and its test separate; the ceiling is ``None`` if no test is known for some pair.
    missed
        Pairs that the test separates, but the model does not.
    false
        Pairs that the model separates, but the test does not.
    unreliable
        Controls (copies of one graph against copies of it) that were told apart.
    unfinished
        The pairs that were not finished.
    seconds
        The processor time.
    """

    category: str
    pairs: int
    separated: int
    ceiling: int | None
    missed: tuple[int, ...]
    false: tuple[int, ...]
    unreliable: tuple[int, ...]
    unfinished: tuple[int, ...]
    seconds: float


def run_brec(
    model: Any,
    pairs: Sequence[Pair],
    protocol: Protocol | None = None,
    *,
    only: Iterable[int] | None = None,
    records: Path | None = None,
    test: WLTest | None = None,
    max_memory: int | None = None,
    retry: bool = True,
    tick: Callable[[BrecRecord], None] = lambda record: None,
) -> list[BrecRecord]:
    """Compare a model on all pairs of a corpus, or go on with it.

    Parameters
    ----------
    model
        See :func:`brec_model`.
    pairs
        The corpus, such as :func:`osan.data.brec`.
    protocol
        See :class:`Protocol`.
    only
        The positions of the pairs to compare; by default all.
    records
        A JSON file that is written whole after every pair. Pairs that it holds are not run again, whatever
        the protocol they were run with, unless they were not finished.
    test
        The test that bounds the model, if it is not a named one.
    max_memory
        Bytes that the test may use.
    retry
        Whether pairs that were not finished before are run again.
    tick
        Called with the record of each pair, also with those of the file.

    Returns
    -------
    list[BrecRecord]
        The records of the given pairs, in order.

    Examples
    --------
    >>> from osan.graphs import cycle_pair
    >>> corpus = [Pair(*cycle_pair(3)), Pair(*cycle_pair(4))]
    >>> [record.result.separated for record in run_brec("1-osan", corpus, Protocol(steps=0))]
    [True, True]
    """
    protocol = protocol or Protocol()
    chosen = brec_model(model, test=test)
    bound = test or chosen.test
    known = {} if records is None or not records.exists() else read_records(records, chosen.name)
    wanted = list(range(len(pairs)) if only is None else only)
    outside = [i for i in wanted if not 0 <= i < len(pairs)]
    if outside:
        raise OsanError(f"pairs: expected positions from 0 to {len(pairs) - 1}, got {outside[0]}")
    for i in wanted:
        if i not in known or (retry and known[i].result.separated is None):
            result = compare(pairs[i], chosen, protocol, number=i)
            possible = known[i].possible if i in known else _possible(pairs[i], bound, max_memory)
            category, size = category_of(pairs[i]), pairs[i].a.num_vertices
            known[i] = BrecRecord(i, category, size, result, possible, protocol)
            if records is not None:
                _write(records, chosen, bound, known)
        tick(known[i])
    return [known[i] for i in wanted]


def _possible(pair: Pair, test: WLTest | None, max_memory: int | None) -> bool | None:
    if test is None:
        return None
    try:
        return distinguishes(pair.a, pair.b, test, max_memory=max_memory)
    except TooLarge:
        return None


def _write(path: Path, model: BrecModel, test: WLTest | None, known: Mapping[int, BrecRecord]) -> None:
    rows = [asdict(known[i]) for i in sorted(known)]
    told = {"model": model.name, "test": None if test is None else str(test)}
    lines = ",\n".join(json.dumps(row) for row in rows)
    write_bytes(path, f'{json.dumps(told)[:-1]}, "records": [\n{lines}\n]}}\n'.encode())


def read_records(path: Path, model: str | None = None) -> dict[int, BrecRecord]:
    """The records of a file that :func:`run_brec` wrote, by the position of the pair.

    Parameters
    ----------
    path
        The file.
    model
        An error if the file is about another model.
    """
    text = read_text(path)
    try:
        told = json.loads(text)
        rows = {
            row["pair"]: BrecRecord(
                **{**row, "result": PairResult(**row["result"]), "protocol": Protocol(**row["protocol"])}
            )
            for row in told["records"]
        }
        found = told["model"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise OsanError(
            f"{path}: expected records of osan brec, got {type(error).__name__}: {error}"
        ) from error
    if model is not None and found != model:
        raise OsanError(f"{path}: expected records of {model!r}, got those of {found!r}; name another file")
    return rows


def brec_rows(records: Iterable[BrecRecord]) -> list[BrecRow]:
    """Counts by category, and of all pairs in the last row.

    >>> protocol, good = Protocol(), PairResult(True, 1e9, 0.0)
    >>> brec_rows([BrecRecord(7, "CFI", 72, good, True, protocol)])[-1].separated
    1
    """
    given = list(records)
    categories = dict.fromkeys(record.category for record in given)
    rows = [_row(name, [record for record in given if record.category == name]) for name in categories]
    return [*rows, _row("all", given)]


def _row(name: str, records: Sequence[BrecRecord]) -> BrecRow:
    def those(keep: Callable[[BrecRecord], bool]) -> tuple[int, ...]:
        return tuple(record.pair for record in records if keep(record))

    def unreliable(record: BrecRecord) -> bool:
        control, limit = record.result.control, record.result.limit
        return control is not None and limit is not None and not control <= limit

    known = all(record.possible is not None for record in records)
    return BrecRow(
        category=name,
        pairs=len(records),
        separated=sum(record.result.separated is True for record in records),
        ceiling=sum(record.possible is True for record in records) if known else None,
        missed=those(lambda r: r.possible is True and r.result.separated is False),
        false=those(lambda r: r.possible is False and r.result.separated is True),
        unreliable=those(unreliable),
        unfinished=those(lambda r: r.result.separated is None),
        seconds=round(sum(record.result.seconds for record in records), 1),
    )
