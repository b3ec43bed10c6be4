#!/usr/bin/env bash
# Installs the Debian packages that are missing. Usage: scripts/install-dependencies.sh
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache python3 lld-22                   # build
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools        # compiler
  protobuf-compiler libprotobuf-dev                             # plan
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev               # recipes, checkpoints, command lines
  libdnnl-dev                                                   # kernels
  libgtest-dev libgmock-dev                                     # tests
  openmpi-bin                                                   # and ranks under mpirun
  chromium-headless-shell                                       # and the page of the memory report in a browser
  dict-foldoc                                                   # 5 MB of English to train on
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
