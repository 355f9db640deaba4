#!/usr/bin/env bash
# Installs Debian's Patroni, etcd, HAProxy and PostgreSQL for `npm run test:ha`, if they are missing. Needs root then.
set -euo pipefail
if command -v patroni >/dev/null && command -v etcd >/dev/null && command -v haproxy >/dev/null && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo 'Patroni, etcd, HAProxy or PostgreSQL is missing: install them (Debian: apt-get install patroni etcd-server haproxy postgresql), then try again.' >&2
  exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends patroni etcd-server haproxy postgresql
