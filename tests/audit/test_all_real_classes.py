"""Every configuration of every real class, also those that `make test` has no time for."""

import pytest

from tests.testing.test_real_classes import ROWS, hold


@pytest.mark.parametrize("row", [row for row in ROWS if row.slow], ids=lambda row: row.name)
def test_nothing_false_is_said_of_a_real_class(row):
    hold(row)
