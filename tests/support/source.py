# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the collection's own source files, without importing them."""

from __future__ import annotations

import ast
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGINS = REPOSITORY / "plugins"
DOCUMENTS = ("DOCUMENTATION", "EXAMPLES", "RETURN")


def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def imports(path: Path) -> list[str]:
    """What a file imports. Names of relative imports begin with dots."""
    found: list[str] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            place = "." * node.level + (f"{node.module}." if node.module else "")
            found += [place + alias.name for alias in node.names]
    return found


def names_used(path: Path) -> set[str]:
    """Every name and attribute that the code speaks of."""
    nodes = list(ast.walk(tree(path)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def assigned(node: ast.stmt) -> str:
    """The name that a plain assignment gives a value, else nothing."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def documents(path: Path) -> dict[str, str]:
    """The blocks of documentation of a plugin."""
    body = tree(path).body
    return {assigned(node): ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign)
            and assigned(node) in DOCUMENTS}  # fmt: skip


def code_lines(path: Path) -> int:
    """Lines of code, without documentation, comments and blanks."""
    lines: set[int] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.stmt) and not is_text(node) and assigned(node) not in DOCUMENTS:
            first_inner = getattr(node, "body", None)
            # Of a compound statement only the head: its body counts by itself, so that its docstring does not.
            last = first_inner[0].lineno - 1 if first_inner else node.end_lineno or node.lineno
            lines.update(range(node.lineno, max(last, node.lineno) + 1))
    source = path.read_text().splitlines()
    return sum(1 for number in lines if source[number - 1].split("#")[0].strip())
