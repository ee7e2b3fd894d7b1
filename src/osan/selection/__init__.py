"""Learning which subgraphs to look at: policies, solvers, noise, gradient estimators, auxiliary losses."""

from osan.selection.agreement import agreement
from osan.selection.auxiliary import cosine_similarity, uniform_divergence
from osan.selection.estimator import Draw, Estimator, Random, perturbed
from osan.selection.everything import all_subgraphs
from osan.selection.imle import IMLE, AdaptiveIMLE
from osan.selection.noise import Noise
from osan.selection.policy import Policy
from osan.selection.problem import Problem, pose
from osan.selection.randomness import Randomness
from osan.selection.relaxed import SIMPLE, ScoreFunction, StraightThrough
from osan.selection.select import Selected, Selection

__all__ = [
    "IMLE",
    "SIMPLE",
    "AdaptiveIMLE",
    "Draw",
    "Estimator",
    "Noise",
    "Policy",
    "Problem",
    "Random",
    "Randomness",
    "ScoreFunction",
    "Selected",
    "Selection",
    "StraightThrough",
    "agreement",
    "all_subgraphs",
    "cosine_similarity",
    "perturbed",
    "pose",
    "uniform_divergence",
]
