"""The command that repeats a run."""

from __future__ import annotations

import json
from shlex import quote
from typing import Any

from osan.errors import OsanError
from osan.experiments.protocols import chosen_settings
from osan.training.settings import CUSTOM, Settings
from osan.training.validation import flat


def command_of(settings: Settings) -> str:
    """The command that trains with these settings: what differs from the default, setting by setting.

    Empty for a run with a custom model or task, which only Python can repeat.

    >>> command_of(Settings().changed({"data.dataset": "zinc", "seed": 3, "name": "a"}))[:27]
    'osan train zinc --seed 3 --'
    """
    dataset = settings.data.dataset
    if dataset.startswith(f"{CUSTOM}:") or settings.network.architecture == CUSTOM:
        return ""
    try:
        base = chosen_settings(dataset)
    except OsanError:  # a file that is not there any more
        base = chosen_settings("zinc").changed({"data.dataset": dataset})
    usual, wanted = flat(base.model_dump()), flat(settings.model_dump())
    words = ["osan", "train", dataset, "--seed", str(settings.seed), "--name", settings.name]
    for key, value in wanted.items():
        if key in ("seed", "name") or key.startswith("machine.") or value == usual.get(key):
            continue
        words += ["--set", f"{key}={_toml(value)}"]
    return " ".join(map(quote, words))


def _toml(value: Any) -> str:
    """A value as ``--set`` reads it.

    >>> _toml({"a": [1, True, "x"]}), _toml(None)
    ('{"a" = [1, true, "x"]}', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
