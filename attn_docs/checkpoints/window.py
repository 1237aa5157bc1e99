"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def window(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import window

        print(window.__name__)
        #> window
        ```
    """
    raise NotImplementedError
