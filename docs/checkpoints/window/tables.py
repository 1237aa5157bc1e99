"""Who counts how, what caches take, and what the trained model loses without its first token."""

import math
from collections.abc import Callable
from functools import cache
from importlib.metadata import version

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import (
    KVConfig,
    MultiHeadAttention,
    RotaryEmbedding,
    kv_cache_bytes,
    load_models,
    sliding_window_mask,
)
from attn_docs.model import load_weights
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.language_model import (
    ALPHABET,
    COLOURS,
    EMBED_DIM,
    HELD_OUT,
    NUM_HEADS,
    batch_of,
    encode,
    language_model,
    tell_stories,
    text_of,
)
from attn_docs.sentence import MEANINGS, WORDS
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import (
    BEGIN,
    CUT,
    HEAD_DIM,
    HEADS,
    JUDGED,
    LAYERS,
    LENGTH,
    SEEDS,
    STEPS,
    STORIES,
    WIDE,
)
from .benchmark import WINDOW as LOCAL

# what each counter keeps when told W = 4, and what of it was run: all, the way to a kernel, nothing
WAYS = {4: "W", 5: "W + 1"}
READ = ("vllm", "llama.cpp", "flash", "flex recipe", "mistral paper")
PASSED = ("transformers to flash", "mimo")
UNSHOWN = ("transformers cache",)  # told in the row of the mask
LENGTH_OF_TEXT = 131_072
LEANING = (2, 3)  # the heads of layer 2 that give the first newline most weight, most last
STREAMS, TOLD, RECENT = 16, 8, 64  # texts of several stories, and the window that reads them


def counts(language: str) -> str:
    """Return how many keys a query sees, by who counts them."""
    text, told = texts(__file__, "counts", language), texts(__file__, "counters", language)
    rows = [
        (
            told[name.replace(" ", "_").replace(".", "_")],
            WAYS[keys],
            text["read" if name in READ else "passed" if name in PASSED else "run"],
        )
        for name, keys in example("checkpoints/window/counts")["found"].items()
        if name not in UNSHOWN
    ]
    return table(text["header"], rows, words=(0, 2))


def all_global(name: str) -> KVConfig:
    """Return a model's configuration if none of its layers had a window."""
    config = load_models()[name].config
    return KVConfig(
        full_layers=config.num_layers, num_kv_heads=config.num_kv_heads, head_dim=config.head_dim
    )


def gib(name: str, length: int) -> tuple[float, float]:
    """Return the GiB of a model's cache, and those without any window."""
    configs = load_models()[name].config, all_global(name)
    some, whole = (kv_cache_bytes(config, length) / 2**30 for config in configs)
    return some, whole


def mean(quantity: str, layers: str) -> float:
    """Return the mean over seeds of what was measured of a pattern of layers."""
    found = load(__file__)["layers"]
    return sum(found(quantity, layers=layers, seed=seed) for seed in SEEDS) / len(SEEDS)


def trained(language: str) -> str:
    """Return what a story costs models whose layers were trained with windows."""
    text = texts(__file__, "trained", language)
    quantities = ("loss", "owner", "colour again", "dream")
    rows = [
        (text[layers], *(f"{mean(quantity, layers):.2f}" for quantity in quantities))
        for layers in LAYERS
    ]
    said = text["caption"].format(
        steps=f"{STEPS:,}", seeds=len(SEEDS), stories=STORIES, window=LOCAL
    )
    return f"{table(text['header'], rows)}\n\n{load(__file__)['layers'].caption(said, language)}"


def spent(language: str) -> str:
    """Return the time of three ways to compute a window, and of causal attention without one."""
    text, found = texts(__file__, "spent", language), load(__file__)["time"]
    kernels = {value["way"]: value["kernel"] for value in found.values}
    rows = [
        (
            text[way],
            f"{found('time', way=way):.0f} ms",
            f"{found('time', way=way) / found('time', way='causal'):.2f}×",
            f"`{kernels[way].removeprefix('aten::_scaled_dot_product_')}`",
        )
        for way in ("causal", "mask", "blocks", "flex")
    ]
    said = text["caption"].format(length=f"{LENGTH:,}", window=WIDE, heads=HEADS, dim=HEAD_DIM)
    return f"{table(text['header'], rows, words=(0, 3))}\n\n{found.caption(said, language)}"


# --- the trained model -------------------------------------------------------------------------


