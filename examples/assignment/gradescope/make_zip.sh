#!/bin/bash
# Makes autograder.zip in the current folder: ./make_zip.sh [ASSIGNMENT.toml]
set -e
here=$(cd "$(dirname "$0")" && pwd)
assignment=$(realpath "${1:-$here/../assignment.toml}")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
python3 -m pip wheel --quiet --no-deps --wheel-dir "$made" "$here/../../.."
cp "$here/setup.sh" "$here/run_autograder" "$made"
cp "$assignment" "$made/assignment.toml"
rm -f autograder.zip
zip="$PWD/autograder.zip"
(cd "$made" && python3 -m zipfile -c "$zip" ./*)
echo "autograder.zip has $(ls "$made" | tr '\n' ' ')"
