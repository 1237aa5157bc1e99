"""Each kind of position, trained on 32 tokens and tested on up to 256, with three seeds."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from attn_docs import (
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    YaRNScaling,
    alibi_slopes,
)
from attn_docs.model import DecoderModel
from attn_docs.position._frequencies import RotaryScaling
from attn_docs.position.extrapolation import (
    HEADS,
    KINDS,
    SEGMENT,
    STEPS,
    TRAINED,
    changed,
    recall_accuracy,
    recall_at,
    train,
    train_further,
)
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

if TYPE_CHECKING:
    from attn_docs import MultiHeadAttention
    from attn_docs.model import Block

SEEDS = (0, 1, 2)
LENGTHS = (32, 40, 48, 64, 128, 256)
LONGEST = LENGTHS[-1]
PLACES = ("near", "half", "start")  # of the first copy; the second is always at the end
SEQUENCES = 200
EXAMINED = 12345  # draws sequences that no training draws
LONG_STEPS = {"none": 5000}  # the one that 1,500 steps do not teach the task
RULES: dict[str, Callable[[float], RotaryScaling]] = {
    "linear": LinearScaling,
    "ntk": NTKScaling,
    "yarn": lambda factor: YaRNScaling(factor, TRAINED),
    "yarn_blunt": lambda factor: YaRNScaling(factor, TRAINED, attention_factor=1.0),
    "llama3": lambda factor: Llama3Scaling(factor, TRAINED),
}
STAGES = ((64, 200, 16), (128, 200, 8), (256, 300, 4))  # of the control: length, steps, batch

Values = list[dict[str, object]]


def steps_of(kind: str) -> int:
    """Return how many steps a kind is trained for."""
    return LONG_STEPS.get(kind, STEPS)


def distances(place: str, length: int) -> tuple[int, int]:
    """Return the least and the greatest distance between both copies."""
    near = (SEGMENT + 1, TRAINED // 2)
    return {"near": near, "half": (length // 2,) * 2, "start": (length - SEGMENT,) * 2}[place]


def accuracies(model: DecoderModel, length: int, **of: object) -> Values:
    """Return the accuracy at a length, for each place of the first copy."""
    found: Values = []
    for place in PLACES:
        generator = torch.Generator().manual_seed(EXAMINED)
        at = recall_at(SEQUENCES, generator, length=length, distance=distances(place, length))
        value = round(recall_accuracy(model, at), 4)
        told = {"length": length, "place": place, "quantity": "accuracy"}
        found.append({**of, **told, "value": value, "unit": "ratio"})
    return found


@torch.no_grad()
def inside(model: DecoderModel, length: int, **of: object) -> Values:
    """Return where the best previous-token head of layer 1 looks, late in a sequence.

    Of the last 16 queries: the weight one token back, and that further back than any distance in
    training.
    """
    found: Values = []
    short = _weights(model, TRAINED)  # b h n m
    best = int(short.diagonal(-1, -2, -1)[..., -16:].mean((0, -1)).argmax())
    weights = _weights(model, length)[:, best]  # b n m
    previous = weights.diagonal(-1, -2, -1)[:, -16:].mean().item()
    far = weights.tril(-TRAINED)[:, -16:].sum(-1).mean().item()
    for quantity, value in (("previous", previous), ("beyond", far)):
        told = {"length": length, "quantity": quantity}
        found.append({**of, **told, "value": round(value, 4), "unit": "ratio"})
    return found


def _weights(model: DecoderModel, length: int) -> Tensor:
    generator = torch.Generator().manual_seed(EXAMINED)
    at = recall_at(32, generator, length=length, distance=distances("near", length))
    weights: Tensor = model(at.tokens, need_weights=True)[1][0]
    return weights


def of_kinds(models: dict[tuple[str, int], DecoderModel]) -> Values:
    """Train each kind with each seed and test it at each length; keep the models."""
    values: Values = []
    for kind in KINDS:
        for seed in SEEDS:
            start = time.process_time()
            model = train(kind, seed, steps=steps_of(kind), rows=LONGEST)
            spent = time.process_time() - start
            models[kind, seed] = model
            of = {"kind": kind, "seed": seed}
            values.append({**of, "quantity": "CPU time", "value": round(spent, 1), "unit": "s"})
            for length in LENGTHS:
                values += accuracies(model, length, **of) + inside(model, length, **of)
            print(kind, seed, f"{spent:.0f} s", flush=True)
    return values


def of_changes(models: dict[tuple[str, int], DecoderModel]) -> Values:
    """Test the same models with a window of the trained length, and with sharper scores."""
    values: Values = []
    for (kind, seed), model in models.items():
        for length in (64, 128, LONGEST):
            of = {"kind": kind, "seed": seed}
            with changed(model, window=TRAINED):
                values += accuracies(model, length, change="window", **of)
            with changed(model, sharper=math.log(length) / math.log(TRAINED)):
                values += accuracies(model, length, change="sharper", **of)
    return values


def of_rules(models: dict[tuple[str, int], DecoderModel]) -> Values:
    """Test the rotary models with each rule, and look inside."""
    values: Values = []
    for rule, made in RULES.items():
        for seed in SEEDS:
            of = {"rule": rule, "seed": seed}
            for length in LENGTHS:
                with changed(models["rotary", seed], scaling=made(length / TRAINED)) as model:
                    values += accuracies(model, length, **of) + inside(model, length, **of)
    return values


def of_layers(models: dict[tuple[str, int], DecoderModel]) -> Values:
    """Change one layer of a model only: the frequencies of rotary ones, the cap of ALiBi."""
    values: Values = []
    rule = RULES["yarn_blunt"](LONGEST / TRAINED)  # the angles alone: no score is enlarged
    for seed in SEEDS:
        for layer in (1, 2):
            with changed(models["rotary", seed], scaling=rule) as model:
                other = cast("Block", model.blocks[2 - layer])
                cast("MultiHeadAttention", other.attention).rotary.scaling = None  # type: ignore[union-attr]
                change = f"frequencies in layer {layer}"
                values += accuracies(model, LONGEST, change=change, seed=seed)
        with capped(models["alibi", seed]) as model:
            values += accuracies(model, LONGEST, change="capped", seed=seed)
    return values


@contextmanager
def capped(model: DecoderModel) -> Iterator[DecoderModel]:
    """Let layer 2 of an ALiBi model take off no more than at the longest trained distance."""
    layer = cast("MultiHeadAttention", cast("Block", model.blocks[1]).attention)
    most = alibi_slopes(HEADS)[:, None, None] * (TRAINED - SEGMENT)  # h 1 1
    before = layer.attend

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *others: Any) -> Tensor:  # noqa: ANN401
        pulled = mask.where(mask.isinf(), mask.maximum(-most))  # what is hidden stays hidden
        found: Tensor = before(query, key, value, pulled, *others)
        return found

    layer.attend = attend
    try:
        yield model
    finally:
        layer.attend = before


def of_control(models: dict[tuple[str, int], DecoderModel]) -> Values:
    """Train a rotary model of the first seed further, up to the longest length."""
    lengthened = deepcopy(models["rotary", 0])
    for length, steps, batch in STAGES:
        options: dict[str, Any] = {"length": length, "batch": batch, "learning_rate": 3e-3}
        train_further(lengthened, length, steps=steps, **options)
    return accuracies(lengthened, LONGEST, way="lengthened")


def of_others() -> Values:
    """Train rotary models as `train` does by itself, which draws other first weights."""
    values: Values = []
    for seed in SEEDS:
        values += accuracies(train("rotary", seed), LONGEST, kind="rotary", seed=seed)
    return values


def measure() -> dict[str, Measurement]:
    """Measure all of it in float32 on one thread: some ten minutes."""
    models: dict[tuple[str, int], DecoderModel] = {}
    with one_thread():
        found = {
            "kinds": of_kinds(models),
            "changes": of_changes(models),
            "rules": of_rules(models),
            "layers": of_layers(models),
            "control": of_control(models),
            "others": of_others(),
        }
        tokens = recall_at(1, torch.Generator(), length=TRAINED, distance=(8, 8)).tokens
        kernel = kernel_of(partial(models["rotary", 0], tokens))
        return {
            name: measurement([{**value, "kernel": kernel} for value in values], threads=1)
            for name, values in found.items()
        }
