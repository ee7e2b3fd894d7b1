"""The compiled loops behind :func:`osan.nn.messages.sum_of_messages`, and the blocks that they run in.

Edges are dealt out to :data:`BLOCKS` blocks by the row that they write to: blocks write to disjoint rows, so
they can run in parallel, and within a block edges keep their order. The blocks do not depend on the number of
threads, and so neither does the result, to the last bit.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from torch import Tensor

from osan.compiled import njit, parallel, prange

# More threads than blocks have nothing to do; more blocks mean more tables of partial sums.
BLOCKS = 16
# A table of edge features is summed per block first if there are at least so many edges for each of its rows.
REPEATS = 4 * BLOCKS
_IN_ORDER = np.empty(0, np.uint64)


class EdgeBlocks:
    """The edges in blocks, forward by their receivers and backward by their senders.

    Parameters
    ----------
    edge_index
        Shape ``[2, edges]``.
    rows_in, rows_out
        The numbers of rows that send and that receive.
    row
        The row that each receiving row continues, shape ``[rows out]``; ``None`` if they are the same.
    """

    def __init__(self, edge_index: Tensor, rows_in: int, rows_out: int, row: Tensor | None = None) -> None:
        self.source, self.target = edge_index.detach().contiguous().numpy()
        self.rows = (rows_in, rows_out)
        self.row = None if row is None else row.detach().contiguous().numpy()
        self.forward = _dealt(self.target, rows_out)
        self._backward: Any = None
        self._continued: Any = None

    @property
    def backward(self) -> Any:
        """The order of the edges by blocks of senders, and where each block begins in it."""
        if self._backward is None:
            self._backward = _dealt(self.source, self.rows[0])
        return self._backward

    @property
    def continued(self) -> Any:
        """The same for the receiving rows, by blocks of the rows that they continue; nothing without row."""
        if self._continued is None:
            self._continued = (None, None) if self.row is None else _dealt(self.row, self.rows[0])
        return self._continued


def undealt(entries: int) -> Any:
    """Order and blocks that leave all entries as they are, in the last block.

    For one thread: the loops backward fill the rows of all blocks before that, and each row gets its sum in
    the order in which it does from blocks of its own.
    """
    begin = np.zeros(BLOCKS + 1, np.int64)
    begin[BLOCKS] = entries
    return _IN_ORDER, begin


_last: tuple[Any, tuple[int, ...], EdgeBlocks] | None = None


def edge_blocks(edge_index: Tensor, rows_in: int, rows_out: int, row: Tensor | None = None) -> EdgeBlocks:
    """The blocks of these edges; kept for the next call, since layers after one another share their edges."""
    global _last
    # Inference tensors may change without a trace; edges to other rows belong to one layer.
    if row is not None or edge_index.is_inference():
        return EdgeBlocks(edge_index, rows_in, rows_out, row)
    key = (edge_index._version, edge_index.data_ptr(), rows_in, rows_out)
    last = _last
    if last is not None and last[0]() is edge_index and last[1] == key:
        return last[2]
    made = EdgeBlocks(edge_index, rows_in, rows_out)
    _last = (weakref.ref(edge_index), key, made)
    return made


@njit(cache=True, nogil=True)
def _rows_of(block, rows):  # type: ignore[no-untyped-def]
    return (block * rows + BLOCKS - 1) // BLOCKS, ((block + 1) * rows + BLOCKS - 1) // BLOCKS


@njit(cache=True, nogil=True)
def _dealt(row, rows):  # type: ignore[no-untyped-def]
    """The order of the edges by the block of their row, and where each block begins in it.

    Row r belongs to the block r * BLOCKS // rows. The order is empty if the edges are in order already, and
    unsigned: for numbers that might be negative the compiler adds checks to every use.
    """
    edges, sorted_already = row.shape[0], True
    for e in range(1, edges):
        sorted_already &= row[e] >= row[e - 1]
    if sorted_already:
        begin = np.zeros(BLOCKS + 1, np.int64)
        for block in range(BLOCKS):
            begin[block + 1] = np.searchsorted(row, _rows_of(block, rows)[1])
        return np.empty(0, np.uint64), begin
    blocks = np.empty(rows, np.uint8)
    for block in range(BLOCKS):
        first, last = _rows_of(block, rows)
        blocks[first:last] = block
    count = np.zeros(BLOCKS + 1, np.int64)
    ascending, before = True, 0
    for e in range(row.shape[0]):
        block = blocks[row[e]]
        count[block + 1] += 1
        ascending &= block >= before
        before = block
    first = np.cumsum(count)
    if ascending:
        return np.empty(0, np.uint64), first
    place = first.copy()
    order = np.empty(row.shape[0], np.uint64)
    for e in range(row.shape[0]):
        block = blocks[row[e]]
        order[place[block]] = e
        place[block] += 1
    return order, first


@njit(cache=True, nogil=True)
def sorted_by(order, index, rows):  # type: ignore[no-untyped-def]
    """The entries of ``order`` grouped by their ``index``, in that order, and where each group begins."""
    first = np.zeros(rows + 1, np.int64)
    for i in range(order.shape[0]):
        first[index[order[i]] + 1] += 1
    first = np.cumsum(first)
    place = first.copy()
    out = np.empty_like(order)
    for i in range(order.shape[0]):
        f = index[order[i]]
        out[place[f]] = order[i]
        place[f] += 1
    return out, first


@njit(cache=True, nogil=True)
def _scaled(out, h, own, row, block):  # type: ignore[no-untyped-def]
    """Fill the rows of a block with a multiple of the rows that they continue."""
    own = h.dtype.type(own)
    first, last = _rows_of(block, out.shape[0])
    for v in range(first, last):
        u = v if row is None else row[v]
        for j in range(h.shape[1]):
            out[v, j] = own * h[u, j]


@njit(cache=True, nogil=True)
def _scaled_back(to_h, gradient, own, row, order, begin, block):  # type: ignore[no-untyped-def]
    """The gradient of that: each row of a block gets the sum over the rows that continue it."""
    own = gradient.dtype.type(own)
    first, last = _rows_of(block, to_h.shape[0])
    to_h[first:last] = 0
    for i in range(begin[block], begin[block + 1]):
        v = order[i] if order.shape[0] else np.uint64(i)
        u = row[v]
        for j in range(gradient.shape[1]):
            to_h[u, j] += own * gradient[v, j]


@njit(cache=True, nogil=True)
def _send(out, h, source, target, feature, index, weight, order, first, last):  # type: ignore[no-untyped-def]
    width = h.shape[1]
    zero = h.dtype.type(0)
    for i in range(first, last):
        e = order[i] if order.shape[0] else np.uint64(i)
        u, v = source[e], target[e]
        if feature is None:
            if weight is None:
                for j in range(width):
                    out[v, j] += h[u, j]
            else:
                w = weight[e]
                for j in range(width):
                    out[v, j] += w * h[u, j]
        else:
            f = index[e]
            if weight is None:
                for j in range(width):
                    out[v, j] += max(h[u, j] + feature[f, j], zero)
            else:
                w = weight[e]
                for j in range(width):
                    out[v, j] += w * max(h[u, j] + feature[f, j], zero)


@njit(cache=True, nogil=True)
def _activate(out, shift, block):  # type: ignore[no-untyped-def]
    """Add a vector to the rows of a block, and take what is positive."""
    zero = out.dtype.type(0)
    first, last = _rows_of(block, out.shape[0])
    for v in range(first, last):
        for j in range(out.shape[1]):
            out[v, j] = max(out[v, j] + shift[j], zero)


@parallel
def forward(out, h, source, target, feature, index, weight, order, begin, own, row, shift):  # type: ignore[no-untyped-def]
    """The sums, beginning with ``own`` times the rows that are continued; activated if there is a shift."""
    for number in prange(BLOCKS):
        block = np.int64(number)  # unsigned in parallel loops
        _scaled(out, h, own, row, block)
        _send(out, h, source, target, feature, index, weight, order, begin[block], begin[block + 1])
        if shift is not None:
            _activate(out, shift, block)


# The compiler may reorder this sum: only then does it vectorize it.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _dot(gradient, h, feature, u, v, f):  # type: ignore[no-untyped-def]
    """The product of a gradient and a message."""
    total = h.dtype.type(0)
    for j in range(h.shape[1]):
        if feature is None:
            total += gradient[v, j] * h[u, j]
        else:
            message = h[u, j] + feature[f, j]
            total += gradient[v, j] * message if message > 0 else h.dtype.type(0)
    return total


@njit(cache=True, nogil=True)
def _return(  # type: ignore[no-untyped-def]
    gradient,
    h,
    source,
    target,
    feature,
    index,
    weight,
    order,
    first,
    last,
    to_h,
    parts,
    to_weight,
):
    width, tables = h.shape[1], 0 if parts is None else parts.shape[0]
    zero = h.dtype.type(0)
    for i in range(first, last):
        e = order[i] if order.shape[0] else np.uint64(i)
        u, v = source[e], target[e]
        # The table of the block of the sender; unsigned, since no number is negative.
        part = np.uint64(u) * np.uint64(BLOCKS) // np.uint64(h.shape[0]) if tables > 1 else np.uint64(0)
        if feature is None:
            if weight is None:
                for j in range(width):
                    to_h[u, j] += gradient[v, j]
            else:
                w = weight[e]
                for j in range(width):
                    to_h[u, j] += w * gradient[v, j]
                if to_weight is not None:
                    to_weight[e] = _dot(gradient, h, feature, u, v, 0)
        else:
            f = index[e]
            if weight is None:
                for j in range(width):
                    g = gradient[v, j] if h[u, j] + feature[f, j] > zero else zero
                    to_h[u, j] += g
                    if parts is not None:
                        parts[part, f, j] += g
            else:
                w = weight[e]
                for j in range(width):
                    g = w * gradient[v, j] if h[u, j] + feature[f, j] > zero else zero
                    to_h[u, j] += g
                    if parts is not None:
                        parts[part, f, j] += g
                if to_weight is not None:
                    to_weight[e] = _dot(gradient, h, feature, u, v, f)


@parallel
def backward(  # type: ignore[no-untyped-def]
    gradient,
    h,
    source,
    target,
    feature,
    index,
    weight,
    order,
    begin,
    own,
    row,
    row_order,
    row_begin,
    to_h,
    parts,
    to_weight,
):
    """The gradients; ``parts`` has a table of features for each block, or one that all blocks write to.

    The first table ends up with the sum of all.
    """
    for number in prange(BLOCKS):
        block = np.int64(number)  # unsigned in parallel loops
        if row is None:
            _scaled(to_h, gradient, own, None, block)
        else:
            _scaled_back(to_h, gradient, own, row, row_order, row_begin, block)
        first, last = begin[block], begin[block + 1]
        _return(
            gradient, h, source, target, feature, index, weight, order, first, last, to_h, parts, to_weight
        )
    if parts is not None:
        for other in range(1, parts.shape[0]):
            parts[0] += parts[other]


@njit(cache=True, nogil=True)
def _gather_feature(gradient, h, source, target, feature, weight, f, order, first, last, to_feature):  # type: ignore[no-untyped-def]
    zero = h.dtype.type(0)
    for i in range(first, last):
        e = order[i]
        u, v = source[e], target[e]
        w = h.dtype.type(1) if weight is None else weight[e]
        for j in range(h.shape[1]):
            to_feature[f, j] += w * gradient[v, j] if h[u, j] + feature[f, j] > zero else zero


@parallel
def feature_gradients(gradient, h, source, target, feature, weight, order, begin, to_feature):  # type: ignore[no-untyped-def]
    """The gradient of each row of features, from its edges in the order of ``backward``."""
    for f in prange(to_feature.shape[0]):
        _gather_feature(
            gradient, h, source, target, feature, weight, f, order, begin[f], begin[f + 1], to_feature
        )
