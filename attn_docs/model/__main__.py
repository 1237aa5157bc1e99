"""Train the shipped models again and store their weights; one model, if it is named."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch

from attn_docs.checkpoints import tiny_qwen3
from attn_docs.model import alignment, induction, language_model
from attn_docs.model.weights import FOLDER, save_weights

COMMAND = "python -m attn_docs.model {}"


def train_alignment(folder: Path) -> None:
    """Train the translators of dates, one with attention and one without."""
    lines = alignment.draw_lines(1000, alignment.EXAMINED, unseen=True)
    for name, attends in (("alignment", True), ("alignment-last-state", False)):
        start = time.process_time()
        model = alignment.train_translator(alignment.SIZE, attends=attends)
        seconds = time.process_time() - start
        found = alignment.accuracy(model, lines)
        print(f"{name}: {seconds:.0f} s, {found:.1%} right")
        measured = {"size": alignment.SIZE, "seed": 0, "seconds": round(seconds, 1)}
        measured |= {"accuracy": found}
        command = COMMAND.format("alignment")
        state = model.state_dict()
        save_weights(name, state, command=command, measured=measured, folder=folder)


def train_induction(folder: Path) -> None:
    """Train the model of two layers that continues repetitions."""
    start = time.process_time()
    model = induction.train()
    seconds = time.process_time() - start
    generator = torch.Generator().manual_seed(induction.EXAMINED)
    found = induction.behaviour(model, induction.repeated_tokens(256, generator))
    measured = {"seed": 0, "steps": induction.STEPS, "cpu_seconds": round(seconds, 1)}
    measured |= found._asdict()
    command = COMMAND.format("induction")
    state = model.state_dict()
    save_weights("induction", state, command=command, measured=measured, folder=folder)
    print(f"accuracy {found.accuracy:.3f} after {seconds:.1f} CPU seconds")


def train_language_model(folder: Path) -> None:
    """Train the model of stories, and print what it writes on the way."""
    start = time.process_time()
    held_out = language_model.tell_stories(100, language_model.HELD_OUT)
    model, curve = language_model.language_model(), []

    def watch(step: int) -> None:
        if step in language_model.WATCHED:
            found = language_model.nats_by_kind(model, held_out)
            nats = {kind: round(x, 4) for kind, x in found.items()}
            text = language_model.continue_text(model, "m", temperature=1.0)
            curve.append({"step": step, "nats": nats, "text": text})
            print(f"{step:5} {sum(nats.values()):6.1f} nats a story: {text}", end="")

    language_model.train(model, watch=watch)
    seconds = round(time.process_time() - start, 1)
    measured: dict[str, object] = {"cpu_seconds": seconds, "steps": language_model.STEPS}
    measured |= {"batch": language_model.BATCH, "seed": 0, "curve": curve}
    command = COMMAND.format("language-model")
    state = model.state_dict()
    save_weights("language-model", state, command=command, measured=measured, folder=folder)


def train_tiny_qwen3(folder: Path) -> None:
    """Train the model of Qwen3's shape on the same stories."""
    start = time.process_time()
    model = tiny_qwen3.untrained()
    language_model.train(model, steps=tiny_qwen3.STEPS)
    seconds = round(time.process_time() - start, 1)
    held_out = language_model.tell_stories(100, language_model.HELD_OUT)
    nats = sum(language_model.nats_by_kind(model, held_out).values())
    measured = {"cpu_seconds": seconds, "steps": tiny_qwen3.STEPS, "seed": 0, "nats": nats}
    command = COMMAND.format("tiny-qwen3")
    state = model.state_dict()
    del state["output.weight"]  # the embedding's, stored once
    save_weights("tiny-qwen3", state, command=command, measured=measured, folder=folder)
    print(f"tiny-qwen3: {nats:.1f} nats a story after {seconds:.0f} CPU seconds")


TRAINERS: dict[str, Callable[[Path], None]] = {
    "induction": train_induction,
    "language-model": train_language_model,
    "alignment": train_alignment,
    "tiny-qwen3": train_tiny_qwen3,
}


def main() -> None:
    """Train the models that are named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m attn_docs.model", description=__doc__)
    parser.add_argument("name", nargs="?", choices=TRAINERS, help="of the model; all without it")
    told = "folder for the weights; without it they replace those of the package"
    parser.add_argument("--out", type=Path, default=FOLDER, help=told)
    arguments = parser.parse_args()
    name = arguments.name
    torch.set_num_threads(1)
    for train in [TRAINERS[name]] if name else TRAINERS.values():
        train(arguments.out)


if __name__ == "__main__":
    main()
