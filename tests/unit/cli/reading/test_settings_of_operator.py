"""Settings that are given to commands that only read."""

import pytest

from gang_scheduler.cli.reading import settings_of_operator
from gang_scheduler.settings.policy import Policy


@pytest.mark.parametrize("name", ["max-victims", "max_victims", "maxVictims"])
def test_a_setting_has_the_name_of_its_flag_its_variable_or_its_value_of_the_chart(
    name: str,
) -> None:
    policy = settings_of_operator.policy_of([f"{name}=3"])

    assert (3, {"max_victims"}) == (policy.rules.preemption.max_victims, policy.model_fields_set)


def test_lists_are_json_and_what_is_not_given_is_not_set() -> None:
    assert ("a", "b") == settings_of_operator.policy_of(
        ['schedulerNames=["a", "b"]']
    ).rules.gangs.scheduler_names
    assert set() == Policy().model_fields_set == settings_of_operator.policy_of([]).model_fields_set


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_victim=3", "did you mean max_victims?"),
        ("strategy", "must be NAME=VALUE"),
        ("http_port=1", "of a setting that decides"),
        ("max_victims=many", "max_victims: input should be a valid integer"),
        ("spare_nodes=[", "spare_nodes: must be JSON"),
    ],
)
def test_other_texts_are_refused(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        settings_of_operator.policy_of([text])

    assert (2, True) == (ended.value.code, said in capsys.readouterr().err)
