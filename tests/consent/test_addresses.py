"""Where a key may go, and on whose word."""

from __future__ import annotations

from pathlib import Path

import pytest

from overnight import consent
from overnight.consent.addresses import host_of, is_loopback
from overnight.consent.variables import in_env_file
from overnight.core.ask import Buckets, Model
from overnight.core.errors import ConsentNeeded, StudyError
from overnight.emulation import agree_to, endpoint_of
from overnight.providers import Endpoint, own_host, vendor
from overnight.settings import Settings

KEYS = {
    "OPENAI_API_KEY": "sk-own-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789",
    "LAB_KEY": "sk-lab-0123456789",
    "AWS_SECRET_ACCESS_KEY": "aws-0123456789",
    "GITHUB_TOKEN": "ghp-0123456789",
}
EVIL = "https://evil.example/v1"


def place(provider: str = "openai", env_file: frozenset[str] = frozenset(), **fields: object) -> Endpoint:
    """What would be called for a model with these fields, in an environment with these variables."""
    variables = {name: str(value) for name, value in fields.items() if name.isupper()}
    written = {name: value for name, value in fields.items() if not name.isupper()}
    model = Model(provider=provider, name="m", **written)  # type: ignore[arg-type]
    surroundings = Settings(runs=".", environ={**KEYS, **variables}, env_file=env_file)  # type: ignore[arg-type]
    return endpoint_of(vendor(provider), model, surroundings, None)


def test_the_usual_key_at_the_usual_address() -> None:
    assert place().base_url == "https://api.openai.com/v1"
    assert place(key="LAB_KEY").key == KEYS["LAB_KEY"]


