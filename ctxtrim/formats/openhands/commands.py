"""What OpenHands sends around the output of a command: its directory, interpreter and exit code.

[OpenHands/software-agent-sdk, `TerminalObservation.to_llm_content`; version 0,
`CmdOutputObservation.to_agent_observation`]
"""

from collections.abc import Mapping
from typing import Any

from ctxtrim.formats.fields import members, string
from ctxtrim.model import Part

_Texts = tuple[Part, ...]


def around_output(metadata: Any) -> tuple[_Texts, _Texts]:
    """The texts before and after an output, which stay if it is shortened."""
    facts = members(metadata)
    return _texts(string(facts.get("prefix")) or ""), _texts(_suffix(facts))


def _suffix(facts: Mapping[str, Any]) -> str:
    text = string(facts.get("suffix")) or ""
    if facts.get("working_dir"):
        text += f"\n[Current working directory: {facts['working_dir']}]"
    if facts.get("py_interpreter_path"):
        text += f"\n[Python interpreter: {facts['py_interpreter_path']}]"
    if facts.get("exit_code", -1) != -1:
        text += f"\n[Command finished with exit code {facts['exit_code']}]"
    return text


def _texts(text: str) -> _Texts:
    """A text that is not in the file; none if it is empty."""
    return (Part("text", text),) if text else ()
