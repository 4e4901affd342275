"""CRC-64/XZ, which TOS gives as an unsigned decimal number.

Source: TOS, "Verify data integrity with CRC-64"; ECMA-182, reflected, initial and final value all ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import anycrc

_MODEL = anycrc.Model("CRC64-XZ")


def of(data: bytes, before: int = 0) -> int:
    """The checksum of bytes that follow bytes whose checksum is `before`."""
    return _MODEL.calc(data, before) if data else before


def of_pieces(pieces: Iterable[bytes]) -> int:
    crc = 0
    for piece in pieces:
        crc = of(piece, crc)
    return crc


def combined(first: int, second: int, second_size: int) -> int:
    """The checksum of two runs of bytes, one after the other."""
    return _MODEL.combine(first, second, second_size) if second_size else first
