"""Copies with random weights, of any module; and the program's own random numbers stay."""

import random
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune, weight_norm

from attn_docs.testing import check_module
from attn_docs.testing.copies import precisions, random_copy
from attn_docs.testing.random_state import random_state_kept
from tests.testing.plain import DIM, HEADS, Plain, found, verdicts


class Complex(Plain):
    """Turns queries and keys by complex numbers that it holds."""

    def __init__(self):
        super().__init__()
        size = DIM // HEADS // 2
        angles = torch.arange(80.0)[:, None] * 10000.0 ** (-torch.arange(size) / size)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (HEADS, -1)) for f in (self.q, self.k, self.v))
        q, k = (self.turned(t).transpose(1, 2) for t in (q, k))
        y = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1) @ v.transpose(1, 2)
        return self.o(y.transpose(1, 2).flatten(2))

    def turned(self, t):
        wide = t.to(self.freqs_cis.real.dtype)
        pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)).contiguous())
        turned = torch.view_as_real(pairs * self.freqs_cis[: t.size(1), None])
        return turned.flatten(-2).to(t.dtype)


def test_complex_buffers_stay_complex_and_are_as_wide_as_the_rest():
    module = Complex()
    wide, narrow = (random_copy(module, dtype) for dtype in (torch.float64, torch.float32))
    assert wide.freqs_cis.dtype == torch.complex128
    assert narrow.freqs_cis.dtype == torch.complex64
    torch.testing.assert_close(wide.freqs_cis, module.freqs_cis.to(torch.complex128))
    assert module.freqs_cis.dtype == torch.complex64


def test_a_layer_that_turns_by_complex_numbers_is_judged_as_it_is():
    report = check_module(Complex(), embed_dim=DIM, positions=True)
    assert report.failures == [], report
    assert verdicts(report)["oracle"] == "pass", "with real numbers it would be another module"


def pruned():
    module = Plain()
    prune.random_unstructured(module.k, "weight", amount=0.2)
    return module


def normed():
    module = Plain()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        weight_norm(module.k)
    return module


def parametrized():
    module = Plain()
    parametrizations.weight_norm(module.k)
    return module


def called_once(make):
    def made():
        module = make()
        module(torch.randn(1, 2, DIM))  # leaves what was computed behind, with its graph
        return module

    return made


def locked():
    module = Plain()
    module.lock, module.numbers = threading.Lock(), (i for i in range(3))
    return module


ODD = {
    "pruned": called_once(pruned),
    "weight norm": called_once(normed),
    "weight norm, parametrized": called_once(parametrized),
    "a lock and a generator": locked,
}


@pytest.mark.parametrize("what", ODD)
def test_modules_that_cannot_simply_be_copied_are_judged(what):
    module = ODD[what]()
    report = check_module(module, embed_dim=DIM)
    assert report.failures == [], report
    assert verdicts(report)["mask place"] == "pass", report


def test_a_copy_shares_no_numbers_with_its_module():
    module = pruned()
    module(torch.randn(1, 2, DIM)).sum().backward()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    random_copy(module, torch.float32)(torch.randn(1, 2, DIM)).sum().backward()
    assert all(torch.equal(before[name], now) for name, now in module.state_dict().items())


def traced():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.trace(Plain(), torch.randn(1, 6, DIM))


def lazy():
    module = Plain()
    module.q = nn.LazyLinear(DIM)
    return module


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (traced, TypeError, "module must be written in Python; got one that was traced"),
        (lambda: Plain().to("meta"), ValueError, "its q.weight has none yet, as on the meta"),
        (lazy, ValueError, "module must hold numbers; its q.weight has none yet"),
    ],
    ids=["traced", "meta", "lazy"],
)
def test_modules_without_numbers_or_code_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        check_module(make(), embed_dim=DIM)


def test_float64_is_not_tried_on_a_device_that_has_none():
    assert precisions(torch.device("mps")) == (torch.float32,)
    assert precisions(torch.device("cpu"))[0] == torch.float64


