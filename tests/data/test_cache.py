"""Processed datasets on disk: the same afterward, whole or not at all."""

import errno
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from osan.data import Features, flatten, planted_motif
from osan.data.published import cache as store
from osan.data.published import loading
from osan.data.published.cache import Processed
from osan.data.published.catalog import PUBLISHED
from osan.data.published.paths import cache_root, data_root, files_under, fingerprint, stage, workspace
from osan.errors import OsanError
from osan.files import temporary_name, write_bytes, written_whole


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "a.safetensors"
    graphs = flatten(planted_motif(5, seed=1))
    store.save(Processed(graphs, Features(sizes=(2,)), None, {"fold0/test": torch.tensor([3, 1])}), path)
    return path


def test_round_trip(saved):
    graphs = flatten(planted_motif(5, seed=1))
    back = store.read(saved)
    assert back.vertex_features == Features(sizes=(2,))
    assert back.edge_features is None
    assert back.indices["fold0/test"].tolist() == [3, 1]
    assert torch.equal(back.graphs.vertex_ptr, graphs.vertex_ptr)
    assert all(torch.equal(back.graphs.tensors[name], graphs.tensors[name]) for name in graphs.tensors)
    assert os.listdir(saved.parent) == [saved.name]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_files_are_an_error(saved, data, tmp_path_factory):
    content = bytearray(saved.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        # Mostly the header, where the structure is.
        most = data.draw(st.sampled_from([900, len(content)]))
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, min(len(content), most) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "b.safetensors"
    path.write_bytes(content)
    if content != saved.read_bytes():
        with pytest.raises(OsanError, match=r"b\.safetensors: expected a processed dataset"):
            store.read(path)


def test_a_failed_write_leaves_nothing(tmp_path):
    def fail() -> None:
        with written_whole(tmp_path / "file") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (tmp_path / "file").read_text() == "old"


def test_written_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    with written_whole(tmp_path / "ours") as temporary:
        temporary.write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_reason_why_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OsanError, match=r"file/a\.csv cannot be written: Not a directory"),
        written_whole(tmp_path / "file" / "a.csv"),
    ):
        pass
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(OsanError, match="folder cannot be written: Is a directory"),
        written_whole(tmp_path / "folder") as temporary,
    ):
        temporary.write_text("")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_others_may_read_the_cache_as_they_may_other_files(saved, tmp_path):
    (tmp_path / "usual").write_text("")
    assert saved.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_stage_writes_nothing_into_its_source(tmp_path):
    (tmp_path / "source" / "raw").mkdir(parents=True)
    (tmp_path / "source" / "raw" / "a").write_text("1")
    (tmp_path / "source" / "processed").mkdir()
    stage(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target" / "raw" / "a").read_text() == "1"
    (tmp_path / "target" / "processed").mkdir()
    (tmp_path / "target" / "processed" / "new").write_text("")
    assert os.listdir(tmp_path / "source" / "processed") == []


def test_fingerprint_changes_with_content_name_and_parts(tmp_path):
    file = tmp_path / "a"
    file.write_text("1")
    first = fingerprint([file], "x")
    assert fingerprint([file], "x") == first
    assert fingerprint([file], "y") != first
    file.write_text("2")
    assert fingerprint([file], "x") != first


def test_folders_come_from_the_argument_then_the_environment(tmp_path, monkeypatch):
    (tmp_path / "env").mkdir()
    monkeypatch.setenv("OSAN_DATA", str(tmp_path / "env"))
    monkeypatch.setenv("OSAN_CACHE", str(tmp_path / "cache"))
    assert data_root() == tmp_path / "env"
    assert data_root(tmp_path) == tmp_path
    assert cache_root() == tmp_path / "cache"
    assert cache_root().is_dir()
    monkeypatch.delenv("OSAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "osan"
    monkeypatch.delenv("OSAN_DATA")
    assert data_root() is None
    with pytest.raises(OsanError, match="expected an existing folder"):
        data_root(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(OsanError, match="cannot create the cache folder"):
        cache_root(tmp_path / "file" / "cache")


def test_a_folder_that_is_linked_into_itself_is_read_once(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "file").write_text("")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    assert [path.name for path in files_under(tmp_path / "a")] == ["file", "self"]


def test_what_killed_processes_left_is_removed(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [temporary_name(name).replace(f"-{os.getpid()}-", f"-{dead.pid}-") for name in ("work", "a.csv")]
    (tmp_path / left[0]).mkdir()
    (tmp_path / left[0] / "half").write_text("")
    (tmp_path / left[1]).write_text("half")
    kept = [temporary_name("a.csv"), ".a.csv.swp", left[1].replace(".a.csv.", ".a.csv.ffffff-1")]
    for name in kept:
        (tmp_path / name).write_text("of a living process, of another program or machine")
    with workspace(tmp_path) as folder:
        assert folder.is_dir()
    write_bytes(tmp_path / "a.csv", b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "a.csv"])


def test_a_full_disk_is_not_blamed_on_the_raw_files(tmp_path):
    def full(work):
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        except OSError:
            raise RuntimeError("processing failed")  # noqa: B904

    source = replace(PUBLISHED["csl"], read=full)
    with pytest.raises(OsanError, match=r"csl: no space left in the cache folder .*set OSAN_CACHE"):
        loading._read(source, tmp_path, tmp_path)
