# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""udev_rules and udev_check as Ansible runs them, over a host in a directory: rules, real device nodes, names."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.infiniband.plugins.modules import udev_check, udev_rules

from tests.conftest import skip_or_fail
from tests.support.sysfs_tree import FakeNetdev, build_tree, ndr_hca

Run = Callable[..., dict[str, Any]]
RULES = "etc/udev/rules.d"
NODES, NAMING, IPOIB = (
    f"{RULES}/{name}"
    for name in (
        "90-rdma-infiniband-nodes.rules",
        "60-rdma-persistent-naming.rules",
        "70-rdma-infiniband-ipoib.rules",
    )
)
VERBS = [{"kind": "uverbs", "group": "rdma", "mode": "0660"}, {"kind": "rdma_cm", "group": "rdma", "mode": "0660"}]
GUIDS = ("0xa088c20300bb0001", "0xa088c20300bb0101")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Two NDR HCAs with IPoIB, their device nodes with the kernel's modes, and the distribution's naming rule."""
    if os.geteuid() != 0:
        skip_or_fail("device nodes are made by root")
    sysfs = tmp_path / "sys"
    first, second = ndr_hca(0), ndr_hca(1)
    build_tree(str(sysfs), hcas=[first, second])
    for number in range(2):
        (sysfs / f"class/infiniband_verbs/uverbs{number}").mkdir(parents=True)
    (sysfs / "class/misc/rdma_cm").mkdir(parents=True)
    nodes = tmp_path / "dev/infiniband"
    nodes.mkdir(parents=True)
    for name, mode in {"uverbs0": 0o666, "uverbs1": 0o666, "rdma_cm": 0o666, "umad0": 0o600, "umad1": 0o600}.items():
        os.mknod(nodes / name, stat.S_IFCHR | mode, os.makedev(231, 192))
        os.chmod(nodes / name, mode)
    for name, text in {
        "etc/passwd": "root:x:0:0::/:/bin/sh\n",
        "etc/group": "root:x:0:\nrdma:x:200:alice\n",
        "usr/lib/udev/rdma_rename": "#!/bin/sh\n",
        "usr/lib/udev/rules.d/60-rdma-persistent-naming.rules": 'ACTION=="add", SUBSYSTEM=="infiniband", '
        'PROGRAM="rdma_rename %k NAME_FALLBACK"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "usr/lib/udev/rdma_rename").chmod(0o755)
    return tmp_path


def call(module: Any, capsys: pytest.CaptureFixture[str], **given: Any) -> dict[str, Any]:
    with patch_module_args(given), pytest.raises(SystemExit):
        module.main()
    return dict(json.loads(capsys.readouterr().out))


@pytest.fixture
def run(host: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def function(check: bool = False, **given: Any) -> dict[str, Any]:
        return call(udev_rules, capsys, root=str(host), _ansible_check_mode=check, **given)

    return function


@pytest.fixture
def check(host: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda **given: call(udev_check, capsys, root=str(host), **given)


def shown(host: Path) -> dict[str, str]:
    """Every node and every rules file, as somebody looking would see them."""
    found = {}
    for path in sorted((host / "dev/infiniband").iterdir()):
        status = path.stat()
        found[path.name] = f"{status.st_uid}:{status.st_gid} {stat.S_IMODE(status.st_mode):04o}"
    for path in sorted((host / RULES).iterdir()) if (host / RULES).exists() else []:
        found[path.name] = f"{stat.S_IMODE(path.stat().st_mode):04o} {path.read_text()}"
    return found


def changed(result: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(item["what"], item["before"], item["after"]) for item in result["changes"]]


def codes(result: dict[str, Any]) -> list[str]:
    return [item["code"] for item in result["findings"]]


def test_nodes(run: Run, host: Path, check: Run) -> None:
    before = shown(host)
    predicted = run(check=True, nodes=VERBS)
    assert shown(host) == before and predicted["changed"]
    result = run(nodes=VERBS)
    assert not result["failed"] and codes(result) == []
    assert changed(predicted) == changed(result) and predicted["diff"] == result["diff"]
    assert ("/dev/infiniband/uverbs0", "root:root 0666", "root:rdma 0660") in changed(result)
    after = shown(host)
    assert [after[name] for name in ("uverbs0", "uverbs1", "rdma_cm", "umad0")] == ["0:200 0660"] * 3 + ["0:0 0600"]
    assert (
        'SUBSYSTEM=="infiniband_verbs", KERNEL=="uverbs*", OWNER="root", GROUP="rdma", MODE="0660"'
        in after["90-rdma-infiniband-nodes.rules"]
    )
    assert after["90-rdma-infiniband-nodes.rules"].startswith("0644 ")
    again = run(nodes=VERBS)
    assert not again["changed"] and changed(again) == [] and not check(nodes=VERBS)["failed"]
    gone = run(state="absent")
    assert gone["changed"] and {**shown(host)} == before
    assert not run(state="absent")["changed"]


def test_a_kind_that_is_no_longer_listed_goes_back_to_the_kernels_mode(run: Run, host: Path) -> None:
    run(nodes=VERBS)
    result = run(nodes=VERBS[:1])
    assert ("/dev/infiniband/rdma_cm", "root:rdma 0660", "root:root 0666") in changed(result)
    assert shown(host)["rdma_cm"] == "0:0 0666" and shown(host)["uverbs0"] == "0:200 0660"


def test_a_node_that_somebody_changed_is_put_right(run: Run, host: Path, check: Run) -> None:
    run(nodes=VERBS)
    os.chmod(host / "dev/infiniband/uverbs1", 0o600)
    assert codes(check(nodes=VERBS)) == ["UDEV_NODE_PERMISSIONS"]
    assert changed(run(nodes=VERBS)) == [("/dev/infiniband/uverbs1", "root:rdma 0600", "root:rdma 0660")]


def test_a_node_set_by_hand_does_not_last(run: Run, host: Path, check: Run) -> None:
    os.chmod(host / "dev/infiniband/umad0", 0o660)
    os.chmod(host / "dev/infiniband/umad1", 0o660)
    result = check(nodes=[{"kind": "umad", "mode": "0660"}])
    assert codes(result) == ["UDEV_NODE_NOT_PERSISTENT"] * 2 and not result["failed"]


def test_a_missing_node_and_a_kind_without_nodes(run: Run, host: Path) -> None:
    (host / "dev/infiniband/uverbs1").unlink()
    result = run(nodes=VERBS)
    assert result["failed"] and codes(result) == ["UDEV_NODE_MISSING"] and "/dev/infiniband/uverbs1" in result["msg"]
    assert shown(host)["uverbs0"] == "0:200 0660", "the others are right all the same"
    for number in range(2):
        for part in (host / f"sys/class/infiniband_mad/issm{number}", host / f"dev/infiniband/issm{number}"):
            part.unlink(missing_ok=True)
    assert run(nodes=[{"kind": "issm", "mode": "0660"}])["unseen"] == ["issm"]


@pytest.mark.parametrize(
    ("name", "rule", "place"),
    [
        ("99-site.rules", 'KERNEL=="uverbs*", MODE="0666"', ":1"),
        ("10-site.rules", '# theirs\nSUBSYSTEM=="infiniband_verbs", GROUP:="root"', ":2"),
    ],
)
def test_a_rule_of_somebody_else_that_decides(run: Run, host: Path, name: str, rule: str, place: str) -> None:
    (host / RULES).mkdir(parents=True, exist_ok=True)
    (host / RULES / name).write_text(rule + "\n")
    result = run(nodes=VERBS[:1])
    assert result["failed"] and codes(result) == ["UDEV_RULE_OVERRULED"] * 2
    assert f"{RULES}/{name}{place}" in result["findings"][0]["observed"]
    assert (host / RULES / name).read_text() == rule + "\n"
    assert not run(nodes=VERBS[:1])["changed"], "nobody fights over a node"


def test_a_file_of_somebody_else_is_kept_and_put_back(run: Run, host: Path) -> None:
    (host / RULES).mkdir(parents=True, exist_ok=True)
    theirs = 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"\n'
    (host / NAMING).write_text(theirs)
    os.chmod(host / NAMING, 0o600)
    before = shown(host)
    predicted = run(check=True, naming="pci")
    result = run(naming="pci")
    assert changed(predicted) == changed(result)
    assert (host / (NAMING + ".before-rdma-infiniband")).read_text() == theirs
    assert "NAME_PCI" in (host / NAMING).read_text() and not run(naming="pci")["changed"]
    run(state="absent")
    assert shown(host) == before


def test_a_run_that_was_killed_is_finished_by_the_next(run: Run, host: Path) -> None:
    (host / RULES).mkdir(parents=True, exist_ok=True)
    (host / NAMING).write_text("# theirs\n")
    run(naming="pci")
    (host / NAMING).unlink()  # moved aside, and then ended
    assert run(naming="pci")["changed"] and "NAME_PCI" in (host / NAMING).read_text()
    run(state="absent")
    assert (host / NAMING).read_text() == "# theirs\n"


def test_names_are_foretold_and_pending(run: Run, check: Run) -> None:
    result = run(naming="pci")
    names = {name["before"]: name["after"] for name in result["names"]}
    assert names == {"mlx5_0": "ibp19s0", "mlx5_1": "ibp27s0", "ib0": "ib0", "ib1": "ib1"}
    assert codes(result) == ["UDEV_NAME_PENDING"] * 2, "nothing is renamed without permission"
    assert [item["needs"] for item in result["pending"]] == ["reboot"] * 2
    assert {name["after"] for name in check(naming="guid")["names"]} >= {f"ibx{guid[2:]}" for guid in GUIDS}
    assert codes(check(naming="kernel")) == []


def test_fixed_names_and_names_of_network_devices(run: Run, host: Path) -> None:
    result = run(
        naming="kernel",
        fixed_names=[{"name": "rail0", "pci": "0000:13:00.0"}, {"name": "rail1", "guid": GUIDS[1]}],
        ipoib_names=[{"name": "ib_rail0", "pci": "0000:13:00.0"}, {"name": "ib_rail9", "guid": "0x00000000000000ff"}],
    )
    assert {name["before"]: name["after"] for name in result["names"]} == {
        "mlx5_0": "rail0", "mlx5_1": "rail1", "ib0": "ib_rail0", "ib1": "ib1",
    }  # fmt: skip
    assert sorted(set(codes(result))) == ["UDEV_NAME_PENDING", "UDEV_NAME_UNMATCHED"]
    naming, ipoib = (host / NAMING).read_text(), (host / IPOIB).read_text()
    assert 'ATTR{node_guid}=="a088:c203:00bb:0101", PROGRAM=="rdma_rename %k NAME_FIXED rail1"' in naming
    assert 'KERNELS=="0000:13:00.0", NAME="ib_rail0"' in ipoib
    assert 'ATTR{address}=="*00:00:00:00:00:00:00:ff", NAME="ib_rail9"' in ipoib
    assert codes(run(naming="kernel", fail_on="never")) == [], "our own rules pass our own lint"


def test_a_name_in_use_is_never_taken_away(run: Run, host: Path) -> None:
    before = shown(host)
    result = run(naming="pci", names_in_use=["mlx5_1"])
    assert result["failed"] and "mlx5_1 (0000:1b:00.0) would become ibp27s0 (policy pci)" in result["msg"]
    assert "Nothing was changed" in result["msg"] and shown(host) == before
    swap = [{"name": "mlx5_1", "pci": "0000:13:00.0"}, {"name": "mlx5_0", "pci": "0000:1b:00.0"}]
    result = run(naming="kernel", fixed_names=swap, names_in_use=["mlx5_0"])
    assert result["failed"] and "mlx5_0 would be the device that is mlx5_1 now" in result["msg"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nodes": [{"kind": "uverbs", "mode": "660"}]}, "nodes[0].mode: '660' is not allowed; use four octal digits"),
        ({"nodes": [{"kind": "uverbs", "mode": "432"}]}, "nodes[0].mode: '432'"),
        ({"nodes": VERBS + VERBS[:1]}, "the kind uverbs is listed more than once"),
        ({"nodes": [{"kind": "uverbs", "mode": "0660", "group": "nobodys"}]}, "the group 'nobodys' does not exist"),
        ({"nodes": [{"kind": "uverbs", "mode": "0660", "group": 'x", RUN="y'}]}, "nodes[0].group: "),
        ({"nodes": [{"kind": "uverbs", "mode": "0660\n"}]}, "nodes[0].mode: '0660\\n'"),
        ({"fixed_names": [{"name": "r", "pci": "0000:13:00.0"}]}, "fixed_names: naming is unmanaged"),
        ({"naming": "pci", "fixed_names": [{"name": "a/b", "pci": "0000:13:00.0"}]}, "fixed_names[0].name: 'a/b'"),
        ({"naming": "pci", "fixed_names": [{"name": "a", "pci": "13:00.0"}]}, "fixed_names[0].pci: '13:00.0'"),
        ({"naming": "pci", "fixed_names": [{"name": "a"}]}, "give either pci or guid of 'a'"),
        ({"ipoib_names": [{"name": "a" * 16, "guid": GUIDS[0]}]}, "15 characters at most"),
        ({"ipoib_names": [{"name": "a\n", "guid": GUIDS[0]}]}, "ipoib_names[0].name: 'a\\n'"),
        ({"ipoib_names": [{"name": "a", "guid": GUIDS[0], "port": 0}]}, "ipoib_names[0].port: 0"),
        ({"ipoib_names": [{"name": "a", "guid": GUIDS[0]}, {"name": "b", "guid": GUIDS[0]}]}, "listed more than once"),
        ({"ipoib_names": [{"name": "ib1", "pci": "0000:13:00.0"}]}, "two devices cannot have one name: ib1"),
        ({"timeout": 0}, "timeout: 0 is not allowed"),
    ],
)
def test_bad_input_changes_nothing(run: Run, host: Path, given: dict[str, Any], words: str) -> None:
    before = shown(host)
    result = run(**given)
    assert result["failed"] and words in result["msg"], result["msg"]
    assert shown(host) == before


def test_a_host_without_rdma_rename_and_one_without_sysfs(run: Run, host: Path) -> None:
    (host / "usr/lib/udev/rdma_rename").unlink()
    result = run(naming="guid")
    assert result["failed"] and "rdma_rename" in result["msg"] and "install rdma-core" in result["msg"]
    assert not run(naming="kernel")["failed"], "without the program the kernel's names stay"
    (host / "sys/class").rename(host / "sys/klass")
    assert "this is no sysfs" in run(nodes=VERBS)["msg"]


def test_rules_that_never_match_are_reported_with_their_place(host: Path, check: Run) -> None:
    (host / RULES).mkdir(parents=True, exist_ok=True)
    wrong = host / RULES / "70-persistent-ipoib.rules"
    wrong.write_text(
        '# site\nSUBSYSTEM=="net", ATTR{type}=="32", ATTR{address}=="00:0c:29:aa:bb:7a", NAME="ib_a"\n'
        'SUBSYSTEM=="net", ATTR{type}=="32", ATTR{address}=="80:00:02:08:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77", '
        'NAME="ib_b"\n'
    )
    result = check()
    assert [(item["code"], item["subject"]) for item in result["findings"]] == [
        ("UDEV_RULE_NEVER_MATCHES", f"/{RULES}/70-persistent-ipoib.rules:2"),
        ("UDEV_RULE_MATCHES_QPN", f"/{RULES}/70-persistent-ipoib.rules:3"),
    ]
    assert not result["failed"] and check(fail_on="warning")["failed"]
    wrong.unlink()
    wrong.symlink_to("/dev/null")
    assert codes(check()) == []


def test_a_second_port_and_the_devices_of_p_keys(host: Path, check: Run) -> None:
    hca = ndr_hca(2)
    assert hca.function is not None
    address = "00:00:00:48:fe:80:00:00:00:00:00:00:a0:88:c2:03:00:bb:02:01"
    netdevs = (
        FakeNetdev("ibx0", address=address),
        FakeNetdev("ibx1", dev_port="1", address=address[:-1] + "2"),
        FakeNetdev("ibx0.8001", address=address),
    )
    function = replace(hca.function, pci="0000:5b:00.0", netdevs=netdevs)
    build_tree(str(host / "sys"), hcas=[replace(hca, function=function)])
    names = check(ipoib_names=[{"name": "ib_second", "pci": "0000:5b:00.0", "port": 2}])["names"]
    ours = {name["before"]: name["after"] for name in names if name["before"].startswith("ibx")}
    assert ours == {"ibx0": "ibx0", "ibx1": "ib_second", "ibx0.8001": "ibx0.8001"}