# --- what weights are made of ----------------------------------------------------------------


class Vectors(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain, self.gate = nn.Parameter(torch.ones(64)), nn.Parameter(torch.zeros(64))
        self.tanh_gate = nn.Parameter(torch.zeros(1))
        self.temperature = nn.Parameter(torch.full((4, 1, 1), 10.0))
        self.sinks, self.bias = nn.Parameter(torch.ones(64)), nn.Parameter(torch.ones(64))
        self.empty = nn.Parameter(torch.full((64,), torch.nan))


def test_each_kind_of_vector_is_random_around_what_makes_sense():
    made = dict(random_copy(Vectors(), torch.float64).named_parameters())
    assert all(p.isfinite().all() for p in made.values())
    assert all(len(p.unique()) == p.numel() for p in made.values()), "each number differs"
    assert 0.3 < made["gain"].min() < 0.9
    assert 1.1 < made["gain"].max() < 3.0
    assert 3.0 < made["temperature"].min() < made["temperature"].max() < 30.0
    assert made["gate"].abs().min() > 0.1, "no gate stays closed"
    assert made["tanh_gate"].abs().min() > 0.1
    assert 0.7 < made["sinks"].std() < 1.3, "of the size of scores"
    assert made["bias"].abs().max() < 0.5


class Sinks(Plain):
    """One more score for each head, that takes weight and gives nothing; at 0 at the start."""

    def __init__(self, *, use):
        super().__init__()
        self.sinks, self.use = nn.Parameter(torch.zeros(HEADS)), use

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        sink = self.sinks[:, None, None].expand(x.size(0), -1, x.size(1), 1) * self.use
        weights = torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
        return self.o((weights @ v).transpose(1, 2).flatten(2))


def test_what_is_done_with_a_vector_that_starts_at_zero_shows():
    x = torch.randn(1, 3, DIM)
    outputs = [random_copy(Sinks(use=use), torch.float32)(x) for use in (0.0, 1.0)]
    assert (outputs[0] - outputs[1]).abs().max() > 1e-3


def test_a_gate_that_is_closed_at_the_start_hides_no_projection():
    class Gated(Plain):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.zeros(1))

        def forward(self, x, attn_mask=None):
            return super().forward(x, attn_mask) * self.gate.tanh()

    assert found(check_module(Gated(), embed_dim=DIM), "projections").verdict == "pass"


# --- the program's own random numbers --------------------------------------------------------


def seed(number):
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002


def drawn():
    return torch.rand(3).tolist(), random.random(), np.random.rand(3).tolist()  # noqa: NPY002, S311


class Draws(Plain):
    """Draws from everything, and seeds it."""

    def forward(self, x, attn_mask=None):
        seed(7)
        drawn()
        return super().forward(x, attn_mask)


def test_the_numbers_of_the_program_go_on_as_if_nothing_had_been_checked():
    def run(check):
        seed(3)
        check()
        return drawn()

    module = Draws()
    assert run(lambda: check_module(module, embed_dim=DIM)) == run(lambda: None)


class Device:
    """Stands for the random numbers of a GPU."""

    def __init__(self, monkeypatch, *, used):
        self.state = "before"
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: used)
        monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [self.state])
        monkeypatch.setattr(torch.cuda, "set_rng_state_all", self.restore)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: used)
        monkeypatch.setattr(torch.mps, "get_rng_state", lambda: self.state, raising=False)
        monkeypatch.setattr(torch.mps, "set_rng_state", lambda state: self.restore([state]))
        self.restored = []

    def restore(self, states):
        self.restored += states


@pytest.mark.parametrize("used", [True, False])
def test_the_numbers_of_a_device_in_use_are_restored_and_no_other_is_started(monkeypatch, used):
    device = Device(monkeypatch, used=used)
    with pytest.raises(RuntimeError), random_state_kept():  # noqa: PT012
        device.state = "after"
        raise RuntimeError
    assert device.restored == (["before", "before"] if used else [])
