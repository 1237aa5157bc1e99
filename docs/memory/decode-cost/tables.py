"""What decoding reads and computes in real models, and how busy that keeps a fast machine."""

from typing import NamedTuple

from attn_docs import (
    DecodeCost,
    decode_cost,
    kv_cache_bytes,
    latent_decode_cost,
    load_models,
)
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

# NVIDIA's H100 SXM: dense bfloat16 FLOP and bytes in a second
H100_FLOPS, H100_BYTES = 989.4e12, 3.35e12
LENGTH = 8192
SERVED, BATCHES, PROMPT = 4096, (1, 8, 64), 512  # a text's tokens; texts at once; a prompt's tokens
LLAMA, VOCABULARY = "Llama-3.1-8B", 128_256
A100_BYTES = 2.039e12  # the A100 SXM with 80 GB
# tokens a second of Llama-2-7B in bfloat16, one text with a prompt of 5 tokens, on 1, 2, 4 and 8
# A100 with 80 GB, limited to 330 W: published with gpt-fast
PUBLISHED = {1: 104.9, 2: 168.84, 4: 254.02, 8: 328.43}
NVLINK = 0.9e12  # bytes a second by the data sheet, which adds up both directions
# bytes that reach all of an H100 SXM in a second, by table 1 of FlashAttention-3 and, for what
# joins it to others, one direction of NVLink
MEMORIES = {"shared": 31e12, "l2": 12e12, "hbm": H100_BYTES, "others": NVLINK / 2}


class Model(NamedTuple):
    """The heads of a model: query heads, key heads (0 if latent), size of a head."""

    heads: int
    kv_heads: int
    head_dim: int


KV_RANK, ROPE_DIM = 512, 64  # DeepSeek-V3
MODELS = {
    "Llama 2 7B": Model(32, 32, 128),
    "Llama 3.1 8B": Model(32, 8, 128),
    "Llama 3.1 70B": Model(64, 8, 128),
    "Falcon-7B": Model(71, 1, 64),
    "DeepSeek-V3": Model(128, 0, 192),
}


def cost(name: str, length: int = LENGTH, tp: int = 1) -> DecodeCost:
    """Return what one layer's attention computes and reads for a new word, in bfloat16."""
    model = MODELS[name]
    if model.kv_heads == 0:
        return latent_decode_cost(
            length, num_heads=model.heads, kv_rank=KV_RANK, rope_dim=ROPE_DIM, tp=tp
        )
    return decode_cost(
        length, num_heads=model.heads, num_kv_heads=model.kv_heads, head_dim=model.head_dim, tp=tp
    )


def ridge() -> float:
    """Return the intensity at which an H100 computes as long as it reads."""
    return H100_FLOPS / H100_BYTES


def read_weights(name: str = LLAMA, vocabulary: int = VOCABULARY) -> float:
    """Return the bytes of weights that a step reads: all but the input embedding."""
    model = load_models()[name]
    return 2 * (model.parameters - vocabulary * model.embed_dim)


def step(batch: int, length: int = SERVED, new: int = 1) -> DecodeCost:
    """Return what a step of the whole of Llama 3.1 8B computes and reads."""
    model, weights = load_models()[LLAMA], read_weights()
    layers, heads = model.config.full_layers, MODELS["Llama 3.1 8B"]
    attention = decode_cost(
        length,
        num_heads=heads.heads,
        num_kv_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        batch=batch,
        new=new,
    )
    return DecodeCost(
        batch * new * weights + layers * attention.flops, weights + layers * attention.bytes
    )


def bound(devices: int) -> float:
    """Return the most tokens a second of Llama 2 7B on A100s, one short text, by the formula."""
    return devices * A100_BYTES / read_weights("Llama-2-7B", 32_000)


def published(language: str) -> str:
    """Return published tokens a second beside the formula's."""
    text = texts(__file__, "published", language)
    rows = [
        (str(n), f"{bound(n):,.0f}", f"{rate:,.0f}", f"{rate / bound(n):.0%}")
        for n, rate in PUBLISHED.items()
    ]
    caption = text["caption"].format(rate=f"{A100_BYTES / 1e12:.2f}")
    return f"{table(text['header'], rows)}\n\n{caption}"


