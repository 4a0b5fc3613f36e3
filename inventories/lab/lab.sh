#!/bin/sh
# The running lab as an inventory. RDMA_LAB_NAME chooses one of several labs.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec python3 "$here/../../lab/lab" inventory "$@"
