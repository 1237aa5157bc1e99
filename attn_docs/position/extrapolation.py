"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def extrapolation(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import extrapolation

        print(extrapolation.__name__)
        #> extrapolation
        ```
    """
    raise NotImplementedError
