"""Messages that only pi and Oh My Pi have: commands of a person, and files.

[can1357/oh-my-pi, `convertToLlm` of `packages/coding-agent/src/session/messages.ts`]
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.media_blocks import block_part
from ctxtrim.model import Part, Span


def _command(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    """A command that the person ran, as the client sends it to the model."""
    rest = ""
    if value.get("truncated") and value.get("fullOutputPath"):
        rest = f"\n\n[Output truncated. Full output: {value['fullOutputPath']}]"
    rest = _outcome(value, ("command cancelled", "Command exited")) + rest
    return _output(value, span, (f"Ran `{value.get('command')}`\n", ""), rest)


def _python(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    """Python code that the person ran, as Oh My Pi sends it."""
    head = f"Ran Python:\n```python\n{value.get('code')}\n```\n"
    rest = _outcome(value, ("execution cancelled", "Execution failed"))
    return _output(value, span, (head, "Output:\n"), rest)


def _outcome(value: Mapping[str, Any], words: tuple[str, str]) -> str:
    if value.get("cancelled"):
        return f"\n\n({words[0]})"
    code = value.get("exitCode")
    return "" if code in (None, 0) else f"\n\n{words[1]} with code {code}"


def _output(
    value: Mapping[str, Any], span: Span, head: tuple[str, str], rest: str
) -> tuple[Part, ...]:
    """The output of a command between the texts around it. The second of `head` needs an output."""
    output = value.get("output")
    if not isinstance(output, str) or not output:
        return (Part("text", f"{head[0]}(no output){rest}"),)
    part = Part("text", output, span=span.inside("output"))
    return (Part("text", f"{''.join(head)}```\n"), part, Part("text", f"\n```{rest}"))


def _files(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    """The files that a prompt mentions, as Oh My Pi sends them: texts, then images."""
    texts, images = [Part("text", "<system-reminder>\n")], []
    for index, file in enumerate(map(members, elements(value.get("files")))):
        between = "\n\n" if index else ""
        texts.append(Part("text", f'{between}<file path="{file.get("path")}">\n'))
        content, place = string(file.get("content")), span.inside("files", index)
        if content:
            texts += (Part("text", content, span=place.inside("content")), Part("text", "\n"))
        texts.append(Part("text", "</file>"))
        if isinstance(file.get("image"), dict):  # the member cannot hold a text
            image = block_part(file["image"], place.inside("image"))
            images.append(replace(image, text_block=None))
    return (*texts, Part("text", "\n</system-reminder>"), *images)


_PARTS = {"bashExecution": _command, "fileMention": _files, "pythonExecution": _python}


def parts(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    """The parts of a command that a person ran, or of mentioned files."""
    return _PARTS[value["role"]](value, span)
