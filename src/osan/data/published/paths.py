"""Where raw files are found and where processed ones go."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from osan.errors import OsanError
from osan.files import remove_leftovers, remove_tree, temporary_name
from osan.locks import locked

Folder = str | os.PathLike[str] | None
# Seconds to wait for another process that builds the same file.
_PATIENCE = 3600.0


def data_root(root: Folder = None) -> Path | None:
    """The folder of raw files: ``root``, else ``$OSAN_DATA``, else ``None``. Nothing is written there."""
    given = root if root is not None else os.environ.get("OSAN_DATA")
    if not given:
        return None
    path = Path(given).expanduser()
    if not path.is_dir():
        origin = "data folder" if root is not None else "OSAN_DATA"
        raise OsanError(f"{origin}: expected an existing folder, got {str(path)!r}")
    return path


def cache_root(cache: Folder = None) -> Path:
    """The folder of processed files and downloads: ``cache``, ``$OSAN_CACHE`` or ``~/.cache/osan``."""
    given = cache if cache is not None else os.environ.get("OSAN_CACHE")
    path = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "osan").expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OsanError(
            f"cannot create the cache folder {path}: {error}; set OSAN_CACHE to another folder"
        ) from error
    return path


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """A temporary folder for third-party loaders; it is removed whatever happens, or by the next one."""
    try:
        remove_leftovers(parent, "work")
        folder = parent / temporary_name("work")
        folder.mkdir()
        try:
            yield folder
        finally:
            remove_tree(folder)
    except OSError as error:
        raise OsanError(
            f"cannot work in the cache folder {parent}: {error}; set OSAN_CACHE to another folder"
        ) from error


@contextmanager
def alone(parent: Path, name: str) -> Iterator[None]:
    """Let one process at a time build a file of the cache; others wait for it."""
    folder = parent / "locks" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a cache that cannot be written is not built, either
        yield
        return
    with locked(folder, f"building {name}", wait=_PATIENCE):
        yield


def files_under(folder: Path) -> list[Path]:
    """Every file under ``folder``, following links, in a fixed order.

    Folders named ``processed`` are left out: third-party loaders keep their results there. A folder that is
    linked into itself is read once.
    """
    found, seen = [], set()
    for place, folders, names in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(place))
        folders[:] = [
            name
            for name in folders
            if name != "processed" and os.path.realpath(os.path.join(place, name)) not in seen
        ]
        found += [Path(place, name) for name in names]
    return sorted(found)


def stage(source: Path, target: Path) -> None:
    """Make ``target`` a writable folder with links to (or else copies of) the files of ``source``."""
    target.mkdir(parents=True)
    for file in files_under(source):
        staged = target / file.relative_to(source)
        staged.parent.mkdir(parents=True, exist_ok=True)
        try:
            staged.symlink_to(file.resolve())
        except OSError:  # a file system without links
            shutil.copy2(file, staged)


def fingerprint(files: list[Path], *parts: str) -> str:
    """A checksum of ``parts`` and of the contents of ``files``: what a processed dataset depends on.

    For files over 64 MiB, size and time are used instead of the content, which would take longer to read
    than the processed dataset.
    """
    digest = hashlib.sha256("\0".join(parts).encode())
    for file in files:
        status = file.stat()
        digest.update(f"\0{file.name}\0{status.st_size}\0".encode())
        if status.st_size > 1 << 26:
            digest.update(str(status.st_mtime_ns).encode())
        else:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
