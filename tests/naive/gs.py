"""The mechanisms of gs line by line from the paper, on plain lists: slow, and sharing no code with dpbench.

D is a list of rows of zeros and ones, c = query(D, d) its counts. All Laplace noise comes from `lap(place, scale)`,
place being "sample" (t_s), "tuning" (Line 9 of Figure 6) or "output", so that a test can plant a fault in one place.
"""

from __future__ import annotations

import cmath
import math


def noise(rng, **faults):
    """Laplace noise, its scale multiplied by a planted fault: noise(rng, output=1.1)."""
    return lambda place, scale: rng.laplace(0.0, scale * faults.get(place, 1.0))


def query(D, d):
    return [sum(row[j] for row in D) for j in range(d)]


def lpa(c, delta, epsilon, lap):
    return [x + lap("output", delta / epsilon) for x in c]


def alpa(c, epsilon, lap):
    average = sum(c) / len(c) + lap("output", 1 / epsilon)
    return [average] * len(c)


def dft(c):
    d = len(c)
    return [sum(c[i] * cmath.exp(-2j * math.pi * k * i / d) for i in range(d)) for k in range(d)]


def inverse_of_first(first, d):
    """Inverse DFT of the spectrum with these first coefficients, their conjugates at d - k, and zeros elsewhere."""
    full = [0j] * d
    for k, f in enumerate(first):
        full[k] = f
        if k > 0:
            full[d - k] = f.conjugate()
    t = [sum(full[k] * cmath.exp(2j * math.pi * k * i / d) for k in range(d)) / d for i in range(d)]
    assert max(abs(x.imag) for x in t) < 1e-6 * (1 + max(abs(x) for x in t))
    return [x.real for x in t]


def fpa(spectrum, d, delta, epsilon, rho, lap):
    scale = math.sqrt(rho * d * delta) / epsilon
    first = []
    for k in range(rho):
        real = spectrum[k].real + lap("output", scale)
        own_conjugate = k == 0 or 2 * k == d
        imaginary = 0.0 if own_conjugate else spectrum[k].imag + lap("output", scale)
        first.append(complex(real, imaginary))
    return inverse_of_first(first, d)


def fpa_mse(c, delta, epsilon, rho):
    """Expected mean squared error: what is lost without noise, plus 2λ² times what each noisy number does alone."""
    d = len(c)
    spectrum = dft(c)
    variance = 2 * rho * d * delta / epsilon**2
    kept = inverse_of_first([f if 2 * k not in (0, d) else f.real + 0j for k, f in enumerate(spectrum[:rho])], d)
    total = sum((x - y) ** 2 for x, y in zip(kept, c, strict=True))
    for k in range(rho):
        for unit in [1] if 2 * k in (0, d) else [1, 1j]:
            alone = inverse_of_first([complex(unit) if i == k else 0j for i in range(rho)], d)
            total += variance * sum(x * x for x in alone)
    return total / d


def groups(order, w):
    """Lines 1-6 of Figure 2 with w for the group size."""
    d = len(order)
    d_g = d // w
    g = [order[j * w : (j + 1) * w] for j in range(d_g - 1)]
    g.append(order[(d_g - 1) * w :])
    return g


def average(c, g):
    return [sum(c[i] for i in group) / len(group) for group in g]


def spread(t_g, g, d):
    t = [None] * d
    for value, group in zip(t_g, g, strict=True):
        for i in group:
            t[i] = value
    return t


def gs_r(c, delta, epsilon, rng, lap):
    d = len(c)
    order = [int(i) for i in rng.permutation(d)]
    g = groups(order, delta)
    t_g = [x + lap("output", 1 / epsilon) for x in average(c, g)]
    return spread(t_g, g, d)


