"""Exact sharing: which copies of a bag have the same features after each layer, whatever the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.bag import SubgraphBag
from osan.colors import signatures
from osan.errors import OsanError
from osan.words import Neighborhood

Colors = npt.NDArray[np.int32]
_NONE: Any = np.empty(0, np.int32)
_NOWHERE: Any = np.empty(0, np.int64)
# With fewer copies of each vertex than this, it does not pay to look for those that see the same.
REPEATED = 2


@dataclass(frozen=True, eq=False)
class ClassLayer:
    """What one layer computes on classes of copies.

    Parameters
    ----------
    row
        The class before the layer that each class continues, shape ``[classes]``.
    first
        A copy of each class, shape ``[classes]``.
    count
        The number of copies of each class, shape ``[classes]``.
    edge_index
        For each edge into a class the class before the layer that sends, and the class that receives; shape
        ``[2, edges]``.
    code
        The code of each edge, shape ``[edges]``.
    group, num_groups, members
        For layers over V(G): the kind of subgraph of each class, shape ``[classes]``, the number of kinds,
        and pairs of a class before the layer and a kind that it belongs to, shape ``[2, pairs]``; ``None``
        for layers over edges.
    """

    row: Tensor
    first: Tensor
    count: Tensor
    edge_index: Tensor
    code: Tensor
    group: Tensor | None = None
    num_groups: int = 0
    members: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of copies, of which those with the same multiset of classes are one kind.

    Parameters
    ----------
    of
        The kind of each group, shape ``[groups]``.
    ends
        The classes of each kind, with repeats, and the kind; shape ``[2, members]``, sorted by kind.
    num_kinds
        The number of kinds.
    begin
        Where the classes of each kind begin, shape ``[kinds + 1]``; ``None`` if that was not counted.
    """

    of: Tensor
    ends: Tensor
    num_kinds: int
    begin: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of the copies of a bag: before all layers, after each, and of each copy at the end.

    Parameters
    ----------
    first, count
        A copy of each class before the first layer, and the number of its copies.
    layers
        One for each layer.
    of
        The class of each copy after the last layer, shape ``[copies]``.
    """

    first: Tensor
    count: Tensor
    layers: tuple[ClassLayer, ...]
    of: Tensor

    @property
    def num_rows(self) -> list[int]:
        """The number of classes after each layer."""
        return [layer.row.numel() for layer in self.layers]

    def groups(
        self, index: Tensor, size: int, keep: Tensor | None = None, copies: Tensor | None = None
    ) -> Groups:
        """The kinds of groups of copies, such as subgraphs or the copies of each vertex.

        Parameters
        ----------
        index, size
            The group of each copy, shape ``[copies]``, and the number of groups.
        keep
            The copies that count, boolean of shape ``[copies]``; ``None`` for all.
        copies
            The members that ``index`` and ``keep`` are about, in which copies may be repeated; by default all
            copies in order.
        """
        of = (self.of if copies is None else self.of.index_select(0, copies)).numpy()
        if keep is not None:
            index, of = index[keep], of[keep.numpy()]
        ptr, order = signatures.by_group(index.numpy(), size)
        found = signatures.number_signatures(
            _NONE, ptr, of, order, _NONE, 1, signatures.HASH_MASK, *signatures.UNKNOWN
        )
        ids, first, _, begin, ends, _ = found
        return Groups(_long(ids), torch.from_numpy(ends), len(first), torch.from_numpy(begin))


@torch.compiler.disable
def share(
    batch: Data,
    bag: SubgraphBag,
    layers: int | Sequence[Neighborhood],
    *,
    start: Tensor | None = None,
    code: Tensor | None = None,
    most: float = 1.0,
) -> Classes | None:
    r"""The classes of copies that have the same features after 0, 1, ... layers, whatever the weights.

    Two copies are in one class before the first layer if they start alike, and after a layer if they were
    before it and have the same multiset of (code of the edge, class of the neighbor):

    .. math:: C^{(i+1)}(v, s) = \mathsf{RELABEL}\bigl(C^{(i)}(v, s),
              \{\!\{(c_{uv}, C^{(i)}(u, s)) \mid u \in N_s(v)\}\!\}\bigr)

    These are the colors of i rounds of the Weisfeiler-Leman algorithm on the bag, and a layer that is a
    function of the row itself and the multiset of its messages gives equal rows to equal colors.

    Parameters
    ----------
    batch, bag
        The batch, and a bag made from it, on the CPU; weights of the bag are not looked at.
    layers
        The number of layers, or the neighborhood of each: ``"edges"`` or ``"all"``.
    start
        Numbers that are equal for copies that start alike, shape ``[copies]`` or ``[copies, columns]``. By
        default the features of their vertex, their mark and their rank.
    code
        Numbers from 0 on that are equal for copied edges that are alike, shape ``[copied edges]``. By default
        those of the features and the mark of the edge.
    most
        Give up once it is clear that layers have more than this share of all rows left.

    Returns
    -------
    Classes
        The classes; ``None`` if it gave up.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = bags.all_subsets(path, k=1, operation="delete")
    >>> classes = share(path, bag, layers=1)
    >>> classes.of.tolist(), classes.layers[0].count.tolist()
    ([0, 0, 1, 1, 0, 0], [4, 2])
    >>> classes.groups(bag.subgraph, bag.num_subgraphs).of.tolist()
    [0, 1, 0]
    """
    bag.check(batch)
    if bag.vertex.device.type != "cpu":
        raise OsanError(f"bag: expected a bag on the CPU, got one on {bag.vertex.device}")
    around: Sequence[Neighborhood] = ["edges"] * layers if isinstance(layers, int) else layers
    colors, first = numbered(_start(batch, bag) if start is None else start)
    codes = _codes(batch, bag) if code is None else code.numpy().astype(np.int32)
    num_codes = int(codes.max(initial=0)) + 1
    codes = codes if num_codes > 1 else _NONE
    ptr, order = signatures.by_group(bag.edge_index[1].numpy(), bag.num_copies)
    source = bag.edge_index[0].numpy()
    if order.size:
        source, codes = source[order], codes[order] if codes.size else codes
    subgraph, vertex = bag.subgraph.numpy(), bag.vertex.numpy()
    before = Classes(torch.from_numpy(first), torch.from_numpy(np.bincount(colors)), (), _long(_NONE))
    done: list[ClassLayer] = []
    rows, mask = 0, signatures.HASH_MASK
    around_copy, known = None, signatures.UNKNOWN
    if REPEATED * bag.num_vertices < bag.num_copies and "all" not in around:
        around_copy, alike = signatures.seen_alike(vertex, bag.num_vertices, colors, ptr, source, codes)
    for i, where in enumerate(around):
        if where == "edges":
            if around_copy is not None:
                given = (around_copy, alike, ptr, source, vertex, bag.num_vertices)
                alike, like = signatures.spread(*given)
                known = (like, _NOWHERE)
            found = signatures.number_signatures(colors, ptr, colors, source, codes, num_codes, mask, *known)
            group, num_groups, members, ends, sent = None, 0, None, found[4], found[5]
        else:
            subgraph_ptr, by_subgraph = signatures.by_group(subgraph, bag.num_subgraphs)
            inside = signatures.number_signatures(
                _NONE, subgraph_ptr, colors, by_subgraph, _NONE, 1, mask, *signatures.UNKNOWN
            )
            kinds, num_groups = inside[0], len(inside[1])
            found = signatures.number_signatures(
                colors,
                np.arange(bag.num_copies + 1),
                kinds,
                subgraph,
                _NONE,
                1,
                mask,
                *signatures.UNKNOWN,
            )
            group, members = torch.from_numpy(found[4][0]), torch.from_numpy(inside[4])
            ends, sent = np.empty((2, 0), np.int64), _NOWHERE
        row = colors[found[1]]
        colors, first, count = found[:3]
        done.append(
            ClassLayer(
                row=_long(row),
                first=torch.from_numpy(first),
                count=torch.from_numpy(count),
                edge_index=torch.from_numpy(ends),
                code=torch.from_numpy(sent),
                group=group,
                num_groups=num_groups,
                members=members,
            )
        )
        rows += len(first)
        # Later layers have at least as many classes.
        if rows + (len(around) - i - 1) * len(first) > most * len(around) * bag.num_copies:
            return None
    return Classes(before.first, before.count, tuple(done), torch.from_numpy(colors))


def numbered(rows: Tensor) -> tuple[Colors, npt.NDArray[np.int64]]:
    """Numbers for rows, equal for equal rows, and the first place of each number.

    Floating point numbers are compared bit by bit.

    >>> numbered(torch.tensor([[0.5, 1.0], [0.5, 2.0], [0.5, 1.0]]))
    (array([0, 1, 0], dtype=int32), array([0, 1]))
    """
    words = words_of(rows)
    if words.shape[1] == 1 and words.size and words.min() >= 0 and (most := int(words.max())) <= words.size:
        return signatures.number_small(words[:, 0], most)
    return signatures.number_rows(words, signatures.HASH_MASK)


def words_of(rows: Tensor) -> npt.NDArray[np.int64]:
    """Each entry as an integer; equal integers mean equal entries."""
    table = rows.detach().flatten(1) if rows.dim() > 1 else rows.detach()[:, None]
    if table.is_floating_point():
        table = table.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[table.itemsize])
    return np.ascontiguousarray(table.numpy(), dtype=np.int64)


def _start(batch: Data, bag: SubgraphBag) -> Tensor:
    """The features of the vertex, the mark and the rank of each copy, as columns of numbers."""
    columns = []
    x = getattr(batch, "x", None)
    if x is not None:
        columns.append(_long(numbered(x)[0])[bag.vertex])
    for value in (bag.mark, bag.rank):
        if value is not None:
            columns.append(torch.from_numpy(words_of(value[:, None]))[:, 0])
    return torch.stack(columns, dim=1) if columns else torch.zeros_like(bag.vertex)


def _codes(batch: Data, bag: SubgraphBag) -> Colors:
    """Numbers for the features and the mark of each copied edge."""
    columns = []
    attributes = getattr(batch, "edge_attr", None)
    if attributes is not None:
        columns.append(_long(numbered(attributes)[0])[bag.edge])
    if bag.edge_mark is not None:
        columns.append(torch.from_numpy(words_of(bag.edge_mark[:, None]))[:, 0])
    return numbered(torch.stack(columns, dim=1))[0] if columns else np.zeros(len(bag.edge), np.int32)


def _long(numbers: Colors) -> Tensor:
    return torch.from_numpy(numbers.astype(np.int64))
