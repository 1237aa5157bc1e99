"""The encoder that attention was added to: a recurrent network, one step at a time."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import check_float_tensor, check_last_size, check_same_kind


def encode_step_by_step(inputs: Tensor, gru: nn.GRU) -> Tensor:
    r"""Run a gated recurrent unit over a sequence, with the loop that PyTorch's module hides.

    $$
    \begin{aligned}
    r_t &= \sigma(W_{i r} x_t + b_{i r} + W_{h r} h_{t-1} + b_{h r}) \\
    z_t &= \sigma(W_{i z} x_t + b_{i z} + W_{h z} h_{t-1} + b_{h z}) \\
    c_t &= \tanh\bigl(W_{i c} x_t + b_{i c} + r_t \odot (W_{h c} h_{t-1} + b_{h c})\bigr) \\
    h_t &= (1 - z_t) \odot c_t + z_t \odot h_{t-1}
    \end{aligned}
    $$

    The first state, h_0, is zero. A step needs the state before it, so n words take n steps.

    Args:
        inputs: Word vectors (batch, n, input_size), n at least 1, whatever `gru.batch_first` says.
        gru: A `torch.nn.GRU` of one layer and one direction, of the inputs' dtype; its weights
            are used, not copied.

    Returns:
        All states (batch, n, hidden_size). The last one is what an encoder without attention
        hands to its decoder.

    Raises:
        TypeError: If `inputs` is not a floating-point tensor, `gru` is not a GRU, or their
            dtypes differ.
        ValueError: If shapes or devices do not fit, or `gru` has more layers or directions.

    Example:
        ```python
        import torch

        from attn_docs import encode_step_by_step

        torch.manual_seed(0)
        gru = torch.nn.GRU(input_size=3, hidden_size=2)
        states = encode_step_by_step(torch.randn(1, 5, 3), gru)
        print(tuple(states.shape))
        #> (1, 5, 2)
        ```

    Reference:
        Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical
        Machine Translation", section 2.3, arXiv:1406.1078 (2014); gates as in `torch.nn.GRU`.
    """
    _check(inputs, gru)
    weight_ih, weight_hh, *biases = gru.all_weights[0]
    bias_ih, bias_hh = biases or (None, None)
    gates = F.linear(inputs, weight_ih, bias_ih)  # b n 3·d
    state = inputs.new_zeros(inputs.size(0), gru.hidden_size)  # b d
    states = []
    for step in gates.unbind(dim=1):  # each turn of this loop waits for the one before
        input_r, input_z, input_c = step.chunk(3, dim=-1)
        state_r, state_z, state_c = F.linear(state, weight_hh, bias_hh).chunk(3, dim=-1)
        reset = torch.sigmoid(input_r + state_r)
        update = torch.sigmoid(input_z + state_z)
        candidate = torch.tanh(input_c + reset * state_c)
        state = (1 - update) * candidate + update * state
        states.append(state)
    return torch.stack(states, dim=1)  # b n d


def _check(inputs: Tensor, gru: nn.GRU) -> None:
    check_float_tensor("inputs", inputs, min_axes=3)
    if inputs.ndim != 3 or not inputs.size(1):
        raise ValueError(
            "inputs must have 3 axes (batch, length, size) and a length of 1 or more; "
            f"got shape {tuple(inputs.shape)}"
        )
    if not isinstance(gru, nn.GRU):
        raise TypeError(f"gru must be a torch.nn.GRU; got {type(gru).__name__}")
    if gru.num_layers != 1 or gru.bidirectional:
        directions = 2 if gru.bidirectional else 1
        raise ValueError(
            f"gru must have one layer and one direction; got {gru.num_layers} and {directions}"
        )
    check_last_size("inputs", inputs, "gru's input_size", gru.input_size)
    check_same_kind("gru.weight_ih_l0", gru.all_weights[0][0], "inputs", inputs)
