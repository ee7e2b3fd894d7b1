"""Damage to bytes: what disks, editors, downloads and people do to files."""

from __future__ import annotations

import random
from collections.abc import Sequence

# Words and numbers that parsers stumble over.
ODD = [
    *(
        b"0",
        b"-1",
        b"1e309",
        b"nan",
        b"inf",
        b"NaN",
        b"-0",
        b"9" * 30,
        b"9" * 5000,
        b"0x10",
        b"1_000",
        b"2.5",
    ),
    *(b"", b" ", b"\n", b"\r\n", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80"),
    *(b"'", b'"', b"[", b"]", b"{", b"}", b"[[", b"(", b")", b"<", b">", b"&", b"&amp;", b"%s", b"{0}", b"$"),
    *(b"../", b"/", b"\\", b"~", b".", b":", b";", b",", b"=", b"#", b"*", b"=1+1", b"@", b"__class__"),
    *(
        b"true",
        b"None",
        b"null",
        b"vertex",
        b"delete",
        b"select",
        b"x all",
        b"math:prod",
        b">>graph6<<",
        b"&a",
    ),
    *(b"[" * 3000, b"(" * 3000, b"\xf0\x9f\x98\x80", b"1" * 400),
]


def mutated(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Some content with one to four changes; ``others`` are contents to take pieces from."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        way, place = rng.randrange(9), rng.randrange(len(data) + 1)
        end = min(len(data), place + rng.choice((1, 1, 2, 4, 8, 30)))
        if way == 0 and data:
            data[min(place, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif way == 1 and data:
            data[min(place, len(data) - 1)] = rng.randrange(256)
        elif way == 2:
            data[place:end] = rng.choice(ODD)
        elif way == 3:
            data[place:place] = rng.choice(ODD)
        elif way == 4:
            del data[place:end]
        elif way == 5:
            del data[place:]
        elif way == 6:
            data[place:place] = data[place:end] * rng.choice((1, 2, 50))
        elif way == 7:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            data[place:end] = other[start : start + rng.choice((1, 4, 16, 64))]
        else:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data[:200_000])