def variants(language: str) -> str:
    """Return FLOP, bytes and intensity of the models' attention."""
    text = texts(__file__, "variants", language)
    rows = []
    for (name, model), kind in zip(MODELS.items(), text["kinds"], strict=True):
        token = cost(name, 1)
        rows.append(
            (
                name,
                kind,
                str(model.heads),
                str(model.kv_heads or "—"),
                f"{token.flops:,.0f}",
                f"{token.bytes:,.0f}",
                f"{token.intensity:,.0f}",
            )
        )
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def machine(language: str) -> str:
    """Return the measured rates of one thread."""
    text, found = texts(__file__, "machine", language), load(__file__)["machine"]
    computes, reads = found("computes"), found("reads")
    values = (f"{computes:.1f} GFLOP/s", f"{reads:.1f} GB/s", f"{computes / reads:.1f}")
    rows = list(zip(text["rows"], values, strict=True))
    return f"{table(text['header'], rows)}\n\n{found.caption(text['caption'], language)}"


def predicted(name: str) -> float:
    """Return the least milliseconds of a measured step, by the bytes it reads and the rates."""
    rates = load(__file__)["machine"]
    weights = sum(parameter.numel() for parameter in benchmark.build(name).parameters())
    step = benchmark.cost(name, benchmark.LENGTHS[-1]).plus(DecodeCost(2 * weights, 4 * weights))
    return 1000 * step.seconds(
        flops_per_second=rates("computes") * 1e9, bytes_per_second=rates("reads") * 1e9
    )


def slower(name: str) -> float:
    """Return the measured time of the longest step over the least that the formula predicts."""
    return took(name) / predicted(name)


def took(name: str) -> float:
    """Return the measured milliseconds of the longest step."""
    return load(__file__)["steps"]("step", attention=name, words=benchmark.LENGTHS[-1])


def step_limit() -> float:
    """Return the intensity that a step comes to as its batch grows: a token's over its cache's."""
    more, less = step(2), step(1)
    return (more.flops - less.flops) / (more.bytes - less.bytes)


def ridge_length() -> float:
    """Return how long texts may be for the largest batches to reach the ridge."""
    one, two = (step(2, length).bytes - step(1, length).bytes for length in (1, 2))
    scores = step(1, 2).flops - step(1, 1).flops  # for each token more in the cache
    return read_weights() / (ridge() * (two - one) - scores)  # 2 FLOP a weight, of 2 bytes


def bytes_ratio(name: str) -> float:
    """Return the bytes of a measured attention's cache over those of multi-head attention."""
    most = benchmark.cost("multi-head", benchmark.LENGTHS[-1]).bytes
    return benchmark.cost(name, benchmark.LENGTHS[-1]).bytes / most


def steps(language: str) -> str:
    """Return the measured steps: bytes and times over multi-head's, and the prediction."""
    text, names = texts(__file__, "steps", language), texts(__file__, "names", language)
    found, lengths = load(__file__)["steps"], [f"{length:,}" for length in benchmark.LENGTHS]
    rows = [
        (
            names[name],
            f"{benchmark.cost(name, benchmark.LENGTHS[-1]).intensity:.1f}",
            f"{bytes_ratio(name):.3f}×",
            *(f"{found('time', attention=name, words=n):.3f}×" for n in benchmark.LENGTHS),
            f"{predicted(name):.1f} ms",
            f"{found('step', attention=name, words=benchmark.LENGTHS[-1]):.1f} ms",
        )
        for name in benchmark.NAMES
    ]
    header = (
        *text["before"],
        *(text["time"].format(words=length) for length in lengths),
        *text["after"],
    )
    caption = text["caption"].format(
        embed_dim=f"{benchmark.EMBED_DIM:,}",
        heads=benchmark.HEADS,
        head_dim=benchmark.HEAD_DIM,
        kv_rank=benchmark.KV_RANK,
        rope_dim=benchmark.ROPE_DIM,
        lengths=lengths,
        rounds=benchmark.ROUNDS,
    )
    return f"{table(header, rows)}\n\n{found.caption(caption, language)}"


TABLES = {"variants": variants, "published": published, "machine": machine, "steps": steps}


