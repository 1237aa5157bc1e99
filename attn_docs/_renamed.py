"""Names of before, which lead on to those of today."""

import sys
import warnings
from collections.abc import Callable


def renamed(module: str, names: dict[str, str]) -> Callable[[str], object]:
    """Return a module's `__getattr__` that finds today's names under those of before, and warns."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message = f"{module}.{name} is now named {names[name]}: call that"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find
