"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def whole_model(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import whole_model

        print(whole_model.__name__)
        #> whole_model
        ```
    """
    raise NotImplementedError
