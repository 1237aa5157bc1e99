"""What one step of decoding reads and computes."""

from typing import NamedTuple

from attn_docs._checks import check_divides, check_positive, check_size


class DecodeCost(NamedTuple):
    r"""The work of a step: how much is computed, and how much is read for it.

    $$\text{intensity} = \frac{\text{FLOP}}{\text{bytes}} \qquad
    \text{seconds} \ge \max\Bigl(\frac{\text{FLOP}}{\text{FLOP per second}},
    \frac{\text{bytes}}{\text{bytes per second}}\Bigr)$$

    Costs are added with `plus`. A machine computes and reads at the same time, so the slower of
    the two decides.

    Attributes:
        flops: Multiplications and additions: a multiply-add is two.
        bytes: Bytes read from memory, each once.

    Example:
        ```python
        from attn_docs import DecodeCost

        cost = DecodeCost(flops=96, bytes=24)
        print(cost.intensity, cost.seconds(flops_per_second=8, bytes_per_second=1))
        #> 4.0 24.0
        ```

    Reference:
        Williams et al., "Roofline: An Insightful Visual Performance Model for Multicore
        Architectures", Communications of the ACM 52 (2009).
    """

    flops: float
    bytes: float

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: FLOP for each byte read."""
        return self.flops / self.bytes

    def seconds(self, *, flops_per_second: float, bytes_per_second: float) -> float:
        """Return the least time that a machine of these rates needs.

        Args:
            flops_per_second: What it computes in a second, above 0.
            bytes_per_second: What it reads in a second, above 0.

        Raises:
            TypeError: If a rate is not a number.
            ValueError: If a rate is not above 0.
        """
        check_positive("flops_per_second", flops_per_second)
        check_positive("bytes_per_second", bytes_per_second)
        return max(self.flops / flops_per_second, self.bytes / bytes_per_second)

    def plus(self, other: "DecodeCost") -> "DecodeCost":
        """Return the cost of both."""
        return DecodeCost(self.flops + other.flops, self.bytes + other.bytes)


def decode_cost(
    length: int,
    *,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    batch: int = 1,
    new: int = 1,
    bytes_per_number: float = 2,
    tp: int = 1,
) -> DecodeCost:
    r"""Count the attention of one layer: scores, weighted mean, and the reading of the cache.

    $$\text{FLOP} = 4\, b\, n\, h\, m\, d \qquad \text{bytes} = 2\, b\, g\, m\, d\, s \qquad
    \text{intensity} = \frac{2\,n}{s} \cdot \frac{h}{g}$$

    Counted is what grows with the length. The softmax, some FLOP for each score, is left out.

    Args:
        length: How many positions m are in the cache, the new ones among them.
        num_heads: Number of query heads h.
        num_kv_heads: Number of KV heads g; divides `num_heads`.
        head_dim: Size of a head d.
        batch: Number of sequences b; each has a cache of its own.
        new: How many new positions n of a sequence read the cache together: 1 in decoding.
        bytes_per_number: Bytes s of an element in the cache.
        tp: How many devices share the heads (tensor parallelism). With fewer KV heads than
            devices, each device has a copy of one.

    Returns:
        FLOP and bytes of one device.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `num_kv_heads` does not divide `num_heads`, `new` is
            larger than `length`, `bytes_per_number` is not above 0, or the heads cannot be
            shared among `tp` devices.

    Example:
        ```python
        from attn_docs import decode_cost

        for kv_heads in (32, 8, 1):
            cost = decode_cost(1000, num_heads=32, num_kv_heads=kv_heads, head_dim=128)
            print(cost.flops, cost.bytes, cost.intensity)
        #> 16384000 16384000 1.0
        #> 16384000 4096000 4.0
        #> 16384000 512000 32.0
        ```

    Reference:
        Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need", sections 2.4 and 3,
        arXiv:1911.02150 (2019).
    """
    _check(length, batch, new, bytes_per_number)
    for name, size in (("num_heads", num_heads), ("num_kv_heads", num_kv_heads)):
        check_size(name, size)
    check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
    check_size("head_dim", head_dim)
    num_heads, num_kv_heads = _of_one_device(num_heads, num_kv_heads, tp)
    multiply_adds = batch * new * num_heads * length * 2 * head_dim  # scores, then values
    numbers = batch * num_kv_heads * length * 2 * head_dim  # keys, then values
    return DecodeCost(2 * multiply_adds, numbers * bytes_per_number)  # FLOP, then bytes


def latent_decode_cost(
    length: int,
    *,
    num_heads: int,
    kv_rank: int,
    rope_dim: int,
    batch: int = 1,
    new: int = 1,
    bytes_per_number: float = 2,
    tp: int = 1,
) -> DecodeCost:
    r"""Count the same for multi-head latent attention in its absorbed form.

    $$\text{FLOP} = 2\, b\, n\, h\, m\, (2 d_c + d_r) \qquad
    \text{bytes} = b\, m\, (d_c + d_r)\, s$$

    All heads read one entry of d_c + d_r elements; the first d_c of them are the value as well.

    Args:
        length: How many positions m are in the cache, the new ones among them.
        num_heads: Number of heads h.
        kv_rank: Size d_c of the latent vector.
        rope_dim: Size d_r of the rotary key.
        batch: Number of sequences b; each has a cache of its own.
        new: How many new positions n of a sequence read the cache together: 1 in decoding.
        bytes_per_number: Bytes s of an element in the cache.
        tp: How many devices share the heads. All of them need the same entries, so each has a
            copy of the whole cache.

    Returns:
        FLOP and bytes of one device.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `new` is larger than `length`, `bytes_per_number` is
            not above 0, or `tp` does not divide `num_heads`.

    Example:
        ```python
        from attn_docs import latent_decode_cost

        cost = latent_decode_cost(1000, num_heads=128, kv_rank=512, rope_dim=64)
        print(cost.bytes, round(cost.intensity, 1))
        #> 1152000 241.8
        ```

    Reference:
        DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv:2405.04434 (2024).
    """
    _check(length, batch, new, bytes_per_number)
    for name, size in (("num_heads", num_heads), ("kv_rank", kv_rank), ("rope_dim", rope_dim)):
        check_size(name, size)
    num_heads, _ = _of_one_device(num_heads, 1, tp)
    multiply_adds = batch * new * num_heads * length * (2 * kv_rank + rope_dim)
    numbers = batch * length * (kv_rank + rope_dim)
    return DecodeCost(2 * multiply_adds, numbers * bytes_per_number)


def projection_cost(
    embed_dim: int,
    *,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    batch: int = 1,
    new: int = 1,
    bytes_per_number: float = 2,
    tp: int = 1,
) -> DecodeCost:
    r"""Count the four projections of one layer, whose weights all sequences share.

    $$\text{FLOP} = 2\, b\, n\, P \qquad \text{bytes} = P s \qquad
    P = 2\,(h + g)\, d\, D$$

    Args:
        embed_dim: Size D of the vectors that come in and go out.
        num_heads: Number of query heads h.
        num_kv_heads: Number of KV heads g; divides `num_heads`.
        head_dim: Size of a head d.
        batch: Number of sequences b.
        new: How many new positions n of each sequence there are.
        bytes_per_number: Bytes s of a weight.
        tp: How many devices share the heads, as in `decode_cost`.

    Returns:
        FLOP and bytes of one device.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `num_kv_heads` does not divide `num_heads`,
            `bytes_per_number` is not above 0, or the heads cannot be shared among `tp` devices.

    Example:
        ```python
        from attn_docs import projection_cost

        sizes = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128}
        for batch in (1, 64):
            print(projection_cost(4096, **sizes, batch=batch).intensity)
        #> 1.0
        #> 64.0
        ```

    Reference:
        Pope et al., "Efficiently Scaling Transformer Inference", section 2, arXiv:2211.05102
        (2022).
    """
    _check(new, batch, new, bytes_per_number)
    sizes = {"embed_dim": embed_dim, "num_heads": num_heads, "num_kv_heads": num_kv_heads}
    for name, size in (sizes | {"head_dim": head_dim}).items():
        check_size(name, size)
    check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
    num_heads, num_kv_heads = _of_one_device(num_heads, num_kv_heads, tp)
    weights = 2 * (num_heads + num_kv_heads) * head_dim * embed_dim
    return DecodeCost(2 * batch * new * weights, weights * bytes_per_number)


def _check(length: int, batch: int, new: int, bytes_per_number: float) -> None:
    for name, size in (("new", new), ("length", length), ("batch", batch)):
        check_size(name, size)
    if new > length:
        raise ValueError(f"new must be at most length = {length}; got {new}")
    check_positive("bytes_per_number", bytes_per_number)


def _of_one_device(num_heads: int, num_kv_heads: int, tp: int) -> tuple[int, int]:
    """Return the query heads and key heads of one of `tp` devices: at least one KV head."""
    check_size("tp", tp)
    check_divides("tp", tp, "num_heads", num_heads)
    if num_kv_heads % tp and tp % num_kv_heads:
        raise ValueError(
            f"tp must divide num_kv_heads = {num_kv_heads} or be a multiple of it; got {tp}"
        )
    return num_heads // tp, max(num_kv_heads // tp, 1)
