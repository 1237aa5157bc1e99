"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def rotary_scaling(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import rotary_scaling

        print(rotary_scaling.__name__)
        #> rotary_scaling
        ```
    """
    raise NotImplementedError
