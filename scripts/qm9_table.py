"""Write the 12,000 molecules of QM9 that the paper uses as a table of SMILES, with the paper's split.

    python scripts/qm9_table.py > qm9-12k.csv

Reads ``QM9/qm9.csv.gz`` of OSAN_DATA, with one row per molecule in the order of PyG's dataset.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

if __name__ == "__main__":
    rows = pd.read_csv(Path(os.environ["OSAN_DATA"]) / "QM9" / "qm9.csv.gz")
    chosen = rows.iloc[np.random.RandomState(42).permutation(len(rows))[:12_000]]
    parts = np.repeat(["train", "valid", "test"], [10_000, 1_000, 1_000])
    chosen.assign(split=parts).to_csv(sys.stdout, index=False)
