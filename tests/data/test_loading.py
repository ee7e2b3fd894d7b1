"""Loading: cache, downloads, missing networks, broken files."""

import errno
import functools
import gzip
import http.server
import io
import os
import pickle
import shutil
import socket
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.datasets import TUDataset

from osan.data import load, names
from osan.data.published.catalog import PUBLISHED
from osan.data.published.loading import cached_file, prepare
from osan.errors import OsanError


@pytest.fixture
def write_alchemy(write_tu):
    """Writes the raw files of Alchemy in small, with or without the files of its subset."""

    def write(root: Path, graphs: int = 40, index: bool = True) -> dict[str, np.ndarray]:
        folder = root / "TU" / "alchemy_full"
        written = write_tu(folder / "raw", "alchemy_full", graphs)
        if index:
            (folder / "train.index").write_text(",".join(map(str, range(30))))
            (folder / "val.index").write_text("\n".join(map(str, range(30, 35))))
            (folder / "test.index").write_text(" ".join(map(str, range(39, 34, -1))) + "\n")
        return written

    return write


def leftovers(cache: Path) -> list[str]:
    """What a failed attempt left in the cache."""
    return sorted(p.name for p in cache.iterdir() if p.name != "locks") if cache.is_dir() else []


def test_alchemy_from_a_tu_folder_with_index_files(write_alchemy, tmp_path):
    written = write_alchemy(tmp_path)
    task = load("alchemy", tmp_path, cache=tmp_path / "cache")
    assert task.kind == "regression"
    assert task.num_targets == 12
    assert task.split == "official"
    assert task.train.ids.tolist() == list(range(30))
    assert task.test.ids.tolist() == [39, 38, 37, 36, 35]
    whole = task.train.subset(torch.arange(40))
    assert torch.equal(whole.num_vertices, torch.from_numpy(written["sizes"]))
    np.testing.assert_allclose(whole.y.numpy(), written["y"], atol=1e-5)
    np.testing.assert_allclose(task.normalization.mean.numpy(), written["y"][:30].mean(axis=0), atol=1e-5)
    x = torch.nn.functional.one_hot(torch.from_numpy(written["labels"]), 6).float()
    assert torch.equal(whole.tensors["x"], x)
    assert task.vertex_features.width == 6
    assert task.edge_features.width == 4
    start = np.cumsum([0, *written["sizes"]])
    offset = torch.repeat_interleave(torch.from_numpy(start[:-1]), whole.edge_ptr.diff())
    arcs = (whole.tensors["edge_index"] + offset + 1).t().tolist()
    assert sorted(map(tuple, arcs)) == sorted(map(tuple, written["arcs"].tolist()))


def test_alchemy_without_index_files_draws_the_12000_by_seed(write_alchemy, tmp_path):
    write_alchemy(tmp_path, graphs=12_050, index=False)
    first, second, other = (
        load("alchemy", tmp_path, cache=tmp_path / "cache", seed=seed) for seed in (1, 1, 2)
    )
    assert [len(part) for part in first.splits.values()] == [10_000, 1_000, 1_000]
    assert first.split == "random (10000, 1000, 1000) of 12050, seed 1"
    assert torch.equal(first.test.ids, second.test.ids)
    assert not torch.equal(first.test.ids, other.test.ids)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,x", "train.index, line 1: expected integers from 0 to 39, got 'x'"),
        ("1\n40", "line 2"),
        ("9" * 5000, "line 1"),
        ("", "no index"),
    ],
)
def test_wrong_index_files(write_alchemy, tmp_path, text, message):
    write_alchemy(tmp_path)
    (tmp_path / "TU" / "alchemy_full" / "train.index").write_text(text)
    with pytest.raises(OsanError, match=message):
        load("alchemy", tmp_path, cache=tmp_path / "cache")


def test_overlapping_index_files(write_alchemy, tmp_path):
    write_alchemy(tmp_path)
    (tmp_path / "TU" / "alchemy_full" / "train.index").write_text("30")
    with pytest.raises(OsanError, match="overlap"):
        load("alchemy", tmp_path, cache=tmp_path / "cache")


