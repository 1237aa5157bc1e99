"""Blocks and decoders compute what the models that they are called after compute."""

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    RotaryEmbedding,
    scaled_dot_product_attention,
)
from attn_docs.model import MLP, Block, DecoderModel, GatedMLP
from tests.kit import error, normal

VOCAB, EMBED, HEADS, LENGTH = 50, 24, 3, 16
EMPTY = nn.Identity()
TOKENS = torch.randint(VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))


def random_weights(model: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.double().eval()


def gpt2_block() -> Block:
    mlp = MLP(EMBED, approximate="tanh")
    return Block(MultiHeadAttention(EMBED, HEADS), mlp, nn.LayerNorm(EMBED), nn.LayerNorm(EMBED))


def gpt2_weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return GPT-2's weights, transposed and by our names."""
    names = {
        "transformer.": "", "wte": "token_embedding", "wpe": "position_embedding",
        "h.": "blocks.", "ln_f": "norm", "ln_1": "attention_norm", "ln_2": "mlp_norm",
        "attn.c_proj": "attention.out_proj", "c_fc": "up_proj", "mlp.c_proj": "mlp.down_proj",
        "lm_head": "output",
    }  # fmt: skip
    found = {}
    for name, tensor in state.items():
        matrix = tensor.mT if tensor.ndim == 2 and ".h." in name else tensor
        if "c_attn" in name:
            kind = name.rpartition(".")[2]
            block = name.removeprefix("transformer.h.").partition(".")[0]
            for part, rows in zip("qkv", matrix.split(EMBED), strict=True):
                found[f"blocks.{block}.attention.{part}_proj.{kind}"] = rows
            continue
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)  # noqa: PLW2901
        found[name] = matrix
    return found


