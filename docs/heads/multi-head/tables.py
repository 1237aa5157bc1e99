"""The numbers of two heads, what heads learned, and the time of the layer."""

import math

from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import COUNTS, LEAST, LOOKED_AT, ROUNDS, RUNS, SEEDS, SIZES, TRAINING
from .train import CONTEXT, LAYERS

SHARPNESS = 6.0  # of the running sentence
SLOW_STEPS = 2_500  # after which one head is right at nine places in ten of the two-answer task


def against(language: str) -> str:
    """Return our time over PyTorch's, as it was measured."""
    text, measured = texts(__file__, "against", language), load(__file__)["against"]
    ratios = {
        (sizes, run): measured("time", run=run, batch=b, words=n, size=size, heads=h)
        for sizes in SIZES
        for b, n, size, h in (sizes,)
        for run in RUNS
    }
    rows = (
        (
            " × ".join(f"{size:,}" for size in sizes),
            *(f"{ratios[sizes, run]:.2f}×" for run in RUNS),
        )
        for sizes in SIZES
    )
    training = [ratio for (_, run), ratio in ratios.items() if run in TRAINING]
    caption = text["caption"].format(
        rounds=ROUNDS,
        mean=math.exp(sum(map(math.log, training)) / len(training)),
        most=max(training),
    )
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


def losses() -> dict[int, list[float]]:
    """Return the losses of the trained models, by their number of heads."""
    measured = load(__file__)["trained"]
    return {h: [measured("loss", heads=h, seed=seed) for seed in SEEDS] for h in COUNTS}


def rise_without(layer: int, head: int) -> float:
    """Return by how much the loss of the model that is looked at rises when a head is removed."""
    whole = losses()[LOOKED_AT][0]
    return load(__file__)["jobs"]("loss without", layer=layer, head=head) - whole


def jobs(language: str) -> str:
    """Return where each head of the trained model looks, and what its removal costs."""
    text, measured = texts(__file__, "jobs", language), load(__file__)["jobs"]
    rows = (
        (
            text["name"].format(layer=layer, head=head),
            *(
                f"{measured(name, layer=layer, head=head):.2f}"
                for name in ("one before", "two before", "spaces")
            ),
            f"+{rise_without(layer, head):.2f}",
        )
        for layer in range(1, LAYERS + 1)
        for head in range(1, LOOKED_AT + 1)
    )
    even = measured("spaces, even weights")
    caption = text["caption"].format(loss=losses()[LOOKED_AT][0], even=even)
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


TABLES = {"jobs": jobs, "against": against}


def sentence_numbers() -> dict[str, str]:
    """Return what "it" takes with one head and with two, and what a head without a question."""
    fits, size = math.exp(SHARPNESS / 2), math.exp(SHARPNESS / math.sqrt(2))
    return {
        "it_one": f"{fits / (3 * fits + 2):.2f}",
        "it_who": f"{size / (size + 4):.2f}",
        "idle": f"{1 / 5:.2f}",
    }


def trained_numbers() -> dict[str, str]:
    """Return what the sentences on the trained model say."""
    training, jobs = load(__file__)["trained"].values[0], load(__file__)["jobs"]
    return {
        "context": str(CONTEXT),
        "least": f"{LEAST}",
        "looked_at": str(LOOKED_AT),
        "loss": f"{losses()[LOOKED_AT][0]:.2f}",
        "spaces": f"{jobs('spaces', layer=2, head=4):.2f}",
        "spaces_even": f"{jobs('spaces, even weights'):.2f}",
        "parameters": f"{training['parameters']:,}",
        "steps": f"{training['steps']:,}",
        "removed_most": f"{rise_without(1, 1):.2f}",
        "removed_copy": f"{rise_without(1, 4):.2f}",
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    two, one = math.exp(4 / math.sqrt(2)), math.exp(4)
    shared, alone, rest = two / (2 * two + 1), one / (one + 2), 1 / (one + 2)
    return {
        "exp_alone": f"{one:.2f}",
        "first_head": f"{1 * rest + 5 * alone + 3 * rest:.4f}",
        "one_head": f"{shared * (4 + 2):.4f}",
        "second_head": f"{4 * alone + 2 * rest:.4f}",
        "sum_alone": f"{one + 2:.2f}",
        "slow_steps": f"{SLOW_STEPS:,}",
        "too_small": f"{math.sqrt(12):.1f}",
        "weight_shared": f"{shared:.4f}",
        **sentence_numbers(),
        **trained_numbers(),
    }
