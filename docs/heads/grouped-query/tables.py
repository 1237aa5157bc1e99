"""What KV heads cost, on one GPU and on several; the forms measured; kernels; what models use."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import KVConfig, kv_cache_bytes, load_models
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

# Llama 3 8B
LAYERS, EMBED_DIM, HEADS, KV_HEADS, HEAD_DIM = 32, 4096, 32, 8, 128
LENGTH = 8192
DTYPE = torch.bfloat16
ALL_KV_HEADS = (1, 8, 32)
FREE = 64 * 2**30  # bytes for the caches of all users
# the releases whose source says what CUDA does
READ_TORCH, READ_TRANSFORMERS = "2.13", "5.23"
SPLIT_MODEL, GPUS = "Llama-3-70B", (1, 4, 8, 16)
MODELS = (
    "Llama-2-7B",
    "Gemma-3-27B",
    "Llama-3-8B",
    "Qwen2.5-7B",
    "gpt-oss-120b",
    "Falcon-40B",
)
# Ainslie et al., arXiv:2305.13245, table 1: seconds for a sample, mean of seven tasks
PUBLISHED = (
    ("T5 XXL, MHA", "64", "1.51", "47.2"),
    ("T5 XXL, GQA", "8", "0.28", "47.1"),
    ("T5 XXL, MQA", "1", "0.24", "46.6"),
)


def parameters(kv_heads: int) -> int:
    """Count the weights of one layer's four projections, without biases."""
    query_and_output = 2 * EMBED_DIM * HEADS * HEAD_DIM
    return query_and_output + 2 * EMBED_DIM * kv_heads * HEAD_DIM


def cache_bytes(kv_heads: int, length: int = LENGTH) -> int:
    """Count the bytes of the keys and values of one text, of all layers."""
    config = KVConfig(full_layers=LAYERS, num_kv_heads=kv_heads, head_dim=HEAD_DIM)
    return kv_cache_bytes(config, length, dtype=DTYPE)


def users(kv_heads: int) -> int:
    """Count the texts whose caches fit."""
    return FREE // cache_bytes(kv_heads)


def _size(size: float) -> str:
    return f"{size / 2**30:g} GiB" if size >= 2**30 else f"{size / 2**20:g} MiB"


def cost(language: str) -> str:
    """Return parameters, cached bytes and users against the number of KV heads."""
    text = texts(__file__, "cost", language)
    names = {1: text["multi-query"], KV_HEADS: text["llama"], HEADS: text["multi-head"]}
    rows = (
        (
            f"{kv_heads}{names.get(kv_heads, '')}",
            f"{parameters(kv_heads) / 1e6:,.1f} M",
            f"{cache_bytes(kv_heads, 1) / 2**10:,.0f} KiB",
            _size(cache_bytes(kv_heads)),
            f"{users(kv_heads)}",
        )
        for kv_heads in ALL_KV_HEADS
    )
    header = [cell.format(length=LENGTH, free=_size(FREE)) for cell in text["header"]]
    caption = text["caption"].format(layers=LAYERS, h=HEADS, d=HEAD_DIM)
    return f"{table(header, rows)}\n\n{caption}"


def forms(language: str) -> str:
    """Return time over the repeat form's, and peak memory, as they were measured."""
    text, names = (texts(__file__, group, language) for group in ("forms", "ways"))
    measured = load(__file__)["forms"]
    rows = (
        (
            names[way],
            *(
                cell
                for case in benchmark.CASES
                for cell in (
                    f"{measured('time', way=way, case=case):.2f}×",
                    f"{measured('memory', way=way, case=case):,.0f} MiB",
                )
            ),
        )
        for way in benchmark.WAYS
    )
    (n, m), (text_n, _) = benchmark.CASES.values()
    caption = text["caption"].format(
        h=benchmark.HEADS,
        g=benchmark.KV_HEADS,
        d=benchmark.HEAD_DIM,
        n=n,
        m=m,
        text_n=text_n,
    )
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


