"""The text encodings graph6, sparse6 and digraph6: one graph per line of printable bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from osan.errors import OsanError
from osan.graphs.graph import Graph, IntArray, require_graph
from osan.graphs.lines import ByteLine

_ALPHABET = bytes(range(63, 127))
_HEADERS = {b">>graph6<<": "graph6", b">>sparse6<<": "sparse6", b">>digraph6<<": "digraph6"}
_MARKS = {b":": "sparse6", b"&": "digraph6"}
# At most this many adjacency bits are unpacked at once (one byte each).
_CHUNK = 1 << 26
# Larger graphs are not written as a whole adjacency matrix.
_MAX_MATRIX = 1 << 15


@dataclass(frozen=True)
class _Record:
    """One encoded graph: its encoding, number of vertices, six-bit groups, and where it stands."""

    encoding: str
    num_vertices: int
    groups: bytes
    where: str


def decode_graph6(text: str | bytes) -> Graph:
    """Decode one line of graph6, sparse6 or digraph6.

    The encodings are those of B. McKay's ``formats.txt``: an optional header such as ``>>graph6<<``,
    then ``:`` for sparse6 (self-loops and parallel edges allowed) and ``&`` for digraph6.

    >>> decode_graph6("DQc").edges.tolist()
    [[0, 2], [1, 3], [0, 4], [3, 4]]
    """
    if not isinstance(text, str | bytes | bytearray):
        raise OsanError(f"graph6 text: expected text, got {type(text).__name__}")
    line = text.encode(errors="surrogatepass") if isinstance(text, str) else bytes(text)
    graphs = decode_lines([(1, line.strip())], "graph6 text")
    if not graphs:
        raise OsanError("graph6 text: expected one graph, got nothing")
    return graphs[0]


def decode_lines(lines: Iterable[ByteLine], source: str, name: str = "") -> list[Graph]:
    """Decode numbered ``lines`` of graph6, sparse6 and digraph6, in any mixture.

    Graphs of one size are decoded together, so a file costs a few array operations per size and one
    :class:`Graph` per line.

    Parameters
    ----------
    lines
        Pairs of line number and bytes without line end; blank ones are skipped.
    source
        Where the lines come from, for messages.
    name
        Graph i is named ``name[i]``, if given.
    """
    records = [record for number, line in lines if (record := _parse(line, f"{source}, line {number}"))]
    by_size: dict[tuple[str, int], list[int]] = defaultdict(list)
    for i, record in enumerate(records):
        by_size[record.encoding, record.num_vertices].append(i)
    edges: list[IntArray] = [np.empty((0, 2), dtype=np.int64)] * len(records)
    for (encoding, _), members in by_size.items():
        same = [records[i] for i in members]
        decoded = map(_sparse6_edges, same) if encoding == "sparse6" else _matrix_edges(same)
        for i, array in zip(members, decoded, strict=True):
            edges[i] = array
    return [
        Graph(
            record.num_vertices,
            array,
            directed=record.encoding == "digraph6",
            name=f"{name}[{i}]" if name else "",
        )
        for i, (record, array) in enumerate(zip(records, edges, strict=True))
    ]


def encode_graph6(graph: Graph) -> str:
    """Encode a graph: graph6 if simple, sparse6 with loops or parallel edges, digraph6 if directed.

    Above 32,768 vertices simple graphs also become sparse6. The encodings cannot hold labels, and digraph6
    cannot hold parallel arcs; such graphs raise.

    >>> encode_graph6(Graph(5, [(0, 2), (0, 4), (1, 3), (3, 4)]))
    'DQc'
    >>> encode_graph6(Graph(2, [(0, 1), (1, 1)]))
    ':Af'
    """
    require_graph(graph)
    if graph.vertex_labels is not None or graph.edge_labels is not None:
        raise OsanError(
            f"graph: expected no labels, which graph6 cannot hold, got {graph!r}; use graph.without_labels()"
        )
    n = graph.num_vertices
    low, high = (graph.edges if graph.directed else np.sort(graph.edges, axis=1)).T
    simple = len(set(zip(low.tolist(), high.tolist(), strict=True))) == graph.num_edges
    if graph.directed:
        if not simple:
            raise OsanError(f"graph: expected no parallel arcs, which digraph6 cannot hold, got {graph!r}")
        if n > _MAX_MATRIX:
            raise OsanError(f"graph: expected at most {_MAX_MATRIX} vertices for digraph6, got {graph!r}")
        bits = np.zeros(n * n, dtype=np.uint8)
        bits[low * n + high] = 1
        return "&" + (_encode_size(n) + _encode_bits(bits)).decode()
    if not simple or (low == high).any() or n > _MAX_MATRIX:
        return ":" + (_encode_size(n) + _encode_bits(_sparse6_bits(n, low, high))).decode()
    bits = np.zeros(n * (n - 1) // 2, dtype=np.uint8)
    bits[high * (high - 1) // 2 + low] = 1
    return (_encode_size(n) + _encode_bits(bits)).decode()


def _parse(line: bytes, where: str) -> _Record | None:
    """Split a line into encoding, size and data; ``None`` if there is only a header or nothing."""
    promised = None
    for header, encoding in _HEADERS.items():
        if line.startswith(header):
            line, promised = line[len(header) :], encoding
    if not line:
        return None
    if line[:1] == b";":
        raise OsanError(f"{where}: expected graph6, sparse6 or digraph6, got incremental sparse6 (';')")
    encoding = _MARKS.get(line[:1], "graph6")
    if promised and promised != encoding:
        raise OsanError(f"{where}: expected {promised} after its header, got {encoding}")
    body = line if encoding == "graph6" else line[1:]
    strange = body.translate(None, _ALPHABET)
    if strange:
        column = len(line) - len(body) + body.index(strange[:1]) + 1
        raise OsanError(
            f"{where}: {encoding}: expected bytes 63 to 126, got byte {strange[0]} in column {column}"
        )
    digits = 1 if body[:1] != b"~" else 3 if body[1:2] != b"~" else 6
    start = {1: 0, 3: 1, 6: 2}[digits]
    size, groups = body[start : start + digits], body[start + digits :]
    if len(size) < digits:
        raise OsanError(f"{where}: {encoding}, truncated: expected the number of vertices, got a part of it")
    n = 0
    for byte in size:
        n = n << 6 | byte - 63
    record = _Record(encoding, n, groups, where)
    if encoding != "sparse6" and len(groups) != (needed := -(-_matrix_bits(record) // 6)):
        problem = "truncated" if len(groups) < needed else "wrong length"
        bytes_ = f"{needed} byte{'s' * (needed != 1)}"
        raise OsanError(
            f"{where}: {encoding}, {problem}: expected {bytes_} after the number of vertices ({n}), "
            f"got {len(groups)}"
        )
    return record


def _matrix_bits(record: _Record) -> int:
    n = record.num_vertices
    return n * n if record.encoding == "digraph6" else n * (n - 1) // 2


def _bits(groups: Sequence[bytes]) -> npt.NDArray[np.uint8]:
    """The bits of equally long data as an array of shape ``(len(groups), 6 * length)``."""
    values = np.frombuffer(b"".join(groups), dtype=np.uint8) - np.uint8(63)
    return np.unpackbits(values[:, None], axis=1)[:, 2:].reshape(len(groups), -1)


def _matrix_edges(records: Sequence[_Record]) -> list[IntArray]:
    """The edges of graph6 or digraph6 records, all of one encoding and size."""
    n, used = records[0].num_vertices, _matrix_bits(records[0])
    directed = records[0].encoding == "digraph6"
    # The pair {i, j}, i < j, is bit j (j - 1) / 2 + i: column j of the upper triangle starts there.
    starts = np.arange(n + 1, dtype=np.int64) * np.arange(-1, n, dtype=np.int64) // 2
    result: list[IntArray] = []
    step = max(1, _CHUNK // max(1, used))
    for first in range(0, len(records), step):
        chunk = records[first : first + step]
        bits = _bits([record.groups for record in chunk])
        padded = np.flatnonzero(bits[:, used:].any(axis=1))
        if padded.size:
            bad = chunk[padded[0]]
            raise OsanError(f"{bad.where}: {bad.encoding}, damaged: expected padding bits of zero, got a one")
        row, position = np.nonzero(bits)
        if directed:
            tail, head = np.divmod(position, max(1, n))
        else:
            head = np.searchsorted(starts, position, side="right") - 1
            tail = position - starts[head]
        edges = np.stack([tail, head], axis=1)
        ends = np.searchsorted(row, np.arange(len(chunk) + 1)).tolist()
        result += [edges[a:b] for a, b in pairwise(ends)]
    return result


def _sparse6_width(n: int) -> int:
    """Bits of a vertex in sparse6: those needed to write n - 1 (none for n = 1, as in nauty)."""
    return max(0, n - 1).bit_length()


def _sparse6_edges(record: _Record) -> IntArray:
    n, width = record.num_vertices, _sparse6_width(record.num_vertices)
    bits = _bits([record.groups])[0]
    pairs = bits[: len(bits) // (width + 1) * (width + 1)].reshape(-1, width + 1).astype(np.int64)
    targets = pairs[:, 1:] @ (1 << np.arange(width, dtype=np.int64)[::-1])
    edges, current = [], 0
    for step, target in zip(pairs[:, 0].tolist(), targets.tolist(), strict=True):
        current += step
        if target >= n or current >= n:  # only the padding does this
            break
        if target > current:
            current = target
        else:
            edges.append((target, current))
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _sparse6_bits(n: int, low: IntArray, high: IntArray) -> npt.NDArray[np.uint8]:
    width = _sparse6_width(n)
    bits: list[int] = []

    def put(step: int, target: int) -> None:
        bits.append(step)
        bits.extend(target >> i & 1 for i in reversed(range(width)))

    current = 0
    for i in np.lexsort((low, high)).tolist():
        u, v = int(low[i]), int(high[i])
        if v > current + 1:
            put(1, v)
            put(0, u)
        else:
            put(v - current, u)
        current = v
    padding = -len(bits) % 6
    # Ones could be read as a loop at n - 1 when n is a power of two and n - 2 came last.
    zero_first = n == 1 << width and width > 0 and padding > width and current == n - 2
    if zero_first:
        bits.append(0)
        padding -= 1
    bits += [1] * padding
    return np.array(bits, dtype=np.uint8)


def _encode_size(n: int) -> bytes:
    if n <= 62:
        return bytes([n + 63])
    digits = 3 if n <= 258047 else 6
    value = bytes((n >> 6 * i & 63) + 63 for i in reversed(range(digits)))
    return b"~" * (digits // 3) + value


def _encode_bits(bits: npt.NDArray[np.uint8]) -> bytes:
    groups = np.pad(bits, (0, -len(bits) % 6)).reshape(-1, 6)
    weights = np.array([32, 16, 8, 4, 2, 1], dtype=np.uint8)
    return (groups @ weights + np.uint8(63)).astype(np.uint8).tobytes()
