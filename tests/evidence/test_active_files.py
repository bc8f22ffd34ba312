"""Active files, and the paths that calls name."""

import json
from hashlib import sha256

import pytest
from builders_evidence import call, result, step, user

from ctxtrim.conversation.turns import shape
from ctxtrim.evidence.active_files import FileReference, file_references
from ctxtrim.evidence.evidence import Evidence
from ctxtrim.evidence.tool_kinds import command_of, kind_of_tool, paths_of
from ctxtrim.model import Message, Part

A, B = "/app/a.py", "/app/b.py"
PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n+x\n*** Delete File: "
    "c.py\n*** End Patch"
)


def active(messages: list[Message], steps: int = 5) -> dict[int, str]:
    evidence = Evidence(shape(messages))
    return evidence.active_reads(evidence.shape.steps, steps)


def other_steps(number: int, first: int = 50) -> list[Message]:
    return [
        message
        for position in range(number)
        for message in step("bash", "ok", first + position, command="ls")
    ]


def test_s2_1_a_file_read_six_steps_ago_is_not_active() -> None:
    assert active([user("go"), *step("Read", "x", path=A), *other_steps(6)]) == {}


def test_s2_1_searching_or_printing_a_file_is_not_an_access() -> None:
    reading = [*step("Read", "x", path=A), *other_steps(5)]
    assert (
        active(
            [
                *reading,
                *step("Grep", "x", 90, path=A, pattern="x"),
                *step("bash", "x", 91, command=f"cat {A}"),
            ]
        )
        == {}
    )


def test_s2_1_a_deleted_file_is_not_active_until_it_is_written_again() -> None:
    reading = [*step("Read", "x", path=A), *step("delete_file", "done", 2, path=A)]
    assert active(reading) == {}
    assert active(
        [*step("Read", "x", path=A), *step("delete_file", "no", 2, is_error=True, path=A)]
    ) == {1: f"active file {A}"}
    assert active([*reading, *step("Write", "done", 3, path=A, content="y")]) == {
        1: f"active file {A}"
    }


def test_s2_1_a_failed_read_is_not_an_access() -> None:
    assert active(step("Read", "Error: no such file", path=A)) == {}


def test_s2_1_a_file_read_in_the_last_steps_is_active() -> None:
    assert active([user("go"), *step("Read", "x", path=A), *other_steps(5)]) == {
        2: f"active file {A}"
    }


@pytest.mark.parametrize("name", ["Edit", "Write"])
def test_s2_1_a_file_read_six_steps_ago_but_changed_one_step_ago_is_active(name: str) -> None:
    changed = [
        *step("Read", "x", path=A),
        *other_steps(5),
        *step(name, "done", 2, file_path=A),
        *other_steps(1, 70),
    ]
    assert active(changed) == {1: f"active file {A}"}
    assert active([*step("Read", "x", path=A), *other_steps(6), call(name, 3, file_path=A)]) == {
        1: f"active file {A}"
    }


@pytest.mark.parametrize("spelled", [r"\/app\/a.py", r"\u002fapp/a.py"])
def test_s2_1_a_path_with_escapes_names_the_same_file(spelled: str) -> None:
    reading = [call("Read", 1, f'{{"path": "{spelled}"}}'), result("x")]
    changed = [*reading, *other_steps(6), *step("Edit", "done", 2, path=A)]
    assert active(changed) == {1: f"active file {A}"}


def test_s2_3_only_the_newest_read_of_the_same_content_is_kept() -> None:
    same = [
        *step("Read", "x = 1", 1, path=A),
        *step("Read", "x = 1", 2, path=f"{A}"),
        *step("Read", "x = 1", 3, path=B),
    ]
    assert active(same) == {3: f"active file {A}", 5: f"active file {B}"}
    assert sorted(
        active([*step("Read", "x = 1", 1, path=A), *step("Read", "x = 2", 2, path=A)])
    ) == [1, 3]


