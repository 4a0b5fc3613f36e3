# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of finding codes. Private to the collection.

People alert on these codes, so a code never changes its meaning; a new meaning gets a new code. The findings page
of the documentation is generated from this table. A check imports its own family, so that a module carries no other.
"""

from __future__ import annotations

from typing import Dict

from ansible_collections.rdma.infiniband.plugins.module_utils._model import (
    findings_hca,
    findings_limits,
    findings_shared,
    findings_sm,
    findings_udev,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import FindingKind

FAMILIES = (findings_hca.KINDS, findings_limits.KINDS, findings_shared.KINDS, findings_sm.KINDS, findings_udev.KINDS)
FINDINGS: Dict[str, FindingKind] = {kind.code: kind for kinds in FAMILIES for kind in kinds}
