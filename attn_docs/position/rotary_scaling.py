"""Rules that rescale the frequencies of rotary positions, so that a model reads longer texts."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs._checks import (
    check_flag,
    check_least,
    check_number,
    check_positive,
    check_size,
)
from attn_docs.position._frequencies import Pairs, RotaryScaling, check_scaling, frequencies


@dataclass(frozen=True)
class LinearScaling(RotaryScaling):
    r"""Divide every frequency by the factor: position interpolation.

    $$\omega_i' = \omega_i / s$$

    Position p then has the angles that p/s had. transformers' `rope_type` is "linear".

    Args:
        factor: s, 1 or more.

    Raises:
        TypeError: If `factor` is not a number.
        ValueError: If `factor` is below 1.

    Example:
        ```python
        from attn_docs import LinearScaling, rotary_frequencies

        print(rotary_frequencies(4, 10000.0, LinearScaling(4.0))[0])
        #> tensor([0.2500, 0.0025])
        ```

    Reference:
        Chen et al., "Extending Context Window of Large Language Models via Positional
        Interpolation", section 2.3, arXiv:2306.15595 (2023).
    """

    factor: float

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_least("factor", self.factor, 1)

    def rescale(self, pairs: Pairs) -> Tensor:
        """Return the frequencies, divided."""
        return pairs.plain() / self.factor


@dataclass(frozen=True)
class NTKScaling(RotaryScaling):
    r"""Raise the base, so that the slowest pair is divided by the factor and the fastest is not.

    $$\theta' = \theta \, s^{D/(D-2)} \qquad \omega_i' = \theta'^{-2i/D} = \omega_i \,
    s^{-2i/(D-2)}$$

    Args:
        factor: s, 1 or more.

    Raises:
        TypeError: If `factor` is not a number.
        ValueError: If `factor` is below 1.

    Example:
        ```python
        from attn_docs import NTKScaling, rotary_frequencies

        print(rotary_frequencies(4, 10000.0, NTKScaling(4.0))[0])
        #> tensor([1.0000, 0.0025])
        ```

    Reference:
        bloc97, "NTK-Aware Scaled RoPE" (2023), as in Peng et al., "YaRN", section 3.1,
        arXiv:2309.00071 (2023).
    """

    factor: float

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_least("factor", self.factor, 1)

    def check(self, pairs: Pairs) -> None:
        """Refuse a single pair, which is the fastest and the slowest."""
        _check_two_pairs(self, pairs)

    def rescale(self, pairs: Pairs) -> Tensor:
        """Return the frequencies of the raised base."""
        return pairs.plain(pairs.theta * self.factor ** (pairs.dim / (pairs.dim - 2)))


@dataclass(frozen=True)
class DynamicScaling(RotaryScaling):
    r"""Raise the base as the text grows: plain up to the trained length, `NTKScaling` after it.

    $$s(n) = \frac{s \max(n, L)}{L} - (s - 1) \qquad \theta' = \theta \, s(n)^{D/(D-2)}$$

    n is the length, the largest position plus one. Frequencies change with it, so keys that were
    cached at a shorter length have the wrong angles: layers refuse this rule with a cache, and
    take `at(length)`. transformers' `rope_type` is "dynamic".

    Args:
        factor: s, 1 or more.
        original_length: L, the length that the model was trained with.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `factor` or `original_length` is below 1.

    Example:
        ```python
        from attn_docs import DynamicScaling, rotary_frequencies

        rule = DynamicScaling(4.0, original_length=100)
        print(rotary_frequencies(4, 10000.0, rule, length=100)[0], rule.at(200))
        #> tensor([1.0000, 0.0100]) NTKScaling(factor=5.0)
        ```

    Reference:
        emozilla, "Dynamically Scaled RoPE" (2023), as in Peng et al., "YaRN", section 3.3,
        arXiv:2309.00071 (2023).
    """

    grows: ClassVar[bool] = True
    factor: float
    original_length: int

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_least("factor", self.factor, 1)
        check_size("original_length", self.original_length)

    def at(self, length: int) -> NTKScaling:
        """Return the rule for texts of one length, with frequencies that stay.

        Args:
            length: The longest text there will be: prompt and answer.

        Raises:
            TypeError: If `length` is not an int.
            ValueError: If `length` is below 1.
        """
        check_size("length", length)
        grown = self.factor * max(length, self.original_length) / self.original_length
        return NTKScaling(grown - (self.factor - 1))

    def check(self, pairs: Pairs) -> None:
        """Refuse a single pair, which is the fastest and the slowest."""
        _check_two_pairs(self, pairs)

    def rescale(self, pairs: Pairs) -> Tensor:
        """Return the frequencies for a length: an int, or a tensor, which stays on its device."""
        length, whole = pairs.length, self.original_length
        if not isinstance(length, Tensor):
            return self.at(whole if length is None else length).rescale(pairs)
        longest = length.to(pairs.exponents.dtype).clamp(min=whole)
        grown = self.factor * longest / whole - (self.factor - 1)
        return pairs.plain(pairs.theta * grown ** (pairs.dim / (pairs.dim - 2)))


@dataclass(frozen=True)
class YaRNScaling(RotaryScaling):
    r"""Keep the pairs that turn often, divide those that do not, and sharpen the scores.

    $$\omega_i' = (1 - \gamma_i)\, \omega_i + \gamma_i\, \omega_i / s \qquad
    \gamma_i = \operatorname{clip}\Bigl(\frac{i - i_{\text{fast}}}{i_{\text{slow}} -
    i_{\text{fast}}}, 0, 1\Bigr) \qquad
    i_\beta = \frac{D \ln (L / 2\pi\beta)}{2 \ln \theta}$$

    Pair i_β turns β times within the trained length L; with `truncate` both bounds are rounded
    outwards to whole pairs. (The paper blends by turns; by pairs is its authors' code.) Cosine
    and sine are multiplied by a, so scores by a²:

    $$a = 0.1 \ln s + 1 \qquad \text{or} \qquad
    a = \frac{0.1\, m \ln s + 1}{0.1\, m_{\text{all}} \ln s + 1}$$

    The second where `mscale` m and `mscale_all_dim` are given. They cancel where equal: DeepSeek
    then multiplies the scale of *all* scores by the denominator's square, which is the attention
    layer's `scale=`. transformers' `rope_type` is "yarn".

    Args:
        factor: s, 1 or more.
        original_length: L, the length that the model was trained with.
        beta_fast: Pairs that turn at least so often within L keep their frequency.
        beta_slow: Pairs that turn at most so often are divided by `factor`.
        attention_factor: a; if None, as above.
        mscale: m, together with `mscale_all_dim`.
        mscale_all_dim: That of the denominator.
        truncate: Whether the bounds are rounded; gpt-oss has False.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `factor` or `original_length` is below 1, `beta_fast` is not above
            `beta_slow`, another number is not above 0, or only one of the mscales is given.

    Example:
        ```python
        from attn_docs import YaRNScaling, rotary_frequencies

        frequencies, factor = rotary_frequencies(8, 10000.0, YaRNScaling(4.0, 4096))
        print(frequencies, round(factor, 4))
        #> tensor([1.0000e+00, 1.0000e-01, 6.2500e-03, 2.5000e-04]) 1.1386
        ```

    Reference:
        Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models", sections
        3.2 and 3.4, arXiv:2309.00071 (2023).
    """

    factor: float
    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_least("factor", self.factor, 1)
        check_size("original_length", self.original_length)
        check_positive("beta_slow", self.beta_slow)
        _check_above("beta_fast", self.beta_fast, "beta_slow", self.beta_slow)
        for name in ("attention_factor", "mscale", "mscale_all_dim"):
            if (value := getattr(self, name)) is not None:
                check_positive(name, value)
        if (self.mscale is None) != (self.mscale_all_dim is None):
            raise ValueError(
                f"mscale and mscale_all_dim must both be given, or neither; got "
                f"{self.mscale} and {self.mscale_all_dim}"
            )
        check_flag("truncate", self.truncate)

    @property
    def attention(self) -> float:  # type: ignore[override]
        """The factor on cosine and sine."""
        if self.attention_factor is not None:
            return float(self.attention_factor)
        if self.mscale is None or self.mscale_all_dim is None:
            return self._sharper(1)
        return self._sharper(self.mscale) / self._sharper(self.mscale_all_dim)

    def _sharper(self, mscale: float) -> float:
        return 0.1 * mscale * math.log(self.factor) + 1.0

    def check(self, pairs: Pairs) -> None:
        """Refuse a base whose pairs do not slow down."""
        if pairs.theta <= 1:
            raise ValueError(f"theta must be above 1 with YaRNScaling; got {pairs.theta!r}")

    def rescale(self, pairs: Pairs) -> Tensor:
        """Return frequencies between the plain ones and the divided ones."""
        dim, exponents = pairs.dim, pairs.exponents
        fast, slow = (self._pair(turns, pairs) for turns in (self.beta_fast, self.beta_slow))
        if self.truncate:
            fast, slow = math.floor(fast), math.ceil(slow)
        fast, slow = max(fast, 0), min(slow, dim - 1)
        if fast == slow:
            slow += 0.001  # as transformers does
        number = torch.arange(dim // 2, dtype=exponents.dtype, device=exponents.device)
        kept = 1 - ((number - fast) / (slow - fast)).clamp(0, 1)
        powers = pairs.theta**exponents
        return 1.0 / (self.factor * powers) * (1 - kept) + 1.0 / powers * kept

    def _pair(self, turns: float, pairs: Pairs) -> float:
        """Return the pair, not a whole number, that turns so often in the trained length."""
        length = math.log(self.original_length / (turns * 2 * math.pi))
        return (pairs.dim * length) / (2 * math.log(pairs.theta))


@dataclass(frozen=True)
class Llama3Scaling(RotaryScaling):
    r"""Keep short wavelengths, divide the frequencies of long ones, and blend those between.

    $$\omega_i' = (1 - \gamma_i)\, \omega_i + \gamma_i\, \omega_i / s \qquad
    1 - \gamma_i = \operatorname{clip}\Bigl(\frac{L / \lambda_i - \beta_{\text{low}}}
    {\beta_{\text{high}} - \beta_{\text{low}}}, 0, 1\Bigr) \qquad
    \lambda_i = \frac{2\pi}{\omega_i}$$

    L/λ says how often a pair turns within the trained length. transformers' `rope_type` is
    "llama3".

    Args:
        factor: s, 1 or more: 8 in Llama 3.1, 32 in the small models of Llama 3.2.
        original_length: L, the length that the model was trained with: 8192 in Llama 3.
        low_freq_factor: Pairs that turn less often than this within L are divided by `factor`.
        high_freq_factor: Pairs that turn more often than this keep their frequency.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `factor` or `original_length` is below 1, `low_freq_factor` is not above 0,
            or `high_freq_factor` not above it.

    Example:
        ```python
        from attn_docs import Llama3Scaling, rotary_frequencies

        print(rotary_frequencies(8, 500000.0, Llama3Scaling(8.0, 8192))[0])
        #> tensor([1.0000e+00, 3.7606e-02, 5.2485e-04, 6.6479e-06])
        ```

    Reference:
        Meta, `apply_scaling` in llama-models' `llama3/model.py` (2024); Grattafiori et al., "The
        Llama 3 Herd of Models", section 3.4.2, arXiv:2407.21783 (2024).
    """

    factor: float
    original_length: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_least("factor", self.factor, 1)
        check_size("original_length", self.original_length)
        check_positive("low_freq_factor", self.low_freq_factor)
        _check_above(
            "high_freq_factor", self.high_freq_factor, "low_freq_factor", self.low_freq_factor
        )

    def rescale(self, pairs: Pairs) -> Tensor:
        """Return frequencies, sorted by how often a pair turns."""
        plain = pairs.plain()
        wavelengths = 2 * math.pi / plain
        low, high = self.low_freq_factor, self.high_freq_factor
        share = (self.original_length / wavelengths - low) / (high - low)
        blended = (1 - share) * plain / self.factor + share * plain
        kept = torch.where(wavelengths < self.original_length / high, plain, blended)
        return torch.where(wavelengths > self.original_length / low, plain / self.factor, kept)


@dataclass(frozen=True)
class ProportionalScaling(RotaryScaling):
    r"""Rotate the fastest pairs only, with the frequencies that they have among all.

    $$\omega_i' = \begin{cases} \theta^{-2i/D} / s & i < \lfloor pD/2 \rfloor \\ 0 & \text{else}
    \end{cases}$$

    The slow pairs have frequency 0: they carry content without a position. `rotary_dim=` rotates
    part of a head too, but with other frequencies, spread over that part alone, and other pairs.
    transformers' `rope_type` is "proportional".

    Args:
        share: p, the part of the pairs that is rotated, above 0 and at most 1.
        factor: s, 1 or more.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If `share` is not above 0 and at most 1, or `factor` is below 1.

    Example:
        ```python
        from attn_docs import ProportionalScaling, rotary_frequencies

        print(rotary_frequencies(8, 10000.0, ProportionalScaling(0.5))[0])
        #> tensor([1.0000, 0.1000, 0.0000, 0.0000])
        ```

    Reference:
        Barbero et al., "Round and Round We Go! What makes Rotary Positional Encodings useful?",
        section 6, arXiv:2410.06205 (2024).
    """

    share: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_positive("share", self.share)
        if self.share > 1:
            raise ValueError(f"share must be above 0 and at most 1; got {self.share!r}")
        check_least("factor", self.factor, 1)

    def check(self, pairs: Pairs) -> None:
        """Refuse a share of less than one pair."""
        if not self._rotated(pairs):
            raise ValueError(f"share must leave a pair of dim = {pairs.dim}; got {self.share!r}")

    def rescale(self, pairs: Pairs) -> Tensor:
        """Return the plain frequencies of the first pairs, then zeros."""
        rotated = self._rotated(pairs)
        first = pairs._replace(exponents=pairs.exponents[:rotated]).plain() / self.factor
        return F.pad(first, (0, pairs.dim // 2 - rotated))

    def _rotated(self, pairs: Pairs) -> int:
        return int(self.share * pairs.dim // 2)


def rotary_frequencies(
    dim: int,
    theta: float,
    scaling: RotaryScaling | None = None,
    length: int | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> tuple[Tensor, float]:
    r"""Return the frequency of each rotary pair, and the factor on cosine and sine.

    $$\omega_i = \theta^{-2i/D} \qquad i = 0, \dots, D/2 - 1$$

    without a rule; with one, what the rule makes of them. They equal those of transformers'
    `ROPE_INIT_FUNCTIONS` to the last digits of float32. A pair's wavelength, the number of
    positions until it has turned once, is 2π/ω.

    Args:
        dim: Number of dimensions D that are rotated; even.
        theta: Base θ, above 0.
        scaling: The rule; None for plain frequencies.
        length: Length of the text, for `DynamicScaling`; that of its training if None.
        dtype: That of the frequencies, torch.float32 or torch.float64.
        device: Where they are; PyTorch's default if None.

    Returns:
        Frequencies in radians, (dim/2,), and the factor on cosine and sine: 1.0 but for YaRN. A
        score has its square.

    Raises:
        TypeError: If an argument has the wrong type, or `scaling` is not one of the rules.
        ValueError: If `dim` is odd or too small for the rule, or `theta` or `length` is out of
            range.

    Example:
        ```python
        import math

        from attn_docs import Llama3Scaling, rotary_frequencies

        plain, _ = rotary_frequencies(128, 500000.0)
        longer, _ = rotary_frequencies(128, 500000.0, Llama3Scaling(8.0, 8192))
        for i in (0, 31, 40):  # wavelengths in tokens
            print(i, round(2 * math.pi / plain[i].item()), round(2 * math.pi / longer[i].item()))
        #> 0 6 6
        #> 31 3619 7334
        #> 40 22911 183285
        ```

    Reference:
        Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models", section
        2, arXiv:2309.00071 (2023).
    """
    check_size("dim", dim)
    if dim % 2:
        raise ValueError(f"dim must be even; got {dim}")
    check_positive("theta", theta)
    check_scaling(scaling, dim, theta)
    if length is not None:
        check_size("length", length)
    if dtype not in (torch.float32, torch.float64):
        raise TypeError(f"dtype must be torch.float32 or torch.float64; got {dtype}")
    found = frequencies(dim, theta, scaling, length, dtype=dtype, device=device)
    return found, 1.0 if scaling is None else scaling.attention


def _check_above(name: str, value: float, lower_name: str, lower: float) -> None:
    check_number(name, value)
    if value <= lower:
        raise ValueError(f"{name} must be above {lower_name} = {lower}; got {value!r}")


def _check_two_pairs(rule: RotaryScaling, pairs: Pairs) -> None:
    if pairs.dim < 4:
        raise ValueError(f"dim must be 4 or more with {type(rule).__name__}; got {pairs.dim}")
