"""Formats of keys that their own characters identify: a prefix, an alphabet and a length.

Prefixes, alphabets and lengths in `_GITLEAKS` come from the default rules of gitleaks
(`config/gitleaks.toml` at commit 009e025ad4106ab333aa0b9dc4f2a884390d134c). Formats in `_VENDORS`
are not in that file; they are common knowledge. Lengths are shortest lengths: a match extends to
the end of its word, so that no rest of a longer key survives.

`KEYS` takes linear time: a match begins at the start of a word, and a mismatch reads only the word
and a bounded number of words after it.
"""

import re
from collections.abc import Iterable

from ctxtrim.loading import lazy_pattern

_WORD = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"
_UPPER = "[A-Z0-9]"
_HEX = "[0-9a-fA-F]"
_BASE64 = "[A-Za-z0-9+/]"
_UUID = f"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"
_END = "(?![A-Za-z0-9])"
_A3 = f"(?:{_UPPER}{{11}}|{_UPPER}{{6}}-{_UPPER}{{5}})"
_HAS_DIGIT = "(?=[A-Za-z_-]*+[0-9])"

# the kind that replaces the key, its literal prefixes, a pattern of the rest
_Format = tuple[str, str, str]

_GITLEAKS: tuple[_Format, ...] = (
    ("access key", "A3-", f"{_UPPER}{{6}}-{_A3}(?:-{_UPPER}{{5}}){{3}}{_END}"),
    ("access key", "A3T", f"[A-Z0-9][A-Z2-7]{{16}}{_END}"),
    ("access key", "ABIA ACCA", f"[A-Z2-7]{{16}}{_END}"),
    ("access key", "AKIA ASIA", f"{_UPPER}{{16}}{_END}"),
    ("access key", "LTAI", f"{_ALNUM}{{20}}{_END}"),
    ("access token", "ATATT3", "[A-Za-z0-9_=-]{50,}"),
    ("access token", "EAAA", f"{_HAS_DIGIT}{_WORD}{{22,}}"),
    ("access token", "EAAC EAAM", f"{_ALNUM}{{100,}}"),
    ("access token", "GR1348941", f"{_WORD}{{20,}}"),
    ("access token", "HRKU-AA", f"{_WORD}{{58,}}"),
    ("access token", "api_org_", f"{_ALNUM}{{34,}}"),
    ("access token", "cmVmd", f"{_ALNUM}{{59}}{_END}"),
    ("access token", "dapi", f"{_HEX}{{32}}(?:-[0-9])?{_END}"),
    ("access token", "dnkey-", "[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    ("access token", "doo_v1_ dop_v1_ dor_v1_", f"{_HEX}{{64}}"),
    ("access token", "dp.pt.", f"{_ALNUM}{{40,}}"),
    ("access token", "dt0c01.", f"{_ALNUM}{{24}}\\.{_ALNUM}{{64}}"),
    ("access token", "duffel_live_ duffel_test_", "[A-Za-z0-9_=-]{43}"),
    ("access token", "fio-u-", "[A-Za-z0-9_=-]{64}"),
    ("access token", "fm1a_ fm1r_ fm2_", f"{_BASE64}{{100,}}={{0,3}}"),
    ("access token", "fo1_", f"{_WORD}{{43,}}"),
    ("access token", "gho_ ghp_ ghr_ ghs_ ghu_", f"{_ALNUM}{{30,}}"),
    ("access token", "github_pat_", "[A-Za-z0-9_]{40,}"),
    ("access token", "glagent-", f"{_WORD}{{50,}}"),
    ("access token", "glc_", f"{_BASE64}{{32,}}={{0,3}}"),
    ("access token", "glcbt-", f"{_ALNUM}{{1,5}}_{_WORD}{{20,}}"),
    ("access token", "gldt- glffct- glft-", f"{_WORD}{{20,}}"),
    ("access token", "glimt-", f"{_WORD}{{25,}}"),
    ("access token", "gloas-", f"{_WORD}{{64,}}"),
    ("access token", "glpat-", f"{_WORD}{{20,}}(?:\\.[0-9a-z]{{9}})?"),
    ("access token", "glptt-", f"{_HEX}{{40}}"),
    ("access token", "glrt-", f"{_WORD}{{20,}}(?:\\.[0-9a-z]{{9}})?"),
    ("access token", "glsa_", f"{_ALNUM}{{32}}_{_HEX}{{8}}"),
    ("access token", "glsoat-", f"{_WORD}{{20,}}"),
    ("access token", "hf_", f"{_ALNUM}{{30,}}"),
    ("access token", "hvb.", f"{_WORD}{{100,}}"),
    ("access token", "hvs.", f"{_WORD}{{24,}}"),
    ("access token", "npm_", f"{_ALNUM}{{36,}}"),
    ("access token", "ntn_", f"[0-9]{{11}}{_ALNUM}{{35}}"),
    ("access token", "ops_eyJ", f"{_BASE64}{{100,}}={{0,3}}"),
    ("access token", "pat.", f"{_WORD}{{22}}\\.{_ALNUM}{{24}}\\.{_ALNUM}{{20}}"),
    ("access token", "pnu_", f"{_ALNUM}{{36,}}"),
    ("access token", "pscale_oauth_ pscale_tkn_", "[A-Za-z0-9_=.-]{32,64}"),
    ("access token", "pul-", f"{_HEX}{{40}}{_END}"),
    ("access token", "pypi-", f"{_WORD}{{50,}}"),
    ("access token", "sat.", f"{_WORD}{{22}}\\.{_ALNUM}{{24}}\\.{_ALNUM}{{20}}"),
    ("access token", "sgp_", f"(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}{_END}"),
    ("access token", "sha256~", f"{_WORD}{{43,}}"),
    ("access token", "shpat_ shpca_ shppa_", f"{_HEX}{{32}}"),
    ("access token", "sl.", f"{_HAS_DIGIT}[A-Za-z0-9_=-]{{130,}}"),
    ("access token", "sm_aat_ sm_pat_ sm_sat_", f"{_ALNUM}{{16,}}"),
    ("access token", "sntrys_eyJ", f"{_BASE64}{{20,}}={{0,2}}_{_BASE64}{{43}}"),
    ("access token", "sntryu_", f"{_HEX}{{64}}"),
    ("access token", "sq0atp-", f"{_WORD}{{22,}}"),
    ("access token", "t1.", f"{_WORD}{{10,}}={{0,2}}\\.{_WORD}{{86}}={{0,2}}"),
    ("access token", "tfp_", "[A-Za-z0-9_.=-]{40,80}"),
    ("access token", "tk-us-", f"{_WORD}{{48,}}"),
    ("access token", "xapp-", f"[0-9]-{_UPPER}+-[0-9]+-{_ALNUM}+"),
    ("access token", "xox", f"[abeoprs](?:\\.xox[bp])?-{_WORD}{{10,}}"),
    ("api key", "AIza", f"{_WORD}{{35,}}"),
    ("api key", "AKCp", f"{_ALNUM}{{69}}{_END}"),
    ("api key", "API-", f"{_HAS_DIGIT}{_UPPER}{{26}}{_END}"),
    ("api key", "AQVN", f"{_HAS_DIGIT}{_WORD}{{35,}}"),
    ("api key", "CLOJARS_", f"{_ALNUM}{{60}}"),
    ("api key", "EZAK EZTK", f"{_ALNUM}{{54}}{_END}"),
    ("api key", "FLWPUBK_TEST-", f"{_ALNUM}{{32}}-X"),
    ("api key", "FLWSECK_TEST-", f"{_ALNUM}{{12,}}"),
    ("api key", "NRAK-", f"{_ALNUM}{{27}}"),
    ("api key", "NRII-", f"{_WORD}{{32}}"),
    ("api key", "NRJS-", f"{_HEX}{{19}}"),
    ("api key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("api key", "SG.", f"{_WORD}{{16,}}\\.{_WORD}{{32,}}"),
    ("api key", "SK", f"{_HEX}{{32}}{_END}"),
    ("api key", "eyJrIjoi", f"{_ALNUM}{{40,}}={{0,3}}"),
    ("api key", "ico-", f"{_ALNUM}{{32}}{_END}"),
    ("api key", "key-", f"{_HEX}{{32}}{_END}"),
    ("api key", "lin_api_", f"{_ALNUM}{{40,}}"),
    ("api key", "live_", f"(?:pub_)?{_HEX}{{31,}}"),
    ("api key", "pplx-", f"{_ALNUM}{{40,}}"),
    ("api key", "rdme_", "[a-z0-9]{70}"),
    ("api key", "rk_", f"(?:live|prod|test)_{_ALNUM}{{10,}}"),
    ("api key", "rubygems_", f"{_HEX}{{48}}"),
    ("api key", "shippo_live_ shippo_test_", f"{_HEX}{{40}}"),
    ("api key", "sk-", f"{_HAS_DIGIT}{_WORD}{{20,}}"),
    ("api key", "sk_", f"(?:live|prod|test)_{_ALNUM}{{10,}}"),
    ("api key", "test_", f"(?:pub_)?{_HEX}{{31,}}"),
    ("api key", "v1.0-", f"{_HEX}{{24}}-{_HEX}{{146}}"),
    ("api key", "xkeysib-", f"{_HEX}{{64}}-{_ALNUM}{{16}}"),
    ("key", "AGE-SECRET-KEY-1", f"{_UPPER}{{50,}}"),
    ("password", "pscale_pw_", "[A-Za-z0-9_=.-]{32,64}"),
    ("secret", "p8e-", f"{_ALNUM}{{32}}{_END}"),
    ("secret", "s-s4t2af- s-s4t2ud-", f"{_HEX}{{64}}"),
    ("secret", "shpss_", f"{_HEX}{{32}}"),
    ("token", "access-", f"(?:sandbox|development|production)-{_UUID}"),
    ("token", "eyJ", f"{_WORD}{{8,}}\\.eyJ{_WORD}{{8,}}\\.{_WORD}{{8,}}"),
)
_VENDORS: tuple[_Format, ...] = (
    ("access key", "AIDA", f"{_UPPER}{{16}}{_END}"),  # AWS: IAM user
    ("access key", "AROA", f"{_UPPER}{{16}}{_END}"),  # AWS: role
    ("access token", "ATBB", f"{_HAS_DIGIT}{_ALNUM}{{24,}}"),  # Atlassian: Bitbucket
    ("access token", "ATCTT3", "[A-Za-z0-9_=-]{50,}"),  # Atlassian: Bitbucket
    ("access token", "CCIPAT_", f"{_ALNUM}{{20,}}_{_HEX}{{40}}"),  # CircleCI
    ("access token", "bkua_", f"{_HEX}{{40}}"),  # Buildkite
    ("access token", "dckr_oat_", f"{_WORD}{{24,}}"),  # Docker Hub
    ("access token", "dckr_pat_", f"{_WORD}{{24,}}"),
    ("access token", "dp.ct.", f"{_ALNUM}{{40,}}"),  # Doppler
    ("access token", "dp.sa.", f"{_ALNUM}{{40,}}"),
    ("access token", "dp.scim.", f"{_ALNUM}{{40,}}"),
    ("access token", "dp.st.", f"(?:[a-z0-9_-]{{1,35}}\\.)?{_ALNUM}{{40,}}"),
    ("access token", "figd_", f"{_WORD}{{36,}}"),  # Figma
    ("access token", "hvr.", f"{_WORD}{{24,}}"),  # HashiCorp Vault
    ("access token", "lin_oauth_", f"{_ALNUM}{{40,}}"),  # Linear
    ("access token", "nfp_", f"{_ALNUM}{{36,}}"),  # Netlify
    ("access token", "pat", f"{_ALNUM}{{14}}\\.{_HEX}{{64}}"),  # Airtable
    ("access token", "r8_", f"{_HAS_DIGIT}{_ALNUM}{{37}}"),  # Replicate
    ("access token", "sbp_", f"{_HEX}{{40}}"),  # Supabase
    ("access token", "tskey-", f"[a-z]{{3,10}}-{_WORD}{{20,}}"),  # Tailscale
    ("access token", "xwfp-", f"{_WORD}{{20,}}"),  # Slack: workflow
    ("access token", "ya29.", f"{_WORD}{{20,}}"),  # Google: OAuth
    ("api key", "ABSK", f"{_BASE64}{{100,}}={{0,2}}"),  # Amazon Bedrock
    ("api key", "gsk_", f"{_ALNUM}{{40,}}"),  # Groq
    ("api key", "lsv2_", f"(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}"),  # LangSmith
    ("api key", "nvapi-", f"{_WORD}{{60,}}"),  # NVIDIA
    ("api key", "pcsk_", f"{_HAS_DIGIT}[A-Za-z0-9_]{{40,}}"),  # Pinecone
    ("api key", "phx_", f"{_ALNUM}{{40,}}"),  # PostHog
    ("api key", "pk_", f"(?:live|test)_{_ALNUM}{{16,}}"),  # Stripe
    ("api key", "tvly-", f"{_HAS_DIGIT}{_WORD}{{28,}}"),  # Tavily
    ("api key", "xai-", f"{_HAS_DIGIT}{_ALNUM}{{60,}}"),  # xAI
    ("api key", "xsmtpsib-", f"{_HEX}{{64}}-{_ALNUM}{{16}}"),  # Brevo
    ("secret", "GOCSPX-", f"{_WORD}{{20,}}"),  # Google: OAuth client
    ("secret", "sb_secret_", f"{_WORD}{{20,}}"),  # Supabase
    ("secret", "sq0csp-", f"{_WORD}{{40,}}"),  # Square
    ("secret", "whsec_", f"{_BASE64}{{24,}}={{0,2}}"),  # Stripe, Svix: webhook signing
)
_UNPREFIXED = (
    f"[0-9]{{5,16}}:A{_WORD}{{34}}(?!{_WORD})",  # Telegram: bot
    f"bot[0-9]{{5,16}}:A{_WORD}{{34}}(?!{_WORD})",
    f"[MNO]{_WORD}{{23,27}}\\.{_WORD}{{6}}\\.{_WORD}{{27,}}",  # Discord: bot
    f"{_ALNUM}{{14}}\\.atlasv1\\.{_WORD}{{60,}}",  # HashiCorp Terraform
    f"{_HEX}{{32}}-us[0-9]{{1,2}}{_END}",  # Mailchimp
    f"[0-9a-h]{{32}}-[0-9a-h]{{8}}-[0-9a-h]{{8}}{_END}",  # Mailgun: signing key
    f"{_ALNUM}{{6}}_{_ALNUM}{{29}}_mmk{_END}",  # MaxMind
    f"[A-Za-z0-9_~.]{{3}}[0-9]Q~{_WORD}{{31,34}}",  # Microsoft Entra: client secret
)


_PREFIXED = [
    (kind, prefix, rest)
    for kind, prefixes, rest in (*_GITLEAKS, *_VENDORS)
    for prefix in prefixes.split()
]


def _compiled(formats: Iterable[_Format]) -> re.Pattern[str]:
    """One pattern for all formats, their prefixes sorted by first character, which is compared
    first.
    """
    by_first: dict[str, list[str]] = {}
    for _, prefix, rest in formats:
        by_first.setdefault(prefix[0], []).append(re.escape(prefix[1:]) + rest)
    branches = [f"{first}(?:{'|'.join(rests)})" for first, rests in sorted(by_first.items())]
    start = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))(?=[^\s\"'`<>]{15})"
    return lazy_pattern(f"{start}(?:{'|'.join((*branches, *_UNPREFIXED))})[A-Za-z0-9]*+")


KEYS = _compiled(_PREFIXED)
"""Matches a key of any format; a match begins at the start of a word."""


def kind_of(key: str) -> str:
    """The kind of a key that `KEYS` matches."""
    return next((kind for kind, prefix, _ in _PREFIXED if key.startswith(prefix)), "token")
