#!/usr/bin/env bash
# Packs all packages, and checks the tarballs as the registry and other people's tools read them. Needs the network.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm pack --workspaces --include-workspace-root --pack-destination "$folder" > /dev/null
npm publish --dry-run --workspaces --include-workspace-root --ignore-scripts > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
if grep 'auto-corrected' "$folder/log"; then exit 1; fi
for tarball in "$folder"/*.tgz; do
  npx --yes publint@0.3.25 run "$tarball" --strict
  # ES modules with `exports` alone: old resolutions and `require` of their types are left out.
  npx --yes @arethetypeswrong/cli@0.18 "$tarball" --profile esm-only --exclude-entrypoints style.css
done
ls -l "$folder"/*.tgz
