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
    FITTED,
    HEAD_DIM,
    HEADS,
    JUDGED,
    LAYERS,
    LENGTH,
    SEEDS,
    STEPS,
    STORIES,
    WIDE,
    WINDOWS,
    influence,
    model_of,
)
from .benchmark import WINDOW as LOCAL

# what each counter keeps when told W = 4, and what of it was run: all, the way to a kernel, nothing
WAYS = {4: "W", 5: "W + 1", 7: "2W − 1", 9: "2W + 1"}
READ = ("vllm", "llama.cpp", "flash", "flex recipe", "mistral paper")
PASSED = ("transformers to flash", "mimo", "t5gemma to flash")
UNSHOWN = ("transformers cache", "gpt neo")  # told in the row of the mask; W too
TWO_SIDED = "transformers two-sided"  # the first of those that look both ways
MODELS = ("Gemma-3-27B", "gpt-oss-120b", "Olmo-3-7B", "Mistral-7B v0.1")
LENGTHS = (1024, 32_768, 131_072)
STREAMS, TOLD, RECENT = 16, 8, 64  # texts of several stories, and the window that reads them


def counts(language: str, *, two_sided: bool = False) -> str:
    """Return how many keys a query sees, by who counts them."""
    text, told = texts(__file__, "counts", language), texts(__file__, "counters", language)
    found = example("checkpoints/window/counts")["found"]
    names = list(found)
    start = names.index(TWO_SIDED)
    rows = [
        (
            told[name.replace(" ", "_").replace(".", "_")],
            WAYS[found[name]],
            text["read" if name in READ else "passed" if name in PASSED else "run"],
        )
        for name in (names[start:] if two_sided else names[:start])
        if name not in UNSHOWN
    ]
    return table(text["header"], rows, words=(0, 2))


def two_sided(language: str) -> str:
    """Return how many keys a query of an encoder sees, by who counts them."""
    return counts(language, two_sided=True)


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


def sizes(language: str) -> str:
    """Return what the caches of four models take at three lengths."""
    text = texts(__file__, "sizes", language)
    rows = []
    for name in MODELS:
        config = load_models()[name].config
        window = f"{config.window:,}"
        pattern = text[name.partition("-")[0]].format(window=window)
        pairs = (gib(name, length) for length in LENGTHS)
        cells = (text["of"].format(some=f"{a:.2f}", whole=f"{b:.2f}") for a, b in pairs)
        rows.append((name, pattern, *cells))
    return f"{table(text['header'], rows, words=(0, 1))}\n\n{text['caption']}"


def mean(quantity: str, layers: str) -> float:
    """Return the mean over seeds of what was measured of a pattern of layers."""
    found = load(__file__)["layers"]
    return sum(found(quantity, layers=layers, seed=seed) for seed in SEEDS) / len(SEEDS)


def between(quantity: str, layers: str) -> str:
    """Return the least and the greatest of what was measured of a pattern of layers."""
    found = load(__file__)["layers"]
    values = sorted(found(quantity, layers=layers, seed=seed) for seed in SEEDS)
    shown = [f"{100 * x:.0f}%" if quantity == "beyond" else f"{x:.2f}" for x in values]
    return " … ".join(dict.fromkeys((shown[0], shown[-1])))


