#!/usr/bin/env bash
# Renders the chart as a plain manifest, for those who do without Helm.
set -euo pipefail
cd "$(dirname "$0")/../.."
helm=${HELM:-go tool -modfile=test/tools/helm/go.mod helm}
{
  echo "# Rollcall as a plain manifest: kubectl apply --server-side -f rollcall.yaml"
  echo "# Rendered from deploy/chart by deploy/manifests/generate.sh; do not edit."
  $helm template rollcall deploy/chart --no-hooks --namespace rollcall-system --set namespace.create=true
} > deploy/manifests/rollcall.yaml.new
mv deploy/manifests/rollcall.yaml.new deploy/manifests/rollcall.yaml
