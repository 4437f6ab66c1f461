#!/bin/sh
# Saves the write record of the cluster that start.sh has started. With envtest, the API servers have
# saved theirs in the same folder.
set -eu
temp=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
mkdir -p "$temp/minikcm-writes"
if [ -f "$temp/minikcm/kubeconfig" ]; then
	"$temp/minikcm/bin/minikcm" writes --kubeconfig "$temp/minikcm/kubeconfig" -o json >"$temp/minikcm-writes/writes.json"
	"$temp/minikcm/bin/minikcm" writes --kubeconfig "$temp/minikcm/kubeconfig" --refused -o json >"$temp/minikcm-writes/refusals.json"
fi