def trained(language: str) -> str:
    """Return what a story costs models whose layers were trained with windows."""
    text = texts(__file__, "trained", language)
    quantities = ("loss", "owner", "colour again", "dream", "beyond")
    rows = [
        (text[layers], *(between(quantity, layers) for quantity in quantities)) for layers in LAYERS
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
def nats(window: int, keep: int | None = None, *, empty: bool = False) -> float:
    """Return the nats of a character in the last part of a story, by what a query sees.

    Args:
        window: Of both layers.
        keep: A position that every query sees besides; none if None.
        empty: Whether the value of position 0 is zero, so that its weight carries nothing.
    """
    n = held_out()[0].size(1)
    mask = sliding_window_mask(n, window=window)
    if keep is not None:
        mask |= (torch.arange(n) == keep) & torch.ones(n, n, dtype=torch.bool).tril()

    def attend(q: Tensor, k: Tensor, v: Tensor, *_: object) -> Tensor:
        if empty:
            v = torch.cat((torch.zeros_like(v[:, :, :1]), v[:, :, 1:]), dim=2)
        return F.scaled_dot_product_attention(q, k, v, mask)

    made = model()
    for block in made.blocks:
        block.attention.attend = attend
    return judged(made)


@torch.no_grad()
def judged(made: DecoderModel) -> float:
    """Return what a model loses on a character of the last part of a story."""
    tokens, targets = held_out()
    return F.cross_entropy(made(tokens)[:, BEGIN:].mT, targets[:, BEGIN:]).item()


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


@torch.no_grad()
def at_the_cut() -> dict[str, str]:
    """Return what happens just after the first window of the table has filled, and at the end."""
    window, end = model(window=WINDOWS[0]), ends()
    whole, cut = lost(model()), lost(window)
    soon = torch.zeros_like(end)
    soon[:, BEGIN : BEGIN + 10] = True
    soon &= ~end
    late = cut[:, BEGIN:]
    guesses = window(held_out()[0])[end].softmax(dim=-1).mean(0)
    return {
        "end": f"{cut[end].mean().item():.1f}",
        "end_share": f"{100 * (cut[end].sum() / late.nansum()).item():.0f}%",
        "soon": f"{(cut[soon].mean() / whole[soon].mean()).item():.0f}",
        "space": f"{100 * guesses[ALPHABET.index(' ')].item():.1f}%",
        "usual": f"{whole.nanmean().item():.2f}",
    }


def cases(window: int) -> dict[str, float]:
    """Return the nats of a late character in each case of the table."""
    moved = model(window=window, keep_first=1)
    renumber(moved, window, 1)
    fitted = load(__file__)["sinks"]
    return {
        "all": nats(10_000),
        "window": nats(window),
        "first": nats(window, 0),
        "second": nats(window, 1),
        "empty": nats(window, 0, empty=True),
        "logit": fitted("loss", window=window, way="logit"),
        "logit and value": fitted("loss", window=window, way="logit and value"),
        "moved": judged(moved),
    }


@cache
def all_cases() -> dict[int, dict[str, float]]:
    """Return the cases of each window of the table."""
    return {window: cases(window) for window in WINDOWS}


def first(language: str) -> str:
    """Return what the trained model loses without its first token, and what brings it back."""
    text, found = texts(__file__, "first", language), all_cases()
    rows = [
        (text[name.replace(" ", "_")], *(f"{found[window][name]:.3f}" for window in WINDOWS))
        for name in found[WINDOWS[0]]
    ]
    header = [text["case"], *(text["window_of"].format(window=window) for window in WINDOWS)]
    said = text["caption"].format(begin=BEGIN + 1, judged=JUDGED, stories=FITTED[0])
    return f"{table(header, rows)}\n\n{load(__file__)['sinks'].caption(said, language)}"


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
def streamed(*, renumbered: bool = False, **setting: int) -> tuple[float, ...]:
    """Return the nats of a character of the first 100, and of those after 200.

    These three times: all, those with a newline among the last 64 characters, those without.
    """
    tokens, targets = streams()
    made = model(**setting)
    if renumbered:
        renumber(made, setting["window"], setting["keep_first"])
    lost = F.cross_entropy(made(tokens).mT, targets, reduction="none")
    at = torch.arange(tokens.size(1)).expand_as(tokens)
    newline = torch.where(tokens == 0, at, -RECENT).cummax(dim=1).values
    late, near = at >= 200, at - newline < RECENT
    parts = (at < 100, late, late & near, late & ~near)
    return tuple(lost[part].mean().item() for part in parts)


def renumber(made: DecoderModel, window: int, keep: int) -> None:
    """Let a model count positions within its cache, as StreamingLLM does.

    Distances within the window stay as they are; a query is as far from the first keys as their
    places in the cache are apart.
    """
    turn = RotaryEmbedding(EMBED_DIM // NUM_HEADS)

    def attend(q: Tensor, k: Tensor, v: Tensor, *_: object) -> Tensor:
        n = q.size(2)
        at = torch.arange(n)
        keys = turn.rotate(k, k, at)[0]
        near = turn.rotate(q, q, at)[0] @ keys.mT  # b h n n
        in_cache = at.clamp(max=keep + window - 1)
        far = turn.rotate(q, q, in_cache)[0] @ keys[:, :, :keep].mT  # b h n keep
        scores = torch.cat((far, near[..., keep:]), dim=-1) / q.size(-1) ** 0.5
        mask = sliding_window_mask(n, window=window, keep_first=keep)
        return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ v

    for block in made.blocks:
        block.attention.rotary, block.attention.attend = None, attend


@cache
def all_streams() -> dict[str, tuple[float, ...]]:
    """Return the nats of a character in each case of the table of streams."""
    window = {"window": RECENT}
    return {
        "all": streamed(),
        "window": streamed(**window),
        "first": streamed(**window, keep_first=1),
        "four": streamed(**window, keep_first=4),
        "renumbered": streamed(**window, keep_first=4, renumbered=True),
    }


def stream(language: str) -> str:
    """Return what several stories in a row cost."""
    text = texts(__file__, "stream", language)
    found = all_streams().items()
    rows = [(text[name], *(f"{x[i]:.2f}" for i in (0, 2, 3))) for name, x in found]
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


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


def in_one_layer(layer: int) -> float:
    """Return the nats of a late character with the first window of the table in one layer."""
    made = model()
    made.blocks[layer].attention.window = WINDOWS[0]
    return judged(made)


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
    "two_sided": two_sided,
    "sizes": sizes,
    "trained": trained,
    "spent": spent,
    "first": first,
    "stream": stream,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    found, told = all_cases()[WINDOWS[0]], all_streams()
    weights, even = newline_weight()
    gemma, whole = gib(MODELS[0], LENGTHS[-1])
    timed = load(__file__)["time"]
    harm = found["window"] - found["all"]
    good = {name: (found["window"] - nats) / harm for name, nats in found.items()}
    animal, half, by_sleeps = by_way_of_sleeps()
    sizes = example("checkpoints/window/reach")["gradient"](4)
    sizes = sizes / sizes.sum()
    untrained = [influence(model_of(LAYERS["local-local"], seed).eval()) for seed in SEEDS]
    return at_the_cut() | {
        "blocks": f"{100 * timed('time', way='blocks') / timed('time', way='causal'):.0f}%",
        "animal": f"{animal:.2f}",
        "by_sleeps": f"{by_sleeps:.2f}",
        "even": f"{100 * even:.0f}%",
        "flex": f"{100 * timed('time', way='flex') / timed('time', way='causal'):.0f}%",
        "gemma": f"{gemma:.1f} GiB",
        "gemma_all": f"{whole:.0f} GiB",
        "guess": f"{math.log(len(ALPHABET)):.2f}",
        "half": f"{half:.2f}",
        "in_layer_1": f"{in_one_layer(0):.3f}",
        "in_layer_2": f"{in_one_layer(1):.3f}",
        "length": f"{LENGTHS[-1]:,}",
        "ln_5": f"{math.log(5):.2f}",
        "ln_8": f"{math.log(8):.2f}",
        "ln_12": f"{math.log(12):.2f}",
        "mask_slower": f"{timed('time', way='mask') / timed('time', way='causal'):.1f}",
        "part": f"{100 * good['empty']:.0f}%",
        "part_number": f"{100 * good['logit']:.0f}%",
        "part_value": f"{100 * good['logit and value']:.0f}%",
        "reach_beyond": f"{100 * sizes[8:].sum().item():.0f}%",
        "reach_near": f"{100 * sizes[1:8].mean().item():.0f}%",
        "reach_self": f"{100 * sizes[0].item():.0f}%",
        "stream_far": f"{told['window'][3]:.2f}",
        "stream_far_first": f"{told['first'][3]:.2f}",
        "stream_near": f"{told['window'][2]:.2f}",
        "stream_near_first": f"{told['first'][2]:.2f}",
        "stream_all": f"{told['all'][1]:.1f}",
        "stream_window": f"{told['window'][1]:.1f}",
        "times": f"{found['window'] / found['all']:.0f}",
        "trained_beyond": f"{100 * mean('beyond', 'local-local'):.0f}%",
        "transformers": ".".join(version("transformers").split(".")[:2]),
        "untrained_beyond": f"{100 * sum(untrained) / len(untrained):.0f}%",
        "weight": f"{100 * weights[-1]:.0f}%",
        "weight_second": f"{100 * weights[-2]:.0f}%",
    }
