"""What a mark tells the other vertices: relations to the marked vertices, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.distances import distance_columns
from osan.parts import calling, resolve


class Relation(Protocol):
    """What marks tell each copy: a function whose attribute ``columns`` is the number of its columns."""

    @property
    def columns(self) -> int:
        """The number of columns."""

    def __call__(self, batch: Data, bag: SubgraphBag, mark: Tensor) -> Tensor:
        """From the mark of each copy, ``[copies]``, to ``[copies, columns]``."""


@dataclass(frozen=True)
class Distances:
    """How many marked vertices are at each distance, up to ``reach``; see :func:`distance_columns`."""

    reach: int = 10
    apart: ClassVar[bool] = True  # looks at each subgraph by itself

    def __post_init__(self) -> None:
        if self.reach < 0:
            raise OsanError(f"reach: expected the largest distance, at least 0, got {self.reach}")

    @property
    def columns(self) -> int:
        """One for each distance, 0 included."""
        return self.reach + 1

    def __call__(self, batch: Data, bag: SubgraphBag, mark: Tensor) -> Tensor:
        """Shape ``[copies, reach + 1]``."""
        return distance_columns(batch, bag, mark, self.reach)


RELATIONS: dict[str, Relation | type[Relation]] = {"distance": Distances}


def make_relation(atomic: Any, options: Mapping[str, Any]) -> Relation:
    """The relation that a name stands for, or a custom one.

    Parameters
    ----------
    atomic
        A name in :data:`RELATIONS`, ``"module:name"``, a relation, or a class of relations.
    options
        Keyword arguments of the class, or further ones of the function.

    Examples
    --------
    >>> make_relation("distance", {"reach": 3}).columns
    4
    """
    known = {"ordered": None, "unordered": None, **RELATIONS}  # for the message of an error
    made = resolve(atomic, known, "atomic")
    if isinstance(made, type):
        with calling(atomic, "atomic"):
            made = made(**options)
    elif options:
        made = update_wrapper(partial(made, **options), made)  # the attribute columns stays
    columns = getattr(made, "columns", None)
    if not callable(made) or not isinstance(columns, int | np.integer) or columns < 1:
        raise OsanError(
            "atomic: expected a function of batch, bag and mark whose attribute 'columns' is the number of "
            f"columns that it returns, got {atomic!r}" + (f" with columns = {columns!r}" if columns else "")
        )
    return cast(Relation, made)


def related(relation: Relation, batch: Data, bag: SubgraphBag, mark: Tensor) -> Tensor:
    """What a relation tells each copy, checked; shape ``[copies, columns]``, of the type of the marks."""
    with calling(relation, "atomic"):
        found = relation(batch, bag, mark)
    wanted = [bag.num_copies, relation.columns]
    if not isinstance(found, Tensor) or list(found.shape) != wanted:
        got = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise OsanError(f"atomic: expected a tensor of shape {wanted}, a row for each copy, got {got}")
    return found.to(mark.dtype)
