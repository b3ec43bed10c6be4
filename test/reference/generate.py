#!/usr/bin/env python3
"""Writes the golden numbers of test/e2e: losses, gradients and 20 AdamW steps in float64. See README.md."""

import math
import sys
from pathlib import Path

import jax
import numpy as np
import optax
import yaml
from safetensors.numpy import save_file

from dropout_masks import kept
from initial_weights import check_known_answers, initial_weight, philox4x32
from models import dropout_streams, mean_loss, parameter_shapes

jax.config.update("jax_enable_x64", True)

SEED = 1234
STEPS = 20
BATCH = 8  # samples a step: four micro-batches of two, or two of four
ADAMW = dict(b1=0.9, b2=0.95, eps=1e-8, weight_decay=0.1)
MAX_NORM = 1.0
IGNORED = -100
LOSS_TERMS = {"reference-regularized": dict(label_smoothing=0.1, z_loss=1e-2)}


def learning_rates():
    """Five steps up to 2e-2, then a cosine down to 2e-3."""
    warm = [2e-2 * (step + 1) / 5 for step in range(5)]
    down = [2e-3 + 0.5 * (2e-2 - 2e-3) * (1 + math.cos(math.pi * (i + 1) / (STEPS - 5))) for i in range(STEPS - 5)]
    return np.array(warm + down)


def token_batches(recipe):
    """Tokens and labels [step, sample, position]. Labels are the next tokens; about one in six is ignored."""
    sequence, vocabulary = recipe["sequence_length"], recipe["vocabulary"]
    tokens = np.zeros((STEPS, BATCH, sequence), np.int32)
    labels = np.zeros_like(tokens)
    for step in range(STEPS):
        for sample in range(BATCH):
            draws = [philox4x32([step, sample, position, 0], [SEED, 1]) for position in range(sequence + 1)]
            # Seven of eight tokens follow a rule that can be learnt, the others are drawn.
            row = [draws[0][0] % vocabulary]
            for draw in draws[1:]:
                row.append((3 * row[-1] + 5) % vocabulary if draw[1] % 8 else draw[0] % vocabulary)
            tokens[step, sample] = row[:-1]
            labels[step, sample] = [IGNORED if draw[2] % 6 == 0 else t for draw, t in zip(draws[1:], row[1:])]
    labels[0, 3] = IGNORED  # a sample without a single label
    return tokens, labels


def generate(recipe):
    shapes = parameter_shapes(recipe)
    weights = {name: jax.numpy.asarray(initial_weight(SEED, name, shape, mean, stddev))
               for name, (shape, mean, stddev, _) in shapes.items()}
    tokens, labels = token_batches(recipe)
    rates = learning_rates()
    rate_of = jax.numpy.asarray(rates)
    optimizer = optax.adamw(lambda count: rate_of[count], mask={name: s[3] for name, s in shapes.items()}, **ADAMW)
    state = optimizer.init(weights)
    terms = LOSS_TERMS.get(recipe["name"], {})
    loss_and_gradient = jax.jit(jax.value_and_grad(lambda w, t, l, k: mean_loss(w, t, l, k, recipe, **terms)))

    numbers = {"initial/" + name: weight for name, weight in weights.items()}
    losses, norms = [], []
    for step in range(STEPS):
        masks = {stream: kept(SEED, stream, step + 1, BATCH, recipe["sequence_length"], recipe["width"], recipe["dropout"])
                 for stream in dropout_streams(recipe)}
        loss, gradient = loss_and_gradient(weights, tokens[step], labels[step], masks)
        norm = optax.global_norm(gradient)
        if step == 0:
            numbers.update({"gradient/" + name: g for name, g in gradient.items()})
        scale = jax.numpy.minimum(1.0, MAX_NORM / (norm + 1e-6))  # torch.nn.utils.clip_grad_norm_
        update, state = optimizer.update({name: g * scale for name, g in gradient.items()}, state, weights)
        weights = optax.apply_updates(weights, update)
        losses.append(float(loss))
        norms.append(float(norm))
        if step + 1 in (1, STEPS):
            numbers.update({f"step{step + 1}/" + name: weight for name, weight in weights.items()})
    clipped = sum(norm > MAX_NORM for norm in norms)
    print(f"{recipe['name']}: loss {losses[0]:.6f} -> {losses[-1]:.6f}, {clipped} of {STEPS} steps clipped")
    assert 0 < clipped < STEPS, "the data should test both sides of the clipping"
    numbers.update(loss=np.array(losses), grad_norm=np.array(norms), learning_rate=rates)
    numbers = {name: np.ascontiguousarray(value, np.float64) for name, value in numbers.items()}
    numbers.update(tokens=tokens, labels=labels)
    return numbers


def main():
    check_known_answers()
    here = Path(__file__).parent
    for family in sys.argv[1:] or ["llama", "gpt2", "regularized"]:
        recipe = yaml.safe_load((here / f"{family}.yaml").read_text())
        metadata = {"seed": str(SEED), "jax": jax.__version__, "optax": optax.__version__,
                    "max_norm": str(MAX_NORM), **{name: str(value) for name, value in ADAMW.items()}}
        save_file(generate(recipe), here / f"{family}.safetensors", metadata)


if __name__ == "__main__":
    main()
