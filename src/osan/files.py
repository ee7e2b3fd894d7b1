"""Read text files, compressed or not, and write files whole or not at all."""

from __future__ import annotations

import codecs
import gzip
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from osan.errors import OsanError

_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path``; rename it when the block succeeds, remove it when it fails.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']

    Raises
    ------
    OsanError
        If space or permission is missing. An earlier file of that name stays as it is.
    """
    # Not mkstemp: no one else may read its files, and the cache may be shared.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise OsanError(f"{path} cannot be written: {reason}; earlier files are intact") from error


def read_bytes(path: str | os.PathLike[str], limit: int | None = None) -> bytes:
    """Read a file, and unpack it if its name ends in ``.gz`` or its content is gzip.

    Parameters
    ----------
    path
        The file.
    limit
        Read (and unpack) at most this many bytes; by default all.

    Raises
    ------
    OsanError
        If the file cannot be read, or is a damaged archive. The message names the last line of the archive.

    Examples
    --------
    >>> import tempfile
    >>> packed = Path(tempfile.mkdtemp(), "a.txt.gz")
    >>> _ = packed.write_bytes(gzip.compress(b"text"))
    >>> read_bytes(packed), read_bytes(packed, limit=2)
    (b'text', b'te')
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            if path.suffix.lower() == ".gz" or stream.peek(2)[:2] == _GZIP:
                return _unpack(stream, path, limit)
            return stream.read(-1 if limit is None else limit)
    except OSError as error:
        raise OsanError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name with a null character
        if isinstance(error, OsanError):
            raise
        raise OsanError(f"{str(path)!r} cannot be read: {error}") from error


def _unpack(packed: BinaryIO, path: Path, limit: int | None) -> bytes:
    content = bytearray()
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            while (limit is None or len(content) < limit) and (block := stream.read1(1 << 16)):
                content += block
    except (EOFError, OSError, zlib.error) as error:
        line = content.count(b"\n") + 1
        raise OsanError(
            f"{path}, line {line}: the compressed file is cut off or damaged ({error})"
        ) from error
    return bytes(content[:limit])


def read_text(path: str | os.PathLike[str]) -> str:
    """Read the text of a file, compressed or not; see :func:`read_bytes` and :func:`decode`."""
    return decode(read_bytes(path), path)


def read_start(path: str | os.PathLike[str], limit: int) -> str:
    """Read the text of the first ``limit`` bytes of a file, without a character that is cut in two."""
    content = read_bytes(path, limit)
    if len(content) < limit:
        return decode(content, path)
    decoder = codecs.getincrementaldecoder("utf-16" if content.startswith(_UTF16) else "utf-8-sig")
    return decoder(errors="replace").decode(content)


def decode(content: bytes, path: str | os.PathLike[str]) -> str:
    """Decode UTF-8 text, or UTF-16 text that begins with a byte order mark; ``path`` is for errors.

    >>> decode(b"a\\nb\\xff", "labels.txt")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: labels.txt, line 2: expected UTF-8 text, got byte 0xff; save the file as UTF-8
    """
    utf16 = content.startswith(_UTF16)
    try:
        return content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        if utf16:
            raise OsanError(
                f"{path}: expected UTF-16 text, but it is cut off or damaged; save the file as UTF-8"
            ) from error
        line = content[: error.start].count(b"\n") + 1
        raise OsanError(
            f"{path}, line {line}: expected UTF-8 text, got byte {content[error.start]:#04x}; "
            "save the file as UTF-8"
        ) from error
