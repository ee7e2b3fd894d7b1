"""The scikit-learn estimators, used as scikit-learn's own."""

import contextlib
import errno
import json
import pickle
import shutil

import faults
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from torch_geometric.data import Data

from osan.errors import OsanError
from osan.sklearn import OSANClassifier, OSANRegressor
from osan.training import predict

SMILES = ["C" * n + end for n in range(1, 16) for end in ("", "O", "N", "Cl")]
# The share of atoms that are not carbon.
OTHER = np.array([1 - s.replace("Cl", "X").count("C") / len(s.replace("Cl", "X")) for s in SMILES])
SMALL = {"epochs": 15, "width": 16, "layers": 2, "learning_rate": 0.02, "batch_size": 16}


@pytest.fixture(scope="module")
def regressor():
    return OSANRegressor(**SMALL).fit(SMILES, OTHER)


def test_it_learns_and_takes_what_people_have(regressor):
    assert regressor.score(SMILES, OTHER) > 0.8
    told = regressor.predict(SMILES)
    assert told.shape == (60,)
    for given in (np.array(SMILES), pd.Series(SMILES, index=range(7, 67)), np.array(SMILES, dtype=object)):
        np.testing.assert_array_equal(regressor.predict(given), told)


@pytest.mark.parametrize("kind", [OSANRegressor, OSANClassifier])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_mixin_order,
    ],
)
def test_checks_of_scikit_learn(kind, check):
    """The others feed arrays of numbers."""
    check(kind.__name__, kind())


def test_in_pipelines_searches_and_folds():
    lower = FunctionTransformer(lambda rows: [row.strip() for row in rows])
    small = OSANRegressor(**{**SMALL, "epochs": 1})
    padded = [f" {s}" for s in SMILES[:24]]
    search = GridSearchCV(make_pipeline(lower, small), {"osanregressor__policy": ["", "mark 1 vertex"]}, cv=2)
    search.fit(padded, OTHER[:24])
    assert search.best_params_["osanregressor__policy"] in ("", "mark 1 vertex")
    given = np.array(SMILES[:24]), OTHER[:24]
    scores = cross_val_score(clone(small), *given, cv=2, scoring="neg_mean_absolute_error")
    assert np.isfinite(scores).all()
    assert len(scores) == 2


def test_the_same_seed_gives_the_same(regressor):
    again = clone(regressor).fit(SMILES, OTHER)
    np.testing.assert_array_equal(again.predict(SMILES), regressor.predict(SMILES))


def test_intervals_by_their_definition(regressor):
    errors = np.sort(regressor.residuals_[:, 0])
    assert len(errors) == 6
    middle, ends = regressor.predict(SMILES), regressor.predict_interval(SMILES, level=0.5)
    # At least half of n + 1 = 7 errors: the fourth.
    np.testing.assert_allclose(ends, np.stack([middle - errors[3], middle + errors[3]], axis=1))
    few = "level: 6 validation graphs are too few for 0.9, so intervals are infinite; up to 0.857 they"
    with pytest.warns(UserWarning, match=few):
        assert np.isinf(regressor.predict_interval(SMILES, level=0.9)).all()
    with pytest.raises(OsanError, match="level: expected a number between 0 and 1, got 90"):
        regressor.predict_interval(SMILES, level=90)


def test_saved_and_loaded(regressor, tmp_path):
    regressor.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} <= {".json", ".toml", ".safetensors"}
    loaded = OSANRegressor.load(tmp_path / "model")
    assert loaded.get_params() == regressor.get_params()
    np.testing.assert_array_equal(loaded.predict(SMILES), regressor.predict(SMILES))
    np.testing.assert_array_equal(
        loaded.predict_interval(SMILES, 0.5), regressor.predict_interval(SMILES, 0.5)
    )
    with pytest.raises(OsanError, match="expected an OSANClassifier, got 'OSANRegressor'"):
        OSANClassifier.load(tmp_path / "model")
    with pytest.raises(OsanError, match="expected one that does not exist"):
        regressor.save(tmp_path / "model")
    copied = pickle.loads(pickle.dumps(regressor))  # what joblib does between processes
    np.testing.assert_array_equal(copied.predict(SMILES), regressor.predict(SMILES))


def test_a_folder_that_cannot_be_written_or_is_damaged(regressor, tmp_path):
    """Either the whole estimator or nothing; and one line about a file that was changed."""
    for at in range(0, 40, 7):
        # It succeeds if a call fails that only makes a rename last.
        with faults.failing(at, faults.error(errno.ENOSPC)), contextlib.suppress(OsanError):
            regressor.save(tmp_path / "model")
        assert [path.name for path in tmp_path.iterdir()] in ([], ["model"])
        for path in tmp_path.iterdir():
            OSANRegressor.load(path)
            shutil.rmtree(path)
    regressor.save(tmp_path / "model")
    state = tmp_path / "model" / "estimator.json"
    good = json.loads(state.read_text())
    changes = [
        *({name: value} for name in ("parameters", "state") for value in (None, [], 3, {"x": 1})),
        {"state": {**good["state"], "residuals_": [[1], [2, 3]]}},
        {"parameters": {**good["parameters"], "__class__": "x"}},
    ]
    for change in changes:
        state.write_text(json.dumps({**good, **change}))
        with pytest.raises(OsanError, match=r"estimator\.json: expected"):
            OSANRegressor.load(tmp_path / "model")


