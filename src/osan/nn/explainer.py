"""The choice of subgraphs as an explanation: an algorithm for PyG's ``Explainer``, and the model for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.nn import MessagePassing

from osan.errors import OsanError
from osan.nn.data_driven import DataDrivenOSAN


class Explainable(nn.Module):
    """A model of batches as PyG's ``Explainer`` calls it: with ``x`` and ``edge_index``.

    The masks of an explanation have the meaning that they have in PyG: ``node_mask`` is multiplied with the
    features, and edges with an ``edge_mask`` of 0 are left out. An edge with a mask between 0 and 1 stays as
    it is, so compare predictions (``torch_geometric.explain.metric.fidelity``) with a ``threshold_config``
    that makes masks hard.

    Parameters
    ----------
    model
        The model, called with a batch; it returns an :class:`osan.nn.Output`.
    categories
        Whether the features are numbers of categories, which stay integers when they are masked.

    Examples
    --------
    >>> class Edges(nn.Module):
    ...     def forward(self, batch):
    ...         return torch.tensor([[float(batch.num_edges)]])
    >>> model = Explainable(Edges())
    >>> model(torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]]))
    tensor([[2.]])
    """

    def __init__(self, model: nn.Module, *, categories: bool = False) -> None:
        super().__init__()
        self.model, self.categories = model, categories
        # PyG hands edge masks to every MessagePassing of a model; this one only keeps them.
        self.masks = MessagePassing()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        **others: Tensor,
    ) -> Tensor:
        """The prediction of the model."""
        out = self.model(self.as_batch(x, edge_index, edge_attr, batch, **others))
        prediction: Tensor = getattr(out, "prediction", out)
        return prediction

    def as_batch(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        **others: Tensor,
    ) -> Data:
        """The graphs with masked features and without the edges that are masked."""
        mask: Tensor | None = self.masks._edge_mask
        if mask is not None:
            kept = mask != 0
            edge_index = edge_index[:, kept]
            edge_attr = None if edge_attr is None else edge_attr[kept]
        if self.categories:
            x = x.round().long()
        batch = x.new_zeros(len(x), dtype=torch.long) if batch is None else batch
        counts = torch.bincount(batch)
        ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        out = Batch(x=x, edge_index=edge_index, batch=batch, ptr=ptr, **others)
        if edge_attr is not None:
            out.edge_attr = edge_attr
        return out


class SelectionExplainer(ExplainerAlgorithm):
    """How often vertices or edges are part of the chosen subgraphs, for PyG's ``Explainer``.

    Nothing is trained: the explanation is what the model itself chooses (:meth:`DataDrivenOSAN.explain`). The
    mask of a vertex is its frequency. For policies of vertices an edge has the frequency with which both of
    its ends are part of a subgraph, or, where vertices are marked, one of them.

    Parameters
    ----------
    samples
        The number of perturbed samples.

    Examples
    --------
    >>> from torch_geometric.explain import Explainer
    >>> from osan import nn as ours
    >>> upstream = ours.Upstream(count=1, width=4, vertex_encoder=nn.Linear(1, 4))
    >>> downstream = ours.osan(4, 1, 2, vertex_encoder=nn.Linear(1, 4))
    >>> model = ours.DataDrivenOSAN(upstream, downstream, "select 2 vertices")
    >>> explainer = Explainer(
    ...     ours.Explainable(model),
    ...     ours.SelectionExplainer(samples=10),
    ...     explanation_type="model",
    ...     node_mask_type="object",
    ...     edge_mask_type="object",
    ...     model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    ... )
    >>> found = explainer(torch.ones(3, 1), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> float(found.node_mask.sum())
    2.0
    """

    def __init__(self, samples: int = 100) -> None:
        super().__init__()
        self.samples = samples

    @torch.no_grad()
    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: Any = None,
        **kwargs: Any,
    ) -> Explanation:
        """The explanation of a batch; ``target`` and ``index`` play no part in what is chosen."""
        if not isinstance(model, Explainable) or not isinstance(model.model, DataDrivenOSAN):
            raise OsanError(
                f"model: expected Explainable(DataDrivenOSAN(...)), got {type(model).__name__}; only a model "
                "that chooses subgraphs explains itself by them"
            )
        found = model.model.explain(model.as_batch(x, edge_index, **kwargs), self.samples)
        masks = {}
        if self.explainer_config.node_mask_type is not None:
            if "node_mask" not in found:
                raise OsanError(
                    f"node_mask_type: expected None for policy {str(model.model.policy)!r}, which chooses "
                    f"edges, got {self.explainer_config.node_mask_type.value!r}"
                )
            masks["node_mask"] = found.node_mask
        if self.explainer_config.edge_mask_type is not None:
            masks["edge_mask"] = found.edge_mask
        return Explanation(**masks)

    def supports(self) -> bool:
        """Whether masks of whole vertices and edges are asked for, of graphs."""
        config = self.explainer_config
        kinds = (config.node_mask_type, config.edge_mask_type)
        return all(kind is None or kind.value == "object" for kind in kinds)
