"""Which variables may be sent as a key, by their names."""

from __future__ import annotations

import pytest

from overnight.consent.variables import in_env_file, looks_like_key, own_variable, owner_of
from overnight.providers import vendor, vendors


@pytest.mark.parametrize("name", [one.key_variable for one in vendors().values()])
def test_a_vendors_own_variable_is_a_key(name: str) -> None:
    assert looks_like_key(name)
    assert owner_of(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "LAB_GEMINI_KEY",
        "OPENAI_API_KEY_2",
        "MISTRAL_API_KEY",
        "LAB_KEY",
        "AZURE_OPENAI_API_KEY",
        "HF_TOKEN",
        "VLLM_APIKEY",
    ],
)
def test_a_key_of_another_account_looks_like_one(name: str) -> None:
    assert looks_like_key(name)


@pytest.mark.parametrize(
    "name",
    [
        *("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN"),
        *("CI_JOB_TOKEN", "STRIPE_API_KEY", "SLACK_BOT_TOKEN", "SECRET_KEY", "DJANGO_SECRET_KEY", "SSH_PRIVATE_KEY"),
        *("AZURE_CLIENT_KEY", "PYPI_TOKEN", "DATABASE_KEY", "MY_STRIPE_KEY", "aws_secret_access_key", "PGPASSWORD"),
        *("HOME", "PATH", "DATABASE_URL", "SSH_AUTH_SOCK", "USER"),
    ],
)
def test_other_secrets_do_not(name: str) -> None:
    assert not looks_like_key(name)


def test_gemini_has_two_usual_variables() -> None:
    assert own_variable(vendor("gemini"), "GOOGLE_API_KEY")
    assert own_variable(vendor("gemini"), "GEMINI_API_KEY")
    assert not own_variable(vendor("openai"), "GOOGLE_API_KEY")
    assert owner_of("GOOGLE_API_KEY") == "gemini"


def test_an_env_file_sets_keys_and_what_goes_with_them_only() -> None:
    wanted = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "LAB_KEY"}
    others = {"PATH", "HTTPS_PROXY", "STORAGE_EMULATOR_HOST", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "XDG_CONFIG_HOME"}
    others |= {"OVERNIGHT_RUNS", "VLLM_FOLDER"}
    assert in_env_file(wanted | others) == wanted
