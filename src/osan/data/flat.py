"""Many graphs in a few long tensors; batches are gathered from them without a Python loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from osan.errors import OsanError

# What the tensors have one row per.
PER_VERTEX, PER_EDGE, PER_GRAPH = (
    ("x", "encoding", "score"),
    ("edge_index", "edge_attr"),
    ("y", "descriptors"),
)


@dataclass(frozen=True, eq=False, repr=False)
class FlatDataset(Sequence[Data]):
    """Graphs stored end to end: graph i owns the rows ``vertex_ptr[i]`` to ``vertex_ptr[i + 1]`` of ``x``.

    Indexing returns a PyG ``Data``, so PyG's ``DataLoader`` works; :class:`osan.data.FlatLoader` is many
    times faster. A subset shares the tensors of the whole dataset and keeps the ids of its graphs.

    Parameters
    ----------
    tensors
        ``x`` of shape (vertices, c), ``edge_index`` (2, arcs) with the vertices of each graph counted from
        0, and optionally ``edge_attr`` (arcs, d) and ``y`` (graphs, targets) or (graphs,); also ``encoding``
        (vertices, columns) and ``score`` (vertices, 1), see :func:`osan.data.with_structure`, and
        ``descriptors`` (graphs, columns), see :func:`osan.data.descriptors.describe`.
    vertex_ptr, edge_ptr
        Ascending, of shape (graphs + 1,).
    ids
        The graphs of this subset, in order, as positions in the whole dataset; all by default.

    Examples
    --------
    >>> import torch
    >>> edge = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.ones(1, 1))
    >>> vertex = Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.zeros(1, 1))
    >>> flat = flatten([edge, vertex])
    >>> batch = flat.batch(torch.tensor([1, 0]))
    >>> batch.edge_index.tolist(), batch.ptr.tolist(), batch.graph_id.tolist()
    ([[1, 2], [2, 1]], [0, 1, 3], [1, 0])
    """

    tensors: Mapping[str, Tensor]
    vertex_ptr: Tensor
    edge_ptr: Tensor
    ids: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))

    def __post_init__(self) -> None:
        check_flat(self.tensors, self.vertex_ptr, self.edge_ptr)
        if not self.ids.numel():
            object.__setattr__(self, "ids", torch.arange(len(self.vertex_ptr) - 1))

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}={list(tensor.shape)}" for name, tensor in self.tensors.items())
        return f"FlatDataset({len(self)} of {len(self.vertex_ptr) - 1} graphs, {columns})"

    def __getitem__(self, position):  # type: ignore[no-untyped-def]
        """The graph at ``position`` as a PyG ``Data``; for a slice or a tensor of positions a subset."""
        if isinstance(position, slice | list | Tensor):
            return self.subset(self.ids[position].reshape(-1))
        i = int(self.ids[int(position)])
        vertices = slice(int(self.vertex_ptr[i]), int(self.vertex_ptr[i + 1]))
        edges = slice(int(self.edge_ptr[i]), int(self.edge_ptr[i + 1]))
        data = Data(num_nodes=vertices.stop - vertices.start, graph_id=torch.tensor([i]))
        for name, tensor in self.tensors.items():
            rows = vertices if name in PER_VERTEX else edges if name in PER_EDGE else slice(i, i + 1)
            data[name] = tensor[:, rows] if name == "edge_index" else tensor[rows]
        return data

    def subset(self, index: Tensor) -> FlatDataset:
        """The graphs at the positions ``index`` of the whole dataset; the tensors are shared."""
        if not len(index):
            raise OsanError("index: expected at least one graph, got none")
        count = len(self.vertex_ptr) - 1
        if int(index.min()) < 0 or int(index.max()) >= count:
            wrong = int(index.min()) if int(index.min()) < 0 else int(index.max())
            raise OsanError(f"index: expected graphs from 0 to {count - 1}, got {wrong}")
        return replace(self, ids=index.to(torch.long))

    def with_tensors(self, **tensors: Tensor | None) -> FlatDataset:
        """The same graphs with some tensors replaced or added, or left out if ``None``.

        >>> flat = flatten([Data(edge_index=torch.tensor([[0], [0]]), num_nodes=1)])
        >>> flat.with_tensors(y=torch.ones(1, 1), x=torch.zeros(1, 5))
        FlatDataset(1 of 1 graphs, edge_index=[2, 1], x=[1, 5], y=[1, 1])
        """
        new = {**self.tensors, **tensors}
        return replace(self, tensors={name: value for name, value in new.items() if value is not None})

    @property
    def y(self) -> Tensor:
        """The targets of the graphs of the subset, one row per graph."""
        return self.tensors["y"][self.ids]

    @property
    def num_vertices(self) -> Tensor:
        """The number of vertices of each graph of the subset."""
        return (self.vertex_ptr[1:] - self.vertex_ptr[:-1])[self.ids]

    @property
    def num_arcs(self) -> Tensor:
        """The number of arcs of each graph: two for every edge, one for a self-loop."""
        return (self.edge_ptr[1:] - self.edge_ptr[:-1])[self.ids]

    def batch(self, positions: Tensor) -> Batch:
        """The graphs at ``positions`` of this subset as a PyG ``Batch`` with their ``graph_id``.

        Every tensor is gathered by one index, without a loop over graphs.
        """
        graphs = self.ids[positions]
        vertices, ptr, batch = _rows(self.vertex_ptr, graphs)
        edges, edge_ptr, edge_batch = _rows(self.edge_ptr, graphs)
        steps = torch.arange(len(graphs) + 1)
        out = Batch(_base_cls=Data)
        slices: dict[str, Tensor] = {}
        for name, tensor in self.tensors.items():
            if name == "edge_index":
                out[name] = tensor[:, edges] + ptr[edge_batch]
                slices[name] = edge_ptr
            elif name in PER_EDGE:
                out[name], slices[name] = tensor[edges], edge_ptr
            elif name in PER_VERTEX:
                out[name], slices[name] = tensor[vertices], ptr
            else:
                out[name], slices[name] = tensor[graphs], steps
        out.graph_id, slices["graph_id"] = graphs, steps
        out.num_nodes, out.batch, out.ptr = len(vertices), batch, ptr
        # PyG's collation also sets these; `to_data_list` and `batch[i]` need them.
        out._num_graphs = len(graphs)
        out._slice_dict = slices
        zeros = torch.zeros_like(graphs)
        out._inc_dict = {name: ptr[:-1] if name == "edge_index" else zeros for name in slices}
        out._store._num_nodes = ptr.diff().tolist()
        return out


def _rows(ptr: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of ``graphs``, their new ptr, and the position of the graph of each row."""
    start = ptr[graphs]
    count = ptr[graphs + 1] - start
    new = torch.zeros(len(graphs) + 1, dtype=torch.long)
    torch.cumsum(count, 0, out=new[1:])
    total = int(new[-1])
    owner = torch.repeat_interleave(count, output_size=total)
    return torch.arange(total) + (start - new[:-1])[owner], new, owner


