"""Names that are known without their tables: both hold the same."""

import pytest

from osan.data.centralities import CENTRALITIES
from osan.data.encodings import _ENCODINGS
from osan.data.generated.tasks import GENERATED
from osan.errors import OsanError
from osan.parts import resolve
from osan.selection import ESTIMATORS, IMLE
from osan.training import validated
from osan.words import ENCODINGS, GENERATED_NAMES, PARTS, WEIGHERS


@pytest.mark.parametrize("table", PARTS)
def test_the_names_of_parts_are_those_of_their_tables(table):
    assert PARTS[table] == tuple(resolve(table, {}, "table"))


def test_other_names():
    assert tuple(ENCODINGS) == tuple(_ENCODINGS)
    assert tuple(GENERATED) == GENERATED_NAMES
    assert set(WEIGHERS) == {"learned", "neutral", "prior", "random", *CENTRALITIES}


def test_a_part_that_was_added_to_its_table(monkeypatch):
    settings = {"selection": {"estimator": "mine"}}
    with pytest.raises(OsanError, match="'fixed' or 'module:name', got 'mine'"):
        validated(settings)
    monkeypatch.setitem(ESTIMATORS, "mine", IMLE)
    assert validated(settings).selection.estimator == "mine"