@pytest.mark.parametrize("key", ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME"])
@pytest.mark.parametrize("base_url", [None, EVIL, "http://127.0.0.1:9/v1"])
def test_other_secrets_go_nowhere(key: str, base_url: str | None) -> None:
    consent.allow("evil.example")
    with pytest.raises(StudyError, match=f"openai/m: {key} does not look like a key for openai, and is sent to nobody"):
        place(key=key, base_url=base_url)


@pytest.mark.parametrize("key", [None, "LAB_KEY"])
def test_an_address_that_only_the_study_names_needs_a_word(key: str | None) -> None:
    said = (
        rf"the rows and the key in {key or 'OPENAI_API_KEY'} would go to evil\.example, as the study or run says, and"
    )
    with pytest.raises(ConsentNeeded, match=said):
        place(base_url=EVIL, key=key)
    consent.allow("evil.example")
    assert place(base_url=EVIL, key=key).base_url == EVIL


def test_rows_alone_need_one_too() -> None:
    with pytest.raises(ConsentNeeded, match=r"the rows would go to evil\.example:8000, as the study"):
        place("compatible", base_url="http://evil.example:8000/v1")


def test_one_vendors_key_is_not_for_another() -> None:
    said = r"openai/m: the rows and the key in ANTHROPIC_API_KEY would go to api\.openai\.com, although that is the key"
    with pytest.raises(ConsentNeeded, match=said):
        place(key="ANTHROPIC_API_KEY")


def test_this_machine_and_the_users_environment_are_trusted() -> None:
    assert place(base_url="http://127.0.0.1:8000/v1")
    assert place("compatible", base_url="http://localhost:8000/v1", key="OPENAI_API_KEY")
    assert place(OPENAI_BASE_URL=EVIL).base_url == EVIL
    assert place(OPENAI_BASE_URL=EVIL, base_url=EVIL).base_url == EVIL
    with pytest.raises(ConsentNeeded):
        place(OPENAI_BASE_URL="https://other.example/v1", base_url=EVIL)


def test_no_key_travels_in_the_open() -> None:
    consent.allow("gpu.example")
    for fields in ({"base_url": "http://gpu.example:8000/v1"}, {"OPENAI_BASE_URL": "http://gpu.example:8000/v1"}):
        with pytest.raises(StudyError, match=r"OPENAI_API_KEY would travel unencrypted to gpu\.example:8000"):
            place(**fields)
    assert place("compatible", base_url="http://gpu.example:8000/v1").key == ""


def test_an_env_file_sends_no_key_but_its_own() -> None:
    address = frozenset({"OPENAI_BASE_URL"})
    with pytest.raises(ConsentNeeded, match=r"would go to evil\.example, as \.env says, and not to api\.openai\.com"):
        place(env_file=address, OPENAI_BASE_URL=EVIL)
    with pytest.raises(ConsentNeeded):
        place(env_file=address | {"OPENAI_API_KEY"}, OPENAI_BASE_URL=EVIL, key="LAB_KEY")
    with pytest.raises(ConsentNeeded):  # to name the same in the study makes it no better
        place(env_file=address, OPENAI_BASE_URL=EVIL, base_url=EVIL)
    assert place(env_file=address | {"OPENAI_API_KEY"}, OPENAI_BASE_URL=EVIL).base_url == EVIL


def test_a_bucket_that_the_study_names_needs_a_word() -> None:
    buckets = Buckets(input="gs://theirs/in", output="gs://theirs/out")
    google = {"GOOGLE_CLOUD_PROJECT": "lab"}
    with pytest.raises(ConsentNeeded, match=r"the rows would go to the bucket gs://theirs, .*--allow-host gs://theirs"):
        place("vertex", buckets=buckets, **google)
    own = {"VERTEX_INPUT_BUCKET": "gs://mine/in", "VERTEX_OUTPUT_BUCKET": "gs://mine/out"}
    assert place("vertex", **google, **own).buckets is not None
    consent.allow("gs://theirs")
    assert place("vertex", buckets=buckets, **google).buckets == buckets


def test_what_a_program_of_the_users_names_is_good_for_a_later_resume() -> None:
    surroundings = Settings(runs=".", environ=KEYS)  # type: ignore[arg-type]
    model = Model(provider="openai", name="m", base_url=EVIL, key="LAB_KEY")
    agree_to(vendor("openai"), model, surroundings)
    assert endpoint_of(vendor("openai"), model, surroundings, None).base_url == EVIL
    with pytest.raises(ConsentNeeded):  # with that key, and no other
        endpoint_of(vendor("openai"), Model(provider="openai", name="m", base_url=EVIL), surroundings, None)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("us-central1-aiplatform.googleapis.com", True),
        ("aiplatform.googleapis.com", True),
        ("aiplatform.eu.rep.googleapis.com", True),
        ("evil-aiplatform.googleapis.com.evil.example", False),
        ("bucket.storage.googleapis.com", False),
    ],
)
def test_vertex_has_many_hosts_of_its_own(host: str, own: bool) -> None:
    assert own_host(vendor("vertex"), host) is own


def test_own_hosts_are_whole_names() -> None:
    assert own_host(vendor("openai"), "API.openai.com.")
    assert not own_host(vendor("openai"), "api.openai.com.evil.example")
    assert not own_host(vendor("compatible"), "")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://A.example/v1", "a.example"),
        ("https://a.example:443/v1", "a.example"),
        ("http://a.example:8000", "a.example:8000"),
        ("https://[2001:db8::1]:8/v1", "[2001:db8::1]:8"),
        ("https://\u0430pi.openai.com/v1", "xn--pi-6kc.openai.com"),
    ],
)
def test_a_host_is_named_as_the_flag_takes_it(address: str, host: str) -> None:
    assert host_of(address) == host


def test_this_machine() -> None:
    assert all(map(is_loopback, ("localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example", "")))


NEEDED = {
    "azure": {"AZURE_OPENAI_API_KEY": "az-0123456789"},
    "bedrock": {"AWS_ACCESS_KEY_ID": "AKIA0123456789", "AWS_REGION": "us-east-1"},
    "fireworks": {"FIREWORKS_API_KEY": "fw-0123456789"},
    "groq": {"GROQ_API_KEY": "gsk-0123456789"},
    "mistral": {"MISTRAL_API_KEY": "mi-0123456789"},
    "together": {"TOGETHER_API_KEY": "to-0123456789"},
    "xai": {"XAI_API_KEY": "xai-0123456789"},
}


