"""Evidence that a tool result still matters: errors, quotations, use by later calls, active files,
duplicates.
"""

from typing import TYPE_CHECKING

from ctxtrim.loading.lazy_table import lazy_names

if TYPE_CHECKING:
    from ctxtrim.evidence.active_files import FileReference, file_references
    from ctxtrim.evidence.agent_instructions import is_instructions, is_only_instructions
    from ctxtrim.evidence.duplicates import copies
    from ctxtrim.evidence.errors import error_line, exit_code, is_abridged, is_error
    from ctxtrim.evidence.evidence import Evidence
    from ctxtrim.evidence.key_info import KeyInfo, extract_key_info
    from ctxtrim.evidence.one_line import (
        SummaryFields,
        is_summary_line,
        parse_summary_line,
        summary_line,
    )
    from ctxtrim.evidence.tool_kinds import command_of, kind_of_tool, paths_of

__all__ = [
    "Evidence",
    "FileReference",
    "KeyInfo",
    "SummaryFields",
    "command_of",
    "copies",
    "error_line",
    "exit_code",
    "extract_key_info",
    "file_references",
    "is_abridged",
    "is_error",
    "is_instructions",
    "is_only_instructions",
    "is_summary_line",
    "kind_of_tool",
    "parse_summary_line",
    "paths_of",
    "summary_line",
]

__getattr__ = lazy_names(
    "ctxtrim.evidence",
    {
        "active_files": ("FileReference", "file_references"),
        "agent_instructions": ("is_instructions", "is_only_instructions"),
        "duplicates": ("copies",),
        "errors": ("error_line", "exit_code", "is_abridged", "is_error"),
        "evidence": ("Evidence",),
        "key_info": ("KeyInfo", "extract_key_info"),
        "one_line": ("SummaryFields", "is_summary_line", "parse_summary_line", "summary_line"),
        "tool_kinds": ("command_of", "kind_of_tool", "paths_of"),
    },
)
