#!/usr/bin/env bash
# Installs the generators for `npm run test:clients` from the npm registry unless they are there.
set -euo pipefail
cd "$(dirname "$0")"
[ -d node_modules ] && exit 0
npm install --no-package-lock
