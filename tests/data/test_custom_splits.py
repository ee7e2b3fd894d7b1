"""Custom splits: files and mappings of indices, folds, and what is wrong with one."""

import csv
import gzip
import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold
from torch_geometric.data import Data

from osan.data import load_graphs, load_table, task_from_graphs
from osan.data.custom.splits import custom_split, read_split
from osan.data.splits import SplitRequest
from osan.errors import OsanError

PARTS = {"train": [4, 0, 3], "val": [1], "test": [5, 2]}
WORDS = ["train", "val", "test", "train", "train", "test"]


def as_lists(split):
    return {part: index.tolist() for part, index in split.items()}


def graphs(count=40):
    edges = torch.tensor([[0, 1], [1, 0]])
    return [Data(x=torch.zeros(3, 1), edge_index=edges, y=torch.tensor([i % 2])) for i in range(count)]


def test_mappings_in_files(tmp_path):
    """What OGB's ``get_idx_split`` gives and what its ``split_dict.pt`` holds: tensors, arrays, ``valid``."""
    named = {"train": PARTS["train"], "valid": PARTS["val"], "test": PARTS["test"]}
    (tmp_path / "a.json").write_text(json.dumps(PARTS))
    (tmp_path / "b.JSON").write_text("\ufeff" + json.dumps(named), encoding="utf-8")
    torch.save({part: torch.tensor(index) for part, index in named.items()}, tmp_path / "a.pt")
    torch.save({part: np.array(index) for part, index in named.items()}, tmp_path / "b.pt")
    torch.save({part: np.array(index, dtype=np.int32) for part, index in named.items()}, tmp_path / "c.pt")
    for name in ("a.json", "b.JSON", "a.pt", "b.pt", "c.pt"):
        split = read_split(tmp_path / name, 6)
        assert as_lists(split) == PARTS
        assert all(index.dtype == torch.int64 for index in split.values())


@pytest.mark.parametrize("header", [[], ["split"], ["part"]])
def test_a_word_per_line(tmp_path, header):
    expected = {part: sorted(index) for part, index in PARTS.items()}
    text = "\n".join([*header, *WORDS])
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.csv").write_text(text.replace("val", "Validation").replace("\n", "\r\n") + "\r\n\r\n")
    (tmp_path / "c.csv").write_text("\n".join(f'"{word}"' for word in [*header, *WORDS]))
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.txt", "b.csv", "c.csv", "d.txt.gz"):
        assert as_lists(read_split(tmp_path / name, 6)) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", r"a\.json: expected JSON"),
        ("a.json", "[1]", r"a\.json: expected indices under train, val \(or valid\) and test, got list"),
        ("a.json", '{"train": [0], "val": [1]}', "and test, got no test"),
        ("a.json", '{"train": [0], "val": [1], "dev": [2]}', "and test, got 'dev'"),
        ("a.json", '{"train": [0], "val": [1], "valid": [1], "test": [2]}', "and test, got 'valid' again"),
        (
            "a.json",
            '{"train": [], "val": [1], "test": [2]}',
            r"a\.json: the train part of the split is empty",
        ),
        ("a.json", '{"train": [0], "val": [1], "test": [6]}', "names graph 6, but the graphs are 0 to 5"),
        ("a.json", '{"train": [0], "val": [-1], "test": [2]}', "names graph -1, but the graphs are 0 to 5"),
        ("a.json", '{"train": [0, 3], "val": [1], "test": [2, 3]}', "overlap: graph 3 is in train and test"),
        ("a.json", '{"train": [0, 0], "val": [1], "test": [2]}', "overlap: graph 0 is in train and train"),
        ("a.json", '{"train": [0.5], "val": [1], "test": [2]}', "a.json, train: expected a list of integers"),
        ("a.json", '{"train": [true], "val": [1], "test": [2]}', "list of integers, got bool"),
        ("a.json", '{"train": ["0"], "val": [1], "test": [2]}', "expected a list of integers"),
        ("a.json", '{"train": [[0], [1, 2]], "val": [1], "test": [2]}', "expected a list of integers"),
        ("a.json", '{"train": 0, "val": [1], "test": [2]}', "expected a list of integers"),
        (
            "a.json",
            '{"train": [99999999999999999999], "val": [1], "test": [2]}',
            "expected a list of integers",
        ),
        (
            "a.txt",
            "train\nval\ntest\n",
            r"a\.txt: expected 6 lines of train, val or test, one per graph, got 3",
        ),
        ("a.txt", "x\n" * 7, r"a\.txt, line 2: expected train, val or test, got 'x'"),
        ("a.txt", "train\n" * 7, "expected 6 lines of train, val or test, one per graph, got 7"),
        ("a.txt", "train\nval\n" * 3, r"a\.txt: the test part of the split is empty"),
        ("a.txt", "", "got 0"),
        ("a.pt", "nothing of torch", "expected the indices of a split that can be loaded safely"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(OsanError, match=message) as caught:
        read_split(tmp_path / name, 6)
    assert "\n" not in str(caught.value)


class Evil:
    def __reduce__(self):
        return (open, ("harm", "w"))


@pytest.mark.parametrize(
    "content",
    [{**PARTS, "test": Evil()}, {**PARTS, "test": np.array([Evil()], dtype=object)}, Evil()],
)
def test_code_in_a_split_is_never_run(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "a.pt")
    (tmp_path / "b.pt").write_bytes(pickle.dumps(content))
    for name in ("a.pt", "b.pt"):
        with pytest.raises(OsanError, match="can be loaded safely"):
            read_split(tmp_path / name, 6)
    assert not (tmp_path / "harm").exists()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*PARTS, None]), min_size=1, max_size=30), st.data())