def flatten(graphs: Sequence[Data]) -> FlatDataset:
    """Flat storage of a list of PyG ``Data`` with ``edge_index`` and, in all or none, x, edge_attr and y.

    Graphs without ``x`` get one constant column, the label 0 of unlabeled vertices.
    """
    if not graphs:
        raise OsanError("graphs: expected at least one, got none")
    tensors = {}
    for name in (*PER_EDGE, *PER_VERTEX, *PER_GRAPH):
        have = [g[name] is not None if name in g else False for g in graphs]
        if any(have) and not all(have):
            raise OsanError(f"graph {have.index(False)}: expected {name}, as in other graphs, got none")
        if not any(have):
            continue
        values = [g[name] for g in graphs]
        wrong = next((i for i, v in enumerate(values) if not isinstance(v, Tensor)), None)
        if wrong is not None:
            raise OsanError(f"graph {wrong}: expected a tensor {name}, got {type(values[wrong]).__name__}")
        if name == "y":
            values = [v.reshape(1, -1) for v in values]
        elif name != "edge_index":
            values = [v.reshape(-1, 1) if v.dim() == 1 else v for v in values]
        first = values[0]
        for i, v in enumerate(values):
            fits = (
                v.shape[0] == 2 and v.dim() == 2 if name == "edge_index" else v.shape[1:] == first.shape[1:]
            )
            if not fits or v.dtype != first.dtype:
                expected = "(2, arcs)" if name == "edge_index" else ("rows", *first.shape[1:])
                raise OsanError(
                    f"graph {i}: expected {name} of shape {expected} and type {first.dtype}, "
                    f"got {tuple(v.shape)} and {v.dtype}"
                )
        tensors[name] = torch.cat(values, dim=1 if name == "edge_index" else 0)
    if "edge_index" not in tensors:
        raise OsanError("graph 0: expected edge_index of shape (2, arcs), got none")
    sizes = torch.tensor([g.num_nodes for g in graphs])
    arcs = torch.tensor([g.edge_index.shape[1] for g in graphs])
    tensors.setdefault("x", torch.zeros(int(sizes.sum()), 1, dtype=torch.long))
    return FlatDataset(tensors, pointers(sizes), pointers(arcs))


