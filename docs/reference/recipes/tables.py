"""The versions that the recipes' sentences name."""

from importlib.metadata import version


def numbers() -> dict[str, str]:
    """Return the release of transformers that the programs run with."""
    return {"transformers": ".".join(version("transformers").split(".")[:2])}
