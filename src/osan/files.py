"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from osan.errors import OsanError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path``, renamed to it when the block ends well and removed when it does not.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']

    Raises
    ------
    OsanError
        If there is no space or no permission; what was there before is still there.
    """
    # Not mkstemp, whose files no one else may read: the cache may be shared.
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
