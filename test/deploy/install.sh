#!/usr/bin/env bash
# Installs what `npm run test:deploy` needs, if it is missing: schemas from the npm registry, and Debian packages, which
# need root.
set -euo pipefail
cd "$(dirname "$0")"
if ! cmp -s package.json node_modules/.installed; then
  npm install --no-package-lock
  cp package.json node_modules/.installed
fi
missing=()
for package in debootstrap nginx-light caddy systemd-container; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "These packages of Debian are missing: ${missing[*]}. Install them, then try again." >&2
  exit 1
fi
apt-get update -q
# This policy prevents that the packages' services (nginx, Caddy) start after the installation.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
trap 'rm -f /usr/sbin/policy-rc.d' EXIT
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
