# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running OpenSM needs before files that changed count. Private to the collection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional

# Options that OpenSM reads anew in a heavy sweep, which SIGHUP asks for (osm_subnet.c, the option table); for all others
# it has to be started again. Families of options are given by their start.
_RELOADED = frozenset(
    [
        "m_key",
        "sm_key",
        "sa_key",
        "m_key_lease_period",
        "m_key_protection_level",
        "m_key_lookup",
        "sweep_interval",
        "max_wire_smps",
        "max_wire_smps2",
        "max_smps_timeout",
        "max_msg_fifo_timeout",
        "sm_priority",
        "max_op_vls",
        "force_link_speed",
        "force_link_speed_ext",
        "force_link_width",
        "fdr10",
        "reassign_lids",
        "ignore_other_sm",
        "disable_multicast",
        "subnet_timeout",
        "packet_life_time",
        "vl_stall_count",
        "leaf_vl_stall_count",
        "head_of_queue_lifetime",
        "leaf_head_of_queue_lifetime",
        "local_phy_errors_threshold",
        "overrun_errors_threshold",
        "use_mfttop",
        "sminfo_polling_timeout",
        "polling_retry_number",
        "force_heavy_sweep",
        "port_profile_switch_nodes",
        "sweep_on_trap",
        "connect_roots",
        "log_max_size",
        "log_flags",
        "force_log_flush",
        "accum_log_file",
        "no_partition_enforcement",
        "part_enforce",
        "keep_pkey_indexes",
        "sm_assigned_guid",
        "qos",
        "suppress_sl2vl_mad_status_errors",
        "port_shifting",
        "scatter_ports",
        "sa_db_dump",
        "torus_config",
        "do_mesh_analysis",
        "exit_on_fatal",
        "honor_guid2lid_file",
        "sm_inactive",
        "babbling_port_policy",
        "drop_event_subscriptions",
        "ipoib_mcgroup_creation_validation",
        "mcgroup_join_validation",
        "use_original_extended_sa_rates_only",
        "max_rate_enum",
        "use_optimized_slvl",
        "fsync_high_avail_files",
        "congestion_control",
        "cc_cct",
        "enable_quirks",
        "no_clients_rereg",
        "consolidate_ipv6_snm_req",
        "lash_start_vl",
        "sm_sl",
        "nue_max_num_vls",
        "log_prefix",
        "quasi_ftree_indexing",
    ]
)
_RELOADED_FAMILIES = ("qos_", "cc_sw_cong_setting_", "cc_ca_cong_setting_")
_NOT_RELOADED = ("qos_policy_file",)
_PARTITIONS = "partitions.conf"


@dataclass(frozen=True)
class Files:
    """The files of an instance: the options of its options file, and the texts of the others by name."""

    options: Mapping[str, str]
    texts: Mapping[str, str]


def pending(running: Optional[Files], wanted: Files) -> Optional[str]:
    """``restart``, ``reload`` or ``None``.

    ``running`` are the files that the running OpenSM was started with, or last told to look at; ``None`` when that is
    not known.
    """
    if running is None:
        return "restart"
    names = set(running.texts) | set(wanted.texts)
    changed = {name for name in names if running.texts.get(name) != wanted.texts.get(name)}
    if changed - {_PARTITIONS}:
        return "restart"
    names = set(running.options) | set(wanted.options)
    options = {name for name in names if running.options.get(name) != wanted.options.get(name)}
    if not changed and not options:
        return None
    return "reload" if all(_is_reloaded(name) for name in options) else "restart"


def _is_reloaded(name: str) -> bool:
    if name in _NOT_RELOADED:
        return False
    return name in _RELOADED or name.startswith(_RELOADED_FAMILIES)
