#!/usr/bin/env bash
# Installs Debian's HAProxy for `npm run test:cells`, if it is missing. Needs root then.
set -euo pipefail
if command -v haproxy >/dev/null; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo 'HAProxy is missing: install it (Debian: apt-get install haproxy), then try again.' >&2
  exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends haproxy