def test_the_cache_is_used_rebuilt_when_damaged_and_when_raw_files_change(write_alchemy, tmp_path):
    write_alchemy(tmp_path)
    cache = tmp_path / "cache"
    first = load("alchemy", tmp_path, cache=cache)
    (file,) = (path for path in cache.iterdir() if path.name != "locks")
    stamp = file.stat().st_mtime_ns
    load("alchemy", tmp_path, cache=cache)
    assert file.stat().st_mtime_ns == stamp
    file.write_bytes(file.read_bytes()[:1000])
    again = load("alchemy", tmp_path, cache=cache)
    assert torch.equal(again.train.y, first.train.y)
    assert leftovers(cache) == [file.name]
    targets = tmp_path / "TU" / "alchemy_full" / "raw" / "alchemy_full_graph_attributes.txt"
    lines = targets.read_text().splitlines()
    targets.write_text("\n".join([lines[0].replace(lines[0].split(",")[0], "123.0"), *lines[1:], ""]))
    assert float(load("alchemy", tmp_path, cache=cache).train.y[0, 0]) == 123.0
    assert len(leftovers(cache)) == 2


def test_raw_files_are_only_read(write_alchemy, tmp_path):
    write_alchemy(tmp_path)
    before = {p: p.read_bytes() for p in (tmp_path / "TU").rglob("*") if p.is_file()}
    load("alchemy", tmp_path, cache=tmp_path / "cache")
    assert {p: p.read_bytes() for p in (tmp_path / "TU").rglob("*") if p.is_file()} == before


@pytest.fixture
def server(write_tu, tmp_path, monkeypatch):
    """A web server that TUDataset downloads from."""
    served = tmp_path / "served"
    write_tu(tmp_path / "alchemy_full", "alchemy_full", 40)
    served.mkdir()
    with zipfile.ZipFile(served / "alchemy_full.zip", "w") as archive:
        for file in (tmp_path / "alchemy_full").iterdir():
            archive.write(file, f"alchemy_full/{file.name}")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=served)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setattr(TUDataset, "url", f"http://127.0.0.1:{running.server_port}")
        yield served
        running.shutdown()


def test_download_into_the_cache(server, tmp_path, monkeypatch):
    monkeypatch.delenv("OSAN_DATA", raising=False)
    cache = tmp_path / "cache"
    source = PUBLISHED["alchemy"]
    with pytest.raises(OsanError, match="osan data prepare alchemy"):
        prepare(source, cache=cache)
    fetched = prepare(source, cache=cache, download=True)
    assert len(fetched.graphs) == 40
    assert sorted(leftovers(cache)) == sorted(["raw", cached_file(source, cache / "raw", cache).name])
    assert {p.name for p in (cache / "raw" / "TU" / "alchemy_full").iterdir()} == {"raw"}
    # From now on no network is needed.
    (server / "alchemy_full.zip").unlink()
    again = prepare(source, cache=cache)
    assert torch.equal(again.graphs.tensors["x"], fetched.graphs.tensors["x"])


