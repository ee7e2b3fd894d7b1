"""Pages of the site that are made, not written: the explorer. mkdocs calls this when it builds."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from osan.report import explorer_page


def on_files(files: Files, config: Any) -> Files:
    """Add explorer.html to the files of the site."""
    files.append(File.generated(config, "explorer.html", content=explorer_page()))
    return files
