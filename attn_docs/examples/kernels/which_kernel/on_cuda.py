import torch
from torch._C import _get_sdp_priority_order  # private: it may change
from torch.backends import cuda
from torch.nn.attention import SDPBackend, current_flash_attention_impl

from attn_docs import which_kernel

ASK = {
    "FLASH_ATTENTION": cuda.can_use_flash_attention,
    "EFFICIENT_ATTENTION": cuda.can_use_efficient_attention,
    "CUDNN_ATTENTION": cuda.can_use_cudnn_attention,
}


def ask(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, enable_gqa=False):
    options = (attn_mask, dropout_p, is_causal, enable_gqa)
    params = cuda.SDPAParams(query, key, value, *options)
    for name, can_use in ASK.items():  # debug=True warns, with the reason
        print(name, can_use(params, debug=True))
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "enable_gqa": enable_gqa}
    print("it ran", which_kernel(query, key, value, attn_mask, **options))
    print("flash is", current_flash_attention_impl() or "the built-in one")
    order = _get_sdp_priority_order()  # settled by the first call
    print("asked in the order", [SDPBackend(number).name for number in order])


if torch.cuda.is_available():
    half = {"device": "cuda", "dtype": torch.bfloat16}
    query, key, value = torch.randn(3, 2, 8, 1024, 64, **half).unbind()
    ask(query, key, value, is_causal=True)
    ask(query, key, value, torch.ones(1024, 1024, device="cuda").tril().bool())
else:
    print("no CUDA here: nothing was asked")
#> no CUDA here: nothing was asked
