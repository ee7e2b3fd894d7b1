"""scikit-learn estimators for molecules and graphs.

>>> from osan.sklearn import OSANRegressor
>>> smiles = ["C" * n + end for n in range(1, 9) for end in ("", "O", "N")]
>>> model = OSANRegressor(epochs=2, width=8, layers=2).fit(smiles, [float(len(s)) for s in smiles])
>>> model.predict(["CCO", "CCCN"]).shape
(2,)
"""

from osan.extras import optional

optional("sklearn.base", "sklearn", "osan.sklearn")  # an error that says what to install

from osan.sklearn.classifier import OSANClassifier  # noqa: E402
from osan.sklearn.regressor import OSANRegressor  # noqa: E402

__all__ = ["OSANClassifier", "OSANRegressor"]
