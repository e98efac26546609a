#!/bin/bash
# Gradescope runs this once, as root, when it makes the image of the autograder.
set -e
root=${AUTOGRADER:-/autograder}
apt-get update
apt-get install -y g++ binutils python3-venv
python3 -m venv "$root/venv"
# The wheel is in the zip. Add [toolkit] behind it for NVIDIA's compiler, if a test needs nvcc.
"$root/venv/bin/pip" install "$root"/source/cudamm-*.whl
