"""Processed datasets on disk: one safetensors file each, with the rest as JSON in its header."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load
from safetensors.torch import save as to_bytes
from torch import Tensor

from osan.data.flat import FlatDataset
from osan.data.published.places import FORMAT
from osan.data.task import Features
from osan.errors import OsanError
from osan.files import read_bytes, sealed, unsealed, write_bytes


@dataclass(frozen=True, eq=False)
class Processed:
    """A whole dataset before it is split, as readers return it and the cache stores it.

    Parameters
    ----------
    graphs
        All graphs.
    vertex_features, edge_features
        Describe the columns of ``x`` and ``edge_attr``.
    indices
        The published splits, under names such as ``"train"`` or ``"fold3/test"``.
    """

    graphs: FlatDataset
    vertex_features: Features
    edge_features: Features | None
    indices: dict[str, Tensor]


def save(processed: Processed, path: Path) -> None:
    """Write ``processed`` to ``path``, whole or not at all."""
    graphs = processed.graphs
    tensors = {f"graphs/{name}": tensor.contiguous() for name, tensor in graphs.tensors.items()}
    tensors |= {"vertex_ptr": graphs.vertex_ptr, "edge_ptr": graphs.edge_ptr}
    tensors |= {f"index/{name}": index.contiguous() for name, index in processed.indices.items()}
    edge = processed.edge_features
    features = {"vertex": asdict(processed.vertex_features), "edge": None if edge is None else asdict(edge)}
    metadata = {"osan": FORMAT, "features": json.dumps(features)}
    write_bytes(path, sealed(to_bytes(tensors, metadata)))


def read(path: Path) -> Processed:
    """Read a file that :func:`save` wrote. A damaged file raises :class:`OsanError`."""
    try:
        content = unsealed(read_bytes(path))
        if content is None:
            raise OsanError("it has no checksum")
        tensors = load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
        if metadata.get("osan") != FORMAT:
            raise OsanError(f"format: expected {FORMAT!r}, got {metadata.get('osan')!r}")
        features = {
            key: None if value is None else Features(tuple(value["sizes"]), value["width"])
            for key, value in json.loads(metadata["features"]).items()
        }
        parts = {name.removeprefix("graphs/"): t for name, t in tensors.items() if name.startswith("graphs/")}
        graphs = FlatDataset(parts, tensors["vertex_ptr"], tensors["edge_ptr"])
        indices = {name.removeprefix("index/"): t for name, t in tensors.items() if name.startswith("index/")}
        vertex = features["vertex"]
        if vertex is None:
            raise OsanError("expected vertex features, got none")
        return Processed(graphs, vertex, features["edge"], indices)
    except (SafetensorError, OSError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise OsanError(
            f"{path}: expected a processed dataset ({error}); delete the file to rebuild it"
        ) from error
