"""How a line writes JSON, so that new values look like those around them."""

import json
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from msgspec import Struct

from ctxtrim.model import Document, Line


class JsonStyle(Struct, frozen=True):
    """Whether characters are escaped to ASCII, and what separates elements and members."""

    is_ascii: bool
    separators: tuple[str, str]

    @classmethod
    def of(cls, line: Line) -> "JsonStyle":
        """The style of a line."""
        document = line.document or Document(line.data)
        return cls(document.is_ascii, (", ", ": ") if document.has_spaces else (",", ":"))

    def __call__(self, value: Any) -> str:
        """A value as JSON. Characters without a UTF-8 form are always escaped."""
        if isinstance(value, str):  # much faster than an encoder for each string
            text = encode_basestring_ascii(value) if self.is_ascii else encode_basestring(value)
        else:
            text = json.dumps(value, ensure_ascii=self.is_ascii, separators=self.separators)
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=self.separators)
        return text
