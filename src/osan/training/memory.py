"""Memory in training: keep it for the next step, and say so when there is not enough."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from osan.errors import TooLarge

# Parameters of mallopt in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# What PyTorch says, of processors and of graphics cards, and of sizes that no machine has.
_NO_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "Storage size calculation overflowed",
    "would exceed memory",
    "Overflow when unpacking long",
)


@contextmanager
def too_large() -> Iterator[None]:
    """Turn what PyTorch and Python raise when memory is short into :class:`osan.errors.TooLarge`.

    >>> with too_large():  # doctest: +ELLIPSIS
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    osan.errors.TooLarge: memory: the run needs more than there is; lower ...
    """
    try:
        yield
    except (MemoryError, RuntimeError, OverflowError) as error:
        text = str(error)
        if not isinstance(error, MemoryError) and not any(words in text for words in _NO_MEMORY):
            raise
        first = f" ({' '.join(text.split())[:120]})" if text else ""
        raise TooLarge(
            f"memory: the run needs more than there is{first}; lower training.batch_size, network.width or "
            "the number of subgraphs"
        ) from error


def keep_freed_memory() -> bool:
    """Let glibc reuse the memory of freed tensors rather than give it back to the system at once.

    By default every tensor above 32 MB is mapped anew and its pages are cleared on first touch, which can
    take a third of a training step on large bags (``benchmarks/bags.py``). The price is memory: the process
    does not shrink any more. PyTorch's allocators do the same on other devices.

    Returns
    -------
    bool
        Whether the C library complied; libraries other than glibc may not know the option.

    Examples
    --------
    >>> keep_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_TRIM_THRESHOLD, -1) and mallopt(_MMAP_THRESHOLD, 1 << 30))