def test_a_broken_download_leaves_nothing(server, tmp_path, monkeypatch):
    monkeypatch.delenv("OSAN_DATA", raising=False)
    whole = (server / "alchemy_full.zip").read_bytes()
    (server / "alchemy_full.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OsanError, match="alchemy: the download failed"):
        prepare(PUBLISHED["alchemy"], cache=tmp_path / "cache", download=True)
    assert leftovers(tmp_path / "cache") == []


@pytest.mark.parametrize("name", ["zinc", "ogbg-molesol", "exp", "proteins"])
def test_without_files_and_network_one_line_says_what_to_put_where(name, tmp_path, monkeypatch):
    def unreachable(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    monkeypatch.delenv("OSAN_DATA", raising=False)
    with pytest.raises(OsanError) as caught:
        load(name, cache=tmp_path / "cache", download=True)
    message = str(caught.value)
    assert "the download failed" in message
    assert all(f"{PUBLISHED[name].folder}/{file}" in message for file in PUBLISHED[name].files)
    assert leftovers(tmp_path / "cache") == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_truncated_ogb_archives(osan_data, tmp_path_factory, data):
    """Any file of the dataset cut off anywhere: an error that names the file and a line, an empty cache."""
    root = tmp_path_factory.mktemp("ogb")
    target = root / "ogb" / "ogbg_molfreesolv"
    shutil.copytree(osan_data / "ogb" / "ogbg_molfreesolv", target, copy_function=shutil.copyfile)
    for folder in (root / "ogb").rglob("*"):
        folder.chmod(0o755)
    file = data.draw(st.sampled_from(sorted(p for p in target.rglob("*.csv.gz") if "mapping" not in p.parts)))
    content = file.read_bytes()
    file.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(
        OsanError,
        match=rf"{file.name}, line \d+: the (compressed file is cut off|file is empty|file holds no index)",
    ):
        load("ogbg-molfreesolv", root, cache=root / "cache")
    assert leftovers(root / "cache") == []


@pytest.fixture
def freesolv(osan_data, tmp_path):
    """A writable copy of a small OGB dataset and a function that edits one line of one of its files."""
    target = tmp_path / "ogb" / "ogbg_molfreesolv"
    shutil.copytree(osan_data / "ogb" / "ogbg_molfreesolv", target, copy_function=shutil.copyfile)
    for path in (tmp_path / "ogb").rglob("*"):
        path.chmod(0o755)

    def edit(file: str, line: int, text: bytes | None) -> None:
        path = target / f"{file}.csv.gz"
        lines = gzip.decompress(path.read_bytes()).splitlines()
        lines[line - 1 : line] = [] if text is None else [text]
        path.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))

    return edit


@pytest.mark.parametrize(
    ("file", "line", "text", "message"),
    [
        (
            "raw/node-feat",
            7,
            None,
            r"node-feat\.csv\.gz, line 5600: expected 5600 lines, one per",
        ),
        ("raw/node-feat", 7, b"1,2,x", r"node-feat\.csv\.gz, line 7: expected integers"),
        ("raw/node-feat", 7, b"1,2", r"node-feat\.csv\.gz, line 7: expected 9 values, got 2"),
        (
            "raw/edge",
            9,
            b"0,99",
            r"edge\.csv\.gz, line 9: expected vertices from 0 to 12, got an edge from 0",
        ),
        ("raw/edge", 9, None, r"edge\.csv\.gz, line \d+: expected \d+ lines, one per edge"),
        ("raw/edge-feat", 9, None, r"edge-feat\.csv\.gz, line \d+: expected"),
        ("raw/graph-label", 3, b"high", r"graph-label\.csv\.gz, line 3: expected numbers"),
        (
            "raw/graph-label",
            3,
            None,
            r"graph-label\.csv\.gz, line 642: expected 642 lines, one per",
        ),
        ("raw/num-node-list", 3, b"99", r"node-feat\.csv\.gz, line \d+: expected"),
        ("raw/num-edge-list", 3, None, r"num-edge-list\.csv\.gz, line 642"),
        (
            "split/scaffold/valid",
            3,
            b"642",
            r"valid\.csv\.gz, line 3: expected integers from 0 to 641, got",
        ),
    ],
)
def test_broken_lines_of_ogb_files_are_named(freesolv, tmp_path, file, line, text, message):
    freesolv(file, line, text)
    with pytest.raises(OsanError, match=message) as caught:
        load("ogbg-molfreesolv", tmp_path, cache=tmp_path / "cache")
    assert str(tmp_path / "ogb" / "ogbg_molfreesolv") in str(caught.value)
    assert leftovers(tmp_path / "cache") == []


