"""Pages from templates, in which all values are escaped."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def filled(template: str, **values: Any) -> str:
    """A template of this package with values filled in; they are escaped unless the template says no."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = files("osan.report").joinpath(template).read_text(encoding="utf-8")
    return environment.from_string(text).render(**values)
