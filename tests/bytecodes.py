"""Counts the bytecodes that a function executes: a measure of work that no other load changes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def bytecodes(function: Callable[[], object]) -> int:
    """The number of bytecodes that a call executes, without those of functions in C."""
    number = 0

    def in_frame(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal number
        number += event == "opcode"
        return in_frame

    def in_call(frame: FrameType, event: str, _: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return in_frame

    before = sys.gettrace()
    sys.settrace(in_call)
    try:
        function()
    finally:
        sys.settrace(before)
    return number
