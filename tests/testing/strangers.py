"""Layers that the checker was not written for: wrong modules, wrong functions, and right ones.

The wrong ones are slips from public threads, and plausible ones; none is among the thirty-two of
the page. The right ones have the shapes of today, and no fault may be found with them. All were
written without a look at how the checker works.
"""

from tests.testing import strangers_calls, strangers_heads, strangers_inside
from tests.testing.strangers_functions import RIGHT_FUNCTIONS, WRONG_FUNCTIONS
from tests.testing.strangers_hard import HARD
from tests.testing.strangers_kit import WRONG
from tests.testing.strangers_right import RIGHT

FILES = (strangers_calls, strangers_heads, strangers_inside)  # each enters its layers into WRONG

__all__ = ["FILES", "HARD", "RIGHT", "RIGHT_FUNCTIONS", "WRONG", "WRONG_FUNCTIONS"]
