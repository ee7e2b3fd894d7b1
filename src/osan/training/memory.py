"""Keep freed memory in the process, for the next training step."""

from __future__ import annotations

import ctypes
import sys

# Parameters of mallopt in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


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
