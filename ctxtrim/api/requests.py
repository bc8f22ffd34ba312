"""From whole requests of any API to transcripts."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from ctxtrim.api.files import chunks_in
from ctxtrim.api.messages import PlainConversation, has_objects, plain_value, spelled
from ctxtrim.errors import InputError, mismatch
from ctxtrim.stream.files import FileReader

PlainRequest = Mapping[str, Any]
"""The arguments of a call, as the API or its SDK takes them."""


def request_conversation(request: PlainRequest, reader: FileReader) -> PlainConversation:
    """The conversation of a whole request.

    Raises `UsageError` for a value that is not an object, `InputError` for one that is not JSON or
    has no conversation or several ones. Bytes, as `boto3` takes images, are read as Base64.
    """
    if not isinstance(request, Mapping):
        raise mismatch("run_request: request", "an object", request)
    binaries: dict[str, bytes] = {}

    def plain(value: object) -> object:
        if not isinstance(value, bytes):
            return plain_value(value)
        text = b64encode(value).decode()
        binaries[text] = value
        return text

    content = reader.read([spelled(request, "request", plain)])
    if content.format is None:
        raise InputError(
            "request: unknown format; expected an API's `messages`, `input` or `contents` field"
        )
    read = [(chunk, transcript) for chunk in chunks_in(content) for transcript in chunk.transcripts]
    if len(read) > 1:
        raise InputError(
            f"request: expected one conversation, found {len(read)}; pass it to run_lines as a line"
        )
    chunk, transcript = read[0]
    messages = request.get("messages")
    of_sdk = isinstance(messages, list) and has_objects(messages)
    return PlainConversation(chunk, transcript, of_sdk, binaries)
