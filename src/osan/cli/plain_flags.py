"""Help that shows flags without a type: they take no value."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class _PlainFlags:
    """A command whose help shows ``--quiet``, not ``--quiet <bool>`` as newer versions of Typer do."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, those that are flags without a type."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return found


class _Command(_PlainFlags, TyperCommand):
    pass


class _Group(_PlainFlags, TyperGroup):
    pass


def with_plain_flags(app: typer.Typer) -> None:
    """Let the help of all commands of an app, and of its groups, show flags without a type."""
    app.info.cls = _Group
    for command in app.registered_commands:
        command.cls = _Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            with_plain_flags(group.typer_instance)
