"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def sinusoidal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import sinusoidal

        print(sinusoidal.__name__)
        #> sinusoidal
        ```
    """
    raise NotImplementedError
