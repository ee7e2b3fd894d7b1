"""Reading files: one reader of compressed and plain text for all rooms."""

import gzip

import pytest

from osan.errors import OsanError
from osan.files import read_bytes, read_text


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.GZ"])
def test_gzip_is_told_from_name_or_content(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress("ä\nb".encode(), mtime=0))
    assert read_bytes(path) == "ä\nb".encode()
    assert read_text(str(path)) == "ä\nb"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_are_dropped(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("smiles,y\nC,1\n".encode(encoding))
    assert read_text(tmp_path / "a.csv") == "smiles,y\nC,1\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", None, "a.txt cannot be read: No such file"),
        ("a.gz", b"plain", r"a\.gz, line 1: the compressed file is cut off or damaged"),
        (
            "a.txt",
            gzip.compress(b"a\n" * 9, mtime=0)[:-9],
            r"a\.txt, line \d+: the compressed file is cut off",
        ),
        ("a.txt", b"a b\nc \xff\n", r"a\.txt, line 2: expected UTF-8 text, got byte 0xff"),
        ("a\0.txt", None, "cannot be read"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(OsanError, match=message):
        read_text(tmp_path / name)
