"""Sensitivity control written out from the paper's definitions: dense matrices, plain loops, no shared code."""

from __future__ import annotations

import math

import numpy as np


def matrix(rows, columns):
    dense = np.zeros((len(rows), columns))
    for i, row in enumerate(rows):
        for j in row:
            dense[i, j] = 1
    return dense


def normalised(dense, theta):
    """D|θ: every row scaled by min(1, θ/RC)."""
    out = dense.copy()
    for i in range(len(out)):
        size = out[i].sum()
        if size > theta:
            out[i] *= theta / size
    return out


def sampled(dense, theta, rng):
    out = dense.copy()
    for i in range(len(out)):
        ones = np.flatnonzero(out[i])
        if len(ones) > theta:
            out[i] = 0
            out[i, rng.permutation(ones)[:theta]] = 1
    return out


def quality(dense, theta, eps_p):
    """q(D, θ, ε_p) = ac(D|θ) - θ/ε_p."""
    return normalised(dense, theta).sum() / dense.shape[1] - theta / eps_p


def quality_s(dense, theta, alpha, eps_p):
    counts, limited = dense.sum(axis=0), normalised(dense, theta).sum(axis=0)
    loss = sum(abs(c - alpha * t) for c, t in zip(counts, limited, strict=True)) / dense.shape[1]
    return -(loss + alpha * theta / eps_p)


def softmax(exponents):
    total = math.fsum(math.exp(e) for e in exponents)
    return [math.exp(e) / total for e in exponents]


def dpsense(dense, epsilon, share, limit, rng):
    eps_c, eps_p = share * epsilon, epsilon - share * epsilon
    thetas = list(range(1, int(dense.sum(axis=1).max()) + 1))
    chances = softmax([eps_c * quality(dense, theta, eps_p) for theta in thetas])
    theta = rng.choice(thetas, p=chances)
    kept = normalised(dense, theta) if limit == "normalise" else sampled(dense, theta, rng)
    return kept.sum(axis=0) + [laplace(theta / eps_p, rng) for _ in range(dense.shape[1])]


def dpsense_s(dense, epsilon, share, alphas, rng):
    eps_c, eps_p = share * epsilon, epsilon - share * epsilon
    pairs = [(theta, alpha) for theta in range(1, int(dense.sum(axis=1).max()) + 1) for alpha in alphas]
    chances = softmax([eps_c / 2 * quality_s(dense, theta, alpha, eps_p) for theta, alpha in pairs])
    theta, alpha = pairs[rng.choice(len(pairs), p=chances)]
    noise = np.array([laplace(theta / eps_p, rng) for _ in range(dense.shape[1])])
    return alpha * (normalised(dense, theta).sum(axis=0) + noise)


def laplace(scale, rng):
    """The difference of two exponentials."""
    return scale * (rng.exponential() - rng.exponential())