def test_rows_that_are_not_used_are_taken_out_of_their_parts(words, data):
    """Positions among the graphs that are used lead back to the graphs that the file names."""
    used = [i for i in range(len(words)) if data.draw(st.booleans())]
    order = data.draw(st.permutations(range(len(words))))
    mapping = {part: [i for i in order if words[i] == part] for part in PARTS}
    expected = {part: [i for i in mapping[part] if i in used] for part in PARTS}
    y = torch.tensor(used, dtype=torch.float)  # the graph's own number
    if not all(expected.values()):
        with pytest.raises(OsanError, match="part of the split is empty"):
            custom_split(SplitRequest(mapping), y, "regression", rows=used, count=len(words))
        return
    split, told = custom_split(SplitRequest(mapping), y, "regression", rows=used, count=len(words))
    assert {part: y[index].tolist() for part, index in split.items()} == expected
    left = sum(words[i] is None for i in used)
    assert told == "as given" + (f", {left} graph{'s' * (left > 1)} in no part" if left else "")


def test_splits_of_a_table_count_its_rows(tmp_path):
    """Rejected rows keep their numbers, and what is said of them has no effect."""
    smiles = ["C", "no molecule", "CC", "CCC", "C", "CCCC", "CO", "CN"]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [("smiles", "y", "mine"), *((s, i, "train") for i, s in enumerate(smiles))]
        )
    split = {"train": [7, 1, 0], "valid": torch.tensor([2]), "test": np.array([4, 6, 5])}
    task = load_table(path, split=split)
    found = {part: subset.y[:, 0].tolist() for part, subset in task.splits.items()}
    assert found == {"train": [7, 0], "val": [2], "test": [6, 5]}
    assert task.split == "as given, 1 graph in no part"
    assert [task.lines[i] for i in task.test.ids] == [8, 7]
    (tmp_path / "split.json").write_text(json.dumps({part: list(map(int, i)) for part, i in split.items()}))
    same = load_table(path, split=str(tmp_path / "split.json"))
    assert same.fingerprint == task.fingerprint
    assert same.split == "as in split.json, 1 graph in no part"
    assert load_table(path, split={**split, "valid": [3]}).fingerprint != task.fingerprint
    with pytest.raises(OsanError, match="among the usable rows, the val part of the split is empty"):
        load_table(path, split={**split, "valid": [1], "train": [7, 0]})


