"""Selectors of devices: the answers of Kubernetes' CEL, and how seldom each is evaluated."""

import subprocess
import sys
from typing import Any

import pytest

from gang_scheduler.decode.devices import objects as decoding
from gang_scheduler.model.devices import Attribute, AttributeKind, Device
from gang_scheduler.scheduler.devices import selectors
from gang_scheduler.scheduler.devices.selectors import (
    HINT,
    LONGEST,
    MATCHING,
    REMEMBERED,
    Selector,
    SelectorError,
    in_words,
)
from support.device_builders import DRIVER, attributes, capacities
from support.selector_answers import ANSWERS, DEVICES, OTHERWISE


def device_of(each: dict[str, Any]) -> Device:
    body = {"spec": {"driver": each["driver"], "devices": [each["device"]]}}
    (device,) = decoding.decode_slice(body).devices
    return device


def answer(text: str) -> str:
    """Return the answers for the devices of the table, as the table has them."""
    try:
        selector = Selector.compile(text)
    except SelectorError:
        return "bad"
    return " ".join(said(selector, device_of(each), each["driver"]) for each in DEVICES)


def said(selector: Selector, device: Device, driver: str) -> str:
    try:
        return "yes" if selector.matches(device, driver) else "no"
    except SelectorError:
        return "error"


@pytest.mark.parametrize("text", [text for text in ANSWERS if text not in OTHERWISE])
def test_a_selector_is_answered_as_kubernetes_answers_it(text: str) -> None:
    assert ANSWERS[text] == answer(text)


def test_nothing_is_excused_that_is_answered_alike() -> None:
    assert [] == [text for text in sorted(OTHERWISE) if ANSWERS[text] == answer(text)]


def matches(text: str, device: Device) -> bool:
    return Selector.compile(text).matches(device, DRIVER)


def test_an_error_says_how_to_guard_the_expression() -> None:
    with pytest.raises(
        SelectorError,
        match=r'"x".*' + HINT.replace("?", r"\?").replace("(", r"\(").replace(")", r"\)"),
    ):
        matches("device.attributes['gpu.example.com'].x == 1", Device("gpu-0"))


def test_a_result_that_is_neither_true_nor_false_is_an_error() -> None:
    with pytest.raises(SelectorError, match="a result of type int is neither true nor false"):
        matches("device.attributes['gpu.example.com'].x", Device("g", attributes(x=1)))


def test_an_expression_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(SelectorError, match="at most 10240 characters"):
        Selector.compile("1 == 1 || " * LONGEST)


def test_an_unreadable_version_is_an_error() -> None:
    device = Device("gpu-0", {"v": Attribute(AttributeKind.VERSION, "1")})

    with pytest.raises(SelectorError, match="'1' is not a semantic version"):
        matches("device.driver == 'x'", device)


def test_lists_are_read_as_lists() -> None:
    listed = tuple(Attribute(AttributeKind.INT, each) for each in (1, 2))
    device = Device("gpu-0", {"lanes": Attribute(AttributeKind.LIST, listed)})

    assert matches("2 in device.attributes['gpu.example.com'].lanes", device)


def test_an_evaluation_that_goes_on_is_ended() -> None:
    many = str(list(range(64)))
    text = f"{many}.all(a, {many}.all(b, {many}.all(c, a + b + c >= 0)))"

    with pytest.raises(SelectorError):
        matches(text, Device("gpu-0"))


