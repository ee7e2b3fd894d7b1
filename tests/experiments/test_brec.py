"""The protocol with networks: the statistic against its definition, planted answers, records, the command."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import ttest_rel
from typer.testing import CliRunner

from osan.cli import app
from osan.data import brec
from osan.errors import OsanError
from osan.experiments.brec import (
    BrecRecord,
    PairResult,
    Protocol,
    brec_model,
    brec_rows,
    compare,
    read_records,
    run_brec,
    t_squared,
    threshold,
)
from osan.graphs import Graph, Pair, cycle_pair, encode_graph6, rook_4x4, shrikhande

HEXAGON = Pair(*cycle_pair(3), "planted")
SQUARES = Pair(*cycle_pair(4), "planted")
QUICK = Protocol(copies=4, dimension=2, steps=2)


def triangles(batch):
    """Two numbers of each graph: its triangles, and its vertices."""
    rows = []
    for i in range(batch.num_graphs):
        data = batch.get_example(i)
        adjacency = torch.zeros(data.num_nodes, data.num_nodes)
        adjacency[data.edge_index[0], data.edge_index[1]] = 1
        rows.append(torch.stack((torch.trace(adjacency @ adjacency @ adjacency), torch.tensor(6.0))))
    return torch.stack(rows)


class Rounds(torch.nn.Module):
    """Adds three numbers, from the left where there are triangles: equal up to rounding in float32."""

    def forward(self, batch):
        large, small = torch.tensor(1e3), torch.tensor(2.0**-16)
        left, right = (large - large) + small, large + (small - large)
        return torch.where(triangles(batch) > 6, left, right)


def noise(batch):
    return torch.randn(batch.num_graphs, 2)


class Drifts:
    """Every call gives larger numbers."""

    def __init__(self):
        self.calls = 0

    def __call__(self, batch):
        self.calls += 1
        return self.calls + torch.rand(batch.num_graphs, 2)


# The statistic.


def test_t_squared_is_its_definition():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 3)) + 0.3
    d = x - y
    centered = d - d.mean(0)
    covariance = centered.T @ centered / 11
    size = np.sqrt((np.linalg.norm(x, axis=1) ** 2 + np.linalg.norm(y, axis=1) ** 2).mean() / 2)
    for floor in (0.0, 0.1):
        inverse = np.linalg.inv(covariance + (floor * size) ** 2 * np.eye(3))
        assert t_squared(x, y, floor) == pytest.approx(12 * d.mean(0) @ inverse @ d.mean(0))


def test_in_one_dimension_it_is_the_square_of_students_t():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(9, 1)), rng.normal(size=(9, 1))
    assert t_squared(x, y) == pytest.approx(ttest_rel(x[:, 0], y[:, 0]).statistic ** 2)


def test_the_threshold_is_exceeded_as_often_as_it_says():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(1500, 2, 10, 3)) @ rng.normal(size=(3, 3))
    limit = threshold(10, 3, 0.9)
    assert np.mean([t_squared(x, y) > limit for x, y in rows]) == pytest.approx(0.1, abs=0.03)


def test_the_floor_stops_rounding_and_nothing_else():
    x = np.full((32, 16), 1 / 3)
    ulp = np.nextafter(x, 1)
    assert t_squared(x, ulp) == float("inf")  # neither spread nor floor
    assert t_squared(x, ulp, 1.5e-8) < 1e-9
    assert t_squared(x, x + 1e-6, 1.5e-8) > threshold(32, 16)
    assert t_squared(x, x, 0.0) == 0
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 8, 3))
    assert t_squared(a, b, 0.2) < t_squared(a, b, 0.1) < t_squared(a, b)
    for scale in (2.0**-500, 2.0**500):  # squares of these do not fit into a float
        assert t_squared(a * scale, b * scale, 0.1) == t_squared(a, b, 0.1)
    assert np.isnan(t_squared([[np.inf], [0.0]], [[0.0], [0.0]]))


def test_wrong_statistics_are_refused():
    with pytest.raises(OsanError, match="copies: expected more than the dimension"):
        threshold(16, 16)
    with pytest.raises(OsanError, match=r"x, y: expected embeddings of one shape"):
        t_squared([[1.0]], [[1.0, 2.0]])
    for wrong in (
        {"steps": -1}, {"seed": -1}, {"batch_size": 1}, {"precision": "half"}, {"confidence": 1.0},
        {"copies": "32"}, {"copies": 32.5}, {"dimension": 0}, {"seed": 0.5},
        {"learning_rate": -1.0}, {"weight_decay": -1.0}, {"floor": float("nan")}, {"seconds": -1.0},
    ):  # fmt: skip
        with pytest.raises(OsanError, match=next(iter(wrong))):
            Protocol(**wrong)


# One pair.


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_networks_separate_what_their_tests_separate(precision):
    protocol = Protocol(copies=6, dimension=4, steps=3, precision=precision)
    rook = Pair(rook_4x4(), shrikhande())
    for pair, names, apart in (
        (HEXAGON, ["gin"], False),
        (HEXAGON, ["vs-1-osan", "ds-edge-deleted", "dss-edge-deleted"], True),
        (rook, ["1-osan"], False),
        (rook, ["2-osan"], True),
    ):
        for name in names:
            result = compare(pair, name, protocol)
            assert result.separated is apart, (name, result)
            assert result.control < threshold(6, 4)
            if apart or precision == "float64":
                assert (result.confirmed is not None) == (precision == "float32")
            assert result.steps == (0 if apart else 3)


def test_training_separates_what_it_starts_without():
    class Learns(torch.nn.Module):
        """Sees triangles through a weight that starts at 0."""

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([0.0, 1.0]))

        def forward(self, batch):
            return triangles(batch) * self.weight + torch.tensor([1e-3, 0.0])

    still = compare(HEXAGON, Learns, Protocol(copies=4, dimension=2, steps=0))
    moved = compare(HEXAGON, Learns, Protocol(copies=4, dimension=2, steps=5, learning_rate=0.1))
    assert (still.separated, moved.separated) == (False, True)
    assert 0 < moved.steps <= 5


def test_planted_separations():
    assert compare(HEXAGON, triangles, QUICK).separated
    assert not compare(SQUARES, triangles, QUICK).separated  # neither has triangles
    assert not compare(HEXAGON, noise, Protocol(copies=4, dimension=2, confidence=0.999)).separated
    drifted = compare(HEXAGON, Drifts, Protocol(copies=16, dimension=2))
    assert not drifted.separated
    assert drifted.note == "copies of one graph differ as well"


def test_rounding_does_not_separate_in_float32():
    single = Protocol(copies=4, dimension=2, precision="float32")
    result = compare(HEXAGON, Rounds(), single)
    assert result.t_squared > threshold(4, 2)  # the statistic alone is fooled
    assert not result.separated
    assert "gone in float64" in result.note
    assert not compare(HEXAGON, Rounds(), QUICK).separated


def test_the_same_seed_gives_the_same_numbers():
    before = torch.random.get_rng_state()
    one, two = (compare(HEXAGON, "1-osan", QUICK, number=3) for _ in range(2))
    assert one.t_squared == two.t_squared
    assert one.t_squared != compare(HEXAGON, "1-osan", QUICK, number=4).t_squared
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_default_dtype() == torch.float32


def test_embeddings_have_to_be_rows():
    with pytest.raises(OsanError, match=r"expected embeddings of shape \[4, dimension\], got \[4\]"):
        compare(HEXAGON, lambda batch: torch.zeros(batch.num_graphs), QUICK)
    infinite = compare(HEXAGON, lambda batch: torch.full((batch.num_graphs, 2), torch.inf), QUICK)
    assert (infinite.separated, infinite.note) == (False, "embeddings are not finite")
    with pytest.raises(OsanError, match="pair: expected graphs without labels"):
        compare(Pair(Graph(1), Graph(1, vertex_labels="a")), "gin", QUICK)
    with pytest.raises(OsanError, match="model: expected 'gin'"):
        brec_model("gim")
    with pytest.raises(OsanError, match="model: expected a function"):
        brec_model(3)


# All pairs.


def test_records_are_kept_and_pairs_not_run_again(tmp_path):
    path, calls = tmp_path / "records.json", []

    def counted(batch):
        calls.append(batch.num_graphs)
        return triangles(batch)

    corpus = [HEXAGON, SQUARES, HEXAGON]
    first = run_brec(counted, corpus, QUICK, only=[0, 1], records=path)
    done = len(calls)
    assert list(read_records(path).values()) == first
    every = run_brec(counted, corpus, QUICK, records=path)
    assert every[:2] == first
    assert len(calls) == done * 3 // 2
    assert [record.result.separated for record in every] == [True, False, True]
    with pytest.raises(OsanError, match="expected records of 'gin', got those of 'counted'"):
        run_brec("gin", corpus, QUICK, records=path)
    with pytest.raises(OsanError, match="pairs: expected positions from 0 to 2, got 3"):
        run_brec(counted, corpus, QUICK, only=[3])
    path.write_text('{"model": "counted"}')
    with pytest.raises(OsanError, match="expected records of osan brec"):
        read_records(path)


def test_pairs_that_take_too_long_are_listed_and_finished_later(tmp_path):
    path, short = tmp_path / "records.json", Protocol(copies=4, dimension=2, seconds=0)
    (record,) = run_brec("gin", [HEXAGON], short, records=path)
    assert record.result.separated is None
    assert record.result.note == "not finished in 0 s"
    assert brec_rows([record])[-1].unfinished == (0,)
    (record,) = run_brec("gin", [HEXAGON], QUICK, records=path)
    assert record.result.separated is False


def test_rows_count_what_is_missed_and_what_is_false():
    def record(pair, category, separated, possible, control=0.0):
        result = PairResult(separated, 1.0, control, limit=72.34)
        return BrecRecord(pair, category, 10, result, possible, Protocol())

    records = [
        record(0, "A", True, True),
        record(1, "A", False, True),
        record(2, "B", True, False),
        record(3, "B", None, None),
        record(4, "A", False, False, control=73.0),
    ]
    a, b, every = brec_rows(records)
    assert (a.pairs, a.separated, a.ceiling, a.missed, a.unreliable) == (3, 1, 2, (1,), (4,))
    assert (b.separated, b.ceiling, b.false, b.unfinished) == (1, None, (2,), (3,))
    assert (every.category, every.pairs, every.separated) == ("all", 5, 2)


# The command.


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "pairs.tsv"
    lines = ["category\tg6_a\tg6_b"]
    lines += [f"cycles\t{encode_graph6(pair.a)}\t{encode_graph6(pair.b)}" for pair in (HEXAGON, SQUARES)]
    path.write_text("\n".join(lines) + "\n")
    return path


def command(*words):
    return CliRunner().invoke(app, ["brec", *map(str, words), "--copies", "4", "--dimension", "2"])


def test_the_command_counts_and_goes_on(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = command("1-osan", "--file", corpus, "--pairs", "1", "--json")
    (_, row) = json.loads(told.stdout)["rows"]
    assert (row["pairs"], row["separated"], row["ceiling"]) == (1, 1, 1)
    assert "told apart: 0 of 1." in command("1-osan", "--file", corpus, "--show").stdout
    shown = command("1-osan", "--file", corpus).stdout
    assert "ceiling" in shown
    assert "told apart: 0 of 2." in shown
    lines = command("1-osan", "--file", corpus, "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("model,pair,category,vertices,possible,separated,")
    assert [line.split(",")[:6] for line in lines[1:]] == [
        ["1-osan", str(i), "cycles", str(n), "True", "True"] for i, n in ((0, 6), (1, 8))
    ]
    assert "| cycles | 2 | 2 | 2 |" in command("1-osan", "--file", corpus, "--format", "markdown").stdout
    assert sorted(read_records(tmp_path / "runs" / "brec" / "1-osan.json")) == [0, 1]


def test_the_command_takes_settings_and_custom_models(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "mine.toml"
    settings.write_text(
        '[network]\nconv = "gin"\nwidth = 8\nlayers = 2\n[selection]\npolicy = "mark 1 vertex x all"\n'
    )
    told = command(settings, "--file", corpus, "--steps", "2", "--ceiling", "vs-1-osan", "--json")
    row = json.loads(told.stdout)["rows"][-1]
    assert (row["ceiling"], row["false"]) == (2, [])
    (tmp_path / "custom_brec.py").write_text(
        "import torch\n\ndef sizes(batch):\n"
        "    return torch.stack((batch.ptr.diff(), batch.ptr.diff()), 1).double()\n"
    )
    told = json.loads(command("custom_brec:sizes", "--file", corpus, "--json").stdout)
    assert (told["rows"][-1]["separated"], told["rows"][-1]["ceiling"]) == (0, None)


def test_the_command_explains_wrong_words(corpus):
    for wrong in ("x", "1-0", "0-", ","):
        told = str(command("gin", "--file", corpus, "--pairs", wrong).exception)
        assert "--pairs: expected numbers" in told
    told = str(command("gin", "--file", corpus, "--show", "--out", corpus.parent / "none.json").exception)
    assert told.startswith(str(corpus.parent / "none.json") + " cannot be read")
    assert "--pairs: expected positions" in str(command("gin", "--file", corpus, "--pairs", "2").exception)
    assert "--ceiling: expected" in str(command("gin", "--file", corpus, "--ceiling", "wl").exception)


@pytest.mark.data
def test_gin_separates_nothing_of_brec_in_float32(osan_data):
    pairs = brec(osan_data)
    some = [0, 70, 111, 170, 300, 395]
    records = run_brec("gin", pairs, Protocol(steps=2, precision="float32"), only=some)
    assert brec_rows(records)[-1].separated == 0
    assert brec_rows(records)[-1].unreliable == ()


def latin_square_graph(*rows: str) -> Graph:
    """The cells of a Latin square, adjacent in one row, in one column, or with one symbol."""
    cells = [(i, j, symbol) for i, row in enumerate(rows) for j, symbol in enumerate(row)]
    joined = [
        (a, b)
        for b, one in enumerate(cells)
        for a, other in enumerate(cells[:b])
        if any(x == y for x, y in zip(one, other, strict=True))
    ]
    return Graph(len(cells), joined)


@pytest.mark.parametrize("model", ["ds-edge-deleted", "dss-edge-deleted"])
def test_a_deleted_edge_is_not_lost_among_many(model):
    """Two strongly regular graphs of degree 12: weights that are too small leave rounding errors only."""
    pair = Pair(
        latin_square_graph("01234", "12340", "23401", "34012", "40123"),
        latin_square_graph("01234", "10342", "24013", "32401", "43120"),
    )
    result = compare(pair, model, QUICK)
    assert result.separated
    assert result.t_squared > 1e6
    assert result.control < 1


@pytest.mark.data
def test_the_marks_that_tell_are_not_lost_among_many(osan_data):
    """A distance-regular pair of degree 9: the mean over all pairs of marks left rounding errors."""
    result = compare(brec(osan_data)[383], "2-osan", Protocol(copies=4, dimension=2, steps=0), number=383)
    assert result.separated
    assert result.t_squared > 1e6
    assert result.control < 1


def test_graphs_without_vertices_or_edges():
    for one, other in ((Graph(1), Graph(1)), (Graph(3), Graph(3))):
        assert compare(Pair(one, other), "1-osan", QUICK).separated is False


def test_the_page_says_what_the_results_say():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "brec.md").read_text()
    with (root / "results" / "brec.csv").open() as file:
        lines = list(csv.DictReader(file))
    for model in dict.fromkeys(line["model"] + ", " + line["precision"] for line in lines):
        name, precision = model.split(", ")
        own = [line for line in lines if (line["model"], line["precision"]) == (name, precision)]
        separated = [line for line in own if line["separated"] == "True"]
        possible = [line for line in own if line["possible"] == "True"]
        finished = [line for line in own if line["separated"]]
        assert all(line["possible"] == "True" for line in separated)  # no network beats its test
        assert f"| `{name}` | {precision} | {len(finished)} | {len(separated)} | {len(possible)} |" in page
        for line in finished:
            assert float(line["control"]) < 57, line  # the lower of the two thresholds
