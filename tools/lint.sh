#!/usr/bin/env bash
# Style of every file that git tracks: ruff's rules, ruff's format, clang-format. Changes nothing; `make format` fixes.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
check() {
  local what=$1
  shift
  if ! "$@"; then
    echo "lint: $what failed (make format repairs what can be repaired)" >&2
    status=1
  fi
}

mapfile -t python_files < <(git ls-files '*.py')
mapfile -t cpp_files < <(git ls-files '*.h' '*.cc')
check "ruff check" ruff check -q --force-exclude "${python_files[@]}"
check "ruff format" ruff format -q --check --force-exclude "${python_files[@]}"
check "clang-format" clang-format --dry-run -Werror "${cpp_files[@]}"
exit $status
