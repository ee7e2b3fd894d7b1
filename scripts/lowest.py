"""Print the lowest versions that pyproject.toml allows, as pip constraints.

python scripts/lowest.py > constraints.txt
"""

import re
import tomllib
from pathlib import Path

# torch is pinned by the Makefile; the project itself is no dependency.
LEFT_OUT = ("torch", "osan")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *(line for extra in extras.values() for line in extra)]:
    match = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)", requirement)
    if match and match[1] not in LEFT_OUT:
        print(f"{match[1]}=={match[2]}")