@pytest.mark.parametrize("provider", NEEDED)
def test_no_vendors_key_goes_to_a_foreign_address_unasked(provider: str) -> None:
    with pytest.raises(ConsentNeeded, match=r"would go to evil\.example"):
        place(provider, base_url=EVIL, **NEEDED[provider])
    consent.allow("evil.example")
    assert place(provider, base_url=EVIL, **NEEDED[provider]).base_url.startswith("https://evil.example")


AZURE = {"AZURE_OPENAI_API_KEY": "az-0123456789"}
AWS = {"AWS_PROFILE": "lab", "AWS_REGION": "us-east-1"}
GOOGLE = {"GOOGLE_CLOUD_PROJECT": "lab"}


def test_a_resource_at_azure_is_somebodys() -> None:
    """Every customer of Azure has one: what a stranger's study names may be the stranger's."""
    theirs = "https://theirs.openai.azure.com"
    with pytest.raises(
        ConsentNeeded, match=r"AZURE_OPENAI_API_KEY would go to theirs\.openai\.azure\.com, as the study"
    ):
        place("azure", base_url=theirs, **AZURE)
    with pytest.raises(ConsentNeeded, match="--allow-host"):
        place("azure", base_url=theirs, AZURE_OPENAI_ENDPOINT="https://mine.openai.azure.com", **AZURE)
    assert place("azure", base_url=theirs, AZURE_OPENAI_ENDPOINT=theirs, **AZURE)
    assert place("azure", AZURE_OPENAI_ENDPOINT=theirs, **AZURE)
    consent.allow("theirs.openai.azure.com")
    assert place("azure", base_url=theirs, **AZURE)


def test_a_bucket_at_amazon_needs_a_word_too() -> None:
    buckets = Buckets(input="s3://theirs/in", output="s3://other/out")
    for bucket in ("theirs", "other"):
        said = rf"the rows would go to the bucket s3://{bucket}, .*--allow-host s3://{bucket}"
        with pytest.raises(ConsentNeeded, match=said):
            place("bedrock", buckets=buckets, **AWS)
        consent.allow(f"s3://{bucket}")
    assert place("bedrock", buckets=buckets, **AWS).buckets == buckets


@pytest.mark.parametrize(
    ("provider", "variable", "value"),
    [
        ("bedrock", "AWS_REGION", "evil.example/"),
        ("bedrock", "AWS_REGION", "us-east-1.evil.example#"),
        ("vertex", "GOOGLE_CLOUD_LOCATION", "evil.example/"),
        ("vertex", "GOOGLE_CLOUD_LOCATION", "x@evil.example:443/"),
    ],
)
def test_the_name_of_a_region_makes_no_other_host(provider: str, variable: str, value: str) -> None:
    fields = {**AWS, **GOOGLE, variable: value}
    with pytest.raises(StudyError, match=f"{variable}: .* is not the name of a region"):
        place(provider, frozenset({variable}), **fields)


@pytest.mark.parametrize(
    ("provider", "named", "redirected"),
    [
        ("vertex", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_VERTEX_BASE_URL"),
        ("bedrock", "AWS_PROFILE", "AWS_ENDPOINT_URL_BEDROCK"),
    ],
)
def test_to_name_the_users_credentials_does_not_make_them_the_env_files_own(
    provider: str, named: str, redirected: str, tmp_path: Path
) -> None:
    file = tmp_path / "credentials.json"
    file.write_text("{}")
    value = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "AWS_PROFILE": "lab"}[named]
    assert vendor(provider).base_url_variable == redirected
    fields = {**AWS, **GOOGLE, named: value, redirected: "https://evil.example"}
    with pytest.raises(ConsentNeeded, match=r"would go to evil\.example, as \.env says"):
        place(provider, frozenset({named, redirected}), **fields)


def test_an_env_file_names_no_other_store() -> None:
    assert in_env_file({"AWS_ENDPOINT_URL_S3", "STORAGE_EMULATOR_HOST", "AWS_REGION"}) == {"AWS_REGION"}
