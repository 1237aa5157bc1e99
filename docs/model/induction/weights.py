"""Write the trained weights as the script that the page's figure loads: `weights.js`.

A script, since a page that is opened as a file may load scripts and nothing else. Run by
`make models`, after the training.
"""

import base64
import re
from pathlib import Path

import torch
from torch import Tensor

from attn_docs.model import load_weights
from attn_docs.model.induction import build_model

FILE = Path(__file__).with_name("weights.js")
SCRIPT = 'attnInduction.weights="{}"\n'


def script() -> str:
    """Return the script: all weights in the order of the module's state, two bytes each."""
    state = load_weights("induction")
    parts = [state[name].half().flatten() for name in build_model().state_dict()]
    data = torch.cat(parts).view(torch.uint8).numpy().tobytes()
    return SCRIPT.format(base64.b64encode(data).decode())


def stored() -> Tensor:
    """Return the numbers that the script in the tree holds."""
    (text,) = re.findall('"(.+)"', FILE.read_text(encoding="utf-8"))
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.float16)


if __name__ == "__main__":
    FILE.write_text(script(), encoding="utf-8")
