#!/usr/bin/env bash
# Regenerates everything that is generated: protobuf, deepcopy, CRD, manifests, licences.
set -euo pipefail
cd "$(dirname "$0")/.."
tool="go tool -modfile=test/tools/go.mod"
$tool buf generate
$tool controller-gen object paths=./coordinator/model/... paths=./coordinator/api/...
$tool controller-gen crd:maxDescLen=400 paths=./coordinator/api/v1alpha1 output:crd:dir=deploy/chart/files
bash deploy/manifests/generate.sh
# The terminal that the README shows.
go run ./test/cmd/record >deploy/docs/images/terminal.svg.new
mv deploy/docs/images/terminal.svg.new deploy/docs/images/terminal.svg
go -C test/licences run ./cmd
