#!/bin/sh
# The scenario's cluster as an inventory.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "$here/../lab" inventory "$@"
