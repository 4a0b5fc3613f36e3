# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The structure that docs/architecture.md promises: who may import whom, what a module file is, what documentation says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.tools import make_docs

REPOSITORY = Path(__file__).resolve().parents[3]
PLUGINS = REPOSITORY / "plugins"
PREFIX = "ansible_collections.rdma.infiniband.plugins."
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
    "filter": {"module_utils/_model", "module_utils/_check", "plugin_utils"},
    "callback": {"module_utils/_model", "plugin_utils"},
    "doc_fragments": set(),
}
# Names that would tie the project to the place where it was written.
FORBIDDEN = re.compile(r"/work/(main|shared|steering)|\.\./shared")
FILES = sorted(PLUGINS.rglob("*.py"))


def room(path: Path) -> str:
    relative = str(path.relative_to(PLUGINS))
    return next(name for name in MAY_IMPORT if relative.startswith(name + "/"))


def imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_imports_run_one_way(path: Path) -> None:
    here = room(path)
    for name in imports(path):
        if name.startswith(PREFIX):
            target = name[len(PREFIX) :].replace(".", "/")
            assert any(target.startswith(allowed + "/") for allowed in MAY_IMPORT[here]), f"{here} imports {name}"
        elif here.startswith("module_utils/_") and here != "module_utils/_module":
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names, f"managed nodes have the standard library only, not {name}"
            assert top not in ("subprocess", "requests"), f"{name}: tools are run by an injected runner"


def names_used(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize(
    "path", [path for path in FILES if room(path).startswith("module_utils/_")], ids=lambda path: path.stem
)
def test_only_the_module_room_knows_ansible(path: Path) -> None:
    if room(path) != "module_utils/_module":
        assert not names_used(path) & {"AnsibleModule", "check_mode", "params"}
    assert not names_used(path) & {"print"}
    guards = len(re.findall(r"if not module\.check_mode", path.read_text()))
    assert guards <= 1, "one place where a module applies its changes"


def code_lines(path: Path) -> int:
    """Lines of code without documentation, comments and blanks."""
    tree = ast.parse(path.read_text())
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for node in ast.walk(tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if text or (named and node.targets[0].id in ("DOCUMENTATION", "EXAMPLES", "RETURN")):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    source = path.read_text().splitlines()
    return sum(1 for number in lines if source[number - 1].strip())


MODULES = sorted((PLUGINS / "modules").glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_file_is_documentation_and_main(path: Path) -> None:
    assert code_lines(path) <= 40
    namespace: dict[str, str] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            namespace[node.targets[0].id] = ast.literal_eval(node.value)
    documentation = yaml.safe_load(namespace["DOCUMENTATION"])
    assert documentation["module"] == path.stem
    fragments = documentation.get("extends_documentation_fragment", [])
    assert "rdma.infiniband.observe.read_only" in fragments or {"check_mode", "diff_mode", "idempotent"} <= set(
        documentation["attributes"]
    )
    for task in yaml.safe_load(namespace["EXAMPLES"]):
        assert any(key.startswith(("rdma.infiniband.", "ansible.builtin.")) for key in task), "examples use full names"


def test_action_groups_name_every_module() -> None:
    runtime = yaml.safe_load((REPOSITORY / "meta/runtime.yml").read_text())
    assert runtime["action_groups"]["all"] == [path.stem for path in MODULES]


ROLES = sorted(path for path in (REPOSITORY / "roles").iterdir() if path.is_dir())


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_role_variables_are_documented_once(role: Path) -> None:
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]
    for name, spec in specs.items():
        assert {key: option.get("default") for key, option in spec["options"].items()} == defaults, name
        for key, option in spec["options"].items():
            assert key.startswith(role.name + "_") and option["description"] and option["type"]
    readme = (role / "README.md").read_text()
    assert all(f"`{key}`" in readme for key in defaults)


@pytest.mark.parametrize("path", list(make_docs.pages()), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_generated_pages_are_current(path: Path) -> None:
    assert path.read_text() == make_docs.pages()[path], "run: make docs"


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True)
    names = [name for name in done.stdout.decode().split("\0") if name]
    return [REPOSITORY / name for name in names if (REPOSITORY / name).is_file()]


def test_nothing_names_the_place_where_it_was_written() -> None:
    own = (REPOSITORY / ".ci/run", Path(__file__).resolve())
    for path in tracked():
        if path.resolve() not in own:
            assert not FORBIDDEN.search(path.read_text(errors="replace")), path


def test_every_python_file_says_its_licence() -> None:
    for path in tracked():
        if path.suffix == ".py" and path.read_text().strip():
            assert "SPDX-License-Identifier: GPL-3.0-or-later" in path.read_text()[:600], path


def test_every_finding_code_is_raised_by_a_check() -> None:
    from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings import FINDINGS

    text = "\n".join(path.read_text() for path in FILES if path.name != "findings.py")
    for code in FINDINGS:
        assert f'"{code}"' in text, f"nothing raises {code}"
