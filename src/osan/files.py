"""Read text files, compressed or not, and write files whole or not at all."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import os
import platform
import re
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from osan.errors import OsanError, TooLarge
from osan.memory import free_memory, in_words

_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


# Ends files whose damage must not go unnoticed; the formats before it find their own end.
_SEAL = re.compile(rb"\nosan sha256 ([0-9a-f]{64})\n\Z")
_SEAL_SIZE = 78
# Of a temporary file or folder: its name, the machine, the process and a random part.
_TEMPORARY = re.compile(r"\.(.+)\.([0-9a-f]{6})-([0-9]+)-[0-9a-f]{8}")
# After so many seconds without a change, a process of another machine is not writing any more.
_ABANDONED = 3600.0


@contextmanager
def written_whole(path: Path, lasting: bool = True) -> Iterator[Path]:
    """Give a temporary name beside ``path``; rename it when the block succeeds, remove it when it fails.

    Files that killed processes left under such names are removed, too.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']

    Parameters
    ----------
    path
        The file.
    lasting
        Whether its content is on the disk before its name appears, even if the machine fails.

    Raises
    ------
    OsanError
        If space or permission is missing. An earlier file of that name stays as it is.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent, path.name)
        # Not mkstemp: no one else may read its files, and the cache may be shared.
        temporary = path.with_name(temporary_name(path.name))
        try:
            yield temporary
            if lasting:
                _sync(temporary)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):  # what went wrong first is what counts
                os.unlink(temporary)
            raise
        if lasting:
            with suppress(OSError):  # some file systems cannot, and the file is there
                _sync(path.parent)
    except OSError as error:
        reason = error.strerror or error
        raise OsanError(f"{path} cannot be written: {reason}; earlier files are intact") from error
    except UnicodeEncodeError as error:
        raise OsanError(f"{path} cannot be written: expected UTF-8 text ({error.reason})") from error


def write_bytes(path: Path, content: bytes, lasting: bool = True) -> None:
    """Write a file, whole or not at all; see :func:`written_whole`."""
    with written_whole(path, lasting) as temporary:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(handle, rest) :]
        finally:
            os.close(handle)


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """Give a new folder under a temporary name; rename it to ``folder`` when the block succeeds.

    Raises
    ------
    OsanError
        If space or permission is missing. Then nothing is left.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder.parent, folder.name)
        temporary = folder.with_name(temporary_name(folder.name))
        temporary.mkdir()
        try:
            yield temporary
            os.replace(temporary, folder)
        except BaseException:
            remove_tree(temporary)
            raise
    except OSError as error:
        raise OsanError(f"{folder} cannot be written: {error.strerror or error}") from error


def finish(partial: Path, path: Path) -> None:
    """Give a file that was written in parts its name, once its content is on the disk."""
    try:
        _sync(partial)
        os.replace(partial, path)
        with suppress(OSError):
            _sync(path.parent)
    except OSError as error:
        raise OsanError(f"{path} cannot be written: {error.strerror or error}; see {partial}") from error


def append_bytes(path: Path, content: bytes) -> None:
    """Append to a file; if that fails, it is as long as before."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            before = os.fstat(handle).st_size
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(handle, rest) :]
            except OSError:
                os.ftruncate(handle, before)
                raise
        finally:
            os.close(handle)
    except OSError as error:
        reason = error.strerror or error
        raise OsanError(f"{path} cannot be written: {reason}; earlier lines are intact") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_name(name: str) -> str:
    """A hidden name that says which machine and process made it; see :func:`remove_leftovers`."""
    return f".{name[:40]}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove temporary files and folders for ``name`` that processes left which do not run any more."""
    try:
        # Names only: asking for the kind of every file would take long in large folders.
        found = [each for each in os.listdir(folder) if each.startswith(f".{name[:40]}.")]
    except OSError:
        return
    for each in found:
        match = _TEMPORARY.fullmatch(each)
        if match and _is_left(folder / each, match[2], int(match[3])):
            left = folder / each
            with suppress(OSError):
                if left.is_dir():
                    remove_tree(left)
                else:
                    os.unlink(left)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as possible."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _is_left(path: Path, machine: str, process: int) -> bool:
    try:
        if machine != _machine():
            return time.time() - path.stat().st_mtime > _ABANDONED
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # gone meanwhile, or a process of another user
        return False
    return False


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def sealed(content: bytes) -> bytes:
    """Content followed by its checksum.

    >>> unsealed(sealed(b"abc"))
    b'abc'
    """
    return content + b"\nosan sha256 " + hashlib.sha256(content).hexdigest().encode() + b"\n"


def unsealed(content: bytes) -> bytes | None:
    """The content that :func:`sealed` was given; ``None`` if there is no checksum.

    Raises
    ------
    OsanError
        If the content is not what it was.
    """
    match = _SEAL.search(content[-_SEAL_SIZE:])
    if match is None:
        return None
    plain = content[:-_SEAL_SIZE]
    if hashlib.sha256(plain).hexdigest().encode() != match[1]:
        raise OsanError("the content does not fit its checksum, so the file is damaged")
    return plain


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


def open_unpacked(path: Path) -> BinaryIO:
    """A file to read from, unpacked on the way as in :func:`read_bytes`; errors of archives are Python's."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise OsanError(f"{path} cannot be read: {error.strerror or error}") from error
    packed = path.suffix.lower() == ".gz" or stream.peek(2)[:2] == _GZIP
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream


def encoding_of(path: Path) -> str:
    """The encoding of a text file, as :func:`decode` finds it."""
    return "utf-16" if read_bytes(path, 2).startswith(_UTF16) else "utf-8-sig"


def _unpack(packed: BinaryIO, path: Path, limit: int | None) -> bytes:
    content = bytearray()
    most = free_memory() // 4
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            while (limit is None or len(content) < limit) and (block := stream.read1(1 << 16)):
                content += block
                if len(content) > most:
                    raise TooLarge(
                        f"{path} unpacks to more than {in_words(most)}, a quarter of what is free; split it"
                    )
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
