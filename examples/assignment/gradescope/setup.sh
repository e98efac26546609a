#!/bin/bash
# Gradescope runs this once, as root, when it makes the image of the autograder.
set -e
root=${AUTOGRADER:-/autograder}
apt-get update
apt-get install -y g++ binutils python3-venv
python3 -m venv "$root/venv"
# The wheel is in the zip.
"$root/venv/bin/pip" install "$root"/source/cudamm-*.whl
# For NVIDIA's compiler, which the tests occupancy and not-copied need, use this line in its place:
# "$root/venv/bin/pip" install "$(echo "$root"/source/cudamm-*.whl)[toolkit]"