def test_broken_qm9_files_are_named(osan_data, tmp_path):
    raw, copy = osan_data / "QM9" / "qm9_12k" / "raw", tmp_path / "QM9" / "qm9_12k" / "raw"
    shutil.copytree(raw, copy, copy_function=shutil.copyfile)
    copy.chmod(0o755)
    text = raw.joinpath("gdb9.sdf.csv").read_text().splitlines(keepends=True)
    for damaged, message in (
        (text[5].replace(",", ",x", 1), r"gdb9\.sdf\.csv, line 6, column A: expected a number, got 'x"),
        (",".join(text[5].split(",")[:-1]) + "\n", r"gdb9\.sdf\.csv, line 6: expected 20 fields"),
        (",".join(["gdb", "", *text[5].split(",")[2:]]), r"line 6, column A: expected a number, got none"),
    ):
        (copy / "gdb9.sdf.csv").write_text("".join([*text[:5], damaged, *text[6:]]))
        with pytest.raises(OsanError, match=message):
            load("qm9", tmp_path, cache=tmp_path / "cache")
    (copy / "gdb9.sdf.csv").write_text("".join(text))
    (copy / "gdb9.sdf").write_bytes(raw.joinpath("gdb9.sdf").read_bytes()[:100_000])
    with pytest.raises(OsanError, match=r"gdb9\.sdf, line \d+: expected 12000 molecules, got \d+"):
        load("qm9", tmp_path, cache=tmp_path / "cache")
    assert leftovers(tmp_path / "cache") == []


def test_truncated_zinc_pickle(osan_data, tmp_path):
    shutil.copytree(osan_data / "ZINC" / "raw", tmp_path / "ZINC" / "raw", copy_function=shutil.copyfile)
    (tmp_path / "ZINC" / "raw").chmod(0o755)
    file = tmp_path / "ZINC" / "raw" / "train.pickle"
    file.write_bytes(file.read_bytes()[:100_000])
    with pytest.raises(OsanError, match=r"zinc: .*train\.pickle: expected a pickle of tensors .*; replace"):
        load("zinc", tmp_path, cache=tmp_path / "cache")
    assert leftovers(tmp_path / "cache") == []


class Call:
    """Unpickling this calls a function."""

    def __init__(self, function, *arguments) -> None:
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def write_zinc(root: Path, **more: object) -> list[dict[str, object]]:
    """The raw files of ZINC in small, with tensors as torch pickles them; the molecules of each part."""
    raw, molecules = root / "ZINC" / "raw", []
    raw.mkdir(parents=True)
    for size in range(2, 7):
        bonds = torch.diag(torch.arange(1, size) % 3 + 1, 1)
        molecules.append(
            {
                "num_atom": size,
                "atom_type": torch.arange(size),
                "bond_type": bonds + bonds.t(),
                "logP_SA_cycle_normalized": torch.tensor([size / 2]),
                **more,
            }
        )
    for part in ("train", "val", "test"):
        (raw / f"{part}.pickle").write_bytes(pickle.dumps(molecules))
        (raw / f"{part}.index").write_text("0,1,2,3,4\n")
    return molecules


def test_zinc_pickles_of_any_tensors(tmp_path):
    molecules = write_zinc(tmp_path)
    task = load("zinc", tmp_path, cache=tmp_path / "cache")
    for graph, molecule in zip(task.train, molecules, strict=True):
        assert graph.x[:, 0].tolist() == molecule["atom_type"].tolist()
        dense = torch.zeros_like(molecule["bond_type"])
        dense[tuple(graph.edge_index)] = graph.edge_attr.reshape(-1)
        assert torch.equal(dense, molecule["bond_type"])
        assert graph.y.item() == molecule["logP_SA_cycle_normalized"].item()


