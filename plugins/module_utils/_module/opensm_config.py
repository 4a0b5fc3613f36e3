# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the files of OpenSM instances, after the installed OpenSM has agreed to them. Private to the collection."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_instance import (
    MANAGED,
    RECOMMENDED,
    Bound,
    Instance,
    InstanceError,
    choose_port,
    managed_options,
    parse_instances,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_options import check_options, check_readback
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import opensm_conf, partitions_conf
from ansible_collections.rdma.infiniband.plugins.module_utils._plan import opensm_files as files
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.opensm_pending import Files, pending
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.owned_files import (
    ForeignFile,
    OwnedFile,
    Step,
    plan_files,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._source import opensm, sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "instances": {"type": "list", "elements": "dict", "default": []},
    "partitions": {"type": "str"},
    "allow_stop": {"type": "bool", "default": False},
    "program": {"type": "path", "default": "/usr/sbin/opensm"},
    "sysfs_path": {"type": "path", "default": "/sys"},
    "timeout": {"type": "float", "default": 20.0},
}
_CONF, _PARTITIONS = "opensm.conf", "partitions.conf"
# Options that are right to differ between the managers of one fabric.
_OWN = ("guid", "sm_priority")


def run_module() -> None:
    """Entry point of the module opensm_config."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    folder = tempfile.mkdtemp(dir=module.tmpdir)
    try:
        result = _run(module, folder)
    except (InstanceError, SourceError) as error:
        module.fail_json(msg="%s. Nothing was changed." % error)
        return
    except ForeignFile as error:
        module.fail_json(
            msg="%s was not written by this role, which would overwrite or remove it. Move it away first. Nothing was changed."
            % error
        )
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    module.exit_json(**result)


def _run(module: AnsibleModule, folder: str) -> Dict[str, Any]:
    wanted: Dict[str, OwnedFile] = {}
    told: List[Dict[str, Any]] = []
    version: Optional[str] = None
    if module.params["state"] == "present":
        instances = parse_instances(module.params["instances"])
        partitions = _partitions(module)
        known = opensm.installed(runner_of(module), module.params["program"], folder, module.params["timeout"])
        version = known.version
        hcas = sysfs.read_node(module.params["sysfs_path"]).hcas
        wanted[files.UNIT_FILE] = OwnedFile(files.unit_text(module.params["program"]))
        wanted[files.LOGROTATE_FILE] = OwnedFile(files.logrotate_text())
        for instance in instances:
            bound = choose_port(instance, hcas)
            texts = _options(module, folder, instance, bound, known)
            own = _files(instance, texts, partitions)
            wanted.update({"%s/%s/%s" % (files.FOLDER, instance.name, name): own[name] for name in own})
            told.append(_told(instance, bound, texts, own))
    left = _left(told)
    if left and not module.params["allow_stop"]:
        raise InstanceError(
            "instances: %s ran here and is not among them, so its manager would lose its files. Keep it, or stop it: "
            "allow_stop" % ", ".join(item["name"] for item in left)
        )
    steps = plan_files(_present(wanted), wanted, files.OUR_MARK)
    if not module.check_mode:
        for step in steps:
            _apply(module, step)
        _tidy(module)
    changes = [step.change for step in steps]
    return {
        "changed": bool(steps),
        "changes": [change.to_dict() for change in changes],
        "diff": [
            {
                "before_header": change.what,
                "after_header": change.what,
                "before": change.before or "",
                "after": change.after or "",
            }
            for change in changes
        ],
        "version": version,
        "instances": told,
        "left": left,
    }


def _partitions(module: AnsibleModule) -> Optional[str]:
    """The text of the partitions file, which OpenSM would drop as a whole for one bad line."""
    text: Optional[str] = module.params["partitions"]
    if text is None:
        return None
    found = partitions_conf.parse(text)
    if found.error or found.warnings:
        problem = found.error.message if found.error else found.warnings[0]
        raise InstanceError("partitions: OpenSM would not read this file as it is meant: %s" % problem)
    return text


def _options(
    module: AnsibleModule, folder: str, instance: Instance, bound: Bound, known: opensm.Installed
) -> Dict[str, str]:
    """The options for the file: judged by us, and then by the installed OpenSM."""
    where = "instances: %s" % instance.name
    log = files.log_file(instance.name)
    place, state = ("%s/%s" % (top, instance.name) for top in (files.FOLDER, files.STATE))
    given, problems = check_options(instance.options or {}, known.specs, MANAGED)
    recommended = {name: value for name, value in RECOMMENDED.items() if name in known.specs and name not in given}
    ours, more = check_options({**recommended, **managed_options(instance, bound, place, state, log)}, known.specs)
    problems = tuple("options.%s" % text for text in problems) + more
    texts = {**ours, **given}
    if not problems:
        said, back = opensm.read_back(
            runner_of(module), module.params["program"], folder, files.conf_text(texts), module.params["timeout"]
        )
        problems = check_readback(texts, said, back)
    if problems:
        raise InstanceError("%s: %s" % (where, "; ".join(problems)))
    return texts


def _files(instance: Instance, texts: Mapping[str, str], partitions: Optional[str]) -> Dict[str, OwnedFile]:
    # The options may hold keys of the subnet.
    found = {_CONF: OwnedFile(files.conf_text(texts), "0600")}
    if partitions is not None:
        found[_PARTITIONS] = OwnedFile(partitions)
    for key, guids, what in (
        ("root", instance.root_guids, "Node GUIDs of the switches at the top of the tree."),
        ("cn", instance.cn_guids, "Port GUIDs of compute nodes."),
        ("io", instance.io_guids, "Port GUIDs of I/O nodes."),
    ):
        if guids:
            found[key + "_guids"] = OwnedFile(files.guids_text(guids, what))
    return found


def _told(instance: Instance, bound: Bound, texts: Mapping[str, str], own: Mapping[str, OwnedFile]) -> Dict[str, Any]:
    running = _read_folder("%s/%s/running" % (files.STATE, instance.name))
    shared = {name: text for name, text in texts.items() if name not in _OWN}
    others = {name: item.text for name, item in own.items() if name != _CONF}
    checksum = hashlib.sha256(repr((sorted(shared.items()), sorted(others.items()))).encode()).hexdigest()
    return {
        "name": instance.name,
        "unit": "rdma-opensm@%s.service" % instance.name,
        "device": bound.device,
        "port": bound.port,
        "guid": bound.guid,
        "priority": instance.priority,
        "pending": pending(_as_files(running) if running else None, Files(dict(texts), others)),
        "shared_sha256": checksum,
    }


def _as_files(texts: Mapping[str, str]) -> Files:
    options = dict(opensm_conf.parse(texts.get(_CONF, "")).options)
    return Files(options, {name: text for name, text in texts.items() if name != _CONF})


def _read_folder(path: str) -> Dict[str, str]:
    try:
        names = os.listdir(path)
    except OSError:
        return {}
    found = {name: _read(os.path.join(path, name)) for name in names}
    return {name: item.text for name, item in found.items() if item is not None}


def _read(path: str) -> Optional[OwnedFile]:
    """A file that is there; a link or a directory of its name is as good as somebody else's file."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return OwnedFile("")
        with open(path, "rb") as stream:
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError("%s: %s" % (path, error.strerror or error)) from None
    return OwnedFile(text, "%04o" % stat.S_IMODE(status.st_mode))