def test_a_column_comes_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    smiles = ["C", "CC", "CCC", "CO", "CN", "CF"]
    rows = ["smiles,y,part", *(f"{s},{i},{w}" for i, (s, w) in enumerate(zip(smiles, WORDS, strict=True)))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "part").write_text("\n".join(reversed(WORDS)))
    assert sorted(load_table("a.csv", split="part").test.ids.tolist()) == [2, 5]
    (tmp_path / "a.csv").write_text("\n".join(row.rsplit(",", 1)[0] for row in rows) + "\n")
    assert sorted(load_table("a.csv", split="part").test.ids.tolist()) == [0, 3]
    (tmp_path / "part").unlink()
    with pytest.raises(OsanError, match="expected one column 'part', got 0"):
        load_table("a.csv", split="part")


def test_folds_are_those_of_scikit_learn(tmp_path):
    torch.save(graphs(), tmp_path / "a.pt")
    labels = np.arange(40) % 2
    for seed in (0, 1):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed).split(labels, labels)
        tests = [test.tolist() for _, test in folds]
        for fold in (0, 9):
            task = load_graphs(tmp_path / "a.pt", kind="binary", fold=fold, seed=seed)
            assert task.test.ids.tolist() == tests[fold]
            assert task.val.ids.tolist() == tests[(fold + 1) % 10]
            assert task.split == f"stratified fold {fold} of 10, seed {seed}"
    named = load_graphs(tmp_path / "a.pt", kind="multiclass", split="stratified", seed=1)
    assert named.test.ids.tolist() == tests[0]
    same = load_graphs(tmp_path / "a.pt", kind="binary", fold=3, seed=1, validate_on_test=True)
    assert same.val.ids.tolist() == same.test.ids.tolist() == tests[3]
    assert len(same.train) == 36


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "scaffold"}, "got 'scaffold'; scaffold and time:COLUMN are for tables"),
        ({"split": "nowhere.json"}, "or a split file, got 'nowhere.json'"),
        ({"split": "official"}, "expected random, stratified, kfold or a split file, got 'official'"),
        ({"split": "random", "fold": 1}, "fold: expected none, for the split 'random' has no folds, got 1"),
        ({"split": PARTS, "fold": 1}, "fold: expected none, for the split 'given' has no folds, got 1"),
        ({"validate_on_test": True}, "validate_on_test: expected a split with folds"),
        ({"split": PARTS, "validate_on_test": True}, "validate_on_test: expected a split with folds"),
        ({"fold": 10}, "fold: expected 0 to 9, got 10"),
        ({"fold": "3"}, "fold: expected an integer from 0, got '3'"),
        ({"split": ([0], [1], [2])}, "split: expected a name, a file, or a mapping .*, got tuple"),
        ({"split": torch.arange(3)}, "split: expected a name, a file, or a mapping .*, got Tensor"),
        (
            {"split": "stratified", "kind": "regression"},
            r"one target with classes, got regression with 1 target\(s\); use kfold instead",
        ),
        ({"split": "kfold:2"}, "expected kfold:N with N from 3 to 9999 .*, got 'kfold:2'"),
        ({"split": "kfold:x"}, "got 'kfold:x'"),
        ({"split": "kfold:50"}, "split: 50 folds need at least 50 graphs, got 40"),
        ({"split": "kfold:5", "fold": 5}, "fold: expected 0 to 4, got 5"),
        ({"split": "time:year"}, "got 'time:year'; scaffold and time:COLUMN are for tables"),
        ({"split": {"train": [0], "val": [1], "test": [40]}}, "split: the split names graph 40"),
    ],
)
def test_what_graphs_cannot_be_split_by(options, message):
    with pytest.raises(OsanError, match=message):
        task_from_graphs(graphs(), **{"kind": "binary", **options})


