#!/usr/bin/env bash
# Installs the runtimes for `npm run test:runtimes` from the npm registry (800 MB), if they are missing.
set -euo pipefail
cd "$(dirname "$0")"
[ -d node_modules ] && exit 0
npm install --no-package-lock
