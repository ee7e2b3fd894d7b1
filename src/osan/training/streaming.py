"""Predictions of tables of any length: some rows at a time, on several processes, and resumed."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO

from osan.data.custom.fragments import smiles_columns
from osan.data.custom.rejected import rejected_text
from osan.data.formats.cells import csv_text
from osan.data.formats.chunks import table_chunks
from osan.data.formats.table import SMILES_HINT, Table
from osan.data.naming import table_columns
from osan.errors import OsanError
from osan.files import finish, read_bytes
from osan.locks import lock_file
from osan.training.calibration import interval_of
from osan.training.folder import WEIGHTS, model_folders, read_json, settings_of, write_json
from osan.training.members import Predictor
from osan.training.neighbors import neighbors_of
from osan.training.prediction import Predicted, decimal_commas, predict_table, printed_rows
from osan.training.run import load_predictor

# Rows that are predicted at a time; noise is numbered within them, so another number gives other samples.
ROWS = 10_000
# The level of intervals and the number of neighbors.
More = tuple[float | None, int]


@dataclass(frozen=True)
class Told:
    """How far the predictions of a table are: parts, molecules, rejected rows, bytes written."""

    parts: int = 0
    molecules: int = 0
    rejected: int = 0
    out_bytes: int = 0
    rejected_bytes: int = 0
    first_line: int = 0
    first_reason: str = ""
    commas: bool = False


def predict_file(
    run: Path,
    path: Path,
    smiles: str | Sequence[str],
    out: Path,
    rejected: Path,
    *,
    processes: int = 1,
    raw: bool = False,
    level: float | None = None,
    neighbors: int = 0,
    rows: int = ROWS,
    progress: Callable[[Told], None] = lambda told: None,
) -> Told:
    """Predict the molecules of a table of any length into a file, in bounded memory.

    Rows are predicted and written ``rows`` at a time, beside ``out`` as ``out.partial``. If the work is
    stopped, the same call goes on after the last part that was written; the result is the same. ``out`` and
    ``rejected`` appear when all is done.

    Parameters
    ----------
    run, path, smiles
        The folder of a finished run, the table, and its column (or columns) of SMILES.
    out, rejected
        Where predictions and rejected rows go. The latter is written if there are some, or were before.
    processes
        How many processes predict; the result does not depend on it.
    raw
        Whether to write cells as they are, also those that a spreadsheet would run as formulas.
    level
        The level of intervals, if they are wanted.
    neighbors
        How many similar training molecules are listed.
    rows
        How many rows are read at a time. A molecule that is in a part twice is predicted once.
    progress
        Called after every part.
    """
    if processes < 1:
        raise OsanError(f"processes: expected at least 1, got {processes}")
    state = out.with_name(f"{out.name}.progress.json")
    more = (level, neighbors)
    identity = _identity(run, path, smiles, raw, more, rows)
    parts = [_partial(out), _partial(rejected)]
    try:
        with _opened(parts[0]) as good, _opened(parts[1]) as bad:
            told = _stored(state, identity, parts)
            for stream, size in ((good, told.out_bytes), (bad, told.rejected_bytes)):
                stream.truncate(size)
                stream.seek(size)
            try:
                hints = dict.fromkeys(smiles_columns(smiles), SMILES_HINT)
                every = table_chunks(path, _columns(run, smiles), rows, hints)
                chunks = islice(every, told.parts, None)
                for predicted in _predictions(run, chunks, smiles, processes, more):
                    told = _write(predicted, told, good, bad, out, raw)
                    write_json(state, {"identity": identity, **asdict(told)})
                    progress(told)
                if told.parts == 0:
                    told = _write(_nothing(run, path, smiles, more), told, good, bad, out, raw)
            except BaseException:
                if told.parts == 0:  # nothing to go on from
                    for part in parts:
                        part.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise OsanError(f"{out} cannot be written: {error.strerror or error}") from error
    _finish(parts, out, rejected, told)
    with suppress(OSError):
        state.unlink()
    return told


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def _identity(run: Path, path: Path, smiles: str | Sequence[str], raw: bool, more: More, rows: int) -> str:
    """Tells apart calls that do not give the same files."""
    try:
        status = path.stat()
    except OSError as error:
        raise OsanError(f"{path} cannot be read: {error.strerror or error}") from error
    places = [place / WEIGHTS for place in model_folders(run)]
    weights = [hashlib.sha256(read_bytes(place)).hexdigest() for place in places if place.is_file()]
    known = (
        str(path.resolve()),
        status.st_size,
        status.st_mtime_ns,
        weights,
        smiles_columns(smiles),
        raw,
        more,
        rows,
    )
    return hashlib.sha256(repr(known).encode(errors="surrogatepass")).hexdigest()


def _stored(state: Path, identity: str, parts: list[Path]) -> Told:
    """How far an earlier call of the same kind has come."""
    if not state.is_file():
        return Told()
    try:
        content = read_json(state)
        if content.pop("identity", None) != identity:
            return Told()
        told = Told(**content)
        sizes = [part.stat().st_size for part in parts]
        complete = sizes[0] >= told.out_bytes and sizes[1] >= told.rejected_bytes
    except (OsanError, OSError, TypeError):
        return Told()
    return told if complete else Told()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which no other process writes meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as stream:
        lock_file(stream, path)
        yield stream


def _predictions(
    run: Path, chunks: Iterator[Table], smiles: str | Sequence[str], processes: int, more: More
) -> Iterator[Predicted]:
    """The predictions of each part of a table, in order."""
    if processes == 1:
        model, beside = _loaded(run, more)
        for chunk in chunks:
            yield predict_table(model, chunk, smiles, **beside)
        return
    # Not forked: a process with threads may not be.
    with ProcessPoolExecutor(processes, get_context("spawn"), _load, (run, more)) as pool:
        waiting: deque[Future[Predicted]] = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(_predict, chunk, smiles))
                if len(waiting) > processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise OsanError(
                "a process that predicts has died, perhaps for lack of memory; the same command goes on from "
                "the last rows, with fewer --processes if need be"
            ) from error
        finally:
            for future in waiting:
                future.cancel()


_of_this_process: list[tuple[Predictor, dict[str, Any]]] = []


def _loaded(run: Path, more: More) -> tuple[Predictor, dict[str, Any]]:
    """The model, and what predictions get beside them."""
    model = load_predictor(run)
    level, count = more
    return model, {
        "interval": interval_of(run, model.info, level),
        "neighbors": neighbors_of(model, count),
    }


def _load(run: Path, more: More) -> None:
    import torch

    torch.set_num_threads(1)
    _of_this_process.append(_loaded(run, more))


def _predict(chunk: Table, smiles: str | Sequence[str]) -> Predicted:
    model, beside = _of_this_process[0]
    return predict_table(model, chunk, smiles, **beside)


def _columns(run: Path, smiles: str | Sequence[str]) -> list[str]:
    """The columns that predictions need."""
    return [*smiles_columns(smiles), *table_columns(settings_of(run).data.descriptors)]


def _nothing(run: Path, path: Path, smiles: str | Sequence[str], more: More) -> Predicted:
    """The predictions of a table without rows: its header."""
    from osan.data.formats.table import read_table

    table = read_table(path, _columns(run, smiles), whole=True)
    model, beside = _loaded(run, more)
    return predict_table(model, table, smiles, **beside)


def _write(predicted: Predicted, told: Told, good: BinaryIO, bad: BinaryIO, out: Path, raw: bool) -> Told:
    """Append a part to both files; it is on the disk when this returns."""
    first = told.out_bytes == 0
    commas = decimal_commas(predicted.table) if first else told.commas
    rows: list[list[Any]] = [predicted.header] if first else []
    rows += printed_rows(predicted, commas)
    separator = "\t" if ".tsv" in out.name.lower() else ";" if predicted.table.decimal_comma else ","
    good.write(csv_text(rows, separator, raw).encode(errors="surrogateescape"))
    bad.write(rejected_text(predicted.rejected, told.rejected_bytes == 0, raw).encode())
    for stream in (good, bad):
        stream.flush()
        os.fsync(stream.fileno())
    problem = predicted.rejected[0] if predicted.rejected else None
    if problem is not None and told.rejected == 0:
        told = replace(told, first_line=problem.line, first_reason=problem.reason)
    return replace(
        told,
        parts=told.parts + 1,
        molecules=told.molecules + len(predicted.values),
        rejected=told.rejected + len(predicted.rejected),
        out_bytes=good.tell(),
        rejected_bytes=bad.tell(),
        commas=commas,
    )


def _finish(parts: list[Path], out: Path, rejected: Path, told: Told) -> None:
    """Give both files their names. Without rejected rows, those of an earlier prediction go."""
    finish(parts[0], out)
    if told.rejected or _is_of_osan(rejected):
        finish(parts[1], rejected)
    else:
        parts[1].unlink(missing_ok=True)


def _is_of_osan(path: Path) -> bool:
    """Whether a file lists rejected rows, so that it may be replaced by an empty list."""
    try:
        with path.open("rb") as stream:
            return stream.read(19) == b"line,smiles,reason\n"
    except OSError:
        return False
