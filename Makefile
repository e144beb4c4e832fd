VENV := .venv
PY := $(VENV)/bin/python
dev: ; cmake --build build/dev
