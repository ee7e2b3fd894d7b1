"""The package itself: its rooms are there on first use, and none is imported before."""

import subprocess
import sys

PROGRAM = """
import sys
import osan
assert "osan.wl" not in sys.modules and "torch" not in sys.modules
assert osan.wl.WLTest("oswl", 1).k == 1
assert "torch" not in sys.modules
osan.seventh
"""


def test_rooms_on_first_use():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("AttributeError: module 'osan' has no attribute 'seventh'")
