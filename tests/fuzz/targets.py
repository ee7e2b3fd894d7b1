"""What is fuzzed: every parser, the files of a run, and commands."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pyarrow.parquet
from mutate import mutated

from osan.errors import OsanError

STORED = Path(__file__).parents[1] / "training" / "stored_runs"


@dataclass
class Target:
    """One thing to fuzz.

    ``seeds`` are good inputs, ``call`` takes a damaged one. It may return or raise :class:`OsanError`.
    """

    seeds: list[bytes]
    call: Callable[[bytes], object]


def one(target: Target, rng: random.Random) -> tuple[bytes, str]:
    """Try one input: the input, and what is wrong, if anything."""
    given = mutated(rng.choice(target.seeds), target.seeds, rng)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            target.call(given)
    except OsanError as error:
        return given, "" if str(error).strip() else "an error without words"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return given, f"{type(error).__name__}: {str(error)[:200]}"
    return given, ""


def in_file(name: str, call: Callable[[Path], object], folder: Path) -> Callable[[bytes], object]:
    """A call with the path of a file that holds the input."""

    def with_file(content: bytes) -> object:
        path = folder / name
        path.write_bytes(content)
        return call(path)

    return with_file


def as_text(call: Callable[[str], object]) -> Callable[[bytes], object]:
    """A call with the input as text, as arguments of a command are."""
    return lambda content: call(content.decode(errors="replace"))


def graph_targets(folder: Path) -> dict[str, Target]:
    """Formats of graphs, and arguments of the tests; none of them needs torch."""
    from osan.graphs import decode_graph6, read_graphs, read_pairs
    from osan.memory import parse_size

    good = {
        "g6": [b"DQc\n>>graph6<<Bw\nA_\n", b":Fa@x^\n:An\n", b"&B?o\n&AG\n"],
        "edges": [b"0 1\n1 2 double\n2 0\n", b"# n 4\na b\nb c {'weight': 1}\n"],
        "gml": [b'graph [\n node [ id 0 label "a" ]\n node [ id 1 ]\n edge [ source 0 target 1 ]\n]\n'],
        "graphml": [
            b'<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
            b'<edge source="a" target="b"/></graph></graphml>'
        ],
        "tsv": [b"category\ta\tb\nBasic\tBw\tBW\nBasic\tCF\tCw\n"],
        "sat": [b"2\n3 0\n0 1 1\n1 1 0\n0 0\n2 1\n0 1 1\n0 1 0\n"],
    }

    def read(path: Path) -> None:
        read_graphs(path)
        read_pairs(path)

    targets = {"graph6 text": Target(good["g6"], decode_graph6)}
    for name, seeds in good.items():
        targets[f".{name} file"] = Target(seeds, in_file(f"a.{name}", read, folder))
    packed = [gzip.compress(seed, mtime=0) for seeds in good.values() for seed in seeds]
    targets[".gz file"] = Target(packed, in_file("a.g6.gz", read, folder))
    targets["memory limit"] = Target([b"4GB", b"500 MB", b"1e9"], as_text(parse_size))
    return targets


def data_targets(folder: Path) -> dict[str, Target]:
    """Tables, splits, saved graphs, molecules and files of the cache."""
    import torch

    from osan.data import Features, flatten, planted_motif
    from osan.data.custom.molecules import load_table
    from osan.data.formats.chunks import table_chunks
    from osan.data.formats.saved import read_pt
    from osan.data.formats.table import has_column, read_table
    from osan.data.published import cache

    rows = [b"smiles,y,split\nCCO,1,train\nCC,2.5,train\nC1CC1,NA,val\nCCN,0,test\nOCC,3,test\n"]
    rows += [b"smiles;y\nCC;1,5\nCO;2,5\nCN;1\nCCC;2\nCCCC;3\n", b'smiles,y\n"CC",1\n"C\nC",2\n']

    def table(path: Path) -> None:
        assert isinstance(has_column(path, "y"), bool)
        whole, problem = None, ""
        try:
            whole = read_table(path, ["smiles"], whole=True)
        except OsanError as error:
            problem = str(error)
        try:
            parts = [row for part in table_chunks(path, ["smiles"], 2) for row in part.rows]
        except OsanError:
            assert whole is None, "read whole, but not in parts"
        else:
            assert whole is not None, f"read in parts, but not whole: {problem}"
            assert parts == whole.rows, "parts differ from the whole"

    saved = folder / "good.pt"
    graphs = planted_motif(3, seed=0)
    torch.save(graphs, saved)
    cached = folder / "good.safetensors"
    cache.save(cache.Processed(flatten(graphs), Features(sizes=(2,)), None, {}), cached)

    def from_cache(path: Path) -> None:
        cache.read(path)
        assert path.read_bytes() == cached.read_bytes(), "damage went unnoticed"

    packed = io.BytesIO()
    parquet = pyarrow.parquet
    columns = {"smiles": ["CCO", "CC", None], "y": [1.0, 2.5, None], "split": ["train", "val", "test"]}
    parquet.write_table(pyarrow.table(columns), packed)
    return {
        ".parquet table": Target([packed.getvalue()], in_file("a.parquet", table, folder)),
        ".csv table": Target(rows, in_file("a.csv", table, folder)),
        ".csv.gz table": Target(
            [gzip.compress(row, mtime=0) for row in rows], in_file("a.csv.gz", table, folder)
        ),
        "molecules": Target(rows, in_file("b.csv", lambda path: load_table(path, split="random"), folder)),
        ".pt file": Target([saved.read_bytes()], in_file("a.pt", read_pt, folder)),
        "cache file": Target([cached.read_bytes()], in_file("a.safetensors", from_cache, folder)),
    }


def run_targets(folder: Path) -> dict[str, Target]:
    """Settings, policies, every file of a run folder, and lists of results."""
    from osan.experiments.sweep import parse_seeds
    from osan.report.records import read_records, record_of, to_csv
    from osan.report.runs import find_runs, summarize
    from osan.selection import Policy
    from osan.training.folder import read_json
    from osan.training.run import load_model
    from osan.training.settings import Settings
    from osan.training.settings_files import parsed_changes, read_settings

    toml = [(STORED / name / "settings.toml").read_bytes() for name in ("molecules", "planted-motif")]
    toml.append(Settings().to_toml().encode())
    yaml = [
        b"name: a\ntraining:\n  epochs: 3\nselection: {policy: delete 1 vertex x 3}\n",
        b"a: &b [1]\nc: *b\n",
    ]
    words = [b"training.epochs=3", b"selection.policy=delete 1 vertex x 3", b"data.targets=['a']", b"seed=1"]
    policies = [b"delete 1 vertex", b"select 20 edges x 3", b"select 7-ego by root x all", b"tree x 2"]
    policies += [b"cover delete 3 vertices", b"mark 2 vertices ordered x 3 in turn"]
    runs = folder / "runs"
    for name in ("molecules", "planted-motif"):
        shutil.copytree(STORED / name, runs / name / "seed-0")

    def run_file(name: str, file: str) -> Callable[[bytes], None]:
        place = runs / name / "seed-0" / file
        good = place.read_bytes()

        def call(content: bytes) -> None:
            place.write_bytes(content)
            try:
                for run in find_runs(runs):
                    assert run.damaged or run.settings.name, "a run without a name"
                    record = record_of(run)
                    if record is not None:
                        to_csv([record])
                    run.metrics.get("epoch")
                    summarize([run])
                if file.startswith(("model", "settings")):
                    load_model(place.parent)
            finally:
                place.write_bytes(good)

        return call

    table = folder / "records.csv"
    table.write_text(to_csv(read_records(runs)))
    targets = {
        "settings.toml": Target(toml, in_file("a.toml", read_settings, folder)),
        "settings.yaml": Target(yaml, in_file("a.yaml", read_settings, folder)),
        "--set": Target(words, as_text(lambda text: Settings().changed(parsed_changes([text])))),
        "policy": Target(policies, as_text(lambda text: str(Policy.parse(text)))),
        "seeds": Target([b"0-4", b"0,3,7", b"1"], as_text(parse_seeds)),
        "results.csv": Target([table.read_bytes()], in_file("b.csv", read_records, folder)),
        "json": Target([b'{"a": [1, 2], "b": "c"}'], in_file("a.json", read_json, folder)),
    }
    targets |= later_targets(folder)
    for name in ("molecules", "planted-motif"):
        for file in sorted(os.listdir(STORED / name)):
            seeds = [(STORED / name / file).read_bytes()]
            targets[f"{name}/{file}"] = Target(seeds, run_file(name, file))
    return targets


def later_targets(folder: Path) -> dict[str, Target]:
    """Files beside those of a run: calibration, a saved estimator, and the trials of a search."""
    import optuna

    from osan.sklearn import OSANRegressor
    from osan.training.calibration import CALIBRATION, Calibration, read_calibration
    from osan.training.settings import Settings
    from osan.training.stored import read_info
    from osan.training.tuning import JOURNAL, _study

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    place = folder / "estimator"
    shutil.copytree(STORED / "molecules", place)
    info = read_info(place)
    calibration = Calibration("regression", 9, [[0.1 * i for i in range(999)]])
    state = {"molecules_": True, "residuals_": [[0.5], [0.25]], "flat_": True}
    saved = {"estimator": "OSANRegressor", "parameters": {"epochs": 3, "width": None}, "state": state}
    direction = SimpleNamespace(direction="min")
    study = _study(optuna, folder, Settings(), direction)
    study.optimize(lambda trial: trial.suggest_float("network.dropout", 0, 1), 2)
    journal = (folder / JOURNAL).read_bytes()

    def estimator(path: Path) -> None:
        OSANRegressor.load(path.parent)

    def search(path: Path) -> None:
        _study(optuna, path.parent, Settings(), direction)

    def intervals(path: Path) -> None:
        read_calibration(path.parent, info).at(0.9)

    return {
        CALIBRATION: Target(
            [json.dumps(asdict(calibration)).encode()], in_file(CALIBRATION, intervals, place)
        ),
        "estimator.json": Target([json.dumps(saved).encode()], in_file("estimator.json", estimator, place)),
        JOURNAL: Target([journal], in_file(JOURNAL, search, folder)),
    }


COMMANDS = [
    ["wl", "distinguish", "Bw", "BW"],
    ["wl", "distinguish", "EhEG", "EwCW", "--test", "oswl", "-k", "1", "--json"],
    ["wl", "color", "DQc", "--test", "vs-oswl"],
    ["wl", "ladder", "Bw", "BW", "--json"],
    ["recipes", "--json"],
    ["runs", "runs", "--each", "--format", "csv"],
    ["table", "exp", "--format", "markdown"],
    ["data", "list"],
    ["--version"],
]


def command_target() -> dict[str, Target]:
    """Commands with damaged words: an exit code that is documented, and one line about an error."""
    from osan import cli

    def call(content: bytes) -> None:
        words = [word.decode(errors="surrogateescape") for word in content.split(b"\x1f")]
        if any("\0" in word for word in words):  # no system passes them
            return
        out, err = io.StringIO(), io.StringIO()
        before, sys.argv = sys.argv, ["osan", *words]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                cli.main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = before
        assert code in (0, 1, 2), f"exit code {code}: {err.getvalue()[-300:]}"
        assert code != 1 or words[:2] == ["wl", "distinguish"], f"exit code 1 of {words}"
        assert "Traceback" not in err.getvalue(), err.getvalue()[-300:]
        if code == 2 and "Usage" not in err.getvalue() + out.getvalue():
            assert err.getvalue().count("\n") == 1, f"{err.getvalue()!r}"
        if "--json" in words and code == 0 and "--help" not in words:
            json.loads(out.getvalue())

    return {"commands": Target([b"\x1f".join(map(str.encode, words)) for words in COMMANDS], call)}


def all_targets(folder: Path) -> dict[str, Target]:
    """Everything that is fuzzed; ``folder`` is for files."""
    out: dict[str, Target] = {}
    parts: Iterable[dict[str, Target]] = (
        graph_targets(folder),
        data_targets(folder),
        run_targets(folder),
        command_target(),
    )
    for part in parts:
        out |= part
    return out
