"""Which kernel runs for each kind of call, why, and what falling back costs."""

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import LlamaConfig, LlamaModel, logging

from attn_docs import attention_kernels
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

# the releases whose source says what CUDA does and what its functions are called
READ_TORCH, READ_TRANSFORMERS, READ_CUDNN = "2.13", "5.23", "9.15.0"
READ_CAPABILITIES = "9.0 / 10.0 / 10.3"  # where cuDNN is asked first with CUDA 12
BATCH, HEADS, KV_HEADS, LENGTH = 2, 4, 2, 5
Call = tuple[tuple[Tensor, Tensor, Tensor], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One call of PyTorch's attention, by what may matter for the choice of a kernel."""

    axes: int = 4
    mask: str = "none"
    dtype: torch.dtype = torch.float32
    sizes: tuple[int, int] = (64, 64)  # of a key and of a value
    shared: bool = False  # fewer KV heads, with enable_gqa
    dropout: float = 0.0
    gradient: bool = False
    strided: bool = False  # the last axis has gaps in memory

    def tensor(self, heads: int, size: int) -> Tensor:
        """Return queries, keys or values."""
        lead = {3: (), 4: (BATCH,), 5: (1, BATCH)}[self.axes]
        made = torch.zeros(*lead, heads, LENGTH, size, dtype=self.dtype)
        made = made.mT.contiguous().mT if self.strided else made
        return made.requires_grad_(self.gradient)

    def call(self) -> Call:
        """Return the tensors and the options of the call."""
        heads = KV_HEADS if self.shared else HEADS
        key_size, value_size = self.sizes
        tensors = (
            self.tensor(HEADS, key_size),
            self.tensor(heads, key_size),
            self.tensor(heads, value_size),
        )
        masks = {
            "boolean": torch.ones(LENGTH, LENGTH, dtype=torch.bool),
            "float": torch.zeros(LENGTH, LENGTH, dtype=self.dtype),
            "learned": torch.zeros(LENGTH, LENGTH, dtype=self.dtype, requires_grad=True),
        }
        options = {"dropout_p": self.dropout, "enable_gqa": self.shared}
        options |= {"attn_mask": masks.get(self.mask), "is_causal": self.mask == "causal"}
        return tensors, options

    @property
    def fused(self) -> bool:
        """Tell whether a kernel is fused by the five rules that the page states for this CPU."""
        allowed = self.axes == 4 and self.mask != "learned" and not self.strided
        return allowed and self.sizes[0] == self.sizes[1] and not self.dropout


CHOICES: dict[str, tuple[Any, ...]] = {
    "axes": (4, 3, 5),
    "mask": ("none", "boolean", "float", "causal", "learned"),
    "dtype": (torch.float32, torch.float64, torch.bfloat16, torch.float16),
    "sizes": ((64, 64), (8, 8), (256, 256), (257, 257), (64, 48)),
    "shared": (False, True),
    "dropout": (0.0, 0.5),
    "gradient": (False, True),
    "strided": (False, True),
}


def combinations() -> Iterator[Case]:
    """Yield every combination of the choices."""
    for values in itertools.product(*CHOICES.values()):
        yield Case(**dict(zip(CHOICES, values, strict=True)))


def close() -> list[Case]:
    """Return the combinations that differ from the plain call in one thing or in two."""
    plain = Case()
    names = [field.name for field in fields(Case)]
    return [
        case
        for case in combinations()
        if sum(getattr(case, name) != getattr(plain, name) for name in names) <= 2
    ]


def special_calls() -> dict[str, Call]:
    """Return calls that no combination of the choices holds."""
    query, key, value = Case().call()[0]
    three, none = torch.ones(1, LENGTH, LENGTH, dtype=torch.bool), key[:, :, :0]
    padding = torch.ones(BATCH, 1, 1, LENGTH, dtype=torch.bool)
    wide = (query.double(), key.double(), value.double())
    by_token = torch.zeros(BATCH, LENGTH, HEADS, 64).transpose(1, 2)
    return {
        "padding": ((query, key, value), {"attn_mask": padding}),
        "more_keys": ((query[:, :, :3], key, value), {"is_causal": True}),
        "transposed": ((by_token, by_token, by_token), {}),
        "one_query": ((query[:, :, :1], key, value), {}),
        "mask_axes": ((query, key, value), {"attn_mask": three}),
        "batch_of_one": ((query, key[:1], value[:1]), {}),
        "no_keys": ((query, none, none), {}),
        "other_dtype": (wide, {"attn_mask": torch.zeros(LENGTH, LENGTH)}),
    }


def all_calls() -> dict[str, list[Call]]:
    """Return the calls of each row of the table."""
    special = {name: [call] for name, call in special_calls().items()}

    def one(name: str, *values: object) -> list[Call]:
        return [Case(**{name: value}).call() for value in values]

    return {
        "plain": [
            Case().call(),
            *special["one_query"],
            *special["transposed"],
            *one("gradient", True),
        ],
        "masks": [
            *one("mask", "boolean", "float", "causal"),
            *special["padding"],
            *special["more_keys"],
        ],
        "sizes": [*one("dtype", *CHOICES["dtype"][1:]), *one("sizes", *CHOICES["sizes"][1:4])],
        "shared": one("shared", True),
        "other_dtype": special["other_dtype"],
        "dropout": one("dropout", 0.5),
        "axes": one("axes", 3, 5),
        "batch_of_one": special["batch_of_one"],
        "mask_axes": special["mask_axes"],
        "learned": one("mask", "learned"),
        "values": one("sizes", CHOICES["sizes"][4]),
        "strided": one("strided", True),
        "no_keys": special["no_keys"],
    }


def ran(call: Call) -> str:
    """Return the backend that ran, or nothing."""
    tensors, options = call
    found = attention_kernels(lambda: F.scaled_dot_product_attention(*tensors, **options))
    return " ".join(found)


def reason(call: Call) -> str:
    """Return what PyTorch says if the call may use nothing but the fused kernel, in short."""
    tensors, options = call
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        warnings.simplefilter("always")
        try:
            F.scaled_dot_product_attention(*tensors, **options)
        except RuntimeError:
            said = [str(each.message).partition(" (Triggered")[0] for each in caught[1:]]
            return re.split(r"[.,:]? (?:but )?(?:Got |got |2d|Query[.])", " ".join(said))[0]
    return ""


def here(language: str) -> str:
    """Return which kernel ran for each kind of call on this CPU, and PyTorch's own reason."""
    text = texts(__file__, "here", language)
    rows = []
    for name, calls in all_calls().items():
        (kernel,) = {ran(call) for call in calls}
        said = {reason(call) for call in calls} if kernel == "MATH" else {""}
        (words,) = said
        told = f"“{words}”" if words else text["silent"] if kernel == "MATH" else ""
        shown = {"FLASH_ATTENTION": text["fused"], "": text["none"]}.get(kernel, kernel)
        shown += text["wrong"] if name == "other_dtype" else ""
        rows.append((text["calls"][name], shown, told))
    caption = text["caption"].format(torch=_version(), b=BATCH, h=HEADS, n=LENGTH)
    return f"{table(text['header'], rows, words=(0, 1, 2))}\n\n{caption}"


def cuda(language: str) -> str:
    """Return what CUDA's kernels take, as PyTorch's source says."""
    text = texts(__file__, "cuda", language)
    rows = [(text["calls"][name], *text["takes"][name]) for name in text["calls"]]
    return f"{table(text['header'], rows, words=(0, 1, 2, 3))}\n\n{text['caption']}"


def layer_calls() -> dict[str, Callable[[], Any]]:
    """Return layers of PyTorch and of transformers, called on ten tokens of size 32."""
    x, tokens = torch.randn(2, 10, 32), torch.arange(20).view(2, 10)
    attention = nn.MultiheadAttention(32, 4, batch_first=True)
    encoder = nn.TransformerEncoderLayer(32, 4, batch_first=True)

    def llama(implementation: str, *, output_attentions: bool = False) -> Any:  # noqa: ANN401
        sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
        sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 20}
        config = LlamaConfig(**sizes, attn_implementation=implementation)
        found = LlamaModel(config)(tokens, output_attentions=output_attentions)
        return found, found.attentions

    def evaluated(layer: nn.Module, *tensors: Tensor, **options: object) -> Any:  # noqa: ANN401
        with torch.no_grad():
            try:
                return layer.eval()(*tensors, **options)
            finally:
                layer.train()

    def slow_path() -> Any:  # noqa: ANN401
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return evaluated(attention, x, x, x, need_weights=False)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)

    return {
        "default": lambda: attention(x, x, x),
        "no_weights": lambda: attention(x, x, x, need_weights=False),
        "fast_path": lambda: evaluated(attention, x, x, x, need_weights=False),
        "slow_path": slow_path,
        "encoder": lambda: (encoder(x), None),
        "llama": lambda: llama("sdpa"),
        "llama_asked": lambda: llama("sdpa", output_attentions=True),
        "llama_eager": lambda: llama("eager", output_attentions=True),
    }


