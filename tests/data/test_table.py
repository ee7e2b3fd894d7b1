"""Tables with line numbers; malformed ones name file and line."""

import gzip

import pytest

from osan.data.formats.chunks import table_chunks
from osan.data.formats.table import has_column, number, read_table
from osan.errors import OsanError


def write(tmp_path, content, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_quotes_line_breaks_blank_lines_and_bom(tmp_path):
    content = '\ufeffsmiles,y\r\n"C,C",1\r\n\r\n"N\n",2\r\nO , 3\r\n'.encode()
    table = read_table(write(tmp_path, content), ["smiles", "y"])
    assert table.columns == {"smiles": ["C,C", "N", "O"], "y": ["1", "2", "3"]}
    assert table.lines == [2, 4, 6]


@pytest.mark.parametrize("order", ["le", "be"])
def test_unicode_text_of_a_spreadsheet(tmp_path, order):
    content = "\ufeffsmiles\ty\r\nCéC\t1\r\n".encode(f"utf-16-{order}")
    assert read_table(write(tmp_path, content), ["smiles", "y"]).columns == {"smiles": ["CéC"], "y": ["1"]}


def test_the_whole_table_is_kept_as_it_is(tmp_path):
    path = write(tmp_path, b"a, b ,a\n 1,2,\n\nx,y ,z\n")
    table = read_table(path, ["b"], whole=True)
    assert table.columns == {"b": ["2", "y"]}
    assert table.header == ["a", "b", "a"]
    assert table.rows == [[" 1", "2", ""], ["x", "y ", "z"]]
    assert read_table(path, ["b"]).rows == []


def test_compressed_and_tab_separated(tmp_path):
    path = write(tmp_path, gzip.compress(b"a\tb\n1\t2\n"), "a.tsv.gz")
    assert read_table(path, ["b"]).columns == {"b": ["2"]}


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_seen_in_the_header(tmp_path, separator):
    content = "\ufeff\r\n" + "\r\n".join(map(separator.join, (["name", "y, z"], ["a,b", "1,5"])))
    table = read_table(write(tmp_path, content.encode()), ["name", "y, z"])
    assert table.columns == {"name": ["a,b"], "y, z": ["1,5"]}
    assert table.lines == [3]
    assert table.decimal_comma == (separator == ";")


def test_decimal_commas_only_where_semicolons_separate():
    assert number("-1,5e3", "here", decimal_comma=True) == -1500
    assert number("1.5", "here", decimal_comma=True) == 1.5
    for text, comma in (("1,5", False), ("1.000,5", True), ("1,000,5", True)):
        with pytest.raises(OsanError, match="expected a number"):
            number(text, "here", decimal_comma=comma)
    hint = "decimal commas are read in tables with semicolons"
    for text in ("1,5", "−1,5", "+0,5e-3"):
        with pytest.raises(OsanError, match=f"here: expected a number, got '.*'; {hint}$"):
            number(text, "here")
    for text, comma in (("1,000,5", True), ("a,5", False)):
        with pytest.raises(OsanError) as error:
            number(text, "here", decimal_comma=comma)
        assert hint not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"a\.csv, line 1: expected a header, got an empty file"),
        (b"x,y\n1,2\n", r"a\.csv, line 1: expected one column 'smiles', got 0 in the header x, y"),
        (b"smiles,smiles\n1,2\n", "expected one column 'smiles', got 2 in the header"),
        (b"smiles,y\nC,1\nC\n", r"a\.csv, line 3: expected 2 fields as in the header, got 1"),
        (b"smiles,y\nC,1,2\n", r"a\.csv, line 2: expected 2 fields as in the header, got 3"),
        (b'smiles,y\nC,1\nC,"2\n', r"a\.csv, line 3: broken CSV"),
        (b'smiles,y\nC,1\n"C"x,2\n', r"a\.csv, line 3: broken CSV"),
        (b"smiles,y\nC,1\n\xe9,2\n", r"a\.csv, line 3: expected UTF-8 text, got byte 0xe9"),
        (b"\xff\xfes\0m\0", r"a\.csv, line 1: expected one column 'smiles', got 0 in the header sm"),
        (b"\xff\xfes\0m", r"a\.csv: expected UTF-16 text, but it is cut off"),
    ],
)
def test_malformed_csv(tmp_path, content, message):
    with pytest.raises(OsanError, match=message):
        read_table(write(tmp_path, content), ["smiles"])


