"""Parts by name."""

import pytest

from osan.errors import OsanError
from osan.parts import resolve


def test_objects_pass_and_names_are_looked_up():
    part = object()
    assert resolve(part, {}, "layer") is part
    assert resolve("a", {"a": part}, "layer") is part


def test_modules_in_the_current_folder_are_found(tmp_path, monkeypatch):
    (tmp_path / "my_part_of_test_parts.py").write_text("class Mine:\n    value = 7\n")
    monkeypatch.chdir(tmp_path)
    assert resolve("my_part_of_test_parts:Mine.value", {}, "layer") == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gni", "layer: expected 'gin' or 'module:name', got 'gni'; did you mean 'gin'?"),
        ("no_such_module_here:x", "layer: cannot import 'no_such_module_here:x' \\(ModuleNotFoundError"),
        ("math:no_such_name", "layer: cannot import 'math:no_such_name' \\(AttributeError"),
        (":x", "layer: cannot import ':x'"),
        ("math:", "layer: cannot import 'math:'"),
    ],
)
def test_what_cannot_be_found_is_an_error_in_one_line(text, message):
    with pytest.raises(OsanError, match=message) as caught:
        resolve(text, {"gin": 1}, "layer")
    assert "\n" not in str(caught.value)


def test_a_module_that_fails_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "broken_part_of_test_parts.py").write_text("raise ValueError('a\\nb')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OsanError, match=r"cannot import .* \(ValueError: a b\)"):
        resolve("broken_part_of_test_parts:x", {}, "layer")
