"""`python -m attn_docs.testing`: what it takes, what it writes, and its exit code."""

import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Literal
from xml.etree import ElementTree as ET

import pytest
import torch
from torch import Tensor, nn

from attn_docs.testing import Adapter, check_attention, check_module, options, progress
from attn_docs.testing.command import main
from attn_docs.testing.module import CHECKS
from attn_docs.testing.options import kinds_of, parser, typed, value

LAYERS = '''
import torch
from torch import nn
from attn_docs.testing import Adapter

print("imported")


class Attention(nn.Module):
    """Right, unless the scale is another."""

    def __init__(self, dim=32, heads=4, right=True):
        super().__init__()
        self.heads, self.right = heads, right
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        root = (q if self.right else x).size(-1) ** 0.5
        return self.out(((q @ k.mT / root).softmax(-1) @ v).transpose(1, 2).flatten(2))


class Renamed(Attention):
    def forward(self, x, hidden):
        hidden = None if hidden is None else hidden[None, None]
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        scores = q @ k.mT / q.size(-1) ** 0.5
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        return self.out((scores.softmax(-1).nan_to_num(0.0) @ v).transpose(1, 2).flatten(2))


class Needs(Attention):
    def __init__(self, dim, heads=4):
        super().__init__(dim, heads)


class Ends(Attention):
    def forward(self, x):
        raise SystemExit(0)


class Complains(Attention):
    def __init__(self):
        raise ValueError("this is wrong:\\n  and that")


class Kernel:
    def __call__(self, query, key, value):
        return attend(query, key, value)


class Tokens:
    pass


instance = Attention()
drawn = torch.rand(3).tolist()
number = 3
by_name = Adapter(attn_mask="hidden", mask_true="blocks")


def make(right=True):
    return Attention(right=right)


def make_nothing():
    return "a token"


def attend(query, key, value):
    return (query @ key.mT / query.size(-1) ** 0.5).softmax(-1) @ value


def unscaled(query, key, value):
    return (query @ key.mT).softmax(-1) @ value


def any_arguments(*args):
    return attend(*args)
'''
DIM = ["--embed-dim", "32"]