def model(**setting: int) -> DecoderModel:
    """Return the trained model with this setting in each layer."""

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(
            EMBED_DIM, NUM_HEADS, rotary=RotaryEmbedding(EMBED_DIM // NUM_HEADS), **setting
        )

    made = language_model(attention=attention)
    made.load_state_dict(load_weights("language-model"))
    return made.eval()


@cache
def held_out() -> tuple[Tensor, Tensor]:
    """Return held-out stories and their targets, one a row, each after a newline."""
    return batch_of(tell_stories(JUDGED, HELD_OUT))


@torch.no_grad()
def lost(made: DecoderModel) -> Tensor:
    """Return the nats of each character of each held-out story, NaN where it has ended."""
    tokens, targets = held_out()
    found = F.cross_entropy(made(tokens).mT, targets, reduction="none")
    return found.where(targets >= 0, math.nan)


def ends() -> Tensor:
    """Return a mask of the newlines that end the held-out stories."""
    targets = held_out()[1]
    last = (targets >= 0).sum(1, keepdim=True) - 1
    return torch.arange(targets.size(1)) == last


def seeing(keep: int | None = None, *, empty: bool = False) -> DecoderModel:
    """Return the trained model with a window in which a query sees one position besides.

    Args:
        keep: The position; none if None.
        empty: Whether the value of position 0 is zero, so that its weight carries nothing.
    """
    n = held_out()[0].size(1)
    mask = sliding_window_mask(n, window=CUT)
    if keep is not None:
        mask |= (torch.arange(n) == keep) & torch.ones(n, n, dtype=torch.bool).tril()

    def attend(q: Tensor, k: Tensor, v: Tensor, *_: object) -> Tensor:
        if empty:
            v = torch.cat((torch.zeros_like(v[:, :, :1]), v[:, :, 1:]), dim=2)
        return F.scaled_dot_product_attention(q, k, v, mask)

    made = model()
    for block in made.blocks:
        block.attention.attend = attend
    return made


def apart(kept: tuple[int, ...], empty: tuple[int, ...] = ()) -> DecoderModel:
    """Return the trained model in a window, in which some heads of layer 2 see position 0 as well.

    Args:
        kept: The heads that see it.
        empty: The heads in which its value is zero.
    """
    n = held_out()[0].size(1)
    heads = torch.tensor([head in kept for head in range(NUM_HEADS)])[:, None, None]  # h 1 1
    mask = sliding_window_mask(n, window=CUT)
    mask = mask | (heads & (torch.arange(n) == 0))  # h n n

    def attend(q: Tensor, k: Tensor, v: Tensor, *_: object) -> Tensor:
        v = v.clone()
        v[:, list(empty), 0] = 0
        return F.scaled_dot_product_attention(q, k, v, mask)

    made = model(window=CUT)
    made.blocks[1].attention.attend = attend
    return made


@cache
def cases() -> dict[str, tuple[float, float]]:
    """Return the nats of late characters and of the newline that ends a story, by what is seen."""
    models = {
        "all": model(),
        "window": model(window=CUT),
        "second": seeing(1),
        "first": model(window=CUT, keep_first=1),
        "heads": apart(LEANING),
        "empty": seeing(0, empty=True),
    }
    end, found = ends(), {}
    for name, made in models.items():
        nats = lost(made)
        late = nats.where(~end, torch.nan)[:, BEGIN:]
        found[name] = (late.nanmean().item(), nats[end].mean().item())
    return found


def first(language: str) -> str:
    """Return what the trained model loses without its first token, and what brings it back."""
    text = texts(__file__, "first", language)
    rows = [(text[name], f"{late:.3f}", f"{end:.3f}") for name, (late, end) in cases().items()]
    said = text["caption"].format(judged=JUDGED)
    return f"{table(text['header'], rows)}\n\n{said}"


@torch.no_grad()
def at_the_cut() -> dict[str, str]:
    """Return what happens just after the first window of the table has filled, and at the end."""
    window, end = model(window=CUT), ends()
    whole, cut = lost(model()), lost(window)
    soon = torch.zeros_like(end)
    soon[:, BEGIN : BEGIN + 10] = True
    soon &= ~end
    guesses = window(held_out()[0])[end].softmax(dim=-1).mean(0)
    return {
        "end": f"{cut[end].mean().item():.1f}",
        "soon": f"{(cut[soon].mean() / whole[soon].mean()).item():.0f}",
        "space": f"{100 * guesses[ALPHABET.index(' ')].item():.1f}%",
        "usual": f"{whole.nanmean().item():.2f}",
    }


@cache
def streams() -> tuple[Tensor, Tensor]:
    """Return texts of several stories in a row, cut to one length, and their targets."""
    stories = tell_stories(STREAMS * TOLD, HELD_OUT)
    joined = ("".join(map(text_of, stories[i::STREAMS])) for i in range(STREAMS))
    rows = [encode("\n" + text) for text in joined]
    length = min(map(len, rows))
    tokens = torch.stack([row[:length] for row in rows])
    return tokens[:, :-1], tokens[:, 1:]


@torch.no_grad()
def newline_weight() -> tuple[list[float], float]:
    """Return what each head of layer 2 gives the newline late in a story, and an even share."""
    tokens, targets = held_out()
    weights = model()(tokens, need_weights=True)[1][1][..., BEGIN:, 0]  # b h n
    seen = (targets[:, BEGIN:] >= 0).unsqueeze(1)
    by_head = (weights * seen).sum((0, 2)) / seen.sum()
    places = torch.arange(BEGIN, tokens.size(1)) + 1.0
    even = (seen[:, 0] / places).sum() / seen.sum()
    return sorted(by_head.tolist()), even.item()


@torch.no_grad()
def at_stops() -> tuple[float, float]:
    """Return what the last of the leaning heads gives the newline at last and at other stops."""
    tokens, targets = held_out()
    weights = model()(tokens, need_weights=True)[1][1][:, LEANING[-1], :, 0]  # b n
    stops, end = (tokens == ALPHABET.index(".")) & (targets >= 0), ends()
    return weights[end].mean().item(), weights[stops & ~end].mean().item()


def cheaper() -> int:
    """Return in how many seeds a local layer below costs a story less than two global layers."""
    found = load(__file__)["layers"]
    return sum(
        found("loss", layers="local-global", seed=seed)
        < found("loss", layers="global-global", seed=seed)
        for seed in SEEDS
    )


@torch.no_grad()
def streamed(**setting: int) -> float:
    """Return the nats of a character in several stories in a row, after the 200th."""
    tokens, targets = streams()
    found = F.cross_entropy(model(**setting)(tokens).mT, targets, reduction="none")
    return found[:, 200:].mean().item()


def by_way_of_sleeps() -> tuple[float, float, float]:
    """Return how much *animal* "dreams" holds, its weight for "sleeps", and what that brings."""
    told = example("checkpoints/window/worked")
    y, mask = told["y"], told["mask"]
    keys = y @ told["w_k"]
    scores = y @ told["w_q"] @ keys.mT / keys.size(-1) ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)[-1]
    sleeps = WORDS.index("sleeps")
    animal = MEANINGS.index("animal")
    brought = weights[sleeps] * (y @ told["w_v"])[sleeps, animal]
    return told["second"][-1, animal].item(), weights[sleeps].item(), brought.item()


