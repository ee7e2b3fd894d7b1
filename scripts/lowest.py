"""Print the lowest versions that pyproject.toml allows, as pip constraints.

python scripts/lowest.py > constraints.txt
"""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:  # nothing is installed yet
    from pip._vendor import tomli as tomllib

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *(line for extra in extras.values() for line in extra)]:
    match = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)(?: ?;.*)?", requirement)
    if match:
        print(f"{match[1]}=={match[2]}")
