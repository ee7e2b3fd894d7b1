"""See graphs through their (ordered) subgraphs.

The combinatorial half lives in :mod:`osan.wl` (no torch needed), the neural half in :mod:`osan.nn`.
"""

__version__ = "0.1.0"
