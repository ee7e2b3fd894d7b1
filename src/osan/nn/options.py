"""The options of networks: their names and types, and errors that name the option that was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from torch import Tensor
from torch.nn import Module
from typing_extensions import Unpack

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.norm import Activation
from osan.words import Neighborhood

P = ParamSpec("P")
R = TypeVar("R")

Aggregation = Literal["per-vertex", "per-subgraph"]
Level = Literal["graph", "vertex"]
Atomic = str | Callable[..., Any]  # "ordered", "unordered", or a relation: see osan.nn.relations
Rank = Literal["adjacency", "embedding"]
Admission = Callable[[SubgraphBag], Tensor]
Encoder = Module | Callable[[], Module]
Pooling = str | Module | Callable[[int], Module]


class SharingOptions(TypedDict, total=False):
    """Options of layers that share information between subgraphs: see :class:`osan.nn.Stack`."""

    conv: str | Callable[[int], Module]
    edge_encoder: Callable[[], Module] | None
    edge_mark: bool
    neighborhood: Neighborhood | Sequence[Neighborhood]
    marked: bool
    norm: bool
    last_activation: bool
    hidden: int | None
    train_eps: bool
    degrees: Tensor | None
    towers: int


class LayerOptions(SharingOptions, total=False):
    """Options of the layers: see :class:`osan.nn.Stack`."""

    across: bool
    dropout: float
    residual: bool
    shared_dropout: bool


class ReadoutOptions(LayerOptions, total=False):
    """Options that all networks have: see :func:`osan.nn.osan`."""

    vertex_encoder: Encoder | None
    readout: Pooling
    head: int
    level: Level
    activation: Activation


class EgoOptions(ReadoutOptions, total=False):
    """Options of :func:`osan.nn.ego_network` that the named architectures hand on to it."""

    pool: Pooling


class NetworkOptions(ReadoutOptions, total=False):
    """Options of :func:`osan.nn.osan` that the named architectures hand on to it."""

    rank: Rank | None
    num_ranks: int
    sagg: Pooling
    between: int
    admission: Admission | Literal["learned"] | None
    alongside: bool | Module


class BagOptions(NetworkOptions, total=False):
    """Options of networks that look at any bag."""

    atomic: Atomic | None
    k: int
    reach: int
    aggregation: Aggregation


def checked(*, sets: Iterable[str] = ()) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Turn wrong arguments of a function into an :class:`~osan.errors.OsanError` that says what was meant.

    Parameters
    ----------
    sets
        Options that the function sets itself, so callers cannot.

    Examples
    --------
    >>> @checked()
    ... def network(width, *, readout="mean"):
    ...     return width
    >>> network(16, readot="sum")
    Traceback (most recent call last):
    osan.errors.OsanError: readot: unknown option; did you mean 'readout'?
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            check_options(function, args, kwargs, sets)
            return function(*args, **kwargs)

        return call

    return decorate


def check_options(
    function: Callable[..., Any], args: Iterable[Any], given: Iterable[str], sets: Iterable[str] = ()
) -> None:
    """Raise if a function cannot be called with these arguments and keywords."""
    name = function.__qualname__.removesuffix(".__init__")
    known = [option for option in option_names(function) if option not in sets]
    for option in given:
        if option in sets:
            raise OsanError(f"{option}: {name} sets this option itself; leave it out")
        if option not in known:
            close = get_close_matches(option, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f" of {name}; expected {', '.join(known)}"
            raise OsanError(f"{option}: unknown option{hint}")
    try:
        signature(function).bind(*args, **dict.fromkeys(given))
    except TypeError as error:
        raise OsanError(f"{name}: {error}") from None


def option_names(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments of a function, those of a typed ``**options`` included.

    >>> from osan.nn import osan
    >>> "readout" in option_names(osan), "conv" in option_names(osan)
    (True, True)
    """
    names = []
    for parameter in signature(function).parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:
            hint = get_type_hints(function).get(parameter.name)
            if get_origin(hint) is Unpack:
                names += list(get_args(hint)[0].__annotations__)
        elif parameter.name != "self":
            names.append(parameter.name)
    return names


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise if an option is none of the allowed words."""
    if value not in allowed:
        raise OsanError(f"{name}: expected {' or '.join(map(repr, allowed))}, got {value!r}")
