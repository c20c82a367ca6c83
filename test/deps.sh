#!/usr/bin/env bash
# Installs what the local cluster and its images need from Debian or Ubuntu.
# Go and make are expected to be there. Does nothing when all is there. With the
# argument `browser` also the browser in which the page is tested, where Debian has it.
set -euo pipefail

[ "${CLUSTER:-}" = existing ] && exit 0

declare -A package=(
  [runc]=runc [iptables]=iptables [ip]=iproute2 [conntrack]=conntrack
  [mmdebstrap]=mmdebstrap [mvn]=maven [nsenter]=util-linux [openssl]=openssl
  [gcc]=gcc # the race detector needs cgo
)
if [ "${1:-}" = browser ] && ! command -v chromium >/dev/null && grep -qs '^ID=debian' /etc/os-release; then
  package[chromium-headless-shell]=chromium-headless-shell
fi
missing=()
for program in "${!package[@]}"; do
  command -v "$program" >/dev/null || missing+=("${package[$program]}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "these are needed and this is neither Debian nor Ubuntu: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "these are needed; install them as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libc6-dev "${missing[@]}" >/dev/null
