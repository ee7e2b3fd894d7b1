"""Initial weights and first losses are those of the table: no change of the code changes a run.

``python scripts/first_steps.py --check tests/training/first_steps.csv`` checks every row. Here is a sample of
quick ones: every dataset, network, estimator and kind of policy.
"""

import importlib.util
import os
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("first_steps.csv")

# Generated graphs: no files are needed.
GENERATED = [
    "alchemy/gin/baseline",
    "alchemy/gin/random/delete-2-vertices/x3",
    "alchemy/gin/imle/delete-1-ego/x3",
    "alchemy/gin/imle/select-5-ego/x3",
    "alchemy/gin/imle/select-5-edges/x3",
    "alchemy/gin/imle/select-5-vertices/x3",
    "twisted-pairs/gin/random/mark-1-vertex/x1/ladder",
    "twisted-pairs/gin/imle/mark-1-vertex/x1/ladder",
    "twisted-pairs/gin/adaptive-imle/mark-1-vertex/x1/ladder",
    "twisted-pairs/gin/simple/mark-1-vertex/x1/ladder",
    "twisted-pairs/gin/straight-through/mark-1-vertex/x1/ladder",
    "twisted-pairs/gin/score-function/mark-1-vertex/x1/ladder",
]
REAL = [
    "exp/gin/baseline",
    "exp/gin/random/delete-1-vertex/x3",
    "exp/gin/imle/delete-1-edge/x3",
    "exp/gin/imle/delete-1-vertex/x3/lambda-of-the-code",
    "ogbg-molbace/gin/random/tree/x3",
    "ogbg-molbace/gin/imle/tree/x3",
    "ogbg-molesol/gin/simple/delete-1-vertex/x3",
    "ogbg-molesol/gin/imle/delete-1-vertex/x3/as-in-the-code",
    "ogbg-molesol/gin/imle/delete-5-vertices-ordered/x3/messages-over-the-whole-graph",
    "ogbg-molesol/gin/imle/cover-delete-5-vertices/x3",
    "ogbg-molesol/gin/random/delete-1-vertex/x3/random-order",
    "proteins/gin/imle/delete-3-vertices/x3",
    "qm9/gin/baseline",
    "qm9/gin/imle/select-3-ego/x5",
    "zinc/ds-gnn/all/delete-1-vertex",
    "zinc/ds-gnn/imle/delete-1-edge/x3",
    "zinc/gin/imle/delete-1-vertex/x3/width-64-40-epochs-as-in-the-code",
    "zinc/pna/imle/delete-1-vertex-ordered/x3",
]


@pytest.fixture(scope="module")
def script():
    """``scripts/first_steps.py`` as a module."""
    spec = importlib.util.spec_from_file_location("first_steps", ROOT / "scripts" / "first_steps.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def differences(script):
    """``differences(key)``: what this code computes for a row and the table has otherwise."""
    table, settings = script.read_table(TABLE), script.all_settings()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield lambda key: script.differences(table[key], script.first_steps(settings[key]))
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def real_data(osan_data, real_cache):
    """The raw files, read once in a session."""
    with pytest.MonkeyPatch.context() as patched:
        if "OSAN_CACHE" not in os.environ:
            patched.setenv("OSAN_CACHE", str(real_cache))
        yield osan_data


@pytest.mark.parametrize("key", GENERATED)
def test_generated_graphs(key, differences):
    assert differences(key) == []


@pytest.mark.data
@pytest.mark.parametrize("key", REAL)
def test_real_data(key, differences, real_data):
    assert differences(key) == []


def test_the_table_has_every_recipe_and_every_run_of_the_plan(script):
    assert script.read_table(TABLE).keys() == script.all_settings().keys()


def test_another_weight_or_loss_is_a_difference(script):
    row = script.read_table(TABLE)["exp/gin/baseline"]
    assert script.differences(row, row) == []
    for name in script.COLUMNS[1:]:
        changed = row | {name: repr(float(row[name]) + 1e-3 * float(row["absolute"]))}
        assert [text.split(":")[0] for text in script.differences(row, changed)] == [name]
    assert script.differences(row, row | {"loss1": "nan"})
