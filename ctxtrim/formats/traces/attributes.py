"""Attributes of spans and events: plain values, or OTLP's `{"key", "value": {"stringValue"}}`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members
from ctxtrim.formats.traces.requests import Field, LoggedRequest
from ctxtrim.model import Message, Part, Span

_SCALARS = ("boolValue", "doubleValue", "bytesValue")


class Attribute(NamedTuple):
    """A value, its location, and the location of the whole attribute."""

    value: Any
    span: Span
    whole: Span


class Attributes(Struct):
    """Attributes by name.

    `texts` and `blocks`: where the strings and the values inside structured values are in the file,
    by the span that they have as plain values.
    """

    by_name: dict[str, Attribute] = field(default_factory=dict)
    texts: dict[Span, Span] = field(default_factory=dict)
    blocks: dict[Span, Span] = field(default_factory=dict)

    def add(self, raw: Any, span: Span) -> None:
        """Add the attributes of an object or of an OTLP list."""
        if isinstance(raw, dict):
            for key, value in raw.items():
                place = span.inside(key)
                self.by_name.setdefault(key, Attribute(value, place, place))
        for index, entry in enumerate(map(members, elements(raw))):
            key, value, whole = entry.get("key"), members(entry.get("value")), span.inside(index)
            if isinstance(key, str):
                place = whole.inside("value")
                if "stringValue" in value:
                    attribute = Attribute(value["stringValue"], place.inside("stringValue"), whole)
                else:
                    attribute = Attribute(self.plain(value, place, place), place, whole)
                self.by_name.setdefault(key, attribute)

    def get(self, name: str) -> Any:
        """The value of an attribute; None without one."""
        attribute = self.by_name.get(name)
        return None if attribute is None else attribute.value

    def field_of(self, name: str) -> Field | None:
        """The value of an attribute with its location; None without one."""
        attribute = self.by_name.get(name)
        return None if attribute is None else Field(attribute.value, attribute.span)

    def plain(self, value: Mapping[str, Any], place: Span, span: Span) -> Any:
        """The plain value of an OTLP value at `place`, which is read as if it were at `span`."""
        self.blocks[span] = place
        if "stringValue" in value:
            self.texts[span] = place.inside("stringValue")
            return value["stringValue"]
        if "intValue" in value:
            return _integer(value["intValue"])
        if "arrayValue" in value:
            inner = place.inside("arrayValue", "values")
            items = elements(members(value["arrayValue"]).get("values"))
            return [
                self.plain(members(item), inner.inside(index), span.inside(index))
                for index, item in enumerate(items)
            ]
        if "kvlistValue" in value:
            inner = place.inside("kvlistValue", "values")
            entries = map(members, elements(members(value["kvlistValue"]).get("values")))
            values = {}
            for index, entry in enumerate(entries):
                name, home = str(entry.get("key")), inner.inside(index, "value")
                values[name] = self.plain(members(entry.get("value")), home, span.inside(name))
            return values
        return next((value[key] for key in _SCALARS if key in value), None)

    def located(self, request: LoggedRequest | None) -> LoggedRequest | None:
        """The request with the locations of its values in the file; None without one."""
        if request is None or not self.blocks:
            return request
        return replace(request, messages=tuple(map(self._located_message, request.messages)))

    def _located_message(self, message: Message) -> Message:
        spans = tuple(self.blocks.get(span, span) for span in message.spans)
        return replace(message, parts=tuple(map(self._located_part, message.parts)), spans=spans)

    def _located_part(self, part: Part) -> Part:
        """The part with its locations. No text replaces an attachment in a structured value."""
        block = part.block and self.blocks.get(part.block, part.block)
        if block == part.block and part.span not in self.texts:
            return part
        span = part.span and self.texts.get(part.span, part.span)
        return replace(part, span=span, block=block, text_block=None)


def _integer(value: Any) -> Any:
    """A number that OTLP writes as a string."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value
