r"""Structural encodings: columns for each vertex that say where it lies in its graph.

- ``cse:K``, centrality: :math:`(A^k)_{vv} / k!` for k = 1, ..., K, the closed walks through v (HyMN,
  Southern et al. 2025). Summed over all k this is the subgraph centrality of Estrada and Rodriguez-Velazquez
  (2005).
- ``rwse:K``, random walks: :math:`((D^{-1} A)^k)_{vv}` for k = 1, ..., K, the probability that a walk is
  back after k steps (Dwivedi et al. 2022); the same as PyG's ``AddRandomWalkPE``.
- ``lap:K``, Laplacian: the eigenvectors of the K smallest non-trivial eigenvalues of
  :math:`I - D^{-1/2} A D^{-1/2}` (Dwivedi et al. 2020), 0 where a graph has fewer. Their signs are arbitrary:
  training flips them at random (:func:`flip_signs`).
- ``distance:K``: how many vertices are k steps away from v, for k = 1, ..., K.

All graphs of a dataset are encoded together: small ones as dense matrices in blocks of equal size, larger
ones by sparse products in blocks of columns. No graph of more than ``DENSE`` vertices becomes a dense matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data.naming import parse_encoding
from osan.errors import OsanError
from osan.parts import calling, resolve

# Graphs with more vertices are never turned into a dense matrix.
DENSE = 256
# Entries of one block of matrices: 128 MiB in float64.
_BLOCK = 2**24


def encode(edge_index: Tensor, ptr: Tensor, names: Sequence[str]) -> Tensor:
    """The columns of the named encodings, side by side.

    Parameters
    ----------
    edge_index
        Shape ``[2, edges]``, both directions of every edge; vertices numbered over all graphs.
    ptr
        Graph i owns the vertices ``ptr[i]`` to ``ptr[i + 1]``; shape ``[graphs + 1]``.
    names
        Such as ``["cse:16", "lap:8"]``; a name alone has as many columns as in :data:`osan.words.ENCODINGS`.
        ``"module:name:K"`` is a function that is called with ``edge_index``, ``ptr`` and K, and returns K
        columns.

    Returns
    -------
    Tensor
        Float32 of shape ``[vertices, columns]``.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> encode(path, torch.tensor([0, 3]), ["cse:4"])[:, 1] * 2  # closed walks of length two: degrees
    tensor([1., 2., 1.])
    """
    count = int(ptr[-1])
    parts = []
    for name, size in map(parse_encoding, names):
        encoding = resolve(name, _ENCODINGS, "encodings")
        with calling(name, "encodings"):
            part = encoding(edge_index, ptr, size)
        if not isinstance(part, Tensor) or part.shape != (count, size):
            given = list(part.shape) if isinstance(part, Tensor) else type(part).__name__
            raise OsanError(
                f"encodings: expected shape {[count, size]}, [vertices, K], from {name!r}, got {given}"
            )
        parts.append(part)
    return torch.cat(parts, dim=1).float() if parts else torch.zeros(count, 0)


def num_columns(names: Sequence[str]) -> int:
    """How many columns the named encodings have together.

    >>> num_columns(["cse:16", "lap:4"])
    20
    """
    return sum(size for _, size in map(parse_encoding, names))


def centrality(edge_index: Tensor, ptr: Tensor, steps: int = 16) -> Tensor:
    r"""Subgraph centrality, :math:`\sum_{k=1}^{K} (A^k)_{vv} / k!`, float64 of shape ``[vertices]``.

    Walks are counted in whole numbers, so vertices that look alike get exactly the same value as long as no
    count exceeds :math:`2^{53}`, however the vertices are numbered.

    >>> star = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    >>> centrality(star, torch.tensor([0, 4])).argmax().item()
    0
    """
    return _cse(edge_index, ptr, steps).sum(1)


def flip_signs(columns: Tensor, batch: Tensor, graphs: int) -> Tensor:
    """Columns of eigenvectors with random signs, one for each graph and column.

    Parameters
    ----------
    columns
        Shape ``[vertices, K]``.
    batch
        The graph of each vertex, shape ``[vertices]``.
    graphs
        The number of graphs.
    """
    signs = torch.randint(0, 2, (graphs, columns.size(1)), device=columns.device) * 2 - 1
    return columns * signs.to(columns.dtype)[batch]


class AddEncodings:
    """A PyG transform that stores structural encodings as ``data.encoding``.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> AddEncodings(["cse:4", "rwse:2"])(path).encoding.shape
    torch.Size([3, 6])
    """

    def __init__(self, names: Sequence[str]) -> None:
        num_columns(names)  # a wrong name is an error now, not at the first graph
        self.names = list(names)

    def __call__(self, data: Data) -> Data:
        ptr = getattr(data, "ptr", None)
        ptr = torch.tensor([0, data.num_nodes]) if ptr is None else ptr.cpu()
        encoding = encode(data.edge_index.cpu(), ptr, self.names)
        data.encoding = encoding.to(data.edge_index.device)
        return data

    def __repr__(self) -> str:
        return f"AddEncodings({self.names})"


def _cse(edge_index: Tensor, ptr: Tensor, steps: int) -> Tensor:
    factorials = torch.arange(1, steps + 1, dtype=torch.float64).cumprod(0)
    return _closed_walks(edge_index, ptr, steps, weight=None) / factorials


def _rwse(edge_index: Tensor, ptr: Tensor, steps: int) -> Tensor:
    degree = torch.bincount(edge_index[0], minlength=int(ptr[-1])).clamp(min=1).double()
    return _closed_walks(edge_index, ptr, steps, weight=1 / degree[edge_index[0]])


def _closed_walks(edge_index: Tensor, ptr: Tensor, steps: int, weight: Tensor | None) -> Tensor:
    """Diagonals of the powers of every graph's (weighted) adjacency matrix, ``[vertices, steps]``."""
    out = torch.zeros(int(ptr[-1]), steps, dtype=torch.float64)
    for vertices, matrix in _dense_blocks(edge_index, ptr, weight):
        present = vertices >= 0
        power = matrix
        for step in range(steps):
            out[vertices[present], step] = power.diagonal(dim1=1, dim2=2)[present]
            if step + 1 < steps:
                power = power @ matrix
    for first, last, matrix in _sparse_matrices(edge_index, ptr, weight):
        for start in range(0, last - first, DENSE):
            end = min(start + DENSE, last - first)
            columns = np.zeros((last - first, end - start))
            columns[np.arange(start, end), np.arange(end - start)] = 1
            for step in range(steps):
                columns = matrix @ columns
                diagonal = columns[np.arange(start, end), np.arange(end - start)]
                out[first + start : first + end, step] = torch.from_numpy(diagonal)
    return out