class Copied(TorchDispatchMode):
    """Counts the bytes that are copied, and remembers whether a fused kernel ran."""

    size, fused = 0, False

    def __torch_dispatch__(  # noqa: D105
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if "clone" in str(func) and isinstance(result, Tensor):
            self.size += result.nbytes
        self.fused |= "flash_attention" in str(func)
        return result


def kernel_calls() -> dict[str, tuple[tuple[Tensor, ...], dict[str, Any]]]:
    """Return tensors and options with 8 query heads and 2 KV heads, by what is special."""
    n, m, d = 1, 64, 16
    query, (key, value) = torch.randn(2, 8, n, d), torch.randn(2, 2, 2, m, d)
    mask, long = torch.ones(n, m, dtype=torch.bool), torch.randn(2, 8, m, d)

    wide = torch.randn(2, 8, m, 512, dtype=DTYPE)
    half = tuple(x.to(DTYPE) for x in (query, key, value))
    return {
        "plain": (half, {}),
        "causal": ((long.to(DTYPE), *half[1:]), {"is_causal": True}),
        "float32": ((query, key, value), {}),
        "large": ((wide, wide[:, :2], wide[:, :2]), {}),
        "mask": (half, {"attn_mask": mask}),
        "dropout": (half, {"dropout_p": 0.1}),
        "values": ((*half[:2], torch.cat((value, value), dim=-1).to(DTYPE)), {}),
        "no_batch": (tuple(x[0] for x in half), {}),
    }


def kernels() -> dict[str, tuple[bool, float]]:
    """Return, for each call, whether a fused kernel ran, and the bytes copied over the cache's."""
    found = {}
    for name, ((query, key, value), options) in kernel_calls().items():
        with Copied() as copied:
            F.scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)
        found[name] = copied.fused, copied.size / (key.nbytes + value.nbytes)
    return found


def kernel(language: str) -> str:
    """Return which kernel ran on this CPU for each call, what it copied, and CUDA as published."""
    text = texts(__file__, "kernel", language)
    rows = (
        (
            text["calls"][name],
            text["fused"] if fused else "MATH",
            text["copied"].format(times=times) if times else text["nothing"],
            text["cuda"][name],
        )
        for name, (fused, times) in kernels().items()
    )
    caption = text["caption"].format(torch=torch.__version__.partition("+")[0])
    return f"{table(text['header'], rows)}\n\n{caption}"


def split(gpus: int) -> tuple[int, int, int]:
    """Return KV heads on each GPU, and the bytes cached on each and on all."""
    config = load_models()[SPLIT_MODEL].config
    here = max(1, config.num_kv_heads // gpus)
    whole = kv_cache_bytes(config, LENGTH, dtype=DTYPE)
    on_one = whole * here // config.num_kv_heads
    return here, on_one, gpus * on_one


def parallel(language: str) -> str:
    """Return what each GPU holds when the heads are split over several."""
    text = texts(__file__, "parallel", language)
    model = load_models()[SPLIT_MODEL]
    rows = (
        (str(gpus), str((model.num_heads or 0) // gpus), str(here), _size(one), _size(both))
        for gpus in GPUS
        for here, one, both in [split(gpus)]
    )
    caption = text["caption"].format(g=model.config.num_kv_heads, length=LENGTH)
    return f"{table(text['header'], rows)}\n\n{caption}"


def models(language: str) -> str:
    """Return the heads of published models, by how many query heads share a KV head."""
    text, found = texts(__file__, "models", language), load_models()
    rows = (
        (name, str(h), str(g), str(h // g), str(found[name].config.head_dim))
        for name in MODELS
        for h, g in [(found[name].num_heads or 0, found[name].config.num_kv_heads)]
    )
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def published(language: str) -> str:
    """Return quality and time of multi-head T5 models and of those converted from them."""
    text = texts(__file__, "published", language)
    return f"{table(text['header'], PUBLISHED)}\n\n{text['caption']}"


TABLES = {
    "cost": cost,
    "published": published,
    "forms": forms,
    "kernel": kernel,
    "parallel": parallel,
    "models": models,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    replicated, measured = GPUS[-1], load(__file__)["forms"]
    torchs = [measured("time", way=way, case="one token") for way in ("torch", "multi-head")]
    ratio = torchs[0] / torchs[1]
    return {
        "length": f"{LENGTH:,}",
        "keys": f"{benchmark.CASES['one token'][1]:,}",
        "quality_multi_head": PUBLISHED[0][3],
        "quality_multi_query": PUBLISHED[2][3],
        "torch": READ_TORCH,
        "transformers": READ_TRANSFORMERS,
        "times": str(HEADS // KV_HEADS),
        "cache_multi_head": _size(cache_bytes(HEADS)),
        "cache_grouped": _size(cache_bytes(KV_HEADS)),
        "cache_multi_query": _size(cache_bytes(1)),
        "free": _size(FREE),
        "users_multi_head": str(users(HEADS)),
        "users_grouped": str(users(KV_HEADS)),
        "split_one": _size(split(1)[2]),
        "split_many": _size(split(replicated)[2]),
        "einsum_repeat": f"{1 / measured('time', way='broadcast', case='one token'):.0f}",
        "torch_multi_head": f"{ratio:.1f}",
    }