def layer_kernels() -> dict[str, tuple[list[str], bool]]:
    """Return, for each layer, the backends that ran, and whether weights came back."""
    found = {}
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    for name, call in layer_calls().items():
        results: list[Any] = []
        kernels = attention_kernels(lambda call=call, results=results: results.append(call()))
        _, weights = results[0]
        found[name] = kernels, bool(weights is not None and len(weights))
    logging.set_verbosity(before)
    return found


def layers(language: str) -> str:
    """Return which kernel the layers of PyTorch and transformers run."""
    text = texts(__file__, "layers", language)
    rows = [
        (
            text["calls"][name],
            f"`{kernels[0]}`" if kernels else text["written"],
            text["weights"] if weights else text["nothing"],
        )
        for name, (kernels, weights) in layer_kernels().items()
    ]
    caption = text["caption"].format(torch=_version(), transformers=READ_TRANSFORMERS)
    return f"{table(text['header'], rows, words=(0, 1, 2))}\n\n{caption}"


def cost(language: str) -> str:
    """Return time and memory of MATH beside those of the fused kernel, as they were measured."""
    text = texts(__file__, "cost", language)
    measured = load(__file__)["lengths"]
    rows = []
    for length in benchmark.LENGTHS:
        cells = [f"{length:,}"]
        for name in benchmark.PASSES:
            of = {"pass": name, "length": length}
            ratio = measured("time", way="math", **of)
            sizes = [measured("memory", way=way, **of) for way in benchmark.WAYS]
            cells += [f"{ratio:.1f}×", *(f"{size:,.1f} MiB" for size in sizes)]
        rows.append(tuple(cells))
    caption = text["caption"].format(h=benchmark.HEADS, d=benchmark.HEAD_DIM)
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


