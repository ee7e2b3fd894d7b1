"""The compiled loops behind :class:`osan.nn.norm.BagBatchNorm` and dropout.

Sums over rows are split by columns, everything else by rows. No sum is split, so the result does not depend
on the number of threads, to the last bit.
"""

from __future__ import annotations

import numpy as np

from osan.compiled import njit, parallel, prange

# So many rows stay in the innermost cache between two passes, and their sums lose little to rounding.
BLOCK = 32
# Columns are split at multiples of this, so that threads share few lines of the cache.
COLUMNS = 16


@njit(cache=True, nogil=True)
def _part(i, parts, size, unit):  # type: ignore[no-untyped-def]
    """Where part i begins and ends, in multiples of the unit.

    Unsigned: with numbers that might be negative, the compiler would not vectorize loops over them.
    """
    units = (size + unit - 1) // unit
    low, high = units * i // parts * unit, units * (i + 1) // parts * unit
    return np.uint64(min(low, size)), np.uint64(min(high, size))


@njit(cache=True, nogil=True)
def _moments(h, count, low, high, means, variances):  # type: ignore[no-untyped-def]
    """Mean and variance of some columns and number of the copies, joined from blocks of rows.

    After Chan, Golub and LeVeque (1983).
    """
    rows, width = h.shape
    mean, square, copies = np.zeros(width), np.zeros(width), 0.0
    center, part = np.zeros(width, h.dtype), np.zeros(width, h.dtype)
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        for j in range(low, high):
            center[j] = 0
            part[j] = 0
        n = 0.0
        for i in range(first, last):
            # Booleans: the compiler knows that the factor is 1 here, and drops it.
            if count[i]:
                c = h.dtype.type(count[i])
                n += c
                for j in range(low, high):
                    center[j] += c * h[i, j]
        if n == 0:
            continue
        for j in range(low, high):
            center[j] /= n
        for i in range(first, last):
            if count[i]:
                c = h.dtype.type(count[i])
                for j in range(low, high):
                    part[j] += c * (h[i, j] - center[j]) ** 2
        share = n / (copies + n)
        for j in range(low, high):
            step = center[j] - mean[j]
            mean[j] += share * step
            square[j] += part[j] + copies * share * step * step
        copies += n
    for j in range(low, high):
        means[j] = mean[j]
        variances[j] = square[j] / max(copies, 1.0)
    return copies


@njit(cache=True, nogil=True)
def _affine(weight, bias, mean, variance, eps):  # type: ignore[no-untyped-def]
    """Factor and summand that normalize, and the inverse deviation, from one formula in both directions."""
    inverse = (1 / np.sqrt(variance + eps)).astype(weight.dtype)
    scale = weight * inverse
    return scale, bias - mean * scale, inverse


@njit(cache=True, nogil=True)
def _forward(out, h, scale, shift, least, first, last):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for j in range(h.shape[1]):
            value = h[i, j] * scale[j] + shift[j]
            out[i, j] = least if value < least else value


@njit(cache=True, nogil=True)
def _remember(running_mean, running_variance, mean, variance, left_out, copies, share):  # type: ignore[no-untyped-def]
    for j in range(mean.shape[0]):
        whole = mean[j] + left_out[j] if left_out.shape[0] else mean[j]
        running_mean[j] += share * (whole - running_mean[j])
        running_variance[j] += share * (variance[j] * (copies / (copies - 1)) - running_variance[j])


@parallel
def forward(  # type: ignore[no-untyped-def]
    out, h, weight, bias, count, eps, least, parts, running_mean, running_variance, batches, share, left_out
):
    """The normalized rows, at least ``least``, into ``out``; returns mean, variance and number of copies.

    Running statistics, unless they are empty, move towards those of the batch, with the variance of a sample;
    the number of batches grows by one. ``left_out`` was not added to the rows, since the mean would take it
    away again, but belongs to the running mean; it may be empty.
    """
    rows, width = h.shape
    mean, variance = np.empty(width, h.dtype), np.empty(width, h.dtype)
    copies = np.zeros(parts)
    for part in prange(parts):
        low, high = _part(np.int64(part), parts, width, COLUMNS)
        copies[part] = _moments(h, count, low, high, mean, variance)
    scale, shift, _ = _affine(weight, bias, mean, variance, eps)
    least = h.dtype.type(least)
    for part in prange(parts):
        first, last = _part(np.int64(part), parts, rows, 1)
        _forward(out, h, scale, shift, least, first, last)
    if running_mean.shape[0] and copies[0] >= 2:
        _remember(running_mean, running_variance, mean, variance, left_out, copies[0], share)
        batches[()] += 1
    return mean, variance, copies[0]