TABLES: dict[str, Callable[[str], str]] = {
    "counts": counts,
    "trained": trained,
    "spent": spent,
    "first": first,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    found = cases()
    weights, even = newline_weight()
    gemma, gemma_all = gib("Gemma-3-27B", LENGTH_OF_TEXT)
    timed, (last, others) = load(__file__)["time"], at_stops()
    unsaid = lost(apart(tuple(range(NUM_HEADS)), LEANING[-1:]))[ends()].mean().item()
    animal, half, by_sleeps = by_way_of_sleeps()
    sizes = example("checkpoints/window/reach")["gradient"](4)
    sizes = sizes / sizes.sum()
    return at_the_cut() | {
        "blocks": f"{100 * timed('time', way='blocks') / timed('time', way='causal'):.0f}%",
        "animal": f"{animal:.2f}",
        "by_sleeps": f"{by_sleeps:.2f}",
        "cheaper": str(cheaper()),
        "coin": f"{(1 - 1 / len(COLOURS)) * math.log(2):.2f}",
        "end_unsaid": f"{unsaid:.1f}",
        "even": f"{100 * even:.0f}%",
        "flex": f"{100 * timed('time', way='flex') / timed('time', way='causal'):.0f}%",
        "gemma": f"{gemma:.1f} GiB",
        "gemma_all": f"{gemma_all:.0f} GiB",
        "guess": f"{math.log(len(ALPHABET)):.2f}",
        "half": f"{half:.2f}",
        "length": f"{LENGTH_OF_TEXT:,}",
        "ln_2": f"{math.log(2):.2f}",
        "ln_5": f"{math.log(5):.2f}",
        "ln_8": f"{math.log(8):.2f}",
        "ln_12": f"{math.log(12):.2f}",
        "mask_slower": f"{timed('time', way='mask') / timed('time', way='causal'):.1f}",
        "reach_beyond": f"{100 * sizes[8:].sum().item():.0f}%",
        "rest": f"{found['window'][0]:.2f}",
        "rest_empty": f"{found['empty'][0]:.2f}",
        "stream_all": f"{streamed():.1f}",
        "stream_first": f"{streamed(window=RECENT, keep_first=1):.1f}",
        "stream_window": f"{streamed(window=RECENT):.1f}",
        "transformers": ".".join(version("transformers").split(".")[:2]),
        "weight": f"{100 * weights[-1]:.0f}%",
        "weight_end": f"{100 * last:.1f}%",
        "weight_stops": f"{100 * others:.0f}%",
        "weight_second": f"{100 * weights[-2]:.0f}%",
    }
