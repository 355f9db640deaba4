#!/usr/bin/env bash
# For `npm run test:clients`: installs the generators from the npm registry, and PHP with its extension for curl, Go and
# Java from Debian, unless they are there.
set -euo pipefail
cd "$(dirname "$0")"
for program in 'php -r curl_init();' 'go version' 'javac -version'; do
  $program >/dev/null 2>&1 && continue
  command -v apt-get >/dev/null || { echo "$program is missing, and there is no apt-get to install it with"; continue; }
  apt-get update -q
  apt-get install -y -q --no-install-recommends php-cli php-curl golang-go default-jdk-headless
  break
done
cmp -s package.json node_modules/.installed && exit 0
npm install --no-package-lock
cp package.json node_modules/.installed