def gpt2() -> tuple[DecoderModel, nn.Module]:
    config = GPT2Config(
        n_embd=EMBED, n_head=HEADS, n_layer=2, vocab_size=VOCAB, n_positions=LENGTH,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    theirs = random_weights(GPT2LMHeadModel(config))
    blocks = [gpt2_block(), gpt2_block()]
    norm = nn.LayerNorm(EMBED)
    ours = DecoderModel(VOCAB, EMBED, blocks, max_length=LENGTH, norm=norm, tied=True).double()
    ours.load_state_dict(gpt2_weights(theirs.state_dict()))
    return ours, theirs


def llama_weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a Llama, or of a block of it, by our names."""
    names = {
        "model.layers": "blocks", "model.embed_tokens": "token_embedding", "model.norm": "norm",
        "lm_head": "output", "input_layernorm": "attention_norm", "o_proj": "out_proj",
        "post_attention_layernorm": "mlp_norm", "self_attn": "attention",
    }  # fmt: skip
    found = {}
    for name, tensor in state.items():
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)  # noqa: PLW2901
        found[name] = tensor
    return found


def llama() -> tuple[DecoderModel, nn.Module]:
    config = LlamaConfig(
        hidden_size=EMBED, num_attention_heads=6, num_key_value_heads=2, intermediate_size=40,
        num_hidden_layers=2, vocab_size=VOCAB, rms_norm_eps=1e-5, tie_word_embeddings=False,
    )  # fmt: skip
    theirs = random_weights(LlamaForCausalLM(config))

    def norm() -> nn.Module:
        return nn.RMSNorm(EMBED, eps=1e-5)

    def block() -> Block:
        rotary = RotaryEmbedding(EMBED // 6)
        attention = GroupedQueryAttention(EMBED, 6, 2, bias=False, rotary=rotary)
        return Block(attention, GatedMLP(EMBED, 40), norm(), norm())

    ours = DecoderModel(VOCAB, EMBED, [block(), block()], norm=norm()).double()
    ours.load_state_dict(llama_weights(theirs.state_dict()))
    return ours, theirs


MODELS = pytest.mark.parametrize("models", [gpt2, llama])


@MODELS
def test_logits_and_gradients_are_the_models_own(models):
    ours, theirs = models()
    found, wanted = ours(TOKENS), theirs(TOKENS).logits
    assert wanted.abs().max() > 0.5
    # Llama's norms and angles are in float32 whatever the model is in
    assert error(found, wanted.to(found.dtype)) <= 2e-6
    found.square().sum().backward()
    wanted.square().sum().backward()
    gradient = theirs.get_input_embeddings().weight.grad
    scale = gradient.abs().max().item()
    assert error(ours.token_embedding.weight.grad, gradient) <= 2e-6 * scale
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())


@MODELS
def test_text_is_the_models_own_and_the_same_without_a_cache(models):
    ours, theirs = models()
    text = ours.generate(TOKENS, 6)
    wanted = theirs.generate(
        TOKENS, max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=None
    )
    assert torch.equal(text, wanted)
    again = TOKENS
    for _ in range(6):
        again = torch.cat([again, ours(again)[:, -1:].argmax(-1)], 1)
    assert torch.equal(text, again)


def test_steps_with_caches_are_the_whole():
    ours, _ = gpt2()
    caches = ours.new_caches(2, 9)
    steps = [ours(part, caches=caches) for part in TOKENS.split([4, 1, 3, 1], dim=1)]
    assert error(torch.cat(steps, 1), ours(TOKENS)) <= 1e-12


def test_no_token_sees_a_later_one_and_weights_are_returned():
    ours, _ = llama()
    logits, weights = ours(TOKENS, need_weights=True)
    assert error(logits, ours(TOKENS)) == 0
    assert [tuple(w.shape) for w in weights] == [(2, 6, 9, 9)] * 2
    for w in weights:
        assert w.triu(1).abs().max() == 0
        assert error(w.sum(-1), torch.ones(2, 6, 9).double()) <= 1e-12
    changed = TOKENS.clone()
    changed[:, 5] = (changed[:, 5] + 1) % VOCAB
    assert error(ours(changed)[:, :5], logits[:, :5]) == 0
    assert error(ours(changed)[:, 5], logits[:, 5]) > 1e-3


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_block_is_its_formula(pre_norm):
    attention, mlp = MultiHeadAttention(EMBED, HEADS).double(), MLP(EMBED).double()
    norms = [nn.LayerNorm(EMBED).double() for _ in range(2)]
    for norm in norms:
        nn.init.normal_(norm.weight)
    x = normal(2, 5, EMBED)
    block = Block(attention, mlp, *norms, pre_norm=pre_norm)
    first = (
        x + attention(norms[0](x), is_causal=True)
        if pre_norm
        else norms[0](x + attention(x, is_causal=True))
    )
    wanted = first + mlp(norms[1](first)) if pre_norm else norms[1](first + mlp(first))
    assert torch.equal(block(x, is_causal=True), wanted)
    alone = Block(attention, None, norms[0], None, pre_norm=pre_norm)
    assert torch.equal(alone(x, is_causal=True), first)
    output, weights = block(x, is_causal=True, need_weights=True)
    assert torch.equal(output, wanted)
    assert weights.shape == (2, HEADS, 5, 5)


def test_post_norm_is_pytorchs():
    theirs = nn.TransformerEncoderLayer(EMBED, HEADS, 40, 0.0, "gelu", batch_first=True).double()
    mlp = MLP(EMBED, 40).double()
    mlp.up_proj, mlp.down_proj = theirs.linear1, theirs.linear2
    attention = MultiHeadAttention.from_torch(theirs.self_attn)
    ours = Block(attention, mlp, theirs.norm1, theirs.norm2, pre_norm=False)
    x = normal(2, 5, EMBED)
    assert error(ours(x), theirs(x)) <= 1e-12


def test_any_attention_function_serves():
    def block(**options: object) -> Block:
        return Block(MultiHeadAttention(EMBED, HEADS, **options), None, nn.LayerNorm(EMBED), None)

    one = DecoderModel(VOCAB, EMBED, [block()])
    other = DecoderModel(VOCAB, EMBED, [block(attend=scaled_dot_product_attention)])
    other.load_state_dict(one.state_dict())
    assert error(one(TOKENS), other(TOKENS)) <= 1e-6


def test_drawing_follows_temperature_and_top_k():
    ours, _ = gpt2()
    prompt = TOKENS[:1].expand(2000, -1)[:, :4]
    generator = torch.Generator().manual_seed(0)
    drawn = ours.generate(prompt, 1, temperature=0.7, top_k=3, generator=generator)[:, -1]
    logits = ours(prompt[:1])[0, -1]
    best = logits.topk(3)
    shares = (best.values / 0.7).softmax(0)
    assert set(drawn.tolist()) == set(best.indices.tolist())
    counted = torch.stack([(drawn == token).double().mean() for token in best.indices])
    assert error(counted, shares.detach()) <= 0.04
    once = ours.generate(prompt, 1, temperature=0.7, generator=torch.Generator().manual_seed(1))
    again = ours.generate(prompt, 1, temperature=0.7, generator=torch.Generator().manual_seed(1))
    assert torch.equal(once, again)
    assert len(once[:, -1].unique()) > 3


def decoder(**options: object) -> DecoderModel:
    return DecoderModel(VOCAB, EMBED, [gpt2_block()], **{"max_length": LENGTH, **options})


BAD_CALLS = [
    (lambda m: m(TOKENS[0]), r"tokens must be \(batch, length\), neither of them 0; got \(9,\)"),
    (lambda m: m(TOKENS[:, :0]), r"got \(2, 0\)"),
    (lambda m: m(TOKENS + VOCAB), "tokens must be from 0 to 49, as vocab_size says; got"),
    (lambda m: m(TOKENS - VOCAB), "got -"),
    (lambda m: m(TOKENS.repeat(1, 2)), "tokens must be at most 16 in a row; got 18"),
    (lambda m: m(TOKENS, caches=[]), "caches must be 1, one for each block; got 0"),
    (lambda m: m.generate(TOKENS, 8), "at most 16 in a row; got 17"),
    (lambda m: m.generate(TOKENS, -1), "new_tokens must be 0 or more; got -1"),
    (lambda m: m.generate(TOKENS, 1, temperature=-1), "temperature must be 0 or more; got -1"),
    (lambda m: m.generate(TOKENS, 1, top_k=0), "top_k must be"),
    (lambda _: DecoderModel(0, 8, [gpt2_block()]), "vocab_size must be"),
    (lambda _: DecoderModel(5, 8, []), "blocks must be at least one Block; got"),
    (lambda _: decoder(max_length=0), "max_length must be"),
    (lambda _: Block(EMPTY, EMPTY, EMPTY, None), "mlp_norm must be None just where mlp is; got"),
    (lambda _: Block(EMPTY, None, EMPTY, EMPTY), "mlp_norm must be None just where mlp is; got"),
    (lambda _: MLP(8, approximate="x"), 'approximate must be "none" or "tanh"; got \'x\''),
    (lambda _: MLP(8, 0), "hidden_dim must be"),
    (lambda _: GatedMLP(8, 0), "hidden_dim must be"),
]
BAD_TYPES = [
    (lambda m: m(TOKENS.double()), "tokens must be a tensor of integers; got torch.float64"),
    (lambda m: m([[1]]), "tokens must be a tensor of integers; got list"),
    (lambda _: DecoderModel(5, 8, [EMPTY]), "blocks must be Blocks; got Identity"),
    (lambda _: decoder(tied=1), "tied must be True or False; got 1"),
    (lambda _: decoder(norm=len), "norm must be a Module or None; got builtin"),
    (lambda _: Block(None, None, EMPTY, None), "attention must be a module; got NoneType"),
    (lambda _: Block(EMPTY, None, len, None), "attention_norm must be a module; got builtin"),
    (lambda _: Block(EMPTY, len, EMPTY, EMPTY), "mlp must be a Module or None; got builtin"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_a_wrong_value_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(decoder())


@pytest.mark.parametrize(("call", "message"), BAD_TYPES)
def test_a_wrong_type_is_named(call, message):
    with pytest.raises(TypeError, match=message):
        call(decoder())
