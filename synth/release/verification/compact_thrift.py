"""The compact protocol of Thrift, read from strangers: a bounded number of bounded values.

Parquet writes its footer and the header of every page in it. Fields are found by number; see
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 16

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

BITS = {SHORT: 16, INT: 32, LONG: 64}
LARGEST_FIELD = (1 << 15) - 1

Path = tuple[int, ...]
"""The numbers of fields from the root on; 0 stands for the elements of a list."""


class ThriftError(ValueError):
    """The bytes are no struct of at most so many values."""


@dataclass
class CompactReader:
    """Bytes, a position in them, and how many values may still be read.

    Other readers know the kinds of some fields: one of another kind is no field for them, and the
    elements of a list are of the kind that they expect, whatever it says. They cut numbers down to
    the bits of their kind. So that they read the same, such fields and numbers are refused.
    """

    content: bytes
    values_left: int
    kinds: Mapping[Path, int] = field(default_factory=dict)
    """Of the fields that are known; any other may be of any kind."""
    position: int = 0
    sparing: bool = False
    """Whether fields that are not known, and all but the shortest form of a number, are refused."""

    def struct(self, path: Path = ()) -> dict[int, Any]:
        """The fields of the struct at the position, by number. Raises: ThriftError."""
        if len(path) > MAX_DEPTH:
            raise ThriftError("structs are nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            before, number = number, number + step if step else self._zigzag()
            if self.sparing and not step and 0 < number - before < 16:
                raise ThriftError("a field's number takes more bytes than it needs")
            if not 0 < number <= LARGEST_FIELD:
                raise ThriftError("a field has a number that none can have")
            if number in fields:
                raise ThriftError("a field is there twice")
            place = (*path, number)
            self._check_kind(kind, place)
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, place)
        return fields

    def _check_kind(self, kind: int, path: Path) -> None:
        known = self.kinds.get(path)
        if known is None and self.sparing:
            raise ThriftError("a field that no release has")
        if known not in (None, kind) and not {known, kind} <= {TRUE, FALSE}:
            raise ThriftError("a field is of another kind than it must be")

    def _value(self, kind: int, path: Path) -> Any:
        self.values_left -= 1
        if self.values_left < 0:
            raise ThriftError("more values than can be needed")
        if kind in (TRUE, FALSE, BYTE):  # in a list a truth value takes a byte
            return self._byte()
        if kind in BITS:
            number = self._zigzag()
            if not -1 << BITS[kind] - 1 <= number < 1 << BITS[kind] - 1:
                raise ThriftError("a number has more bits than its kind")
            return number
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            return self._list((*path, 0))
        if kind == STRUCT:
            return self.struct(path)
        raise ThriftError("a value of a kind that Parquet does not use")

    def _list(self, path: Path) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        self._check_kind(kind, path)
        if size == 15:
            size = self._varint()
            if self.sparing and size < 15:
                raise ThriftError("a list's length takes more bytes than it needs")
        if size > self.values_left:
            raise ThriftError("more values than can be needed")
        if len(path) > MAX_DEPTH:
            raise ThriftError("lists are nested too deeply")
        return [self._value(kind, path) for _ in range(size)]

    def _byte(self) -> int:
        place = self.position
        if place >= len(self.content):
            raise ThriftError("a struct is cut short")
        self.position = place + 1
        return self.content[place]

    def _bytes(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.content):
            raise ThriftError("a struct is cut short")
        found = self.content[self.position : end]
        self.position = end
        return found

    def _varint(self) -> int:
        value = self._byte()
        if value < 128:
            return value
        value &= 127
        for shift in range(7, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                if self.sparing and not byte:
                    raise ThriftError("a number takes more bytes than it needs")
                return value
        raise ThriftError("a number of too many bytes")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
