# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures, and judges nothing: the cost of hca_info, and the module calls of an unchanged site.yml.

hca_info on a synthetic host with 8 HCAs and ansible.builtin.ping on the same host run in turn, in one playbook run
over a local connection, so that both see the same machine. The target for the ratio is 1.25.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / ".collections")]

from tests.support.sysfs_tree import eight_ndr_hcas  # noqa: E402

ROUNDS = 20


def playbook(rounds: int, tree: str) -> list[dict[str, object]]:
    """Ping and hca_info, in turn."""
    tasks: list[dict[str, object]] = []
    for _round in range(rounds):
        tasks.append({"name": "ping", "ansible.builtin.ping": {}})
        tasks.append({"name": "hca_info", "rdma.infiniband.hca_info": {"sysfs_path": tree}})
    return [{"hosts": "all", "gather_facts": False, "tasks": tasks}]


def measure() -> None:
    """Print the medians and the ratio, pair by pair."""
    with tempfile.TemporaryDirectory() as folder:
        tree = eight_ndr_hcas(f"{folder}/sys")
        (Path(folder) / "bench.json").write_text(json.dumps(playbook(ROUNDS, tree)))
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-c", "local", f"{folder}/bench.json"],
            cwd=REPOSITORY, capture_output=True, text=True, check=False,
            env={
                **os.environ,
                "ANSIBLE_CALLBACKS_ENABLED": "ansible.posix.profile_tasks",
                "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
                "PROFILE_TASKS_TASK_OUTPUT_LIMIT": "all",
                "PROFILE_TASKS_SORT_ORDER": "none",
            },
        )  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    times: dict[str, list[float]] = {"ping": [], "hca_info": []}
    for name, seconds in re.findall(r"^(ping|hca_info) -+ ([\d.]+)s$", done.stdout, re.MULTILINE):
        times[name].append(float(seconds))
    if len(times["ping"]) != ROUNDS or len(times["hca_info"]) != ROUNDS:
        sys.exit("the task times cannot be read:\n" + done.stdout[-2000:])
    # Task times are printed in hundredths of a second, so single ratios are coarse; the mean of all is not.
    # The first pair pays for what is cached afterwards.
    ratios = [info / ping for info, ping in zip(times["hca_info"][1:], times["ping"][1:], strict=True)]
    for name, values in times.items():
        print(f"{name}: median {statistics.median(values[1:]):.3f} s of {len(values) - 1}")
    mean = statistics.mean(times["hca_info"][1:]) / statistics.mean(times["ping"][1:])
    print(
        f"hca_info / ping on a host with 8 HCAs: ratio of the means {mean:.2f}, "
        f"median of the pairs {statistics.median(ratios):.2f} (target: at most 1.25)"
    )


def module_calls() -> None:
    """Module calls per host of site.yml on the running demo lab, from its report."""
    report = REPOSITORY / ".cache/bench-report.json"
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventories/lab", "playbooks/site.yml"],
        cwd=REPOSITORY, env={**os.environ, "RDMA_INFINIBAND_REPORT": str(report)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print("module calls: not measured, the demo lab is not up (make demo)")
        return
    summary = json.loads(report.read_text())["summary"]
    print(f"site.yml: {summary['module_calls_per_host']} module calls per host, {summary['changes']} changes")


if __name__ == "__main__":
    measure()
    module_calls()
