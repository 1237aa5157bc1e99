"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def relative(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import relative

        print(relative.__name__)
        #> relative
        ```
    """
    raise NotImplementedError