def _present(wanted: Mapping[str, OwnedFile]) -> Dict[str, OwnedFile]:
    """What is there of the files that are wanted, and of all that may be ours."""
    paths = {*wanted, files.UNIT_FILE, files.LOGROTATE_FILE}
    for folder, _folders, names in os.walk(files.FOLDER):
        paths.update(os.path.join(folder, name) for name in names)
    found = {path: _read(path) for path in sorted(paths)}
    return {path: item for path, item in found.items() if item is not None}


def _left(told: Sequence[Mapping[str, Any]]) -> List[Dict[str, str]]:
    """Instances that are no longer wanted and whose state is still there."""
    try:
        names = sorted(os.listdir(files.STATE))
    except OSError:
        return []
    wanted = [item["name"] for item in told]
    return [{"name": name, "unit": "rdma-opensm@%s.service" % name} for name in names if name not in wanted]


def _apply(module: AnsibleModule, step: Step) -> None:
    try:
        if step.after is None:
            os.unlink(step.path)
            return
        os.makedirs(os.path.dirname(step.path), mode=0o755, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=module.tmpdir)
        with os.fdopen(handle, "wb") as stream:
            stream.write(step.after.text.encode("utf-8"))
        os.chmod(temporary, int(step.after.mode, 8))
        module.atomic_move(temporary, step.path)
        os.chmod(step.path, int(step.after.mode, 8))
    except OSError as error:
        module.fail_json(msg="%s: %s. What was written before it stays; run this again." % (step.path, error.strerror))


def _tidy(module: AnsibleModule) -> None:
    """Remove folders of ours that are empty now."""
    folders: Tuple[str, ...] = tuple(folder for folder, _folders, _names in os.walk(files.FOLDER, topdown=False))
    for folder in folders + (os.path.dirname(files.FOLDER),):
        try:
            os.rmdir(folder)
        except OSError:
            continue
