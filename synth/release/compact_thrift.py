"""The compact protocol of Thrift, read from strangers: a bounded number of bounded values.

Parquet writes its footer and the header of every page in it. Fields are found by number; see
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 16

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class ThriftError(ValueError):
    """The bytes are no struct of at most so many values."""


@dataclass
class CompactReader:
    """Bytes, a position in them, and how many values may still be read."""

    content: bytes
    values_left: int
    position: int = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields of the struct at the position, by number. Raises: ThriftError."""
        if depth > MAX_DEPTH:
            raise ThriftError("structs are nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else self._zigzag()
            if number in fields:
                raise ThriftError("a field is there twice")
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self.values_left -= 1
        if self.values_left < 0:
            raise ThriftError("more values than can be needed")
        if kind in (TRUE, FALSE, BYTE):  # in a list a truth value takes a byte
            return self._byte()
        if kind in (SHORT, INT, LONG):
            return self._zigzag()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            return self._list(depth)
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ThriftError("a value of a kind that Parquet does not use")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        if size == 15:
            size = self._varint()
        if size > self.values_left:
            raise ThriftError("more values than can be needed")
        if depth >= MAX_DEPTH:
            raise ThriftError("lists are nested too deeply")
        return [self._value(kind, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.content):
            raise ThriftError("a struct is cut short")
        found = self.content[self.position : end]
        self.position = end
        return found

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ThriftError("a number of too many bytes")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
