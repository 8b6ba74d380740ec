"""Environment variables by their names: which hold a key of ours, which hold somebody else's secret."""

import re
from collections.abc import Iterable

from overnight.providers import Vendor, keeps_in_folder, key_variables, variables_of, vendors

_KEY_LIKE = re.compile(r"KEY|TOKEN|CREDENTIALS", re.IGNORECASE)
# Secrets that have nothing to do with language models, by the words their names are made of.
_OTHERS = re.compile(
    r"(?:^|_)(?:AWS|AMAZON|GITHUB|GH|GITLAB|BITBUCKET|CI|NPM|NODE|YARN|PYPI|TWINE|CARGO|RUBYGEMS|GEM|CONDA|"
    r"DOCKER|KUBE|KUBERNETES|HELM|VAULT|CONSUL|TERRAFORM|TF|ANSIBLE|HEROKU|NETLIFY|VERCEL|FLY|RAILWAY|"
    r"DIGITALOCEAN|CLOUDFLARE|CF|FASTLY|LINODE|HETZNER|STRIPE|PAYPAL|SQUARE|PLAID|BINANCE|COINBASE|"
    r"SLACK|DISCORD|TELEGRAM|TWILIO|SENDGRID|MAILGUN|MAILCHIMP|SMTP|SENTRY|DATADOG|DD|NEWRELIC|CODECOV|SONAR|"
    r"JIRA|ATLASSIAN|NOTION|AIRTABLE|LINEAR|ZAPIER|DROPBOX|BOX|TWITTER|FACEBOOK|SPOTIFY|KAGGLE|WANDB|"
    r"DATABASE|DB|POSTGRES|PG|PGPASSWORD|MYSQL|MONGO|MONGODB|REDIS|SNOWFLAKE|DATABRICKS|SUPABASE|FIREBASE|"
    r"SSH|GPG|PGP|AGE|SOPS|JWT|SESSION|COOKIE|CSRF|DJANGO|FLASK|RAILS|LARAVEL|APP|ENCRYPTION|SIGNING|MASTER|"
    r"SECRET|PRIVATE|PASSWORD|PASSWD|PASSPHRASE|BANK|WALLET)(?:_|$)",
    re.IGNORECASE,
)
_AZURE_BUT_NOT_MODELS = re.compile(r"(?:^|_)(?:AZURE|ARM)(?!_OPENAI|_AI|_API)(?:_|$)", re.IGNORECASE)


def own_variable(vendor: Vendor, variable: str) -> bool:
    """Whether this is where the vendor's key usually is."""
    return variable in key_variables(vendor)


def owner_of(variable: str) -> str | None:
    """The vendor whose usual key this is."""
    return next((one.name for one in vendors().values() if variable in key_variables(one)), None)


def looks_like_key(variable: str) -> bool:
    """A name that a key for a model may have, and that no other well-known secret has."""
    if owner_of(variable) is not None:
        return True
    if _KEY_LIKE.search(variable) is None:
        return False
    return _OTHERS.search(variable) is None and _AZURE_BUT_NOT_MODELS.search(variable) is None


def in_env_file(names: Iterable[str]) -> set[str]:
    """Of these variables, those that a `.env` may set: keys, and what else the vendors read of their accounts."""
    known = set[str]().union(*(variables_of(one) for one in vendors().values())) - place_variables()
    return {name for name in names if name in known or looks_like_key(name)}


def place_variables() -> set[str]:
    """Those that name a folder of this machine: a file that came from elsewhere must not say where to write."""
    return {one.base_url_variable for one in vendors().values() if keeps_in_folder(one)}