def test_s2_3_references_hold_path_last_step_and_content_oldest_first() -> None:
    messages = [
        *step("Read", "one", 1, path=A),
        *step("Write", "done", 2, path=B, content="y"),
        *step("Read", "two", 3, path=f".{A}"),
        *step("Read", "Error: gone", 4, path=A),
        *step("Grep", "hit", 5, path="/app"),
    ]
    read = {text: sha256(text.encode()).hexdigest() for text in ("one", "two")}
    turn_shape = shape(messages)
    assert file_references(turn_shape) == (
        FileReference(B, 2, None),
        FileReference("app/a.py", 3, read["two"]),
        FileReference(A, 4, read["one"]),
    )


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        # of Nanocoder
        ("read", "read_many_files"),
        ("write", "create_file move_file copy_file mv"),
        (
            "edit",
            "string_replace insert_lines replace_lines delete_lines diff_edit "
            "replace_span rename_symbol",
        ),
        ("delete", "rm rmdir"),
        (
            "search",
            "search_file_contents find_files list_directory find_references document_symbols",
        ),
        ("bash", "execute_bash"),
        (
            "other",
            "fetch_url web_search lsp_get_diagnostics ask_user create_task delete_task mkdir",
        ),
        # of other programs
        (
            "read",
            "Read read_file view open_file readFile mcp__fs__read_text_file functions.read_file",
        ),
        ("write", "Write write_file create_file writeToFile"),
        ("edit", "Edit apply_patch multi_edit MultiEdit str_replace edit_file NotebookEdit"),
        ("delete", "delete_file rm"),
        ("search", "Grep Glob search_files list_dir ls grep_search"),
        ("bash", "Bash shell exec_command run_terminal_cmd container.exec run_shell_command"),
        ("other", "get_user_details search_flights Task think"),
    ],
)
def test_s2_3_the_kind_of_a_tool_follows_from_its_name(kind: str, names: str) -> None:
    assert {kind_of_tool(name) for name in names.split()} == {kind}


def test_s2_3_a_generic_tool_has_the_kind_of_its_command() -> None:
    commands = {"view": "read", "create": "write", "str_replace": "edit", "insert": "edit"}
    for command, kind in commands.items():
        assert (
            kind_of_tool("str_replace_based_edit_tool", json.dumps({"command": command, "path": A}))
            == kind
        )
    assert kind_of_tool("str_replace_based_edit_tool") == "other"
    assert kind_of_tool(None) == "other"


@pytest.mark.parametrize(
    ("name", "arguments", "paths"),
    [
        ("Read", '{"file_path": "/app/a.py"}', (A,)),
        ("read_file", '{"target_file": "./a.py", "offset": 1}', ("a.py",)),
        ("read_many_files", '{"paths": ["a.py", "b.py", "a.py"]}', ("a.py", "b.py")),
        ("read_file", '{"files": [{"path": "a.py"}, {"path": 3}]}', ("a.py",)),
        ("read_file", '{"AbsolutePath": "C:\\\\a.py", "file": 7}', ("C:\\a.py",)),
        ("apply_patch", PATCH, ("a.py", "b.py", "c.py")),
        ("apply_patch", json.dumps({"input": PATCH}), ("a.py", "b.py", "c.py")),
        ("shell", json.dumps({"command": ["apply_patch", PATCH]}), ("a.py", "b.py", "c.py")),
        ("Read", "/app/a.py", ()),
        ("Read", '{"file_path": "/app/a.p', ()),
        ("Read", '["/app/a.py"]', ()),
        ("Read", "[" * 100_000, ()),
    ],
)
def test_s2_3_paths_come_from_the_arguments(
    name: str, arguments: str, paths: tuple[str, ...]
) -> None:
    assert paths_of(Part("tool_call", arguments, name=name)) == paths


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("Bash", '{"command": " npm test "}', "npm test"),
        ("shell", '{"command": ["bash", "-lc", "ls | wc"]}', "ls | wc"),
        ("shell", '{"cmd": ["git", "status"]}', "git status"),
        ("local_shell_call", '{"action": {"command": ["ls"]}}', "ls"),
        ("bash", "ls -l", "ls -l"),
        ("bash", '{"command": "ls', None),
        ("str_replace_based_edit_tool", '{"command": "view"}', None),
        ("Read", '{"file_path": "/app/a.py"}', None),
    ],
)
def test_s2_5_the_command_of_a_call_is_extracted(
    name: str, arguments: str, command: str | None
) -> None:
    assert command_of(Part("tool_call", arguments, name=name)) == command


def test_a_patch_that_deletes_a_file_ends_its_use() -> None:
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
    patching = [call("apply_patch", 2, arguments=patch), result("Done", 2)]
    assert active([*step("Read", "x", path="a.py"), *patching]) == {}


def test_the_path_in_a_patch_can_contain_many_blanks() -> None:
    path = f"src/a{' ' * 300_000}b.py"
    patch = f"*** Begin Patch\n*** Update File: {path}  \n@@\n*** End Patch"
    assert paths_of(Part("tool_call", patch, name="apply_patch")) == (path,)
