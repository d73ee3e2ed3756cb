"""A wrapper that keeps a secret value from being looked at by accident."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Sensitive(Generic[T]):
    """Holds a value computed from raw data until it is consumed, once, at the noise boundary.

    Printing shows that it is withheld; comparing, measuring, iterating, copying and pickling
    are refused, so that no log line, assertion message or cache can carry the value.
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        """Take the value over; the caller should keep no other reference."""
        self.__value: list[T] = [value]

    def consume(self) -> T:
        """Give the value out and forget it; a second call is refused."""
        if not self.__value:
            raise RuntimeError("a sensitive value was consumed twice")
        return self.__value.pop()

    def __repr__(self) -> str:
        return "Sensitive(withheld)"

    def __refuse(self, *_: object) -> NoReturn:
        raise TypeError("a sensitive value cannot be inspected, compared, copied or stored")

    __len__ = __iter__ = __bool__ = __getitem__ = __contains__ = __refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __refuse
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = __refuse
    __int__ = __float__ = __index__ = __array__ = __format__ = __refuse
