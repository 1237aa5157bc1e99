"""The numbers of two heads, what heads learned, what multi-head attention costs, and its time."""

import math

import torch

from attn_docs import MultiHeadAttention
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import COUNTS, LEAST, LOOKED_AT, ROUNDS, RUNS, SEEDS, SIZES, TRAINING
from .train import CONTEXT, LAYERS

MODELS = {
    "Transformer, base": (512, 8),
    "GPT-2": (768, 12),
    "Transformer, big": (1024, 16),
    "GPT-2 XL": (1600, 25),
}
SHARPNESS = 6.0  # of the running sentence
SIZE, LENGTH = 768, 1024  # of the cost
HEADS = (1, 12, 96)


def parameters(embed_dim: int, num_heads: int, *, bias: bool) -> int:
    """Count the parameters of the layer itself."""
    with torch.device("meta"):
        layer = MultiHeadAttention(embed_dim, num_heads, bias=bias)
    return sum(parameter.numel() for parameter in layer.parameters())


def operations(n: int, embed_dim: int, num_heads: int) -> int:
    """Count a multiply-add as two: four projections, then QKᵀ and weights times V a head."""
    head_dim = embed_dim // num_heads
    return 4 * 2 * n * embed_dim**2 + num_heads * 2 * 2 * n * n * head_dim


def weight_bytes(n: int, num_heads: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of all heads' weights."""
    return num_heads * n * n * dtype.itemsize


def counted(language: str) -> str:
    """Return the parameters of the attention layer of published models."""
    text = texts(__file__, "counted", language)
    rows = (
        (
            name,
            f"{size:,}",
            str(heads),
            str(size // heads),
            *(f"{parameters(size, heads, bias=bias):,}" for bias in (False, True)),
        )
        for name, (size, heads) in MODELS.items()
    )
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def cost(language: str) -> str:
    """Return parameters, operations and memory against the number of heads."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            str(heads),
            str(SIZE // heads),
            f"{parameters(SIZE, heads, bias=False):,}",
            f"{operations(LENGTH, SIZE, heads) / 1e6:,.0f} M",
            f"{weight_bytes(LENGTH, heads) / 2**20:,.0f} MiB",
        )
        for heads in HEADS
    )
    caption = text["caption"].format(size=SIZE, length=LENGTH)
    return f"{table(text['header'], rows)}\n\n{caption}"


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


TABLES = {"jobs": jobs, "counted": counted, "cost": cost, "against": against}


def sentence_numbers() -> dict[str, str]:
    """Return what "it" takes with one head and with two, and what a head without a question."""
    fits, size = math.exp(SHARPNESS / 2), math.exp(SHARPNESS / math.sqrt(2))
    who, what = size / (size + 4), size / (2 * size + 3)
    before = math.exp(SHARPNESS / math.sqrt(3))
    return {
        "it_one": f"{fits / (3 * fits + 2):.2f}",
        "it_who": f"{who:.2f}",
        "it_who_before": f"{before / (before + 4):.2f}",
        "it_sum": f"{who + 2 * what:.2f}",
        "it_sum_scaled": f"{fits / (fits + 4) + 2 * fits / (2 * fits + 3):.2f}",
        "it_tripled": f"{3 * 3 * fits / (3 * fits + 2):.2f}",
        "idle": f"{1 / 5:.2f}",
    }


def trained_numbers() -> dict[str, str]:
    """Return what the sentences on the trained model say."""
    removed = {"most": 1, "least": 3, "copy": 4}
    training, jobs = load(__file__)["trained"].values[0], load(__file__)["jobs"]
    spaces = sorted(v["value"] for v in jobs.values if v["quantity"] == "spaces")
    return {
        "context": str(CONTEXT),
        "least": f"{LEAST}",
        "looked_at": str(LOOKED_AT),
        "spaces": f"{spaces[-1]:.2f}",
        "spaces_next": f"{spaces[-2]:.2f}",
        "spaces_even": f"{jobs('spaces, even weights'):.2f}",
        "parameters": f"{training['parameters']:,}",
        "steps": f"{training['steps']:,}",
        **{f"removed_{name}": f"{rise_without(1, head):.2f}" for name, head in removed.items()},
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    scaled = 4 / math.sqrt(2)
    two, one = math.exp(scaled), math.exp(4)
    shared, alone, rest = two / (2 * two + 1), one / (one + 2), 1 / (one + 2)
    return {
        "exp_alone": f"{one:.2f}",
        "exp_shared": f"{two:.2f}",
        "first_head": f"{1 * rest + 5 * alone + 3 * rest:.4f}",
        "low_alone": f"{rest:.4f}",
        "low_shared": f"{1 / (2 * two + 1):.4f}",
        "one_head": f"{shared * (4 + 2):.4f}",
        "scaled": f"{scaled:.4f}",
        "second_head": f"{4 * alone + 2 * rest:.4f}",
        "sum_alone": f"{one + 2:.2f}",
        "sum_shared": f"{2 * two + 1:.2f}",
        "too_small": f"{math.sqrt(12):.1f}",
        "weight_alone": f"{alone:.4f}",
        "weight_shared": f"{shared:.4f}",
        **sentence_numbers(),
        **trained_numbers(),
    }
