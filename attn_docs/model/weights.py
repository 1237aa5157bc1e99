"""The weights of the models that were trained for this book, and where they came from."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

FOLDER = Path(__file__).parent / "trained"


def load_weights(name: str) -> dict[str, Tensor]:
    """Return the shipped weights of a trained model, for its `load_state_dict`.

    They are stored in half precision as `trained/<name>.pt`, beside `trained/<name>.json`, which
    holds their checksum, the command that made them and what was measured then.

    Args:
        name: Of the model, for example "induction".

    Returns:
        The state of the module, in float32.

    Raises:
        ValueError: If no model has this name, or the file is not the one that was trained.

    Example:
        ```python
        from attn_docs.model import load_weights

        print(load_weights("induction")["output.weight"].dtype)
        #> torch.float32
        ```
    """
    told = describe_weights(name)
    path = FOLDER / f"{name}.pt"
    found = _checksum(path)
    if found != told["sha256"]:
        raise ValueError(f"{path.name} must have the sha256 {told['sha256']}; got {found}")
    state: dict[str, Tensor] = torch.load(path, weights_only=True)
    return {key: value.float() for key, value in state.items()}


def describe_weights(name: str) -> dict[str, object]:
    """Return what is known of a model's shipped weights: checksum, command, measurements.

    Args:
        name: Of the model, for example "induction".

    Returns:
        What `trained/<name>.json` holds; "sha256" and "command" always.

    Raises:
        ValueError: If no model has this name.
    """
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    if name not in names:
        raise ValueError(f"name must be one of {', '.join(names)}; got {name!r}")
    told: dict[str, object] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


def save_weights(
    name: str,
    state: Mapping[str, Tensor],
    *,
    command: str,
    measured: Mapping[str, object],
    folder: Path = FOLDER,
) -> None:
    """Store a trained model's weights in half precision, with what made them.

    Args:
        name: Of the model; its files are replaced.
        state: What the module's `state_dict` returns.
        command: What a reader types to make them again.
        measured: What was seen in training, such as its seconds, seeds and scores.
        folder: Where to; the package's own, from which `load_weights` reads, if it is not named.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.pt"
    torch.save({key: value.half().clone() for key, value in state.items()}, path)
    told = {"sha256": _checksum(path), "command": command, "torch": torch.__version__, **measured}
    (folder / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n")


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