def sample(D, c, delta, epsilon, method, rng, lap):
    """Submodule M_s of Figure 4, and what Section 3.2 says without sampling."""
    d = len(c)
    if method == "none":
        return [x + lap("sample", 2 * delta / epsilon) for x in c]
    if method == "row":
        rate = (math.exp(epsilon / 2) - 1) / (math.exp(epsilon * delta / 2) - 1)
        D_s = [row for row in D if rng.random() < rate]
    else:
        D_s = []
        for row in D:
            ones = [j for j in range(d) if row[j]]
            kept = ones[rng.integers(len(ones))] if ones else None
            D_s.append([int(j == kept) for j in range(d)])
    return [x + lap("sample", 2 / epsilon) for x in query(D_s, d)]


def gs_s(D, c, delta, epsilon, method, rng, lap):
    t_s = sample(D, c, delta, epsilon, method, rng, lap)
    order = sorted(range(len(c)), key=lambda i: t_s[i])
    g = groups(order, delta)
    t_g = [x + lap("output", 2 / epsilon) for x in average(c, g)]
    return spread(t_g, g, len(c))


def simulated_l1(c, order, w, delta, epsilon, lap):
    """Lines 6-11 of Figure 6 for one w."""
    g_w = groups(order, w)
    t_g = [x + lap("tuning", 2 * delta / (epsilon * w)) for x in average(c, g_w)]
    t_w = spread(t_g, g_w, len(c))
    return sum(abs(x - y) for x, y in zip(c, t_w, strict=True))


def gs(D, c, delta, epsilon, method, rng, lap, w=None):
    t_s = sample(D, c, delta, epsilon, method, rng, lap)
    order = sorted(range(len(c)), key=lambda i: t_s[i])
    c_estimate = list(t_s) if method == "none" else [delta * x for x in t_s]
    sizes = range(1, len(c) + 1) if w is None else [w]
    l1 = {size: simulated_l1(c_estimate, order, size, delta, epsilon, lap) for size in sizes}
    best = min(l1, key=lambda size: l1[size])
    g = groups(order, best)
    t_g = [x + lap("output", 2 * delta / (epsilon * best)) for x in average(c, g)]
    return spread(t_g, g, len(c)), best, l1[best]


def gs_private(D, c, delta, epsilon, method, rng, lap, share=0.02):
    """GS with 98 % of the budget and c̃ = t_s times a mean row that the other 2 % have paid for."""
    total = sum(c) + lap("total", delta / (0.9 * share * epsilon))
    rows = sum(any(row) for row in D) + lap("rows", 1 / (0.1 * share * epsilon))
    mean_row = min(delta, max(1.0, total / max(1.0, rows)))
    rest = (1 - share) * epsilon
    t_s = sample(D, c, delta, rest, method, rng, lap)
    order = sorted(range(len(c)), key=lambda i: t_s[i])
    estimate = [mean_row * x for x in t_s]
    l1 = {w: simulated_l1(estimate, order, w, delta, rest, lap) for w in range(1, len(c) + 1)}
    best = min(l1, key=lambda w: l1[w])
    g = groups(order, best)
    t_g = [x + lap("output", 2 * delta / (rest * best)) for x in average(c, g)]
    return spread(t_g, g, len(c)), best, mean_row


def gs_mean(D, c, delta, epsilon, method, rng, lap):
    """GS with c̃ = t_s times the mean of the rows that hold any 1."""
    mean_row = max(1.0, sum(c) / max(1, sum(any(row) for row in D)))
    t_s = sample(D, c, delta, epsilon, method, rng, lap)
    order = sorted(range(len(c)), key=lambda i: t_s[i])
    estimate = [mean_row * x for x in t_s]
    l1 = {w: simulated_l1(estimate, order, w, delta, epsilon, lap) for w in range(1, len(c) + 1)}
    best = min(l1, key=lambda w: l1[w])
    g = groups(order, best)
    t_g = [x + lap("output", 2 * delta / (epsilon * best)) for x in average(c, g)]
    return spread(t_g, g, len(c)), best, l1[best]
