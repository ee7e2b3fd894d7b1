"""Memory: stated before it is allocated, refused with numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

from osan.arguments import integer
from osan.errors import OsanError, TooLarge


def free_memory(root: Path = Path("/")) -> int:
    """Bytes that can be had without swapping, as the operating system and control groups (containers) see it.

    ``root`` is where Linux shows its files.
    """
    return max(0, min([_of_the_machine(root), *_of_control_groups(root)]))


def _of_the_machine(root: Path) -> int:
    try:
        return _table(root / "proc/meminfo")["MemAvailable:"] * 1024
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30  # not told (Windows): what a machine for such work has at least


def _of_control_groups(root: Path) -> Iterator[int]:
    """What each control group of this process with a limit, and each group around it, has left."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            top, limit, used, prefix = root / "sys/fs/cgroup", "memory.max", "memory.current", ""
        elif "memory" in controllers.split(","):
            top, limit = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
            used, prefix = "memory.usage_in_bytes", "total_"
        else:
            continue
        group = top / path.lstrip("/")
        # A container may see its own group as the top, whatever the path says.
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # no such file; no limit ("max")
                left = int((folder / limit).read_text()) - int((folder / used).read_text())
                with suppress(OSError):
                    cached = _table(folder / "memory.stat")
                    left += cached.get(f"{prefix}active_file", 0) + cached.get(f"{prefix}inactive_file", 0)
                yield left
            if folder == top:
                break


def _table(file: Path) -> dict[str, int]:
    """The lines "name number ..." of a file."""
    return {line.split()[0]: int(line.split()[1]) for line in file.read_text().splitlines()}


def in_words(size: float) -> str:
    """A number of bytes for people.

    >>> in_words(3_000_000)
    '3.0 MB'
    """
    if size >= 1e18:
        return f"{Decimal(size) / 10**12:.0e} TB"  # counts of subgraphs may be too large for a float
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
    return free_memory() // 2 if limit is None else integer(limit, "max_memory", least=1)


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
