"""Exact JSON numbers and the one pair of functions that encodes and decodes stored documents (spec 1.17)."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")

JsonValue = Any
"""None, bool, int, Decimal, str, list or dict of these; never float."""

JsonObject = dict[str, Any]

if TYPE_CHECKING:
    JsonNumber = int | Decimal
else:
    # msgspec must leave such a field as the decoder's float hook made it; a schema made from the type says number
    JsonNumber = Annotated[Any, msgspec.Meta(extra_json_schema={"type": "number"})]


class JsonDecimal(Decimal):
    """A decimal of a JSON document: kept as written (1.50 stays 1.50) and written without an exponent."""

    __slots__ = ()


def _encode_unknown(value: object) -> object:
    if isinstance(value, Decimal):
        return msgspec.Raw(format(value, "f").encode())
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=_encode_unknown, decimal_format="number")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def encode(value: object) -> bytes:
    """Return the UTF-8 JSON of a model or a JSON value; decimals are exact."""
    return _encoder.encode(value)


def decode(data: bytes | str, type_: type[T]) -> T:
    """Return the model stored as JSON; input from outside goes through ``json_input`` first."""
    decoder = _decoders.get(type_)
    if decoder is None:
        decoder = _decoders[type_] = msgspec.json.Decoder(type_, float_hook=JsonDecimal)
    result: T = decoder.decode(data)
    return result


def copy_json(value: T) -> T:
    """Return a deep copy of a JSON value, so that two owners never share a list or an object."""
    if isinstance(value, dict):
        return {name: copy_json(member) for name, member in value.items()}  # type: ignore[return-value]  # T is a dict here
    if isinstance(value, list):
        return [copy_json(member) for member in value]  # type: ignore[return-value]  # T is a list here
    return value