@pytest.mark.parametrize("within", ["pickle", "storage"])
def test_zinc_pickles_that_would_run_code(tmp_path, within):
    harmful = Call(open, str(tmp_path / "harm"), "w")
    if within == "storage":  # torch unpickles the numbers of a tensor once more
        stream = io.BytesIO()
        torch.save(harmful, stream)
        harmful = Call(torch.storage._load_from_bytes, stream.getvalue())
    write_zinc(tmp_path, note=harmful)
    with pytest.raises(OsanError, match=r"zinc: .*raw/train\.pickle: expected a pickle of tensors \(.*open"):
        load("zinc", tmp_path, cache=tmp_path / "cache")
    assert not (tmp_path / "harm").exists()
    assert leftovers(tmp_path / "cache") == []


def test_processed_files_of_a_data_folder_are_not_read(tmp_path):
    """PyG keeps those of ZINC two folders down, and unpickles what torch refuses as weights."""
    write_zinc(tmp_path)
    processed = tmp_path / "ZINC" / "subset" / "processed"
    processed.mkdir(parents=True)
    for part in ("train", "val", "test"):
        torch.save(Call(open, str(tmp_path / "harm"), "w"), processed / f"{part}.pt")
    assert len(load("zinc", tmp_path, cache=tmp_path / "cache").train) == 5
    assert not (tmp_path / "harm").exists()
    assert sorted(p.name for p in processed.iterdir()) == ["test.pt", "train.pt", "val.pt"]


@pytest.mark.parametrize("place", ["processed", "linked"])
def test_changed_raw_files_are_noticed_wherever_they_are(write_alchemy, tmp_path, place):
    root = tmp_path / place
    write_alchemy(root)
    folder = root / "TU" / "alchemy_full"
    if place == "linked":
        (folder / "raw").rename(tmp_path / "elsewhere")
        (folder / "raw").symlink_to(tmp_path / "elsewhere")
    first = load("alchemy", root, cache=tmp_path / "cache").train.y
    file = folder / "raw" / "alchemy_full_graph_attributes.txt"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([",".join(["7.5"] * 12), *lines[1:]]) + "\n")
    second = load("alchemy", root, cache=tmp_path / "cache").train.y
    assert second[0].tolist() == [7.5] * 12
    assert torch.equal(first[1:], second[1:])


def test_a_cache_that_cannot_be_worked_in(write_alchemy, tmp_path, monkeypatch):
    write_alchemy(tmp_path)
    monkeypatch.setattr("osan.data.published.paths.temporary_name", no_space)
    with pytest.raises(OsanError, match=r"cannot work in the cache folder .*cache: .*No space.*OSAN_CACHE"):
        load("alchemy", tmp_path, cache=tmp_path / "cache")


def no_space(*_, **__):
    """What a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"dataset": "nope"}, "expected a file, a folder, 'module:name' or one of zinc, .*, got 'nope'"),
        (
            {"dataset": "alchemy", "split": "stratified"},
            "split: expected official or random for alchemy, got 'stratified'",
        ),
        ({"dataset": "alchemy", "fold": 1}, "the split 'official' of alchemy has no folds"),
        (
            {"dataset": "alchemy", "validate_on_test": True},
            "validate_on_test: expected a split with folds, but the split 'official' of alchemy has none",
        ),
        (
            {"dataset": "alchemy", "split": "random", "validate_on_test": True},
            "validate_on_test: expected a split with folds, but the split 'random' of alchemy has none",
        ),
        ({"dataset": "alchemy", "distances": True}, "alchemy: expected no options, got 'distances'"),
        ({"dataset": "planted-motif", "fold": 0}, "since it is generated with a split"),
        (
            {"dataset": "planted-motif", "k": 2},
            "expected one of the options num_graphs, got 'k'",
        ),
    ],
)
def test_wrong_requests(write_alchemy, tmp_path, request_, message):
    write_alchemy(tmp_path)
    with pytest.raises(OsanError, match=message):
        load(root=tmp_path, cache=tmp_path / "cache", **request_)


def test_every_name_is_there():
    assert {"zinc", "qm9", "alchemy", "ogbg-molesol", "ogbg-molbace", "proteins", "exp", "cexp", "csl"} < set(
        names()
    )
