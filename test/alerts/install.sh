#!/usr/bin/env bash
# Installs Debian's Prometheus for its `promtool`, which `npm run test:alerts` needs, if it is missing. Needs root then.
set -euo pipefail
command -v promtool >/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo 'promtool is missing: install Prometheus (Debian: apt-get install prometheus), then try again.' >&2
  exit 1
fi
apt-get update -q
# This policy prevents that Prometheus starts after the installation.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
trap 'rm -f /usr/sbin/policy-rc.d' EXIT
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends prometheus
