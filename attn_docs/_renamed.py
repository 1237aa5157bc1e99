"""Names of before, which lead on to those of today."""

import sys
import warnings
from collections.abc import Callable

TODAY = {
    "to_additive": "mask_to_additive",
    "to_boolean": "mask_to_boolean",
    "to_grouped_query": "multi_head_to_grouped_query",
    "to_half_split": "rotary_to_half_split",
    "to_interleaved": "rotary_to_interleaved",
    "to_multi_head": "grouped_query_to_multi_head",
}


def renamed(module: str) -> Callable[[str], object]:
    """Return a module's `__getattr__` that finds today's names under those of before, and warns."""

    def find(name: str) -> object:
        there = vars(sys.modules[module])
        if TODAY.get(name) not in there:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message = f"{module}.{name} is now named {TODAY[name]}: call that"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return there[TODAY[name]]

    return find