def from_collated(data: Data, slices: Mapping[str, Tensor]) -> FlatDataset:
    """Flat storage of a PyG in-memory dataset (its ``_data`` and ``slices``), which is used as it is."""
    if data.x is None:
        vertex_ptr = pointers(torch.tensor(data._num_nodes))
        x = torch.zeros(int(vertex_ptr[-1]), 1, dtype=torch.long)
    else:
        vertex_ptr, x = slices["x"], data.x
    graphs = len(vertex_ptr) - 1
    # In PyG's reader of TU folders, the slices end at the last graph with an edge.
    edge_ptr = slices["edge_index"]
    edge_ptr = torch.cat([edge_ptr, edge_ptr[-1:].expand(graphs + 1 - len(edge_ptr))])
    tensors = {"x": x, "edge_index": data.edge_index, "y": data.y.reshape(graphs, -1)}
    if data.edge_attr is not None and data.edge_attr.numel():
        tensors["edge_attr"] = data.edge_attr.reshape(len(data.edge_attr), -1)
    return FlatDataset(tensors, vertex_ptr, edge_ptr)


def pointers(counts: Tensor) -> Tensor:
    """0 followed by the cumulative sums of ``counts``.

    >>> pointers(torch.tensor([2, 3])).tolist()
    [0, 2, 5]
    """
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def check_flat(tensors: Mapping[str, Tensor], vertex_ptr: Tensor, edge_ptr: Tensor) -> None:
    """Raise :class:`OsanError` unless rows, pointers and vertex numbers fit together."""
    for name in ("x", "edge_index"):
        if name not in tensors:
            raise OsanError(f"tensors: expected {name}, got {sorted(tensors)}")
    if len(vertex_ptr) != len(edge_ptr) or len(vertex_ptr) < 2:
        raise OsanError(f"pointers: expected two equal lengths, got {len(vertex_ptr)} and {len(edge_ptr)}")
    for what, ptr in (("vertex_ptr", vertex_ptr), ("edge_ptr", edge_ptr)):
        if int(ptr[0]) != 0 or bool((ptr.diff() < 0).any()):
            raise OsanError(f"{what}: expected ascending numbers from 0, got {ptr.tolist()[:9]}")
    rows = {
        **dict.fromkeys(PER_VERTEX, int(vertex_ptr[-1])),
        **dict.fromkeys(PER_EDGE, int(edge_ptr[-1])),
        **dict.fromkeys(PER_GRAPH, len(vertex_ptr) - 1),
    }
    for name, tensor in tensors.items():
        if name not in rows:
            raise OsanError(f"tensors: expected names among {sorted(rows)}, got {name!r}")
        received = tensor.shape[1] if name == "edge_index" else tensor.shape[0]
        if received != rows[name]:
            raise OsanError(f"{name}: expected {rows[name]} rows, got {received}")
    ends = tensors["edge_index"]
    limit = torch.repeat_interleave(vertex_ptr.diff(), edge_ptr.diff())
    bad = ((ends < 0) | (ends >= limit)).any(dim=0).nonzero()
    if len(bad):
        arc = int(bad[0])
        graph = int(torch.searchsorted(edge_ptr, arc, right=True)) - 1
        u, v = ends[:, arc].tolist()
        raise OsanError(
            f"graph {graph}: expected vertices from 0 to {int(limit[arc]) - 1}, got the arc {u}, {v}"
        )


def concatenate(parts: Sequence[FlatDataset]) -> FlatDataset:
    """The graphs of several whole datasets, one after the other."""
    names = parts[0].tensors
    return FlatDataset(
        {
            name: torch.cat([p.tensors[name] for p in parts], dim=1 if name == "edge_index" else 0)
            for name in names
        },
        pointers(torch.cat([p.vertex_ptr.diff() for p in parts])),
        pointers(torch.cat([p.edge_ptr.diff() for p in parts])),
    )
