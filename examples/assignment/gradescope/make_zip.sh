#!/bin/bash
# Makes autograder.zip in the current folder: make_zip.sh [ASSIGNMENT.toml [CUDAMM]]
# CUDAMM is the folder of cudamm's sources, or its wheel. By default it is the clone that this script is in, or else what
# cudamm was installed from.
set -e
here=$(cd "$(dirname "$0")" && pwd)
fail() {
    echo "make_zip.sh: $1" >&2
    exit 1
}
is_cudamm() { [[ -f $1 && $1 == *.whl ]] || grep -qs '^name = "cudamm"' "$1/pyproject.toml"; }
installed_from() {
    python3 - <<'END'
import importlib.metadata, json, urllib.parse
try:
    recorded = importlib.metadata.distribution("cudamm").read_text("direct_url.json")
except importlib.metadata.PackageNotFoundError:
    recorded = None
print(urllib.parse.unquote(urllib.parse.urlparse(json.loads(recorded or "{}").get("url", "")).path))
END
}

assignment=${1:-$here/../assignment.toml}
[ -f "$assignment" ] || fail "there is no assignment $assignment"
cudamm=${2:-$here/../../..}
is_cudamm "$cudamm" || [ -n "$2" ] || cudamm=$(installed_from)
is_cudamm "$cudamm" || fail "cudamm's sources were not found${2:+ in $2}: run make_zip.sh ASSIGNMENT.toml \
CUDAMM, where CUDAMM is the folder of cudamm's clone, or its wheel"
cudamm=$(realpath "$cudamm")

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
if [ -f "$cudamm" ]; then
    cp "$cudamm" "$made"
else
    python3 -m pip wheel --quiet --no-deps --wheel-dir "$made" "$cudamm" || fail "pip made no wheel of $cudamm, for this reason"
fi
cp "$here/setup.sh" "$here/run_autograder" "$made"
cp "$assignment" "$made/assignment.toml"
rm -f autograder.zip
zip="$PWD/autograder.zip"
(cd "$made" && python3 -m zipfile -c "$zip" ./*)
echo "autograder.zip has $(ls "$made" | tr '\n' ' ')"