@pytest.mark.parametrize("split", ["scaffold", "part"])
def test_columns_and_scaffolds_have_no_folds(tmp_path, split):
    (tmp_path / "a.csv").write_text("smiles,y,part\nC,1,train\nCC,0,val\nCCC,1,test\n")
    with pytest.raises(OsanError, match=f"fold: expected none, for the split '{split}' has no folds, got 0"):
        load_table(tmp_path / "a.csv", split=split, fold=0)


def test_folds_of_a_table(tmp_path):
    rows = [f"{'C' * (i + 1)}O,{i % 2}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,y", "no molecule,1", *rows]) + "\n")
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(30), np.arange(30) % 2)
    tests = [test.tolist() for _, test in folds]
    for fold in (0, 4):
        task = load_table(tmp_path / "a.csv", kind="binary", fold=fold)
        assert task.test.ids.tolist() == tests[fold]


def test_folds_for_any_kind_of_target(tmp_path):
    """Every graph is tested once, and never trained or validated on in that fold."""
    some = [
        Data(x=torch.zeros(2, 1), edge_index=torch.zeros(2, 0).long(), y=torch.rand(1, 2)) for _ in range(23)
    ]
    for split, folds in ((None, 10), ("kfold", 10), ("kfold:5", 5)):
        expected = [test.tolist() for _, test in KFold(folds, shuffle=True, random_state=7).split(range(23))]
        tested = []
        for fold in range(folds):
            task = task_from_graphs(some, split=split, fold=fold, seed=7)
            train, val, test = (part.ids.tolist() for part in task.splits.values())
            assert test == expected[fold]
            assert val == expected[(fold + 1) % folds]
            assert sorted(train + val + test) == list(range(23))
            assert task.split == f"fold {fold} of {folds}, seed 7"
            tested += test
        assert sorted(tested) == list(range(23))
    both = task_from_graphs(some, split="kfold:5", validate_on_test=True)
    assert both.val.ids.tolist() == both.test.ids.tolist()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1990, 1999), min_size=3, max_size=40), st.booleans())
def test_time_splits_test_on_the_latest(tmp_path_factory, years, of_dates):
    path = tmp_path_factory.mktemp("times") / "a.csv"
    cells = [f"{year}-06-01" if of_dates else str(year) for year in years]
    rows = [f"{'C' * (i + 1)},{i},{cell}" for i, cell in enumerate(cells)]
    path.write_text("\n".join(["smiles,y,when", *rows]) + "\n")
    task = load_table(path, split="time:when")
    train, val, test = (part.ids.tolist() for part in task.splits.values())
    tenth = max(1, len(years) // 10)
    assert (len(val), len(test)) == (tenth, tenth)
    # Brute force: order by year, then by row.
    assert [*train, *val, *test] == [row for _, row in sorted((year, row) for row, year in enumerate(years))]
    assert task.split == "time:when"


def test_what_is_wrong_with_times(tmp_path):
    path = tmp_path / "a.csv"
    for bad, message in (
        ("5/1/99", "line 3, column when: expected a number or a date such as 2024-05-31, got '5/1/99'"),
        ("", "line 3, column when: expected a number or a date .*, got ''"),
        ("1999", "line 3, column when: expected a date as in the rows before, got '1999'"),
    ):
        path.write_text(f"smiles,y,when\nC,1,1999-01-01\nCC,2,{bad}\nCCC,3,1999-02-03T04:05+01:00\n")
        with pytest.raises(OsanError, match=message):
            load_table(path, split="time:when")
    with pytest.raises(OsanError, match="expected one column 'then'"):
        load_table(path, split="time:then")
    with pytest.raises(OsanError, match="'time:when' has no folds"):
        load_table(path, split="time:when", fold=1)
    path.write_text("smiles,y\nC,3\nCC,2\nCCC,1\n")
    assert load_table(path, split="time:y").test.ids.tolist() == [0]
