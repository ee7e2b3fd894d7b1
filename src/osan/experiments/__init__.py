"""The paper's experiments: every row that its authors ran as a recipe, plans, and sweeps."""

from typing import TYPE_CHECKING

from osan.lazy import attach

if TYPE_CHECKING:
    from osan.experiments.catalog import Recipe, find_recipes, recipe, recipes
    from osan.experiments.cluster import run_on_ray
    from osan.experiments.dataset_limits import Limit, limits
    from osan.experiments.demo import demo_settings
    from osan.experiments.figures import PaperRow, paper_rows, table_name, table_numbers, tables
    from osan.experiments.plans import PlanGroup, plan_jobs, read_plan
    from osan.experiments.protocols import (
        chosen_settings,
        default_settings,
        key_of,
        settings_for,
        settings_named,
    )
    from osan.experiments.sweep import missing_jobs, parse_seeds

__all__ = [
    "Limit",
    "PaperRow",
    "PlanGroup",
    "Recipe",
    "chosen_settings",
    "default_settings",
    "demo_settings",
    "find_recipes",
    "key_of",
    "limits",
    "missing_jobs",
    "paper_rows",
    "parse_seeds",
    "plan_jobs",
    "read_plan",
    "recipe",
    "recipes",
    "run_on_ray",
    "settings_for",
    "settings_named",
    "table_name",
    "table_numbers",
    "tables",
]

# Listing recipes must not import torch.
__getattr__, __dir__ = attach(
    __name__,
    {
        "catalog": ["Recipe", "find_recipes", "recipe", "recipes"],
        "cluster": ["run_on_ray"],
        "demo": ["demo_settings"],
        "figures": ["PaperRow", "paper_rows", "table_name", "table_numbers", "tables"],
        "dataset_limits": ["Limit", "limits"],
        "plans": ["PlanGroup", "plan_jobs", "read_plan"],
        "protocols": ["chosen_settings", "default_settings", "key_of", "settings_for", "settings_named"],
        "sweep": ["missing_jobs", "parse_seeds"],
    },
)
