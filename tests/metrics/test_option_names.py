"""The options of quantities: names, choices, types."""

from __future__ import annotations

import re

import pytest

from cwndlab import metrics
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import TEXT, edited


@pytest.mark.parametrize(
    ("metric", "options", "problem"),
    [
        ("goodput", 'traffic = "bluk"', 'there is no traffic "bluk"; did you mean "bulk"'),
        ("jain_index", 'traffic = ["bulk", "web"]', 'there is no traffic "web"'),
        ("drop_rate", 'link = "a>c"', 'there is no direction of a link "a>c"; did you mean "a>b"'),
        ("drop_rate", 'causes = "ful"', '\\.options\\.causes: .*did you mean "full"'),
        ("drop_rate", 'cause = "full"', "unknown key 'cause'; did you mean \"causes\""),
        ("completion_time", 'kind = "pages"', '\\.options\\.kind: .*did you mean "page"'),
        ("median_delay", 'pool = "clients"', 'did you mean "client"'),
        ("red_region", 'region = "betwen"', 'did you mean "between"'),
        ("congestion_signals", 'traffic = ["bulk"], signal = "mark"', 'did you mean "marks"'),
        ("jain_index", 'traffic = "bulk"', "must be a list"),
        ("timeout_time", "nth = 0", "must be at least 1"),
        ("unfinished_pages", 'share = "yes"', "must be true or false"),
    ],
)
def test_a_misspelt_name_or_a_wrong_value_is_refused_with_its_line(
    metric: str, options: str, problem: str
) -> None:
    text = TEXT + f'\n[[quantities]]\nname = "other"\nmetric = "{metric}"\noptions = {{ {options} }}\n'
    with pytest.raises(StudyError, match=problem) as caught:
        Study.from_toml(text)
    assert caught.value.line == text.count("\n")


@pytest.mark.parametrize(
    ("former", "right"),
    [
        ("object_delays", 'write "completion_time", with kind = "page" where'),
        ("median_page_delay", 'write "median_delay"'),
        ("median_file_delay", 'write "median_delay" with options = { kind = "file" }'),
    ],
)
def test_a_metric_that_has_another_name_now_says_which(former: str, right: str) -> None:
    with pytest.raises(StudyError, match=re.escape(right)):
        Study.from_toml(TEXT + f'\n[[quantities]]\nname = "delay"\nmetric = "{former}"\n')


def test_an_option_that_a_metric_cannot_do_without_is_asked_for() -> None:
    text = TEXT + '\n[[quantities]]\nname = "trip"\nmetric = "round_trip"\n'
    with pytest.raises(StudyError, match=r"round_trip: this key is missing: options\.traffic") as caught:
        Study.from_toml(text)
    assert caught.value.line == text[: text.index('[[quantities]]\nname = "trip"')].count("\n") + 1


def test_a_name_that_only_another_cell_has_is_known() -> None:
    axis = '[axes.who]\nvalues = ["bulk", "other"]\n\n[[quantities]]'

    def measured_of(traffic: str) -> Study:
        options = f'unit = "kbit/s"\noptions = {{ traffic = "{traffic}" }}'
        return Study.from_toml(
            edited(('name = "bulk"', 'name = "$who"'), ("[[quantities]]", axis), ('unit = "kbit/s"', options))
        )

    assert len(measured_of("other").plan().cells) == 4
    with pytest.raises(StudyError, match="nobody"):
        measured_of("nobody").plan()


def test_a_title_is_the_first_paragraph_on_one_line_and_options_are_named_in_order() -> None:
    variation = metrics.get("delay_variation")
    assert variation.title == (
        "Delay variation of packets: one-way delays compared with the smallest, "
        "or with that of the packet before"
    )
    assert variation.options == ("traffic", "form")
    assert metrics.get("jain_index").title == "Jain's fairness index of the connections' throughputs"