def _distance(edge_index: Tensor, ptr: Tensor, reach: int) -> Tensor:
    """How many vertices are 1, ..., ``reach`` steps away, ``[vertices, reach]``."""
    out = torch.zeros(int(ptr[-1]), reach, dtype=torch.float64)
    for vertices, matrix in _dense_blocks(edge_index, ptr, weight=None):
        present = vertices >= 0
        within = torch.eye(matrix.size(1), dtype=torch.float64).expand_as(matrix)
        for step in range(reach):
            further = (within + within @ matrix).clamp(max=1)
            out[vertices[present], step] = (further - within).sum(2)[present]
            within = further
    for first, last, matrix in _sparse_matrices(edge_index, ptr, weight=None):
        for start in range(0, last - first, DENSE):
            end = min(start + DENSE, last - first)
            near = np.zeros((last - first, end - start))
            near[np.arange(start, end), np.arange(end - start)] = 1
            for step in range(reach):
                wider = np.minimum(near + matrix @ near, 1)
                out[first + start : first + end, step] = torch.from_numpy((wider - near).sum(0))
                near = wider
    return out


def _laplacian(edge_index: Tensor, ptr: Tensor, size: int) -> Tensor:
    """The first non-trivial eigenvectors; self-loops are left out, as PyG does."""
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    degree = torch.bincount(edge_index[0], minlength=int(ptr[-1])).clamp(min=1).double()
    weight = -degree.rsqrt()[edge_index].prod(0)
    out = torch.zeros(int(ptr[-1]), size, dtype=torch.float64)
    for vertices, matrix in _dense_blocks(edge_index, ptr, weight):
        present = vertices >= 0
        # All eigenvalues lie between 0 and 2, so those of the padding come last.
        matrix = matrix + torch.diag_embed(torch.where(present, 1.0, 4.0).double())
        vectors = torch.linalg.eigh(matrix).eigenvectors[:, :, 1 : size + 1]
        columns = torch.arange(1, vectors.size(2) + 1)
        vectors = torch.where(columns < present.sum(1)[:, None, None], vectors, 0.0)
        out[vertices[present], : vectors.size(2)] = vectors[present]
    for first, last, matrix in _sparse_matrices(edge_index, ptr, weight):
        laplacian = matrix + scipy.sparse.identity(last - first, format="csr")
        start = np.random.default_rng(0).standard_normal(last - first)  # the same result every time
        # Around a shift just below 0 also eigenvalues that occur several times are found.
        many = min(2 * size + 20, last - first - 1)
        values, vectors = scipy.sparse.linalg.eigsh(
            laplacian.tocsc(), size + 1, sigma=-1e-2, v0=start, ncv=max(many, size + 2)
        )
        out[first:last] = torch.from_numpy(vectors[:, values.argsort()[1:]].copy())
    return out