def _version() -> str:
    return torch.__version__.partition("+")[0]


TABLES = {"here": here, "cuda": cuda, "layers": layers, "cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    measured = load(__file__)
    lengths, boolean = measured["lengths"], measured["boolean"]
    longest = {"pass": "forward", "length": benchmark.LONGEST}
    sizes = {way: lengths("memory", way=way, **longest) for way in benchmark.WAYS}
    wanted = {"pass": "training", "length": benchmark.LONGEST}
    trained = {way: lengths("memory", way=way, **wanted) for way in benchmark.WAYS}
    copied = {way: boolean("memory", way=way, mask="b h n m") for way in benchmark.WAYS}
    forward = [
        lengths("time", way="math", length=length, **{"pass": "forward"})
        for length in benchmark.LENGTHS
    ]
    training = [
        lengths("time", way="math", length=length, **{"pass": "training"})
        for length in benchmark.LENGTHS
    ]
    return {
        "combinations": f"{len(list(combinations())):,}",
        "longest": f"{benchmark.LONGEST:,}",
        "fused_memory": f"{sizes['fused']:.1f} MiB",
        "math_memory": f"{sizes['math']:.0f} MiB",
        "memory_ratio": f"{sizes['math'] / sizes['fused']:.0f}",
        "training_ratio": f"{trained['math'] / trained['fused']:.0f}",
        "boolean_heads_memory": f"{copied['fused']:.1f} MiB",
        "boolean_heads_math": f"{copied['math']:.0f} MiB",
        "forward_least": f"{min(forward):.1f}",
        "forward_most": f"{max(forward):.1f}",
        "training_least": f"{min(training):.1f}",
        "training_most": f"{max(training):.1f}",
        "torch": READ_TORCH,
        "cudnn": READ_CUDNN,
        "capabilities": READ_CAPABILITIES,
    }
