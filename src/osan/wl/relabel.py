"""Injective relabeling: RELABEL of the paper, exact whatever the hash does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from osan.colors.words import relabel_words
from osan.wl import kernels
from osan.wl.encode import Colors, Ints

Words = npt.NDArray[np.uint64]

SALT_STEP = 0x5851F42D4C957F2D
# Which bits of a hash are used. Results do not depend on it (tests run with two bits), only time does.
HASH_MASK = np.uint64(0xFFFFFFFFFFFFFFFF)


def relabel(words: Words, alive: Colors) -> tuple[Colors, Ints]:
    """Number the distinct words where ``alive >= 0`` (-1 elsewhere); also each number's first place.

    >>> ids, first = relabel(np.array([7, 5, 7], dtype=np.uint64), np.zeros(3, np.int32))
    >>> bool(ids[0] == ids[2] != ids[1]), len(first)
    (True, 2)
    """
    return relabel_words(words, alive)


def combine(ids: Colors, codes: npt.ArrayLike) -> Colors:
    """Injectively number the pairs (ids[i], codes[i]) of non-negative 32-bit numbers; -1 stays -1.

    >>> combine(np.array([0, 0, 1, -1], np.int32), [4, 4, 4, 4]).tolist()[3]
    -1
    """
    words = (ids.astype(np.uint64) << np.uint64(32)) | np.asarray(codes).astype(np.uint32)
    return relabel(words, ids)[0]


def exact(
    hashes: Callable[[np.uint64], Words],
    mismatches: Callable[[Colors, Ints], int],
    alive: Colors,
    verify: bool = True,
) -> tuple[Colors, int]:
    """Number signatures injectively, given their hashes and an exact comparison.

    Parameters
    ----------
    hashes
        Maps a salt to a 64-bit hash per place; equal signatures have equal hashes.
    mismatches
        Given the numbers and their representatives, counts the places whose signature differs from that of
        their representative.
    alive
        Places below 0 have no signature and get the number -1.
    verify
        Whether to compare at all. Without, a collision of hashes may leave two signatures merged, though
        never two different values of ``alive``, the colors so far.

    Returns
    -------
    The numbers, and how many there are. Equal hashes never decide: as long as some place differs from its
    representative, all classes are split once more by a hash with another salt.
    """
    ids, first = relabel(hashes(np.uint64(0)), alive)
    if not verify and not _merges(ids, first, alive):
        return ids, len(first)
    attempt = 0
    while mismatches(ids, first):
        attempt += 1
        again, _ = relabel(hashes(np.uint64(attempt * SALT_STEP % 2**64)), alive)
        ids, first = relabel((ids.astype(np.uint64) << np.uint64(32)) | again.astype(np.uint32), alive)
    return ids, len(first)


def _merges(ids: Colors, first: Ints, colors: Colors) -> bool:
    """Whether some class holds two of the colors so far."""
    return bool((colors[first[ids]] != colors).any())


def split_classes(
    colors: Colors,
    hashes: Callable[[Ints, np.uint64], Words],
    mismatches: Callable[[Ints, Colors, Ints], int],
    verify: bool = True,
) -> tuple[Colors, int]:
    """Split the classes of ``colors`` (-1 for none) by signatures that know the color; as :func:`exact`.

    The callbacks get the places to look at first. A place whose color no other has stays alone whatever its
    signature, so once colors are many such places are left out.
    """
    places = np.flatnonzero(colors >= 0)
    alone = places[:0]
    if 2 * int(colors.max(initial=-1)) > len(places):
        shared = (np.bincount(colors[places]) > 1)[colors[places]]
        places, alone = places[shared], places[~shared]
    ids, count = exact(
        lambda salt: hashes(places, salt),
        lambda ids, first: mismatches(places, ids, first),
        colors[places],
        verify,
    )
    if len(places) == len(colors):
        return ids, count
    finer = np.full_like(colors, -1)
    finer[places] = ids
    finer[alone] = np.arange(count, count + len(alone))
    return finer, count + len(alone)


def multisets(values: Colors, row_ptr: Ints) -> Colors:
    """Number the multisets of the non-negative values of each row of a ragged array, injectively.

    >>> ids = multisets(np.array([1, 2, 2, 1, -1, 1], np.int32), np.array([0, 2, 4, 6]))
    >>> bool(ids[0] == ids[1] != ids[2])
    True
    """
    rows = len(row_ptr) - 1
    if rows == 0:
        return np.empty(0, dtype=np.int32)
    ordered = values.copy()

    def mismatches(ids: Colors, first: Ints) -> int:
        kernels.sort_rows(ordered, row_ptr, (np.bincount(ids) > 1)[ids])
        return kernels.row_mismatches(ids, first, ordered, row_ptr)

    ids, _ = exact(
        lambda salt: kernels.row_words(values, row_ptr, salt, HASH_MASK),
        mismatches,
        np.zeros(rows, dtype=np.int32),
    )
    return ids
