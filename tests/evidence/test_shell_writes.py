"""The files that a command line of a shell writes."""

import pytest

from ctxtrim.evidence.shell_writes import written_paths


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("cat <<'EOF' > src/gate.py\nif a > b: pass\nEOF", ["src/gate.py"]),
        ("cat > ./notes.md << EOF\n> quoted > text\nEOF\nls", ["notes.md"]),
        ("make >> build.log 2>&1", ["build.log"]),
        ("make 1> a.log 2> b.log", ["a.log"]),
        ("make &> all.log", ["all.log"]),
        ("echo x >'my file.txt'", ["my file.txt"]),
        ("echo x > Makefile && echo y > a/b", ["Makefile", "a/b"]),
        ("echo x | sudo tee -a /etc/hosts other > /dev/null", ["/etc/hosts", "other"]),
        ("sed -i 's/a > b/c/' a.py b.py", ["a.py", "b.py"]),
        ("sed -i.bak -E -e 's/a/b/' --expression=p c.py", ["c.py"]),
        ("sed -i '' 's/a/b/' d.py", ["d.py"]),
        ("sed --in-place 3d e.py", ["e.py"]),
        ("cd /quay && cd app && sed -i 3d src/a.py > /tmp/log", ["/tmp/log", "/quay/app/src/a.py"]),
        ("cd $HOME && echo x > a.py; echo y > ~/b", ["a.py", "~/b"]),
        ("(cd a && echo x > b.txt)", ["b.txt"]),
    ],
)
def test_written_files_are_found(line: str, paths: list[str]) -> None:
    assert list(written_paths(line)) == paths


@pytest.mark.parametrize(
    "line",
    [
        "make 2>&1",
        "make >/dev/null 2>/dev/null",
        "echo oops >&2",
        "echo 'a > b' \"c > d\"",
        'say "$(ls > x)" `ls > y`',
        "awk '$1 > limit { print > out }' table",
        "python - <<'EOF'\nif a > b:\n    print(a >> c)\nEOF",
        "python -c 'print(a > b)'",
        "[[ a > b ]] && ls",
        "(( a > b )) && ls",
        "while a > b: x()",
        "is_high = tide > limit",
        "echo x > $FILE",
        "echo x > ${DIR}/a",
        "echo x > $(name)",
        "echo x > *.py",
        "cat < in.txt",
        "sed -n 's/a/b/p' a.py",
        "git log --format='%h > %s' # > x",
        "echo x >",
        "echo 'x > y",
        "tee",
        "sed -i",
    ],
)
def test_no_other_words_are_files(line: str) -> None:
    assert written_paths(line) == ()
