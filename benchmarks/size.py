"""How much of the target follows from the number of vertices alone.

    python benchmarks/size.py [DATASET ...]

Prints the correlation of the first target with the number of vertices in the training split, the mean number
of vertices in training and test, the spread of the targets of all graphs, and the root mean squared error
that is left with the best constant for each number of vertices.
"""

from __future__ import annotations

import sys

import torch

from osan.data import load


def main(names: list[str]) -> None:
    """One line for each dataset."""
    print(f"{'dataset':20}{'correlation':>12}{'train':>8}{'test':>8}{'spread':>9}{'by size':>9}")
    for name in names:
        task = load(name)
        sizes, y = task.whole.vertex_ptr.diff().double(), task.whole.y.double().reshape(len(task.whole), -1)
        y, train, test = y[:, 0], task.train.ids, task.test.ids
        known = y[train].isfinite()
        pair = torch.stack([sizes[train][known], y[train][known]])
        sizes_known, y_known = sizes[y.isfinite()], y[y.isfinite()]
        _, group = sizes_known.unique(return_inverse=True)
        mean = torch.zeros(int(group.max()) + 1, dtype=y.dtype).index_reduce(
            0, group, y_known, "mean", include_self=False
        )
        left = (y_known - mean[group]).square().mean().sqrt()
        print(
            f"{name:20}{torch.corrcoef(pair)[0, 1]:12.2f}{sizes[train].mean():8.1f}{sizes[test].mean():8.1f}"
            f"{y_known.std(correction=0):9.3f}{left:9.3f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or ["ogbg-molesol", "ogbg-molfreesolv", "ogbg-molbace", "zinc", "proteins", "qm9"])