@pytest.fixture(autouse=True)
def layers(tmp_path, monkeypatch):
    (tmp_path / "layers.py").write_text(LAYERS, encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("ATTN_DOCS_URL", raising=False)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    yield tmp_path
    for name in ("layers", "leaves"):
        sys.modules.pop(name, None)


def report_of(capsys, *arguments):
    """Run the command, and return its exit code and its report as JSON."""
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    """Return the one line that is said of a wrong use."""
    code = main(arguments)
    written = capsys.readouterr()
    assert code == 2
    assert written.out == ""
    said = [line for line in written.err.splitlines() if line != "imported"]
    assert len(said) == 1
    return said[0].removeprefix("python -m attn_docs.testing: error: ")


# ---------------------------------------------------------------------------------------- target


@pytest.mark.parametrize(
    ("target", "subject"),
    [
        (["layers:Attention", *DIM], "Attention"),
        (["layers:instance", *DIM], "Attention"),
        (["layers:make", *DIM], "Attention"),
        (["layers:Needs", *DIM, "--init", '{"dim": 32}'], "Needs"),
        (["layers:Needs", *DIM, "--init-arg", "dim=32", "--init-arg", "heads=2"], "Needs"),
        (["layers:attend"], "attend"),
        (["layers:attend", "--function"], "attend"),
        (["layers:any_arguments"], "any_arguments"),
        (["layers:Kernel"], "Kernel"),
        (["torch.nn.functional:scaled_dot_product_attention"], "scaled_dot_product_attention"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_right_target_passes(capsys, target, subject):
    code, report = report_of(capsys, *target)
    assert (code, report["verdict"], report["subject"]) == (0, "passed", subject)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (["layers:Attention", *DIM, "--init", '{"right": false}'], "failed"),
        (["layers:Attention", *DIM, "--init-arg", "right=False"], "failed"),
        (["layers:Attention", *DIM, "--init", "{'right': False}"], "failed"),
        (["layers:make", *DIM, "--init-arg", "right=false"], "failed"),
        (["layers:Attention", *DIM, "--require", "scale,cache"], "not judged"),
        (["layers:unscaled"], "failed"),
    ],
    ids=" ".join,
)
def test_an_exit_code_is_the_verdict(capsys, target, verdict):
    code, report = report_of(capsys, *target)
    assert report["verdict"] == verdict
    assert code == {"failed": 1, "not judged": 2}[verdict]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["layers"], "a target must be package.module:name; got 'layers'"),
        (["missing.module:Class"], "cannot import missing.module:Class: ModuleNotFoundError: "),
        (["layers:Missing"], "cannot import layers:Missing: AttributeError: "),
        (["leaves:Class"], "cannot import leaves:Class: SystemExit: 0"),
        (["layers:number"], "layers:number must be a class, a module or a function; got 3"),
        (["layers:Needs", *DIM], "cannot build layers:Needs with no arguments; --init gives it "),
        (["layers:Complains"], "cannot build layers:Complains with no arguments; --init gives it "),
        (["layers:Tokens"], "layers:Tokens must return a torch.nn.Module; got Tokens"),
        (["layers:make_nothing"], "layers:make_nothing must return a torch.nn.Module; got str"),
        (["layers:Needs", *DIM, "--init-arg", "size=3"], "cannot build layers:Needs with size: "),
        (["layers:Needs", *DIM, "--init", "[32]"], "--init must be a JSON object; got [32]"),
        (["layers:Needs", *DIM, "--init", "{dim: 32}"], "--init must be a JSON object; got '{dim"),
        (["layers:instance", *DIM, "--init-arg", "dim=32"], "layers:instance is not built"),
        (["layers:Attention"], "--embed-dim is needed by check_module"),
        (["layers:attend", *DIM], "--embed-dim is no argument of check_attention"),
        (["layers:Attention", *DIM, "--layout", "bnhd"], "--layout is no argument of check_modu"),
        (["layers:Attention", "--embed-dim", "half"], "embed_dim must be an int; got 'half'"),
        (["layers:Attention", "--embed-dim", "31"], "module must run on "),
        (["layers:Attention", *DIM, "--require", "speed"], "require must hold names of attn_docs"),
        (["layers:Attention", *DIM, "--waive", "scale="], "waive must give a reason for 'scale'"),
        (["layers:attend", "--dtype", "float13"], "dtype must be a torch.dtype or None; got 'fl"),
        (["layers:attend", "--adapter", "{}"], "an adapter is for modules; the target is a func"),
        (["layers:Attention", *DIM, "--adapter", '{"mask_true": "red"}'], "mask_true must be one"),
        (["layers:Attention", *DIM, "--adapter", '{"mask": "m"}'], "Adapter.__init__() got an un"),
        (["layers:Attention", *DIM, "--adapter", "layers:red"], "cannot import layers:red: Attri"),
        (["layers:Attention", *DIM, "--huggingface"], "module must be a layer that takes hidden_"),
        (["layers:Attention", *DIM, "--junit", "."], "cannot write .: Is a directory"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_wrong_use_is_said_in_one_line(capsys, arguments, said):
    assert refused(capsys, *arguments).startswith(said)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["layers:Attention", "--embed"],
        ["layers:Attention", *DIM, "--waive", "scale"],
        ["layers:Attention", *DIM, "--json", "--quiet"],
        ["layers:Attention", *DIM, "--adapter", "{}", "--huggingface"],
        ["layers:Attention", *DIM, "--init-arg", "=3"],
    ],
    ids=" ".join,
)
def test_what_the_parser_refuses_is_two_lines(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    usage, error = capsys.readouterr().err.splitlines()
    assert usage == "usage: python -m attn_docs.testing package.module:name [options]"
    assert "error: " in error


def test_a_module_that_ends_the_process_has_not_passed(capsys):
    assert main(["layers:Ends", *DIM]) == 2
    assert "SystemExit: 0" in capsys.readouterr().err


def test_an_error_of_the_checker_is_no_verdict(capsys, monkeypatch):
    def broken(_):
        raise ValueError("an index is out of range")

    monkeypatch.setitem(CHECKS, "scale", broken)
    assert main(["layers:Attention", *DIM]) == 2
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "This is an error of attn_docs.testing, in its check 'scale'" in said


def test_a_seed_makes_what_is_random_the_same():
    drawn = []
    for seed in ("1", "1", "2"):
        sys.modules.pop("layers", None)
        main(["layers:attend", "--seed", seed, "--quiet"])
        drawn.append(sys.modules["layers"].drawn)
    assert drawn[0] == drawn[1] != drawn[2]


# --------------------------------------------------------------------------------------- options


def test_claims_reach_the_checker(capsys):
    _, report = report_of(capsys, "layers:Attention", *DIM, "--scale", "0.5", "--num-heads", "2")
    found = {finding["property"]: finding for finding in report["findings"]}
    assert found["scale"]["verdict"] == "fail"
    code, report = report_of(capsys, "layers:attend", "--dtype", "float32", "--lengths", "[8, 12]")
    assert code == 0
    (oracle,) = [each for each in report["findings"] if each["property"] == "oracle"]
    assert "float32" in oracle["evidence"]


def test_a_waiver_is_shown_with_its_reason(capsys):
    arguments = ["layers:unscaled", "--waive", "scale=meant = so", "--waive", "oracle=meant too"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "waived" in said.splitlines()[0]
    assert "meant = so; " in said
    assert "meant too; " in said


@pytest.mark.parametrize(
    "adapter", ["layers:by_name", '{"attn_mask": "hidden", "mask_true": "blocks"}']
)
def test_an_adapter_is_described_or_imported(capsys, adapter):
    code, report = report_of(
        capsys, "layers:Renamed", *DIM, "--adapter", adapter, "--require", "mask polarity"
    )
    assert (code, report["open"]) == (0, [])


def test_a_layer_of_transformers_is_called_as_its_model_calls_it(capsys, layers):
    (layers / "llama.py").write_text(
        "from transformers import LlamaConfig\n"
        "from transformers.models.llama.modeling_llama import LlamaAttention\n"
        "config = LlamaConfig(hidden_size=32, num_attention_heads=4, num_key_value_heads=2)\n"
        "layer = LlamaAttention(config, layer_idx=0)\n",
        encoding="utf-8",
    )
    arguments = ["--huggingface", "--causal", "--require", "oracle, cache"]
    code, report = report_of(capsys, "llama:layer", *DIM, *arguments)
    assert (code, report["subject"]) == (0, "LlamaAttention")


def test_each_argument_of_the_checkers_can_be_typed_or_is_left_for_a_reason():
    own = {"adapter", "require", "waive"}
    no_text = {"module", "attend", "output"}  # what is checked, and a function
    for check in (check_module, check_attention):
        for name in set(inspect.signature(check).parameters) - own - no_text:
            assert check in typed()[name], name
    assert not typed().keys() & (own | no_text)


def of_modules(
    module: nn.Module,
    *,
    embed_dim: int,
    window: int | None = None,
    rotary: bool = False,
    lengths: Sequence[int] = (),
    kind: Literal["a", "b"] = "a",
    share: float = 0.0,
    weights: str | Callable[..., Tensor] | None = None,
    made: Callable[[], Tensor] | None = None,
) -> None:
    """Check.

    Args:
        module: The module.
        embed_dim: Size.
        window: How many tokens are seen, 100 % of
            them if None.
        rotary: Whether it turns.

    Returns:
        None.
    """


def of_functions(attend: Callable[..., Tensor], *, dtype: torch.dtype, window: bool) -> None:
    """Check."""


def test_an_argument_that_is_new_is_an_option(monkeypatch, capsys):
    monkeypatch.setattr(options, "CHECKERS", (of_modules, of_functions))
    names = ["embed_dim", "window", "rotary", "lengths", "kind", "share", "weights", "dtype"]
    assert list(typed()) == names
    given = vars(
        parser().parse_args(
            "layers:A --embed-dim 8 --window 3 --no-rotary --lengths [3,70] --kind b --share .5 "
            "--weights sinks --dtype torch.float16".split()
        )
    )
    wanted = [8, 3, False, [3, 70], "b", 0.5, "sinks", torch.float16]
    assert {name: given[name] for name in names} == dict(zip(names, wanted, strict=True))
    assert not names & vars(parser().parse_args(["layers:A"])).keys()
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "--window INT|BOOL How many tokens are seen, 100 % of them if None." in said
    assert "--rotary, --no-rotary Whether it turns." in said


def test_kinds_that_can_be_typed():
    assert kinds_of(int | None) == [int]
    assert kinds_of(bool) == [bool]
    assert kinds_of(tuple[int, int] | Sequence[int]) == [tuple, Sequence]
    assert kinds_of(Mapping[str, str]) == [Mapping]
    assert kinds_of(Adapter | Callable[..., Tensor] | None) == []
    assert kinds_of(nn.Module) == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("3", 3),
        ("0.5", 0.5),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ('{"a": [1, 2]}', {"a": [1, 2]}),
        ("{'a': (1, 2)}", {"a": (1, 2)}),
        ("bnhd", "bnhd"),
        ("a-b", "a-b"),
        ("cuda:0", "cuda:0"),
        ("(", "("),
        ("", ""),
    ],
)
def test_a_value_is_json_or_a_literal_or_text(text, read):
    assert value(text) == read
    assert type(value(text)) is type(read)


