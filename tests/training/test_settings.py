"""Settings: what is accepted, what is refused, and the way through files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.experiments import recipes
from osan.training.settings import Settings, validated
from osan.training.settings_files import parsed_changes, read_settings, write_settings


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"trainig": {}}, "unknown key 'trainig'; did you mean 'training'?"),
        ({"training": {"epoch": 3}}, "unknown key 'training.epoch'; did you mean 'training.epochs'?"),
        ({"network": {"zzz": 3}}, "unknown key 'network.zzz'; known are architecture, like, "),
        ({"training": {"epochs": 0}}, "training.epochs: Input should be greater than or equal to 1, got 0"),
        (
            {"training": {"epochs": 2, "min_epochs": 3}},
            "training: min_epochs: expected at most epochs (2), got 3",
        ),
        (
            {"training": {"schedule": "cosine", "decay": 0.5}},
            "decay, milestones and decay_every: expected schedule 'steps', got 'cosine'",
        ),
        ({"training": {"warmup": 100}}, "warmup: expected less than epochs (100), got 100"),
        (
            {"selection": {"estimator": "imel"}},
            "selection.estimator: expected 'imle', 'adaptive-imle', 'simple', 'straight-through', "
            "'sparsemap', 'score-function', 'random', 'fixed' or 'module:name', got 'imel'; "
            "did you mean 'imle'?",
        ),
        ({"selection": {"auxiliary": "cosin"}}, "selection.auxiliary: expected 'none', 'cosine', "),
        ({"network": {"conv": "gyn"}}, "network.conv: expected 'gin', "),
        ({"training": {"milestones": [1], "decay_every": 2}}, "either milestones or decay_every"),
        ({"selection": {"policy": "delete all"}}, "selection.policy: expected a text such as"),
        ({"network": {"like": "zink"}}, "network.like: expected 'zinc', 'zinc-pna', "),
        ({"training": 3}, "training: Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_and_where(tree, message):
    with pytest.raises(OsanError) as caught:
        validated(tree, "file.toml")
    assert str(caught.value).startswith("file.toml: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.sampled_from(sorted(recipes())), st.integers(0, 9))
def test_toml_and_back(tmp_path_factory, key, seed):
    file = tmp_path_factory.mktemp("toml") / "settings.toml"
    settings = recipes()[key].settings.changed({"seed": seed})
    write_settings(settings, file)
    assert read_settings(file) == settings


def test_yaml(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("data:\n  dataset: exp\ntraining: {epochs: 3}\n")
    assert read_settings(file) == Settings().changed({"data.dataset": "exp", "training.epochs": 3})
    file.write_text("data: [1\n")
    with pytest.raises(OsanError, match=r"s.yaml: not valid YAML"):
        read_settings(file)
    file.write_text("!!python/object/apply:os.system ['true']\n")
    with pytest.raises(OsanError, match=r"s.yaml: not valid YAML"):
        read_settings(file)
    file.write_text("- 1\n")
    with pytest.raises(OsanError, match="expected keys and values, got list"):
        read_settings(file)


def test_files_that_are_none(tmp_path):
    with pytest.raises(OsanError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_text("a = = 3")
    with pytest.raises(OsanError, match=r"a.toml: not valid TOML"):
        read_settings(tmp_path / "a.toml")


def test_changes_from_the_command_line():
    words = ["training.epochs=5", "training.patience=none", "data.targets=['a','b']", "network.norm=false"]
    settings = Settings().changed(parsed_changes(words))
    assert settings.training.epochs == 5
    assert settings.training.patience is None
    assert settings.data.targets == ["a", "b"]
    assert settings.network.norm is False
    with pytest.raises(OsanError, match="expected key=value"):
        parsed_changes(["training.epochs"])
    with pytest.raises(OsanError, match="'seed' is not a section"):
        Settings().changed({"seed.a": 1})


def test_differences_leave_out_the_machine():
    one = Settings()
    other = one.changed({"machine.devices": 2, "training.epochs": 7})
    assert one.differences(other) == ["training.epochs: 100 instead of 7"]
    assert one.differences(one.changed({"machine.devices": 2})) == []


def test_precision_may_be_a_number():
    assert Settings().changed({"training.precision": 64}).training.precision == "64"
    with pytest.raises(OsanError, match=r"training\.precision"):
        Settings().changed({"training.precision": 16})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("selection.policy", f"delete {10**23} vertices", "expected a size of at most 2147483647, got 1e"),
        ("selection.policy", "delete " + "9" * 5000 + " vertices", "expected a size of at most"),
        ("selection.policy", "mark 1 vertex x 100000000", "expected at most 100000 for count"),
        ("seed", 2**64, "seed: Input should be less than or equal to"),
        ("data.seed", 10**30, "data.seed: "),
        ("training.batch_size", 10**12, "training.batch_size: "),
        ("training.epochs", 10**12, "training.epochs: "),
        ("network.width", 10**9, "network.width: "),
        ("network.layers", 10**6, "network.layers: "),
        ("selection.samples", 10**9, "selection.samples: "),
        ("name", "../../../x", "name: expected words with single slashes"),
        ("name", "/tmp/x", "name: expected words with single slashes"),
        ("name", "a/./b", "name: expected words with single slashes"),
        ("name", "a/" + "b" * 300, "name: expected words of at most 255 bytes"),
    ],
)
def test_absurd_values(key, value, message):
    with pytest.raises(OsanError, match=message):
        Settings().changed({key: value})


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "a = " + "[" * 100_000 + "]" * 100_000),
        ("a.toml", "a = " + "[" * 40 + "]" * 40),
        ("a.yaml", "a: " + "[" * 100_000 + "]" * 100_000),
        ("a.yaml", "a: &a [*a]"),
        ("a.yaml", BOMB),
    ],
    ids=["toml", "levels", "yaml", "cycle", "bomb"],
)
def test_nesting_without_end(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(OsanError, match=rf"{name}: not valid"):
        read_settings(tmp_path / name)


def test_nested_words():
    for depth in (100_000, 40):
        with pytest.raises(OsanError, match=r"nested"):
            parsed_changes(["data.options=" + "[" * depth + "]" * depth])


def test_numbers_of_thousands_of_digits(tmp_path):
    with pytest.raises(OsanError, match=r"seed: expected a number with fewer digits, got 5000"):
        parsed_changes(["seed=" + "9" * 5000])
    (tmp_path / "a.toml").write_text("seed = " + "9" * 5000)
    with pytest.raises(OsanError, match=r"a\.toml: not valid TOML"):
        read_settings(tmp_path / "a.toml")


@pytest.mark.parametrize("key", ["data.encodings", "data.descriptors"])
@pytest.mark.parametrize("value", [[2.5], 3, [["cse"]], {"a": 1}])
def test_lists_of_names_hold_names(key, value):
    with pytest.raises(OsanError, match=rf"{key}: .*expected a list of names, got"):
        Settings().changed({key: value})


def test_settings_that_are_no_text(tmp_path):
    with pytest.raises(OsanError, match="expected UTF-8 text"):
        write_settings(Settings().changed({"data.dataset": "a\udcff"}), tmp_path / "settings.toml")
    assert not list(tmp_path.iterdir())