def _dense_blocks(edge_index: Tensor, ptr: Tensor, weight: Tensor | None) -> Iterator[tuple[Tensor, Tensor]]:
    """Matrices of the small graphs, in blocks of about the same size.

    Yields the vertex of each row, shape ``[graphs, n]`` with -1 for padding, and the matrices, shape
    ``[graphs, n, n]``.
    """
    sizes = ptr.diff()
    padded = (sizes + 7) // 8 * 8
    graph_of_arc = torch.repeat_interleave(torch.arange(len(sizes)), sizes)[edge_index[0]]
    values = torch.ones(edge_index.size(1), dtype=torch.float64) if weight is None else weight
    place_of_graph = torch.full_like(sizes, -1)
    for n in sorted(set(padded[(sizes > 0) & (sizes <= DENSE)].tolist())):
        for graphs in (padded == n).nonzero().squeeze(1).split(max(1, _BLOCK // n**2)):
            place_of_graph.fill_(-1)
            place_of_graph[graphs] = torch.arange(len(graphs))
            which = place_of_graph[graph_of_arc]
            arcs = (which >= 0).nonzero().squeeze(1)
            which = which[arcs]
            source, target = edge_index[:, arcs] - ptr[graphs][which]
            matrices = torch.zeros(len(graphs) * n * n, dtype=torch.float64)
            matrices.index_add_(0, (which * n + source) * n + target, values[arcs])
            row = torch.arange(n)
            vertices = torch.where(row < sizes[graphs, None], row + ptr[graphs, None], -1)
            yield vertices, matrices.view(len(graphs), n, n)


def _sparse_matrices(
    edge_index: Tensor, ptr: Tensor, weight: Tensor | None
) -> Iterator[tuple[int, int, scipy.sparse.csr_matrix]]:
    """First vertex, one past the last, and the matrix of each large graph."""
    for graph in (ptr.diff() > DENSE).nonzero().squeeze(1).tolist():
        first, last = int(ptr[graph]), int(ptr[graph + 1])
        inside = (edge_index[0] >= first) & (edge_index[0] < last)
        source, target = (edge_index[:, inside] - first).numpy()
        values = np.ones(len(source)) if weight is None else weight[inside].numpy()
        shape = (last - first, last - first)
        yield first, last, scipy.sparse.csr_matrix((values, (source, target)), shape=shape)


_ENCODINGS = {"cse": _cse, "rwse": _rwse, "lap": _laplacian, "distance": _distance}