@pytest.mark.parametrize(
    ("text", "evaluations"),
    [
        ("device.attributes['gpu.example.com'].model == 'A100'", 1),
        ('device.attributes["gpu.example.com"].?model.orValue("") == "A100"', 1),
        ("device.attributes['gpu.example.com']['model'] == 'A100'", 1),
        ("device.capacity['gpu.example.com'].memory == quantity('80Gi')", 1),
        ("device.driver == 'gpu.example.com'", 1),
        ("device.attributes['gpu.example.com'].uuid != ''", 8),
        # The whole map is used, or a name that only shows at run time.
        ("device.attributes.size() > 0", 8),
        ("cel.bind(d, device.attributes['gpu.example.com'], d.model == 'A100')", 8),
        ("device.attributes[device.driver].model == 'A100'", 8),
        ("device.attributes['gpu.example.com'].size() > 0", 8),
    ],
)
def test_devices_that_look_alike_to_an_expression_are_evaluated_once(
    text: str, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    selectors._compiled.cache_clear()
    selector = Selector.compile(text)
    seen: list[str] = []
    evaluated = selector._evaluated

    def noted(device: Device, driver: str) -> bool | SelectorError:
        seen.append(device.name)
        return evaluated(device, driver)

    monkeypatch.setattr(selector, "_evaluated", noted)
    for i in range(8):
        known = attributes(model="A100", uuid=f"u{i}")
        device = Device(f"gpu-{i}", known, capacities(memory="80Gi"))
        assert selector.matches(device, DRIVER)

    assert evaluations == len(seen)


def test_results_are_bounded() -> None:
    selector = Selector.compile("device.attributes['gpu.example.com'].i >= 0")

    for i in range(REMEMBERED + 10):
        selector.matches(Device("g", attributes(i=i)), DRIVER)

    assert len(selector._results) <= REMEMBERED


def test_the_package_is_loaded_with_the_first_selector_and_not_before() -> None:
    program = (
        "import sys; import gang_scheduler.scheduler.devices.search;"
        "from gang_scheduler.scheduler.devices.selectors import Selector;"
        "before = 'cel_expr_python' in sys.modules; Selector.compile('true');"
        "print(before, 'cel_expr_python' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "False True\n" == done.stdout


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    selectors._environment.cache_clear()
    selectors._compiled.cache_clear()

    with pytest.raises(SelectorError, match="needs the package cel-expr-python"):
        Selector.compile("1 == 1")
    selectors._compiled.cache_clear()


# Selectors in words.


CAPACITY = "device.capacity['gpu.nvidia.com'].memory"
ATTRIBUTE = 'device.attributes["gpu.nvidia.com"].productName'


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (f"{CAPACITY}.compareTo(quantity('80Gi')) >= 0", "with memory >= 80Gi"),
        (f"{CAPACITY}.compareTo(quantity('80Gi')) == 0", "with memory = 80Gi"),
        (f"{CAPACITY}.isGreaterThan(quantity('64Gi'))", "with memory > 64Gi"),
        (f"{CAPACITY}.isLessThan(quantity('64Gi'))", "with memory < 64Gi"),
        (f"{ATTRIBUTE} == 'H100 (80GB)'", "with productName = H100 (80GB)"),
        ("device.attributes['d'].index < 4", "with index < 4"),
        ("!device.attributes['d'].mig", "with mig = false"),
        (
            "device.attributes['d'].driverVersion.compareTo(semver('565.0.0')) > 0",
            "with driverVersion > 565.0.0",
        ),
        (
            (
                f"device.driver == 'gpu.nvidia.com' && has({ATTRIBUTE}) && {ATTRIBUTE} == 'A && B'"
                f" && {CAPACITY}.compareTo(quantity('40Gi')) >= 0"
            ),
            "with productName = A && B and memory >= 40Gi",
        ),
        ("device.driver == 'gpu.nvidia.com'", ""),
        (f"{ATTRIBUTE} == 'a' || {ATTRIBUTE} == 'b'", MATCHING),
        (f"{ATTRIBUTE}.lowerAscii().matches('^.*h100.*$')", MATCHING),
        (f"({ATTRIBUTE} == 'a' && true) || false", MATCHING),
        ("", MATCHING),
    ],
)
def test_a_selector_in_words(selector: str, words: str) -> None:
    assert words == in_words([selector])


def test_all_selectors_are_said_or_only_that_there_are_some() -> None:
    known = f"{CAPACITY}.compareTo(quantity('80Gi')) >= 0"

    assert "with memory >= 80Gi and index = 1" == in_words(
        [known, "device.attributes['d'].index == 1"]
    )
    assert MATCHING == in_words([known, "true || false"])
    assert "" == in_words([])
