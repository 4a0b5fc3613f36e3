#!/bin/sh
# The running VMs as an inventory. RDMA_LAB_VM_NAME chooses one of several sets.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec python3 "$here/../../lab/lab" vm inventory "$@"