def rate(batch: int, length: int) -> float:
    """Return the most tokens a second of Llama 3.1 8B on an H100, by the formula."""
    cache = kv_cache_bytes(load_models()[LLAMA].config, length)
    return H100_BYTES / (read_weights() / batch + cache)


def seventy_on_eight() -> float:
    """Return the most tokens a second of Llama 3.1 70B on eight H100, for one text."""
    cache = kv_cache_bytes(load_models()["Llama-3.1-70B"].config, SERVED)
    return 8 * H100_BYTES / (read_weights("Llama-3.1-70B") + cache)


def _measured_numbers() -> dict[str, str]:
    """Return those of the numbers that were measured, and what they are compared with."""
    found = load(__file__)
    rows, machine = found["rows"], found["machine"]
    computes, reads = rows("computes"), rows("reads")
    shares = [
        rows("product", rows=n) / min(computes, reads * benchmark.rows_cost(n).intensity)
        for n in benchmark.ROWS
    ]
    return {
        "rows": f"{benchmark.ROWS[-1]:,}",
        "longest": f"{benchmark.LENGTHS[-1]:,}",
        "measured_on": rows.date,
        "measured_with": f"PyTorch {rows.torch}, {rows.machine}",
        "cpu_ridge": f"{computes / reads:.0f}",
        "dots_least": f"{min(shares):.0%}",
        "dots_most": f"{max(shares):.0%}",
        "steps_on": found["steps"].machine.replace("(R)", "").partition(" Processor")[0],
        "steps_ridge": f"{machine('computes') / machine('reads'):.0f}",
        "slower_multi_head": f"{slower('multi-head'):.1f}",
        "grouped_ms": f"{took('grouped-query'):.1f}",
        "torch_ms": f"{took('torch'):.1f}",
        "slower_multi_query": f"{slower('multi-query'):.1f}",
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    busy_one = rate(1, SERVED) * step(1).flops / H100_FLOPS
    cache = kv_cache_bytes(load_models()[LLAMA].config, SERVED)
    return {
        "ridge": f"{ridge():.0f}",
        "length": f"{LENGTH:,}",
        "served": f"{SERVED:,}",
        "h100_flops": f"{H100_FLOPS / 1e12:.0f}",
        "h100_bytes": f"{H100_BYTES / 1e12:.2f}",
        "nvlink_both": f"{NVLINK / 1e12:g}",
        "ridge_l2": f"{H100_FLOPS / MEMORIES['l2']:.0f}",
        "busy_one": f"{busy_one:.1%}",
        "step_one": f"{step(1).intensity:.1f}",
        "step_batch": f"{step(64).intensity:.0f}",
        "step_limit": f"{step_limit():.0f}",
        "ridge_length": f"{round(ridge_length(), -1):.0f}",
        "prompt": f"{PROMPT:,}",
        "weights": f"{read_weights() / 1e9:.0f}",
        "cache": f"{cache / 1e9:.2f}",
        "read_ms": f"{1000 * read_weights() / H100_BYTES:.1f}",
        "compute_ms": f"{1000 * read_weights() / H100_FLOPS:.3f}",  # two FLOP, two bytes
        "rate_one": f"{rate(1, SERVED):.0f}",
        "rate_eight": f"{rate(8, SERVED):,.0f}",
        "rate_batch": f"{rate(64, SERVED):,.0f}",
        "each_batch": f"{rate(64, SERVED) / 64:.0f}",
        "rate_all": f"{H100_BYTES / cache:,.0f}",
        "seventy": f"{seventy_on_eight():.0f}",
        "latent": f"{cost('DeepSeek-V3').intensity:.0f}",
        "prompt_cache": f"{PROMPT * cost('Llama 3.1 8B').intensity:,.0f}",
        "latent_factor": f"{cost('DeepSeek-V3').intensity / 128:.2f}",
        "latent_eight": f"{cost('DeepSeek-V3', tp=8).intensity:.0f}",
        "crossover_read": f"{round(read_weights() / (cache / SERVED), -2):,.0f}",
        "published_one": f"{PUBLISHED[1] / bound(1):.0%}",
        "published_gain": f"{PUBLISHED[8] / PUBLISHED[1]:.1f}",
    } | _measured_numbers()
