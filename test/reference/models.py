"""GPT-2 and LLaMA as anyone would write them in JAX, one sequence at a time; JAX differentiates them.

Weights are a dict by tgpt's parameter names ("layers.0.attn.q.weight"), [out, in] as in torch. Nothing here follows
tgpt's kernels: heads are explicit, RoPE is a complex product, the loss is optax's.
"""

import math

import jax
import jax.numpy as jnp
import optax


def parameter_shapes(recipe):
    """Name -> (shape, mean, stddev, decayed)."""
    d, ffn, layers = recipe["width"], recipe["ffn"], recipe["layers"]
    kv = recipe["kv_heads"] * (d // recipe["heads"])
    llama, stddev = recipe["family"] == "llama", recipe["init_stddev"]
    into_residual = stddev / math.sqrt(2 * layers)
    shapes = {"embed.weight": ((recipe["vocabulary"], d), 0.0, stddev, True)}

    def norm(name):
        shapes[name + ".weight"] = ((d,), 1.0, 0.0, False)
        if not llama:
            shapes[name + ".bias"] = ((d,), 0.0, 0.0, False)

    def linear(name, rows, columns, scale):
        shapes[name + ".weight"] = ((rows, columns), 0.0, scale, True)
        if not llama:
            shapes[name + ".bias"] = ((rows,), 0.0, 0.0, False)

    if not llama:
        shapes["position.weight"] = ((recipe["sequence_length"], d), 0.0, stddev, True)
    for i in range(layers):
        norm(f"layers.{i}.attn_norm")
        linear(f"layers.{i}.attn.q", d, d, stddev)
        linear(f"layers.{i}.attn.k", kv, d, stddev)
        linear(f"layers.{i}.attn.v", kv, d, stddev)
        if recipe.get("qk_norm"):
            shapes[f"layers.{i}.attn.q_norm.weight"] = ((d // recipe["heads"],), 1.0, 0.0, False)
            shapes[f"layers.{i}.attn.k_norm.weight"] = ((d // recipe["heads"],), 1.0, 0.0, False)
        linear(f"layers.{i}.attn.o", d, d, into_residual)
        norm(f"layers.{i}.mlp_norm")
        if llama:
            linear(f"layers.{i}.mlp.gate", ffn, d, stddev)
        linear(f"layers.{i}.mlp.up", ffn, d, stddev)
        linear(f"layers.{i}.mlp.down", d, ffn, into_residual)
    norm("final_norm")
    if not recipe["tied_embeddings"]:
        shapes["head.weight"] = ((recipe["vocabulary"], d), 0.0, stddev, True)
    return shapes


def linear(weights, name, x):
    y = x @ weights[name + ".weight"].T
    bias = weights.get(name + ".bias")
    return y if bias is None else y + bias


def norm(weights, name, x, recipe):
    if recipe["family"] == "llama":
        return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + recipe["norm_epsilon"]) * weights[name + ".weight"]
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + recipe["norm_epsilon"]) * weights[name + ".weight"] + weights[name + ".bias"]


def rotate(x, theta):
    """RoPE on [sequence, heads, c]: elements i and i + c/2 as one complex number, times e^(i p theta^(-2i/c))."""
    sequence, _, c = x.shape
    frequencies = theta ** (-2.0 * jnp.arange(c // 2) / c)
    turns = jnp.exp(1j * jnp.outer(jnp.arange(sequence), frequencies))[:, None, :]
    turned = (x[..., : c // 2] + 1j * x[..., c // 2 :]) * turns
    return jnp.concatenate([turned.real, turned.imag], axis=-1)


def attention(weights, name, x, recipe):
    sequence, heads, kv_heads = x.shape[0], recipe["heads"], recipe["kv_heads"]
    c = recipe["width"] // heads
    q = linear(weights, name + ".q", x).reshape(sequence, heads, c)
    k = linear(weights, name + ".k", x).reshape(sequence, kv_heads, c)
    v = linear(weights, name + ".v", x).reshape(sequence, kv_heads, c)
    if recipe.get("qk_norm"):
        q, k = (norm(weights, f"{name}.{which}_norm", t, recipe) for which, t in (("q", q), ("k", k)))
    if recipe["family"] == "llama":
        q, k = rotate(q, recipe["rope_theta"]), rotate(k, recipe["rope_theta"])
    k, v = (jnp.repeat(t, heads // kv_heads, axis=1) for t in (k, v))
    scores = jnp.einsum("qhc,khc->hqk", q, k) / math.sqrt(c)
    past = jnp.tril(jnp.ones((sequence, sequence), bool))
    probabilities = jax.nn.softmax(jnp.where(past, scores, -jnp.inf), axis=-1)
    return linear(weights, name + ".o", jnp.einsum("hqk,khc->qhc", probabilities, v).reshape(sequence, heads * c))


def mlp(weights, name, x, recipe):
    up = linear(weights, name + ".up", x)
    if recipe["family"] == "llama":
        return linear(weights, name + ".down", jax.nn.silu(linear(weights, name + ".gate", x)) * up)
    return linear(weights, name + ".down", jax.nn.gelu(up, approximate=True))


def dropout_streams(recipe):
    """The names of the places where elements are dropped."""
    if not recipe.get("dropout"):
        return []
    return ["embed.dropout"] + [f"layers.{i}.{part}.dropout" for i in range(recipe["layers"]) for part in ("attn", "mlp")]


def logits(weights, tokens, kept, recipe):
    """`kept`: for each dropout stream an array [sequence, width] that is true where an element is kept."""

    def drop(stream, x):
        return jnp.where(kept[stream], x / (1 - recipe["dropout"]), 0.0) if stream in kept else x

    x = weights["embed.weight"][tokens]
    if recipe["family"] == "gpt2":
        x = x + weights["position.weight"]
    x = drop("embed.dropout", x)
    for i in range(recipe["layers"]):
        y = attention(weights, f"layers.{i}.attn", norm(weights, f"layers.{i}.attn_norm", x, recipe), recipe)
        x = x + drop(f"layers.{i}.attn.dropout", y)
        y = mlp(weights, f"layers.{i}.mlp", norm(weights, f"layers.{i}.mlp_norm", x, recipe), recipe)
        x = x + drop(f"layers.{i}.mlp.dropout", y)
    head = weights["embed.weight" if recipe["tied_embeddings"] else "head.weight"]
    return norm(weights, "final_norm", x, recipe) @ head.T


def mean_loss(weights, tokens, labels, kept, recipe, label_smoothing=0.0, z_loss=0.0):
    """Mean over the tokens whose label is not negative; tokens, labels and the masks begin with the batch."""
    scores = jax.vmap(lambda row, masks: logits(weights, row, masks, recipe))(tokens, kept)
    valid = labels >= 0
    targets = optax.smooth_labels(jax.nn.one_hot(jnp.where(valid, labels, 0), scores.shape[-1]), label_smoothing)
    losses = optax.softmax_cross_entropy(scores, targets) + z_loss * jax.nn.logsumexp(scores, axis=-1) ** 2
    return jnp.sum(jnp.where(valid, losses, 0.0)) / jnp.sum(valid)
