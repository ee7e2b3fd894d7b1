"""Memory: stated before it is allocated, refused with numbers."""

from __future__ import annotations

import os
from pathlib import Path

from osan.errors import OsanError, TooLarge


def free_memory() -> int:
    """Bytes that can be had without swapping, as the operating system sees it."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def in_words(size: float) -> str:
    """A number of bytes for people.

    >>> in_words(3_000_000)
    '3.0 MB'
    """
    if size >= 1e18:
        return f"{size / 1e12:.0e} TB"
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def parse_size(text: str) -> int:
    """Bytes from a text such as ``"4GB"``, ``"500 MB"`` or ``"1e9"``.

    >>> parse_size("1.5GB")
    1500000000
    """
    units = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "b": 1}
    cleaned = text.strip().lower().replace(" ", "")
    factor = 1
    for unit, value in units.items():
        if cleaned.endswith(unit):
            cleaned, factor = cleaned[: -len(unit)], value
            break
    try:
        size = int(float(cleaned) * factor)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise OsanError(f"memory limit {text!r} is not a size; write for example 4GB or 500MB")
    return size


def allowance(limit: int | None) -> int:
    """The bytes that work may take: the limit, or half of what is free where there is none."""
    return free_memory() // 2 if limit is None else limit


def require(needed: int, limit: int | None, what: str, would_fit: str) -> None:
    """Refuse work that needs more than its :func:`allowance`."""
    allowed = allowance(limit)
    if needed > allowed:
        raise TooLarge(
            f"{what} needs about {in_words(needed)}, the limit is {in_words(allowed)}; {would_fit}, "
            "or raise the limit (max_memory=, --max-memory)"
        )


def require_free(needed: float, what: str, instead: str) -> None:
    """Refuse work that needs more bytes than are free."""
    # Asking the operating system takes longer than small work itself.
    if needed > 1e9 and needed > (free := free_memory()):
        raise TooLarge(f"{what} needs about {in_words(needed)}, {in_words(free)} are free; {instead}")