def test_the_help_says_what_the_docstrings_say(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert not ended.value.code
    said = " ".join(capsys.readouterr().out.split())
    assert "--embed-dim INT Size of the vectors that come in." in said
    assert "Exit code: 0 passed, 1 failed, 2 not judged or wrong use." in said
    for name, found in typed().items():
        for check in found:
            assert len(options._said(check)[name].split()) > 3, name


# ---------------------------------------------------------------------------------------- output


def test_what_needs_no_attention_is_not_written(capsys):
    main(["layers:Attention", *DIM, "--init-arg", "right=0", "--require", "cache"])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Attention: failed; formula: judged; ")
    verdicts = [line[2:16].strip() for line in said[1:-1] if line[2:16].strip()]
    assert set(verdicts) == {"fail", "not applicable"}
    assert verdicts.count("not applicable") == 1  # the cache, which is required
    assert said[-1].startswith("checked in 0.")
    assert said[-1].endswith(" s")


def test_all_is_written_if_asked_for(capsys):
    main(["layers:Attention", *DIM, "--all"])
    said = capsys.readouterr().out
    assert "rows sum to 1" in said
    assert said.count("not applicable") > 5


def test_a_quiet_pass_writes_nothing(capsys):
    assert main(["layers:Attention", *DIM, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["layers:unscaled", "--quiet"]) == 1
    assert "unscaled: failed" in capsys.readouterr().out


def test_junit_is_written_beside_the_report(capsys, layers):
    path = layers / "report.xml"
    assert main(["layers:unscaled", "--junit", str(path)]) == 1
    assert "unscaled: failed" in capsys.readouterr().out
    suite = ET.fromstring(path.read_bytes()).find("testsuite")  # noqa: S314 - our own
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) > 0


def test_the_command_runs_where_it_is_called_and_writes_to_any_log(layers):
    command_line = [sys.executable, "-m", "attn_docs.testing", "layers:Attention", *DIM]
    arguments = ["--init-arg", "right=false", "--junit", "report.xml"]
    done = subprocess.run(  # noqa: S603
        [*command_line, *arguments],
        cwd=layers,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "ATTN_DOCS_URL": "https://docs.test"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "scaled by \\u221aembed_dim = 5.657" in done.stdout
    assert "see https://docs.test/practice/bugs-that-train/#scale" in done.stdout
    assert done.stderr == "imported\n"
    assert "√embed_dim" in (layers / "report.xml").read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------- progress


class Terminal(StringIO):
    """A terminal, or a file, that remembers what was written."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def wait_for(said, stream):
    end = time.monotonic() + 10
    while said not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.01)


def test_a_long_check_says_on_a_terminal_what_it_judges(monkeypatch):
    monkeypatch.setattr(progress, "AGAIN", 0.01)
    stream = Terminal(terminal=True)
    with progress.shown(stream, patience=0.01):
        wait_for("judging the way of computing", stream)
        progress.judging("scale")
        wait_for("judging scale", stream)
    assert stream.getvalue().endswith("\r\x1b[K")
    assert "\n" not in stream.getvalue()
    progress.judging("nobody listens")


def test_nothing_is_said_of_a_short_check_or_in_a_file():
    for stream, patience in ((Terminal(terminal=True), 60), (Terminal(terminal=False), 0.0)):
        with progress.shown(stream, patience=patience):
            time.sleep(0.05)
        assert "judging" not in stream.getvalue()
    assert stream.getvalue() == ""


def test_who_watches_hears_of_each_property_that_is_judged():
    heard = []
    with progress.watched(heard.append):
        report = check_attention(nn.functional.scaled_dot_product_attention)
    asked = [f.property for f in report.findings if f.evidence != NOT_ASKED]
    assert heard == asked


NOT_ASKED = "a property of modules; see check_module"
