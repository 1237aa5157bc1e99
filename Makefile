# Each target makes what it needs: a virtual environment in .venv from the pinned requirements.
# --no-compile halves the time to a first page: Python compiles what it imports anyway.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
VERIFIED := docs/reference/how-this-site-is-checked/verified.txt
export NO_MKDOCS_2_WARNING := 1
# each of many processes would compile what the first one has compiled
unexport PYTHONDONTWRITEBYTECODE
# whole files to each of two processes
TWO := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: serve site offline test audit outputs figures models verified bench timings mutants lint chapter new-bug

# on another port: make serve PORT=8001
serve: .venv/site.done
	@$(BIN)/python -c "import socket, sys; sys.exit(socket.socket().connect_ex(('127.0.0.1', $(PORT))) == 0 and 'Port $(PORT) is taken. Try another: make serve PORT=8001')"
	$(BIN)/mkdocs serve --dev-addr 127.0.0.1:$(PORT)

site: .venv/site.done
	$(BIN)/mkdocs build --site-dir site

offline: .venv/site.done
	OFFLINE=true $(BIN)/mkdocs build --site-dir site-offline

# two processes with two threads each would wait for one another
test audit: export OMP_NUM_THREADS := 1

test: .venv/test.done
	$(BIN)/python -m pytest $(TWO) --ignore tests/audit

# with TURNS=1, as in CI, less what looks at every page in every palette and width
audit: .venv/test.done
	$(BIN)/python -m pytest --numprocesses 2 tests/audit $(if $(TURNS),-m "not complete")
	$(BIN)/zizmor --offline .github

# of all pages, or of one: make outputs PAGE=foundations/masks
outputs: .venv/test.done
	$(BIN)/python -m docs._tools.generate outputs $(PAGE)

figures: .venv/test.done
	$(BIN)/python -m docs._tools.generate figures $(PAGE)

# trains the shipped models again, each on one thread, and writes their weights
models: export OMP_NUM_THREADS := 1
models: .venv/test.done
	$(BIN)/python -m attn_docs.model
	$(BIN)/python -m docs.model.induction.weights

# after every block has run, names the running PyTorch under each; BIN=… for that of another environment
verified: .venv/test.done
	$(BIN)/python -m pytest $(TWO) docs README.md attn_docs
	$(BIN)/python -c "import torch; print(torch.__version__.partition('+')[0])" >> $(VERIFIED)
	sort -u -V -o $(VERIFIED) $(VERIFIED)

bench: .venv/test.done
	$(BIN)/python -m docs._tools.bench $(PAGE)

# what a person waits for, beside its budget
timings: .venv/test.done
	$(BIN)/python -m docs._tools.timings $(CHECKOUT)

mutants: .venv/test.done
	rm -rf mutants
	nice $(BIN)/python -m tests.mutants $(MUTMUT)

lint: .venv/test.done
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/typos

# make chapter PAGE=foundations/masks
chapter: .venv/site.done
	$(BIN)/python -m docs._tools.chapter $(PAGE)

# make new-bug NAME=mask_forgotten
new-bug: .venv/test.done
	$(BIN)/python -m docs._tools.bugs $(NAME)

.venv/site.done: requirements/site.txt pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --requirement requirements/site.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

.venv/test.done: .venv/site.done requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements/test.txt
	touch $@
