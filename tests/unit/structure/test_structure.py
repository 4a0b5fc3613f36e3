# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The structure that docs/architecture.md promises: who may import whom, and what a module file is."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.support.source import (
    DOCUMENTS,
    PLUGINS,
    REPOSITORY,
    assigned,
    code_lines,
    imports,
    is_text,
    names_used,
    tree,
)

OURS = "ansible_collections.rdma.infiniband."
PREFIX = OURS + "plugins."
# room: what it may import of ours
MAY_IMPORT = {
    "module_utils/_model": {"module_utils/_model"},
    "module_utils/_parse": {"module_utils/_model", "module_utils/_parse"},
    "module_utils/_source": {"module_utils/_model", "module_utils/_parse", "module_utils/_source"},
    "module_utils/_plan": {"module_utils/_model", "module_utils/_plan"},
    "module_utils/_check": {"module_utils/_model", "module_utils/_check"},
    "module_utils/_module": {
        f"module_utils/_{name}" for name in ("model", "parse", "source", "plan", "check", "module")
    },
    "modules": {"module_utils/_module"},
    "plugin_utils": {"module_utils/_model", "module_utils/_check", "plugin_utils"},
    "filter": {"module_utils/_model", "module_utils/_plan", "module_utils/_check", "plugin_utils"},
    "action": {"module_utils/_model", "module_utils/_check", "plugin_utils"},
    "inventory": {"module_utils/_model", "plugin_utils"},
    "callback": {"module_utils/_model", "plugin_utils"},
    "doc_fragments": set(),
}
FILES = sorted(PLUGINS.rglob("*.py"))
MODULES = sorted((PLUGINS / "modules").glob("*.py"))


def short(path: Path) -> str:
    return str(path.relative_to(PLUGINS))


def room(path: Path) -> str:
    found = [name for name in MAY_IMPORT if short(path).startswith(name + "/")]
    assert found, f"plugins/{short(path)} is in no room of docs/architecture.md"
    return found[0]


def in_room(start: str) -> list[Path]:
    return [path for path in FILES if short(path).startswith(start)]


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) >= 2 and len(FILES) >= 30


@pytest.mark.parametrize("path", FILES, ids=short)
def test_imports_run_one_way(path: Path) -> None:
    here = room(path)
    for name in imports(path):
        assert not name.startswith("."), f"{name}: imports are absolute"
        if name.startswith(OURS):
            assert name.startswith(PREFIX), f"{name} is no plugin"
            target = name[len(PREFIX) :].replace(".", "/")
            assert any(target.startswith(allowed + "/") for allowed in MAY_IMPORT[here]), f"{here} imports {name}"


@pytest.mark.parametrize("path", in_room("module_utils/") + in_room("modules/"), ids=short)
def test_managed_nodes_have_the_standard_library_only(path: Path) -> None:
    for name in imports(path):
        top = name.split(".")[0]
        if name.startswith("ansible.module_utils."):
            assert room(path) == "module_utils/_module", f"only _module knows Ansible, not {short(path)}"
        elif not name.startswith(PREFIX):
            assert top in sys.stdlib_module_names, f"managed nodes have the standard library only, not {name}"
            assert top != "subprocess", f"{name}: tools are run by an injected runner"


@pytest.mark.parametrize("path", in_room("module_utils/_parse") + in_room("module_utils/_source"), ids=short)
def test_numbers_are_ascii_and_bounded(path: Path) -> None:
    """A backslash d and isdigit take digits that int refuses; see _parse/numbers.py."""
    texts = [
        node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    if path.name != "numbers.py":
        assert not [text for text in texts if "\\d" in text] and not names_used(path) & {"isdigit", "isdecimal"}


@pytest.mark.parametrize("path", in_room("module_utils/"), ids=short)
def test_only_the_module_room_knows_ansible(path: Path) -> None:
    assert short(path).split("/")[1].startswith("_"), "shared code is private: a leading underscore"
    used = names_used(path)
    if room(path) != "module_utils/_module":
        assert not used & {"AnsibleModule", "check_mode", "params"}
    assert "print" not in used
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree(path))), "assert vanishes under python -O"
    assert len(re.findall(r"if not module\.check_mode", path.read_text())) <= 1, "one place applies the changes"


@pytest.mark.parametrize("path", in_room("module_utils/"), ids=short)
def test_private_code_says_so(path: Path) -> None:
    text = path.read_text()
    assert "private" in (ast.get_docstring(tree(path)) or "").lower()
    assert "from __future__ import annotations" in text, "annotations of Python 3.10 are only text on 3.8"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_file_is_documentation_and_main(path: Path) -> None:
    assert code_lines(path) <= 40
    for node in tree(path).body:
        fits = is_text(node) or isinstance(node, (ast.Import, ast.ImportFrom)) or assigned(node) in DOCUMENTS
        fits = fits or (isinstance(node, ast.FunctionDef) and node.name == "main")
        fits = fits or (isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'")
        assert fits, f"line {node.lineno} belongs into module_utils/_module"


@pytest.mark.parametrize("path", sorted((REPOSITORY / "lab").rglob("*.py")), ids=lambda path: path.name)
def test_the_lab_knows_nothing_of_the_collection(path: Path) -> None:
    """Else a mistake of the parsers would also be one of the lab, and the two would agree."""
    assert not any(name.startswith("ansible") for name in imports(path))


def test_lines_of_code_are_counted_as_people_do(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        '"""Text."""\n\nDOCUMENTATION = r"""\na: 1\n"""\n# Why.\nimport os\n\n\ndef main():\n    """More\n    text."""\n'
        "    print(  # here\n        os.name,\n    )\n\n\nif True:\n    main()\n"
    )
    assert code_lines(sample) == 7