def test_several_targets_with_missing_values():
    y = np.stack([OTHER, -OTHER], axis=1)
    y[::3, 1] = np.nan
    model = OSANRegressor(**{**SMALL, "epochs": 1}, descriptors=["morgan:16"]).fit(SMILES, y)
    assert model.predict(SMILES).shape == (60, 2)
    assert model.predict_interval(SMILES, 0.5).shape == (60, 2, 2)


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7, 11]])
def test_classes_keep_their_labels(labels, tmp_path):
    y = np.array([labels[("O" in s) + ("N" in s) * (len(labels) - 1)] for s in SMILES])
    model = OSANClassifier(**SMALL).fit(SMILES, y)
    assert model.classes_.tolist() == labels
    probability = model.predict_proba(SMILES)
    np.testing.assert_allclose(probability.sum(1), 1)
    assert (model.predict(SMILES) == model.classes_[probability.argmax(1)]).all()
    # Probabilities: shares of votes would be 0 or 1, since evaluation has one sample.
    assert ((probability > 0) & (probability < 1)).all()
    assert len(np.unique(probability.round(6), axis=0)) > 10
    assert model.score(SMILES, y) > 0.9
    sets, margin = model.predict_set(SMILES, 0.5), sorted(model.errors_)[3]  # the 4th of 6 that were held out
    np.testing.assert_array_equal(sets, 1 - probability <= margin)
    with pytest.warns(UserWarning, match="6 validation graphs are too few for 0.9, so sets have all classes"):
        assert model.predict_set(SMILES, 0.9).all()
    found = 1 - probability[np.arange(60), np.searchsorted(labels, y)][:, None]
    held_out = np.isclose(found, model.errors_, atol=1e-6)  # probabilities near 1 in single precision
    assert held_out.any(0).all()
    model.save(tmp_path / "m")
    loaded = OSANClassifier.load(tmp_path / "m")
    assert (loaded.predict(SMILES) == model.predict(SMILES)).all()
    np.testing.assert_array_equal(loaded.predict_set(SMILES, 0.5), sets)


def test_graphs_instead_of_molecules():
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.full((2, 1), i % 3), edge_index=edges, y="ignored") for i in range(20)]
    model = OSANRegressor(**{**SMALL, "epochs": 2}).fit(graphs, [float(i % 3) for i in range(20)])
    assert model.predict(graphs).shape == (20,)
    with pytest.raises(OsanError, match="X: expected PyG Data, as in fit"):
        model.predict(["CCO"])
    with pytest.raises(OsanError, match="holds the category 7"):
        model.predict([Data(x=torch.full((2, 1), 7), edge_index=edges)])


@pytest.mark.parametrize(
    ("given", "y", "message"),
    [
        (["CCO", "C(("], [1.0, 2.0], r"row 1: expected the SMILES of a molecule, got 'C\(\('"),
        (["CCO", 5], [1.0, 2.0], "X: expected SMILES strings or PyG Data in every row, got int"),
        (["CCO", "C"], [1.0], "y: expected 2 rows, one for each of X, got 1"),
        (["CCO", "C"], [1.0, float("nan")], "y: expected finite numbers"),
        ([], [], "X: expected at least one row"),
        (["CCO"], [1.0], "expected rows for training and for validation, got 1"),
    ],
)
def test_wrong_rows(given, y, message):
    with pytest.raises(OsanError, match=message):
        OSANRegressor(**SMALL).fit(given, y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None, "b"], "y: expected a label in every row, got None in row 1; drop such rows"),
        (pd.Series(["a", "b", pd.NA], dtype=object), "a label in every row, got <NA> in row 2"),
        (pd.Series(["a", "b", float("nan")], dtype=object), "a label in every row, got nan in row 2"),
        (np.array(["a", "b", 3], dtype=object), "y: expected labels of one type, got int, str"),
    ],
)
def test_labels_that_are_none(labels, message):
    with pytest.raises(OsanError, match=message):
        OSANClassifier(**SMALL).fit(["CCO", "C", "CC"], labels)


def test_one_number_is_nothing_to_learn_from():
    with pytest.warns(UserWarning, match="y: expected different numbers to learn from, got one number"):
        OSANRegressor(**{**SMALL, "epochs": 1}).fit(SMILES, np.ones(60))


def test_an_ensemble_predicts_the_mean_of_its_members(tmp_path):
    model = OSANRegressor(**{**SMALL, "epochs": 1}, ensemble=2).fit(SMILES, OTHER)
    graphs = model._graphs(SMILES)
    each = [predict(member, graphs, 128)[:, 0].numpy() for member in model.learner_.members]
    assert not np.allclose(*each)
    expected = model.predict(SMILES)
    np.testing.assert_allclose(expected, np.mean(each, axis=0), rtol=1e-5)
    model.save(tmp_path / "model")
    for copy in (OSANRegressor.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(SMILES), expected)


def test_a_table_of_one_column(regressor):
    """What scikit-learn's transformers of columns return."""
    expected = regressor.predict(SMILES[:3])
    frame = pd.DataFrame({"smiles": SMILES[:3], "y": 0})
    for given in (frame[["smiles"]], frame[["smiles"]].to_numpy()):
        np.testing.assert_array_equal(regressor.predict(given), expected)
    with pytest.raises(
        OsanError, match=r"X: expected one column of SMILES or PyG Data, got the shape \(3, 2\)"
    ):
        regressor.predict(frame)
