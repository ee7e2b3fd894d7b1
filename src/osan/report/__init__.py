"""Tables, figures and pages from finished runs."""

from typing import TYPE_CHECKING

from osan.lazy import attach

if TYPE_CHECKING:
    from osan.report.choice_effects import Effects, Looked, SubgraphEffect, effects
    from osan.report.choice_page import write_choice_page
    from osan.report.chosen_parts import Substructure, substructures
    from osan.report.comparison import plot_comparison
    from osan.report.curves import plot_curves
    from osan.report.drawing import save_picture
    from osan.report.explore import explorer_page, write_explorer
    from osan.report.frequencies import Frequencies, explain
    from osan.report.page import write_page
    from osan.report.records import (
        Difference,
        Group,
        Record,
        differences,
        group_records,
        read_records,
        to_csv,
    )
    from osan.report.run_page import Page, write_run_page
    from osan.report.runs import Run, Summary, by_name, find_runs, open_run, summarize
    from osan.report.table import Line, table_lines

__all__ = [
    "Difference",
    "Effects",
    "Frequencies",
    "Group",
    "Line",
    "Looked",
    "Page",
    "Record",
    "Run",
    "SubgraphEffect",
    "Substructure",
    "Summary",
    "by_name",
    "differences",
    "effects",
    "explain",
    "explorer_page",
    "find_runs",
    "group_records",
    "open_run",
    "plot_comparison",
    "plot_curves",
    "read_records",
    "save_picture",
    "substructures",
    "summarize",
    "table_lines",
    "to_csv",
    "write_choice_page",
    "write_explorer",
    "write_page",
    "write_run_page",
]

# Reading runs must not import RDKit and networks.
__getattr__, __dir__ = attach(
    __name__,
    {
        "choice_page": ["write_choice_page"],
        "comparison": ["plot_comparison"],
        "curves": ["plot_curves"],
        "drawing": ["save_picture"],
        "choice_effects": ["Effects", "Looked", "SubgraphEffect", "effects"],
        "explore": ["explorer_page", "write_explorer"],
        "frequencies": ["Frequencies", "explain"],
        "page": ["write_page"],
        "records": [
            "Difference",
            "Group",
            "Record",
            "differences",
            "group_records",
            "read_records",
            "to_csv",
        ],
        "run_page": ["Page", "write_run_page"],
        "runs": ["Run", "Summary", "by_name", "find_runs", "open_run", "summarize"],
        "chosen_parts": ["Substructure", "substructures"],
        "table": ["Line", "table_lines"],
    },
)
