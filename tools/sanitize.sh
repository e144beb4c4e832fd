#!/usr/bin/env bash
# AddressSanitizer and the cheap half of UndefinedBehaviorSanitizer over the C++ tests and a part of the Python tests.
#
# Builds into build/sanitize at -O1 (registration files are left uninstrumented: they take most of the compile time and
# run once). Arguments, when given, are passed to pytest instead of the usual selection.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly BUILD=build/sanitize
readonly CHECKS=address,signed-integer-overflow,shift,bounds,integer-divide-by-zero,return,unreachable
# Not the files that call the CUDA compiler or a browser, which are no code of this project and slow (or do not start)
# under the preloaded runtime.
readonly TESTS=(-m "not slow" --deselect tests/python/test_layout_page.py
  tests/python/test_{ir,script,layout,scope,pass,sim}_*.py tests/python/test_{arith*,verify}.py)

gtest=ON
echo '#include <gtest/gtest.h>' | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1 || gtest=OFF
cmake -S . -B "$BUILD" -G Ninja -DTIRX_SANITIZE="$CHECKS" -DTIRX_BUILD_TESTS="$gtest" \
  -DPython_EXECUTABLE="$(command -v python)" >/dev/null
ninja -C "$BUILD" -j "${JOBS:-$(nproc)}"

export UBSAN_OPTIONS=print_stacktrace=1
if [ "$gtest" = ON ]; then
  ASAN_OPTIONS=detect_leaks=1 "$BUILD/tirx_tests" --gtest_brief=1
else
  echo "sanitize: the C++ tests are left out, GoogleTest is not installed"
fi

# The interpreter is not instrumented: the runtime is preloaded (libstdc++ with it, or the first C++ throw aborts), and
# leaks are not looked for, because the interpreter never frees some objects.
if [ $# -eq 0 ]; then set -- "${TESTS[@]}"; fi
LD_PRELOAD="$("${CXX:-c++}" -print-file-name=libasan.so) $("${CXX:-c++}" -print-file-name=libstdc++.so.6)" \
  ASAN_OPTIONS=detect_leaks=0 TIRX_LIBRARY_PATH="$PWD/$BUILD/libtirx.so" PYTHONPATH="$PWD/python" \
  python -m pytest -q -p no:cacheprovider "$@"
