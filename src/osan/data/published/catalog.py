"""Every dataset that :func:`osan.data.load` knows: files, task, splits, origin and terms of use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osan.data.published.paths import files_under
from osan.words import Kind

if TYPE_CHECKING:
    from osan.data.published.cache import Processed

SUBSET = (10_000, 1_000, 1_000)  # of ZINC, QM9 and Alchemy (paper, "Additional experimental details")
# File, origin and license of each expressiveness corpus; see osan.data.published.corpora.
CORPORA = {
    "brec": ("BREC/brec_pairs.tsv.gz", "GraphPKU/BREC, 400 pairs of graphs", "MIT"),
    "sr": ("SR", "strongly regular graphs of B. McKay's collection, from twitter-research/cwn", "MIT"),
    "graph8c": ("graph8c/graph8c.g6", "the connected graphs on 8 vertices, from balcilar/gnn-matlang", "MIT"),
}
_OSAN = "https://raw.githubusercontent.com/chendiqian/OSAN/3aa3cabc73c8c54357929347631aae0e6fa44deb/datasets"
_TU = "TU Dortmund graph kernel collection, through torch_geometric.datasets.TUDataset"


@dataclass(frozen=True)
class Source:
    """A published dataset.

    Parameters
    ----------
    folder, files
        The folder in the data folder, and the raw files in it.
    read
        Makes the dataset from a writable folder with the files of ``folder``.
    kind, metric
        The kind of the targets, and the metric.
    source, license
        Where the data come from, and their terms of use.
    splits
        The available splits, the default first: ``"official"``, ``"random"``, ``"stratified"``.
    folds
        The number of official folds; 0 if there is a single official split.
    normalize
        Whether the paper trains on targets with zero mean and unit variance.
    subset
        Sizes of the parts of a random split, if it uses a part of the graphs; by default 80/10/10 % of all.
    downloads
        Whether ``read`` downloads missing files.
    options
        Further options by name, each a step after reading.
    """

    name: str
    folder: str
    files: tuple[str, ...]
    read: Callable[..., Processed]
    kind: Kind
    metric: str
    source: str
    license: str
    splits: tuple[str, ...] = ("official",)
    folds: int = 0
    normalize: bool = False
    subset: tuple[int, int, int] | None = None
    downloads: bool = True
    options: Mapping[str, Callable[[Processed], Processed]] = field(default_factory=dict)

    def missing(self, root: Path) -> list[str]:
        """The files that are missing in a data folder."""
        return [f"{self.folder}/{file}" for file in self.files if not (root / self.folder / file).is_file()]

    def raw_files(self, root: Path) -> list[Path]:
        """Every raw file under ``folder``, in a fixed order; the processed dataset depends on them."""
        return files_under(root / self.folder)


def _lazy(module: str, function: str, **options: str) -> Callable[..., Any]:
    """A function of a module of this shelf that is imported when it is called: listing needs no torch."""

    def call(*given: Any) -> Any:
        return getattr(import_module(f"osan.data.published.{module}"), function)(*given, **options)

    return call


def _ogb(name: str, kind: Kind, metric: str) -> Source:
    raw = ("edge", "edge-feat", "graph-label", "node-feat", "num-edge-list", "num-node-list")
    return Source(
        name=f"ogbg-{name}",
        folder=f"ogb/ogbg_{name}",
        files=(
            *(f"raw/{part}.csv.gz" for part in raw),
            *(f"split/scaffold/{part}.csv.gz" for part in ("train", "valid", "test")),
            "RELEASE_v1.txt",
        ),
        read=_lazy("readers", "read_ogb", name=f"ogbg-{name}"),
        kind=kind,
        metric=metric,
        source="Open Graph Benchmark (MoleculeNet), through ogb.graphproppred",
        license="MIT",
    )


def _tu(name: str, title: str, labels: str, license: str, **task: object) -> Source:
    return Source(
        name=name,
        folder=f"TU/{title}",
        files=tuple(f"raw/{title}_{part}.txt" for part in ("A", "graph_indicator", labels)),
        read=_lazy("readers", "read_tu_dataset", name=title),
        source=_TU,
        license=license,
        **task,  # type: ignore[arg-type]
    )


def _sat(
    name: str, folder: str, file: str, source: str, license: str, url: str = "", sha256: str = ""
) -> Source:
    return Source(
        name=name,
        folder=folder,
        files=(file,),
        read=_lazy("texts", "read_sat", file=file, url=url, sha256=sha256),
        kind="binary",
        metric="accuracy",
        splits=("stratified", "random"),
        source=source,
        license=license,
        downloads=bool(url),
    )


_SOURCES = (
    Source(
        name="zinc",
        folder="ZINC",
        files=tuple(
            f"raw/{part}.{kind}" for part in ("train", "val", "test") for kind in ("pickle", "index")
        ),
        read=_lazy("readers", "read_zinc"),
        kind="regression",
        metric="mae",
        source="ZINC-12k of benchmarking-gnns, through torch_geometric.datasets.ZINC",
        license="MIT (benchmarking-gnns); the compounds: terms of use of the ZINC database",
    ),
    Source(
        name="qm9",
        folder="QM9/qm9_12k",
        files=("raw/gdb9.sdf", "raw/gdb9.sdf.csv", "raw/uncharacterized.txt"),
        read=_lazy("readers", "read_qm9"),
        kind="regression",
        metric="mae",
        normalize=True,
        options={"distances": _lazy("readers", "with_distances")},
        source="QM9 (MoleculeNet), through torch_geometric.datasets.QM9",
        license="CC0 (QM9); MIT (MoleculeNet)",
    ),
    _tu(
        "alchemy",
        "alchemy_full",
        "graph_attributes",
        "MIT (Alchemy)",
        kind="regression",
        metric="mae",
        normalize=True,
        splits=("official", "random"),
        subset=SUBSET,
    ),
    _ogb("molesol", "regression", "rmse"),
    _ogb("molbace", "binary", "rocauc"),
    _ogb("molbbbp", "binary", "rocauc"),
    _ogb("molfreesolv", "regression", "rmse"),
    _tu(
        "proteins",
        "PROTEINS",
        "graph_labels",
        "none stated",
        kind="binary",
        metric="accuracy",
        splits=("random", "stratified", "official"),
        folds=10,
    ),
    _sat(
        "exp",
        "EXP/osan",
        "EXP.txt",
        "chendiqian/OSAN, the drawing whose statistics the paper reports",
        "none stated",
        f"{_OSAN}/EXP/EXP.txt",
        "0acc8b4c3e6fbbea18ff2cd358c053a039de170b5047d6312331622b52c11973",
    ),
    _sat(
        "cexp",
        "CEXP/osan",
        "CEXP.txt",
        "chendiqian/OSAN",
        "none stated",
        f"{_OSAN}/CEXP/CEXP.txt",
        "ae5eb97be83386e4a36270d610c125ad2a598830205c98e6f1ec4ed6b59837ae",
    ),
    _sat(
        "exp-gnn-rni",
        "EXP/gnn-rni",
        "GRAPHSAT_pkl.txt",
        "ralphabb/GNN-RNI, the graphs of its pickle",
        "GPL-3.0",
    ),
    _sat(
        "exp-gnn-rni-text",
        "EXP/gnn-rni",
        "GRAPHSAT.txt",
        "ralphabb/GNN-RNI, the graphs of its text",
        "GPL-3.0",
    ),
    _sat("cexp-gnn-rni", "CEXP/gnn-rni", "GRAPHSAT.txt", "ralphabb/GNN-RNI", "GPL-3.0"),
    Source(
        name="csl",
        folder="CSL",
        files=("csl.tsv", *(f"CSL_{part}.index" for part in ("train", "val", "test"))),
        read=_lazy("texts", "read_csl_folder"),
        kind="multiclass",
        metric="accuracy",
        folds=5,
        downloads=False,
        source="benchmarking-gnns, circular skip links of Murphy et al. (2019)",
        license="MIT",
    ),
)
PUBLISHED = {source.name: source for source in _SOURCES}
