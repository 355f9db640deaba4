#!/usr/bin/env bash
# Installs Debian's PgBouncer for `npm run test:pgbouncer`, if it is missing. Needs root then.
set -euo pipefail
[ -x /usr/sbin/pgbouncer ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo 'PgBouncer is missing: install it (Debian: apt-get install pgbouncer), then try again.' >&2
  exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends pgbouncer
