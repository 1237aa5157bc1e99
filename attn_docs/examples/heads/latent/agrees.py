import torch

from attn_docs import MultiHeadLatentAttention

torch.manual_seed(0)
h, c, d, r, e = 3, 8, 6, 4, 5
sizes = {"kv_rank": c, "head_dim": d, "rope_dim": r, "value_dim": e}
attend = MultiHeadLatentAttention(24, h, **sizes).double()


def rotate(x):  # b n h d_r: neighbours are one complex number
    slow = 10000 ** (torch.arange(0, r, 2).double() / r)
    angles = torch.arange(x.size(1))[:, None] / slow
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    rotated = numbers * torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.view_as_real(rotated).flatten(-2)


def by_einsum(x):
    q_nope, q_rope = attend.q_proj(x).unflatten(-1, (h, d + r)).split((d, r), -1)
    latent, k_rope = attend.kv_a_proj(x).split((c, r), -1)
    latent = attend.kv_a_norm(latent)
    up_key, up_value = attend.kv_b_proj.weight.unflatten(0, (h, d + e)).split((d, e), 1)
    scores = torch.einsum("nthd,hdc,nsc->nhts", q_nope, up_key, latent)
    k_rope = rotate(k_rope[:, :, None])[:, :, 0]  # one for all heads
    scores += torch.einsum("nthr,nsr->nhts", rotate(q_rope), k_rope)
    weights = (scores * (d + r) ** -0.5).softmax(-1)
    heads = torch.einsum("nhts,nsc,hec->nthe", weights, latent, up_value)
    return attend.out_proj(heads.flatten(2))


x = torch.randn(2, 5, 24, dtype=torch.float64, requires_grad=True)
outputs = {"naive": attend(x, absorb=False), "absorbed": attend(x, absorb=True)}
wanted = by_einsum(x)
(gradient,) = torch.autograd.grad(wanted.sin().sum(), x, retain_graph=True)
for name, output in outputs.items():
    (found,) = torch.autograd.grad(output.sin().sum(), x)
    pairs = (output, wanted), (found, gradient)
    print(name, [torch.allclose(*pair, rtol=0, atol=1e-12) for pair in pairs])
#> naive [True, True]
#> absorbed [True, True]
