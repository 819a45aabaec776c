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
    REMEMBERED,
    Selector,
    SelectorError,
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