@njit(cache=True, nogil=True)
def folded(w, b, weight, bias, mean, variance, eps):  # type: ignore[no-untyped-def]
    """Weight and bias of a linear map followed by a norm with given statistics."""
    scale, shift, _ = _affine(weight, bias, mean, variance, eps)
    return w * scale.reshape((-1, 1)), shift + scale * b


@njit(cache=True, nogil=True)
def _sums(gradient, h, scale, shift, mean, least, low, high, totals, centered_totals):  # type: ignore[no-untyped-def]
    """Sums of the gradient after the activation, and of it times the centered rows, of some columns."""
    rows, width = h.shape
    zero = h.dtype.type(0)
    total, centered = np.zeros(width), np.zeros(width)
    part, centered_part = np.zeros(width, h.dtype), np.zeros(width, h.dtype)
    for first in range(0, rows, BLOCK):
        for j in range(low, high):
            part[j] = 0
            centered_part[j] = 0
        for i in range(first, min(first + BLOCK, rows)):
            for j in range(low, high):
                x, g = h[i, j], gradient[i, j]
                g = g if x * scale[j] + shift[j] > least else zero
                part[j] += g
                centered_part[j] += g * (x - mean[j])
        for j in range(low, high):
            total[j] += part[j]
            centered[j] += centered_part[j]
    for j in range(low, high):
        totals[j] = total[j]
        centered_totals[j] = centered[j]


@njit(cache=True, nogil=True)
def _backward(out, gradient, h, scale, shift, mean, count, constant, slope, least, first, last):  # type: ignore[no-untyped-def]
    zero = h.dtype.type(0)
    for i in range(first, last):
        c = h.dtype.type(count[i])
        for j in range(h.shape[1]):
            x, g = h[i, j], out[i, j] if gradient is None else gradient[i, j]
            g = g if x * scale[j] + shift[j] > least else zero
            common = c * (constant[j] + slope[j] * (x - mean[j]))
            out[i, j] = scale[j] * (g - common)


@parallel
def backward(out, gradient, h, weight, bias, mean, variance, count, copies, eps, least, parts):  # type: ignore[no-untyped-def]
    """The gradient of the rows into ``out``; those of weight and bias are returned.

    ``gradient`` is that of the result; ``None`` if ``out`` holds it, and is to be overwritten.
    """
    scale, shift, inverse = _affine(weight, bias, mean, variance, eps)
    rows, width = h.shape
    least = h.dtype.type(least)
    total, centered = np.empty(width), np.empty(width)
    for part in prange(parts):
        low, high = _part(np.int64(part), parts, width, COLUMNS)
        given = out if gradient is None else gradient
        _sums(given, h, scale, shift, mean, least, low, high, total, centered)
    constant = (total / copies).astype(h.dtype)
    slope = (centered * inverse * inverse / copies).astype(h.dtype)
    for part in prange(parts):
        first, last = _part(np.int64(part), parts, rows, 1)
        _backward(out, gradient, h, scale, shift, mean, count, constant, slope, least, first, last)
    return (centered * inverse).astype(h.dtype), total.astype(h.dtype)


@njit(cache=True, nogil=True)
def _dropped(out, h, bits, least, factor, first, last):  # type: ignore[no-untyped-def]
    zero = h.dtype.type(0)
    for i in range(first, last):
        out[i] = h[i] * (factor if bits[i] >= least else zero)


@parallel
def dropped(out, h, bits, least, factor, parts):  # type: ignore[no-untyped-def]
    """``h`` times ``factor`` where the bits are at least ``least``, else 0; all of one dimension."""
    least, factor = bits.dtype.type(least), h.dtype.type(factor)
    for part in prange(parts):
        first, last = _part(np.int64(part), parts, h.shape[0], COLUMNS)
        _dropped(out, h, bits, least, factor, first, last)
