"""BREC with networks: what a trained network separates, beside what its exact test allows."""

from typing import TYPE_CHECKING

from osan.lazy import attach

if TYPE_CHECKING:
    from osan.experiments.brec.models import MODELS, BrecModel, brec_model
    from osan.experiments.brec.protocol import PairResult, Protocol, compare
    from osan.experiments.brec.run import BrecRecord, BrecRow, brec_rows, read_records, run_brec
    from osan.experiments.brec.statistic import t_squared, threshold

__all__ = [
    "MODELS",
    "BrecModel",
    "BrecRecord",
    "BrecRow",
    "PairResult",
    "Protocol",
    "brec_model",
    "brec_rows",
    "compare",
    "read_records",
    "run_brec",
    "t_squared",
    "threshold",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "models": ["MODELS", "BrecModel", "brec_model"],
        "protocol": ["PairResult", "Protocol", "compare"],
        "run": ["BrecRecord", "BrecRow", "brec_rows", "read_records", "run_brec"],
        "statistic": ["t_squared", "threshold"],
    },
)
