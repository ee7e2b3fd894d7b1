"""Tables of any length: the same predictions in parts, resumed, and on several processes."""

import csv
import gzip
import json
import random
import resource
from concurrent.futures import ThreadPoolExecutor

import pytest

from osan.data.formats.chunks import table_chunks
from osan.data.formats.table import read_table
from osan.errors import OsanError
from osan.training import streaming
from osan.training.prediction import predict_table
from osan.training.run import load_model, train
from osan.training.streaming import predict_file


@pytest.fixture(scope="module")
def run(tmp_path_factory, small):
    place = tmp_path_factory.mktemp("molecules")
    (place / "a.csv").write_text("smiles,y\n" + "".join(f"{'C' * (i + 1)},{i}\n" for i in range(30)))
    changes = {"data.dataset": str(place / "a.csv"), "data.options": {}, "training.epochs": 1}
    train(small(**changes), place / "run", progress=False)
    return place / "run"


def molecules(count):
    rng = random.Random(0)
    rows = ["".join(rng.choices("CNOS", k=rng.randint(1, 8))) for _ in range(count)]
    rows[3], rows[7] = "not a molecule", "C1CC"
    return rows


@pytest.fixture
def table(tmp_path):
    """With cells that spreadsheets would run."""
    path = tmp_path / "new.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["smiles", "note"], *([text, "=1+1"] for text in molecules(25))])
    return path


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_a_table_in_parts_is_the_table(tmp_path, table):
    whole = read_table(table, ["smiles"], whole=True)
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    for path in (table, packed):
        parts = list(table_chunks(path, ["smiles"], 7))
        assert [len(part.rows) for part in parts] == [7, 7, 7, 4]
        assert [row for part in parts for row in part.rows] == whole.rows
        assert [line for part in parts for line in part.lines] == whole.lines
        assert [text for part in parts for text in part.columns["smiles"]] == whole.columns["smiles"]
    packed.write_bytes(gzip.compress(table.read_bytes())[:-20])
    with pytest.raises(OsanError, match=r"new\.csv\.gz, line \d+: the compressed file is cut off"):
        list(table_chunks(packed, ["smiles"], 7))


def test_predictions_stopped_and_resumed(run, table, tmp_path, monkeypatch):
    """Stopped after each part in turn; the files are those of one go, and of a table in memory."""
    options = {"smiles": "smiles", "rows": 7}
    told = predict_file(run, table, out=tmp_path / "a.csv", rejected=tmp_path / "bad.csv", **options)
    assert (told.molecules, told.rejected, told.first_line) == (23, 2, 5)
    assert rows_of(tmp_path / "bad.csv")[1][2] == "unreadable SMILES"
    first = rows_of(tmp_path / "a.csv")
    assert first[0][:3] == ["smiles", "note", "line"]
    assert {row[1] for row in first[1:]} == {"'=1+1"}
    learner = load_model(run)[0]
    expected = predict_table(learner, next(table_chunks(table, ["smiles"], 7)))
    assert [row[3:] for row in first[1:7]] == [[str(v) for v in row[3:]] for row in expected.rows]
    calls = []

    def stop(path, content):
        write(path, content)
        calls.append(path)
        raise KeyboardInterrupt

    write, out, bad = streaming.write_json, tmp_path / "b.csv", tmp_path / "bad-b.csv"
    monkeypatch.setattr(streaming, "write_json", stop)
    for parts in range(1, 5):
        with pytest.raises(KeyboardInterrupt):
            predict_file(run, table, out=out, rejected=bad, **options)
        assert json.loads((tmp_path / "b.csv.progress.json").read_text())["parts"] == parts
        assert not out.exists()
        # What was written after the last note does not count.
        with (tmp_path / "b.csv.partial").open("a") as stream:
            stream.write("half a row")
    monkeypatch.setattr(streaming, "write_json", write)
    predict_file(run, table, out=out, rejected=bad, **options)
    assert out.read_bytes() == (tmp_path / "a.csv").read_bytes()
    assert bad.read_bytes() == (tmp_path / "bad.csv").read_bytes()
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob("*.progress.json"))


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_disk_that_gets_full(run, table, tmp_path, share):
    """Files may not grow beyond some size; afterward the same call goes on, to the same files."""
    options = {"smiles": "smiles", "rows": 7}
    predict_file(run, table, out=tmp_path / "a.csv", rejected=tmp_path / "bad-a.csv", **options)
    most = int(share * (tmp_path / "a.csv").stat().st_size)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    paths = {"out": tmp_path / "b.csv", "rejected": tmp_path / "bad-b.csv"}
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        with pytest.raises(OsanError, match="cannot be written: File too large"):
            predict_file(run, table, **paths, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not paths["out"].exists()
    predict_file(run, table, **paths, **options)
    for name in ("a.csv", "bad-a.csv"):
        assert (tmp_path / name).read_bytes() == (tmp_path / name.replace("a.csv", "b.csv")).read_bytes()
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob("*.progress.json"))


def test_rejected_rows_of_an_earlier_prediction_go(run, tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nCC\n")
    (tmp_path / "bad.csv").write_text("line,smiles,reason\n2,x,unreadable SMILES\n")
    predict_file(run, tmp_path / "new.csv", "smiles", tmp_path / "out.csv", tmp_path / "bad.csv", raw=True)
    assert (tmp_path / "bad.csv").read_text() == "line,smiles,reason\n"
    (tmp_path / "mine.csv").write_text("something else\n")
    predict_file(run, tmp_path / "new.csv", "smiles", tmp_path / "out.csv", tmp_path / "mine.csv")
    assert (tmp_path / "mine.csv").read_text() == "something else\n"


def test_two_predictions_do_not_share_a_file(run, table, tmp_path):
    paths = {"out": tmp_path / "out.csv", "rejected": tmp_path / "bad.csv"}
    with (
        streaming._opened(tmp_path / "out.csv.partial"),
        pytest.raises(OsanError, match=r"another process is writing .*out\.csv\.partial"),
    ):
        predict_file(run, table, "smiles", **paths)


def test_several_workers_and_raw_cells(run, table, tmp_path, monkeypatch):
    """The same file, whoever is done first; threads stand for the processes."""

    class Pool(ThreadPoolExecutor):
        def __init__(self, count, context, start, arguments):
            super().__init__(count)
            start(*arguments)

    monkeypatch.setattr(streaming, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(streaming, "_of_this_process", [])
    for processes in (1, 2):
        out = tmp_path / f"{processes}.csv"
        predict_file(run, table, "smiles", out, tmp_path / "bad.csv", rows=7, processes=processes, raw=True)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert {row[1] for row in rows_of(tmp_path / "1.csv")[1:]} == {"=1+1"}


def test_a_table_without_rows_has_a_header(run, tmp_path):
    (tmp_path / "none.csv").write_text("smiles,note\n")
    told = predict_file(run, tmp_path / "none.csv", "smiles", tmp_path / "0.csv", tmp_path / "bad.csv")
    assert told.molecules == 0
    assert rows_of(tmp_path / "0.csv")[0][:3] == ["smiles", "note", "line"]