def test_truncated_gzip_names_the_line(tmp_path):
    import random

    rows = random.Random(0)
    content = gzip.compress(
        b"smiles,y\n" + b"".join(b"C,%d\n" % rows.randrange(10**9) for _ in range(50_000))
    )
    with pytest.raises(OsanError, match=r"a\.csv\.gz, line \d{4,}: the compressed file is cut off"):
        read_table(write(tmp_path, content[: len(content) // 2], "a.csv.gz"), ["smiles"])
    with pytest.raises(OsanError, match="line 1: the compressed file is cut off or damaged"):
        read_table(write(tmp_path, b"not gzip", "b.csv.gz"), ["smiles"])


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(OsanError, match="cannot be read: No such file"):
        read_table(tmp_path / "nothing.csv", ["a"])
    with pytest.raises(OsanError, match="cannot be read: Is a directory"):
        read_table(tmp_path, ["a"])


def test_parquet(tmp_path):
    import pyarrow as arrow
    from pyarrow import parquet

    table = arrow.table({"smiles": ["C", None, "N"], "y": [1.5, None, 2.0], "other": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    read = read_table(tmp_path / "a.parquet", ["smiles", "y"])
    assert read.columns == {"smiles": ["C", "", "N"], "y": ["1.5", "", "2.0"]}
    assert read.lines == [1, 2, 3]
    whole = read_table(tmp_path / "a.parquet", ["smiles", "y"], whole=True)
    assert (whole.columns, whole.header) == (read.columns, ["smiles", "y", "other"])
    assert whole.rows == [["C", "1.5", "1"], ["", "", "2"], ["N", "2.0", "3"]]
    with pytest.raises(OsanError, match="expected one column 'z', got 0 in the header smiles, y, other"):
        read_table(tmp_path / "a.parquet", ["z"])
    content = (tmp_path / "a.parquet").read_bytes()
    for broken in (b"", b"PAR1", content[: len(content) // 2], b"x" * 100):
        with pytest.raises(OsanError, match="expected a readable Parquet file"):
            read_table(write(tmp_path, broken, "b.parquet"), ["smiles"])


@pytest.mark.parametrize("text", ["abc", "1,5", "--1", "inf", "-Infinity", "0x10", "1_000"])
def test_not_a_number(text):
    with pytest.raises(OsanError, match="file, line 3: expected a"):
        number(text, "file, line 3")


def test_parquet_files_that_are_far_larger_unpacked(tmp_path, monkeypatch):
    """A kilobyte that holds 20 GB of text: each row names one long text of a dictionary."""
    import pyarrow as arrow
    from pyarrow import parquet

    def of_one(text, rows):
        return arrow.DictionaryArray.from_arrays(arrow.array([0] * rows, arrow.int32()), [text])

    long = arrow.table({"smiles": ["C"] * 2000, "x": of_one("C" * (10 << 20), 2000)})
    many = arrow.table({"smiles": ["C"] * 2000, **{f"x{i}": of_one("C" * 131000, 2000) for i in range(60)}})
    lists = arrow.table({"smiles": ["C"], "x": [[1, 2]]})
    monkeypatch.setattr("osan.memory.free_memory", lambda: 10**10)
    for table, reason in (
        (long, "column x: expected at most 131072 characters, got a cell of 10485760"),
        (many, "the text needs about 62.9 GB, 10.0 GB are free"),
        (lists, "column x: expected texts, numbers or dates, got list"),
    ):
        path = tmp_path / "a.parquet"
        parquet.write_table(table, path)
        for read in (
            lambda p: read_table(p, ["smiles"], whole=True),
            lambda p: [*table_chunks(p, ["smiles"])],
        ):
            with pytest.raises(OsanError, match=reason):
                read(path)
    monkeypatch.setattr("osan.memory.free_memory", lambda: 10**9)
    parquet.write_table(arrow.table({"smiles": of_one("C", 20_000_000)}), path)
    with pytest.raises(OsanError, match=r"the table unpacked needs about 2\.\d GB"):
        read_table(path, ["smiles"])
    assert len(next(table_chunks(path, ["smiles"], 100)).rows) == 100


def test_text_that_takes_far_more_memory_as_a_table(tmp_path, monkeypatch):
    """Each row is a list, and each field a text: a hundred times what is in the file."""
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\n" + "C,\n" * 5_000_000)
    monkeypatch.setattr("osan.memory.free_memory", lambda: 10**9)
    with pytest.raises(OsanError, match=r"the table needs about 1\.\d GB"):
        read_table(path, ["smiles"])
    path.write_text("smiles" + "," * 10**6 + "\n" + ("C" + "," * 10**6 + "\n") * 20)
    assert [len(part.rows) for part in table_chunks(path, ["smiles"])] == [5, 5, 5, 5]


def test_damaged_parquet_files_in_parts(tmp_path):
    import pyarrow as arrow
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"smiles": ["CCO", "CC", "C"]}), path)
    content = path.read_bytes()
    path.write_bytes(content[:9] + b"\xff" * 20 + content[29:])
    with pytest.raises(OsanError, match=r"a\.parquet: expected a readable Parquet file"):
        list(table_chunks(path, ["smiles"]))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.parquet"])
def test_has_column_reads_the_header_only(tmp_path, name, monkeypatch):
    import pyarrow as arrow
    from pyarrow import parquet

    path, cut = tmp_path / name, "\t" if name == "a.tsv" else ";"
    text = f'\ufeff"smi\nles"{cut} y{cut}z{cut}z\n' + f"C{cut}1{cut}2{cut}3\n" * 3000 + "broken"
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode())[:-9])
    elif name == "a.parquet":
        parquet.write_table(arrow.table([[1]] * 4, names=["smi\nles", "y", "z", "z"]), path)
    else:
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr("osan.data.formats.table._HEADER", 200)
    assert [has_column(path, column) for column in ("smi\nles", "y", "z", "C")] == [True, True, False, False]
    assert not has_column(tmp_path / "none.csv", "y")


def test_damaged_parquet_is_the_same_whole_and_in_parts(tmp_path):
    """Arrow reads columns of different lengths in parts, up to the shortest one."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    columns = {"smiles": ["CCO", "CC", "C"], "y": [1.0, 2.5, 3.0], "split": ["train", "val", "test"]}
    parquet.write_table(pyarrow.table(columns), path)
    good, refused = path.read_bytes(), 0
    for place in (5, 39, 341, *range(0, len(good), 7)):
        path.write_bytes(good[:place] + b"\x06" + good[place + 1 :])
        try:
            whole = read_table(path, ["smiles"], whole=True).rows
        except OsanError:
            whole, refused = None, refused + 1
        try:
            parts = [row for part in table_chunks(path, ["smiles"], 2) for row in part.rows]
        except OsanError:
            parts = None
        assert parts == whole, place
    assert refused
