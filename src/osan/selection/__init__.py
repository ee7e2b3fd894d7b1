"""Learning which subgraphs to look at: policies, solvers, noise, gradient estimators, auxiliary losses."""

from typing import TYPE_CHECKING

from osan.lazy import attach

if TYPE_CHECKING:
    from osan.selection.agreeing import agreement
    from osan.selection.auxiliary import (
        AUXILIARY_LOSSES,
        auxiliary_loss,
        cosine_similarity,
        uniform_divergence,
    )
    from osan.selection.cover import CoverProblem
    from osan.selection.ego import EgoProblem
    from osan.selection.estimator import Draw, Estimator, perturbed
    from osan.selection.estimators import ESTIMATORS, make_estimator
    from osan.selection.ground import GroundSet
    from osan.selection.imle import IMLE, AdaptiveIMLE
    from osan.selection.kinds import KINDS, all_subgraphs, problem_for
    from osan.selection.noise import NOISES, Noise, SumOfGamma, make_noise
    from osan.selection.policy import Policy
    from osan.selection.problem import Problem
    from osan.selection.random import Fixed, Random
    from osan.selection.randomness import Randomness
    from osan.selection.relaxed import SIMPLE, StraightThrough
    from osan.selection.score import ScoreFunction
    from osan.selection.select import Selected, Selection
    from osan.selection.sparsemap import SparseMAP
    from osan.selection.topk import EdgeProblem, ElementProblem, SubsetProblem, VertexProblem
    from osan.selection.tree import TreeProblem

__all__ = [
    "AUXILIARY_LOSSES",
    "ESTIMATORS",
    "IMLE",
    "KINDS",
    "NOISES",
    "SIMPLE",
    "AdaptiveIMLE",
    "CoverProblem",
    "Draw",
    "EdgeProblem",
    "EgoProblem",
    "ElementProblem",
    "Estimator",
    "Fixed",
    "GroundSet",
    "Noise",
    "Policy",
    "Problem",
    "Random",
    "Randomness",
    "ScoreFunction",
    "Selected",
    "Selection",
    "SparseMAP",
    "StraightThrough",
    "SubsetProblem",
    "SumOfGamma",
    "TreeProblem",
    "VertexProblem",
    "agreement",
    "all_subgraphs",
    "auxiliary_loss",
    "cosine_similarity",
    "make_estimator",
    "make_noise",
    "perturbed",
    "problem_for",
    "uniform_divergence",
]

# Reading policies must not import torch.
__getattr__, __dir__ = attach(
    __name__,
    {
        "agreeing": ["agreement"],
        "auxiliary": ["AUXILIARY_LOSSES", "auxiliary_loss", "cosine_similarity", "uniform_divergence"],
        "cover": ["CoverProblem"],
        "ego": ["EgoProblem"],
        "estimator": ["Draw", "Estimator", "perturbed"],
        "estimators": ["ESTIMATORS", "make_estimator"],
        "ground": ["GroundSet"],
        "imle": ["IMLE", "AdaptiveIMLE"],
        "kinds": ["KINDS", "all_subgraphs", "problem_for"],
        "noise": ["NOISES", "Noise", "SumOfGamma", "make_noise"],
        "policy": ["Policy"],
        "problem": ["Problem"],
        "random": ["Fixed", "Random"],
        "randomness": ["Randomness"],
        "relaxed": ["SIMPLE", "StraightThrough"],
        "score": ["ScoreFunction"],
        "select": ["Selected", "Selection"],
        "sparsemap": ["SparseMAP"],
        "topk": ["EdgeProblem", "ElementProblem", "SubsetProblem", "VertexProblem"],
        "tree": ["TreeProblem"],
    },
)
