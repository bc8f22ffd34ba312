"""Chats of Google AI Studio, as it stores them in Google Drive.

::

    {"runSettings": {"model", …}, "systemInstruction": {"parts": [{"text"}]} | {"text"} | {},
     "chunkedPrompt": {"chunks": [chunk, …], "pendingInputs": […]}}

    chunk   {"role": "user" | "model", "text", "isThought"?, "parts"?, "tokenCount", …}
            driveDocument | driveImage | … {"id"}, inlineFile {"mimeType", "data"}, youtubeVideo

Thoughts and the text after them are one answer, files and the text after them one prompt. `parts`
repeat the text of a chunk in pieces. `pendingInputs` are a draft that was not sent. Google does not
document the format; it is that of exports in public repositories.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.gemini import CHUNK_ROLES, SYSTEM, knows_chunk, model_in, model_of_chat
from ctxtrim.formats.gemini.parts import part_of
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.formats.message_lists import Element, Envelope, ListContents, insert_elements
from ctxtrim.formats.message_parts import MessageDraft, text_of
from ctxtrim.model import Media, Message, Part, Span
from ctxtrim.text.records import dump

_STORED = ("driveDocument", "driveVideo", "driveAudio", "youtubeVideo")
"""Files outside of the chat."""
_INLINE = ("inlineFile", "inlineImage", "inlineData")
_CODE = ("executableCode", "codeExecutionResult", "functionCall", "functionResponse")


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the system instruction, and a message from each run of chunks."""
    drafts: list[MessageDraft] = []
    for value, span, whole in items:
        if whole.path[-1:] == (SYSTEM,):
            parts = list(_system(members(value), span))
            drafts += [MessageDraft("system", parts, [whole])] if parts else []
        elif knows_chunk(value):
            contents.model = model_in(value) or contents.model
            _add(value, span, drafts)
        else:
            contents.uncounted += "role" in members(value)
    for draft in drafts:
        if draft.parts:
            contents.messages.append(draft.message(len(contents.messages)))


def _system(value: dict[str, Any], span: Span) -> Iterator[Part]:
    if isinstance(value.get("text"), str):
        yield Part("text", value["text"], span=span.inside("text"))
        return
    for index, part in enumerate(elements(value.get("parts"))):
        yield part_of(part, span.inside("parts", index))


def _add(chunk: dict[str, Any], span: Span, drafts: list[MessageDraft]) -> None:
    """Add a chunk to the message that waits for its text, or as a new message.

    A chunk without anything that is sent belongs to the message before it.
    """
    role, parts = CHUNK_ROLES[chunk["role"]], _parts(chunk, span)
    draft = drafts[-1] if drafts and drafts[-1].role == role else None
    if draft is None or (parts and draft.text):
        drafts.append(MessageDraft(role, parts, [span]))
    else:
        draft.parts += parts
        draft.spans.append(span)


def _parts(chunk: dict[str, Any], span: Span) -> list[Part]:
    """The files, the text and the other contents of a chunk. A single one is removed with it."""
    parts = [*_files(chunk), *_texts(chunk, span), *_other_parts(chunk, span)]
    if len(parts) != 1:
        return parts
    has_room = parts[0].media is not None
    spell = partial(_text_chunk, chunk["role"]) if has_room else None
    return [replace(parts[0], block=span, text_block=spell)]


def _texts(chunk: dict[str, Any], span: Span) -> Iterator[Part]:
    """The text of a chunk, a thought or not."""
    text = string(chunk.get("text"))
    signatures = filter(None, map(string, elements(chunk.get("thoughtSignatures"))))
    sealed = sum(map(len, signatures))
    if not text and not sealed:
        return
    if chunk.get("isThought"):
        yield Part("reasoning", text or "", sealed=sealed)
    else:
        home = span.inside("text") if text else None
        yield Part("text", text or "", span=home, sealed=sealed)


def _other_parts(chunk: dict[str, Any], span: Span) -> Iterator[Part]:
    """The pieces of a chunk that its text does not repeat, and its code."""
    for index, piece in enumerate(elements(chunk.get("parts"))):
        if "text" not in chunk or "text" not in members(piece):
            yield replace(part_of(piece, span.inside("parts", index), calls=True), block=None)
    for key in _CODE:
        if key in chunk:
            yield Part("text", dump({key: chunk[key]}))


def _files(chunk: dict[str, Any]) -> Iterator[Part]:
    """The files of a chunk. One outside of the chat costs the tokens that Google counted, as a file
    of as many bytes does.
    """
    size = chunk["tokenCount"] if type(chunk.get("tokenCount")) is int else None
    for key in _STORED:
        if isinstance(chunk.get(key), dict):
            yield Part("attachment", media=Media("file", size=size))
    if isinstance(chunk.get("driveImage"), dict):
        yield Part("attachment", media=Media("image"))
    for key in _INLINE:
        if isinstance(chunk.get(key), dict):
            yield Part("attachment", media=media_of({"inlineData": chunk[key]}))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The model next to the chunks, in the object around them."""
    return model_of_chat(value)


def relink(edit: Edit) -> Edit:
    """The edit without the copy and the recorded tokens of an edited text."""
    copies: set[Span] = set()
    for span in edit.texts:
        chunk = span.outer
        if span.path[-1:] == ("text",) and span.path[-3:-2] == ("chunks",):
            keys = {"parts", "tokenCount"} & edit.value_at(chunk).keys()
            copies |= {chunk.inside(key) for key in keys}
    return replace(edit, removed=edit.removed | copies) if copies else edit


def _text_chunk(role: str, text: str) -> dict[str, Any]:
    return {"text": text, "role": role}


def _json_value(message: Message) -> dict[str, Any]:
    role = "model" if message.role == "assistant" else "user"
    return _text_chunk(role, text_of(message.parts))


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message as a chunk."""
    home = site.last.spans[0]
    if home.path[-1:] != (SYSTEM,):
        return insert_elements(run, site, map(_json_value, run))
    first_chunk = home.outer.inside("chunkedPrompt", "chunks", 0)
    return [Insertion(_json_value(message), first_chunk) for message in run]
