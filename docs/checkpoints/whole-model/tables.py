"""Tables of the chapter on a whole model: what each step is worth, and names of weights."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import version

from attn_docs.checkpoints import tiny_qwen3
from attn_docs.checkpoints.whole_model import NAMES
from attn_docs.model import describe_weights
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

LONG = benchmark.LONG
# of the pencil exercise: the shape of Qwen3-0.6B in bfloat16, on a memory of 100 GB/s
PENCIL = {"layers": 28, "kv_heads": 8, "head_dim": 128, "tokens": 32768}
BANDWIDTH, WEIGHTS = 100e9, 1.2e9
PROMPT = "mia has a red dog and tom has a black cat. the cat"  # of the exercise


def milliseconds(step: str) -> float:
    """Return the measured time for a token at the end of the long text."""
    return load(__file__)["per_token"]("time", step=step)


@cache
def held(step: str) -> int:
    """Return the bytes of a step's caches in the long text; transformers' are the second's."""
    step = "cache" if step in benchmark.THEIRS else step
    return sum(each.nbytes for each in benchmark.caches_of(step, LONG))


def seconds(step: str) -> float:
    """Return the measured time to read the long text; without a cache, a token is no less."""
    if step == "none":
        return milliseconds(step) / 1000
    return load(__file__)["per_prompt"]("time", step=step)


def spent(step: str) -> dict[str, float]:
    """Return where a token's milliseconds go: products with weights, the rest, the text before."""
    products, empty = milliseconds(f"{step} products"), milliseconds(f"{step} empty")
    return {
        "products": products,
        "rest": empty - products,
        "before": milliseconds(step) - empty,
    }


def steps(language: str) -> str:
    """Return what each step costs at the end of a long text, and transformers' two caches."""
    text = texts(__file__, "steps", language)
    rows = []
    for step in (*benchmark.STEPS, *benchmark.THEIRS):
        took = milliseconds(step)
        rows.append((
            text[step],
            text["same"][step],
            f"{held(step) / 2**20:.1f} MiB" if held(step) else text["without"],
            f"{seconds(step):.2f} s",
            f"{took:,.1f} ms",
        ))  # fmt: skip
    caption = text["caption"].format(
        layers=benchmark.LAYERS,
        heads=benchmark.HEADS,
        kv_heads=benchmark.KV_HEADS,
        size=benchmark.HEAD_DIM,
        window=benchmark.WINDOW,
        tokens=f"{LONG:,}",
    )
    shown = load(__file__)["per_token"].caption(caption, language)
    return f"{table(text['header'], rows, words=(0, 1))}\n\n{shown}"


# A weight of each kind: what the file calls it; the words and chapters stand in text.toml.
_KINDS = {
    "embedding": ("model.embed_tokens",),
    "norms": ("model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm"),
    "attention": tuple(f"model.layers.0.self_attn.{p}_proj" for p in "qkvo"),
    "qk": ("model.layers.0.self_attn.q_norm", "model.layers.0.self_attn.k_norm"),
    "mlp": tuple(f"model.layers.0.mlp.{p}_proj" for p in ("gate", "up", "down")),
    "last": ("model.norm",),
    "unembedding": ("lm_head",),
}


def renamed(name: str) -> str:
    """Return what a weight of the file is called here."""
    for theirs, ours in NAMES.items():
        name = f"{name}.".replace(theirs, ours).removesuffix(".")
    return name


def names(language: str) -> str:
    """Return the names of weights, in the file and here."""
    text = texts(__file__, "names", language)
    rows = [
        (
            "<br>".join(f"`{name}`" for name in theirs),
            "<br>".join(f"`{renamed(name)}`" for name in theirs),
            text[kind],
        )
        for kind, theirs in _KINDS.items()
    ]
    return table(text["header"], rows, words=(0, 1, 2))


def gains(pairs: Iterable[int]) -> float:
    """Return by how much the gains of queries and keys differ at most in some rotary pairs."""
    model, half = tiny_qwen3.tiny_qwen3(), tiny_qwen3.CONFIG["head_dim"] // 2
    found = []
    for block in model.blocks:
        ratio = (block.attention.q_norm.weight / block.attention.k_norm.weight).detach()
        found += [ratio[i + each].item() for i in pairs for each in (0, half)]
    return max(abs(each - 1) for each in found)


TABLES = {"steps": steps, "names": names}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    told = describe_weights("tiny-qwen3")
    took = {step: milliseconds(step) for step in benchmark.STEPS}
    model = tiny_qwen3.tiny_qwen3()
    token = 2 * 2 * PENCIL["layers"] * PENCIL["kv_heads"] * PENCIL["head_dim"]
    long = WEIGHTS + token * PENCIL["tokens"]
    weights = sum(x.nbytes for x in benchmark.model_of("ring").parameters())
    text = len("\n" + PROMPT)
    return {
        "cpu_seconds": f"{float(str(told['cpu_seconds'])):.0f}",
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "transformers": ".".join(version("transformers").split(".")[:2]),
        "long": f"{LONG:,}",
        "cache_times": f"{took['none'] / took['cache']:.0f}",
        "grouped_times": f"{took['cache'] / took['grouped']:.1f}",
        "grouped_long": f"{took['grouped']:.1f}",
        "window_long": f"{took['window']:.1f}",
        "window_prefill": f"{seconds('ring') / seconds('grouped'):.1f}",
        "ring_times": f"{took['window'] / took['ring']:.1f}",
        "ring_memory": f"{held('window') / held('ring'):.0f}",
        "weights": f"{weights / 2**20:.0f}",
        "text": str(text + 3),
        "fed_again": str(text + (text + 1) + (text + 2)),
        "norms_fast": f"{gains(range(3)):.0%}",
        "norms_slow": f"{gains(range(5, 8)):.1%}",
        "pencil_tokens": f"{PENCIL['tokens']:,}",
        "pencil_token": f"{token:,}",
        "pencil_bytes": f"{token * PENCIL['tokens'] / 1e9:.1f}",
        "pencil_weights": f"{WEIGHTS / 1e9:.1f}",
        "pencil_first": f"{BANDWIDTH / WEIGHTS:.0f}",
        "pencil_last": f"{BANDWIDTH / long:.0f}",
    }
