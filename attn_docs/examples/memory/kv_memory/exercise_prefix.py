from attn_docs import kv_cache_bytes, load_models, longest_context

model = load_models()["Llama-3.1-8B"]
room = 24_207 * 2**20 - model.weight_bytes
shared, own = 2_000, 8_192 - 2_000  # tokens: the system prompt, and the rest of a conversation

print(longest_context(model.config, room) // (shared + own), "users, each with all of it")
#> 8 users, each with all of it
left = room - kv_cache_bytes(model.config, shared)
print(left // kv_cache_bytes(model.config, own), "users with one system prompt for all")
#> 11 users with one system prompt for all
