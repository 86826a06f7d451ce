"""Sums of few harmonics equal the inverse FFT."""

import numpy as np
import pytest
from scipy.fft import irfft, rfft

from dpbench.mechanisms.baselines._harmonics import FEW, add_harmonics, inverse


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 1023, 1024, 1025, 2053])
def test_they_equal_the_inverse_transform(d):
    values = np.random.default_rng(d).poisson(3.0, d).astype(float)
    spectrum = rfft(values)
    for rho in {1, min(2, spectrum.size), min(FEW + 9, spectrum.size), spectrum.size}:
        expected = irfft(spectrum[:rho], n=d)
        np.testing.assert_allclose(inverse(spectrum[:rho], d), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [9, 300, 1025])
def test_adding_step_by_step_leaves_the_same(d):
    values = np.random.default_rng(d).poisson(3.0, d).astype(float)
    spectrum = rfft(values)
    off, kept = -values, 0
    for rho in (1, 2, 5, spectrum.size):
        add_harmonics(off, spectrum[kept:rho], kept)
        kept = rho
        np.testing.assert_allclose(off, irfft(spectrum[:rho], n=d) - values, rtol=1e-10, atol=1e-10)


def test_an_imaginary_part_of_a_real_coefficient_is_passed_over():
    np.testing.assert_allclose(inverse(np.array([3.0 + 2.0j]), 4), irfft(np.array([3.0 + 2.0j]), n=4))
