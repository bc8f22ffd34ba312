"""Each kind of secret is masked in every context. The keys are random and were never valid."""

import base64
import json
import random
import string

import pytest

from ctxtrim.summaries.redaction import redacted

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"


def noise(length: int, letters: str = ALNUM) -> str:
    """Characters that look random, with a letter and a digit in front."""
    return ("a1" if "a" in letters else "A7") + "".join(
        random.Random(length).choices(letters, k=length - 2)
    )


def groups(*lengths: int, letters: str = HEX, between: str = "-") -> str:
    return between.join(noise(length, letters) for length in lengths)


UUID = groups(8, 4, 4, 4, 12)
LOGIN = base64.b64encode(b"robot:" + noise(12).encode()).decode()

KEYS = {
    "1password account": ("access key", "A" + "3-" + groups(6, 11, 5, 5, 5, letters=UPPER)),
    "1password service": ("access token", "ops" + "_eyJ" + noise(260, BASE64)),
    "adobe": ("secret", "p8" + "e-" + noise(32)),
    "age": ("key", "AGE-SECRET" + "-KEY-1" + noise(58, UPPER)),
    "airtable": ("access token", "pat" + noise(14) + "." + noise(64, HEX)),
    "alibaba": ("access key", "LT" + "AI" + noise(20)),
    "anthropic": ("api key", "sk-" + "ant-api03-" + noise(95)),
    "anthropic admin": ("api key", "sk-" + "ant-admin01-" + noise(95)),
    "artifactory": ("api key", "AK" + "Cp" + noise(69)),
    "artifactory reference": ("access token", "cm" + "Vmd" + noise(59)),
    "atlassian": ("access token", "ATA" + "TT3" + noise(186)),
    "atlassian bitbucket": ("access token", "ATC" + "TT3" + noise(186)),
    "aws": ("access key", "AK" + "IA" + noise(16, BASE32)),
    "aws bedrock": ("api key", "AB" + "SK" + noise(120, BASE64)),
    "aws temporary": ("access key", "AS" + "IA" + noise(16, BASE32)),
    "buildkite": ("access token", "bk" + "ua_" + noise(40, HEX)),
    "circleci": ("access token", "CCI" + "PAT_" + noise(22) + "_" + noise(40, HEX)),
    "clojars": ("api key", "CLO" + "JARS_" + noise(60)),
    "cloudflare origin": ("api key", "v1" + ".0-" + groups(24, 146)),
    "databricks": ("access token", "da" + "pi" + noise(32, HEX)),
    "defined networking": ("access token", "dn" + "key-" + groups(26, 52, letters=LOWER)),
    "digitalocean": ("access token", "dop" + "_v1_" + noise(64, HEX)),
    "digitalocean oauth": ("access token", "doo" + "_v1_" + noise(64, HEX)),
    "digitalocean refresh": ("access token", "dor" + "_v1_" + noise(64, HEX)),
    "discord bot": ("token", "M" + noise(25) + "." + noise(6) + "." + noise(38)),
    "docker hub": ("access token", "dckr" + "_pat_" + noise(27)),
    "doppler": ("access token", "dp" + ".pt." + noise(43)),
    "doppler service": ("access token", "dp" + ".st.prd." + noise(43)),
    "dropbox": ("access token", "s" + "l." + noise(135)),
    "duffel": ("access token", "duf" + "fel_live_" + noise(43)),
    "dynatrace": ("access token", "dt0" + "c01." + noise(24, UPPER) + "." + noise(64, UPPER)),
    "easypost": ("api key", "EZ" + "AK" + noise(54)),
    "facebook page": ("access token", "EA" + "AM" + noise(120)),
    "figma": ("access token", "fi" + "gd_" + noise(40)),
    "flutterwave": ("api key", "FLW" + "SECK_TEST-" + noise(12, HEX)),
    "fly.io": ("access token", "fm" + "2_" + noise(120, BASE64)),
    "frame.io": ("access token", "fio" + "-u-" + noise(64)),
    "github": ("access token", "gh" + "p_" + noise(36)),
    "github app": ("access token", "gh" + "s_" + noise(36)),
    "github fine-grained": ("access token", "github" + "_pat_" + noise(82)),
    "gitlab": ("access token", "gl" + "pat-" + noise(20)),
    "gitlab deploy": ("access token", "gl" + "dt-" + noise(20)),
    "gitlab job": ("access token", "gl" + "cbt-64_" + noise(20)),
    "gitlab runner": ("access token", "gl" + "rt-" + noise(20)),
    "gitlab runner registration": ("access token", "GR" + "1348941" + noise(20)),
    "google": ("api key", "AI" + "za" + noise(35)),
    "google oauth": ("access token", "ya" + "29." + noise(60)),
    "google oauth client": ("secret", "GOC" + "SPX-" + noise(28)),
    "grafana": ("access token", "gl" + "sa_" + noise(32) + "_" + noise(8, HEX)),
    "grafana cloud": ("access token", "gl" + "c_" + noise(80)),
    "groq": ("api key", "gs" + "k_" + noise(52)),
    "harness": ("access token", "pa" + "t." + noise(22) + "." + noise(24) + "." + noise(20)),
    "heroku": ("access token", "HR" + "KU-AA" + noise(58)),
    "hugging face": ("access token", "h" + "f_" + noise(34)),
    "infracost": ("api key", "ic" + "o-" + noise(32)),
    "jwt": ("token", f"e{'yJ'}{noise(20)}.e{'yJ'}{noise(40)}.{noise(43)}"),
    "langsmith": ("api key", "ls" + "v2_pt_" + noise(32, HEX) + "_" + noise(10, HEX)),
    "linear": ("api key", "lin" + "_api_" + noise(40)),
    "lob": ("api key", "li" + "ve_" + noise(35, HEX)),
    "mailchimp": ("token", noise(32, HEX) + "-us" + "12"),
    "mailgun": ("api key", "ke" + "y-" + noise(32, HEX)),
    "mailgun signing": ("token", groups(32, 8, 8)),
    "maxmind": ("token", noise(6) + "_" + noise(29) + "_m" + "mk"),
    "microsoft entra": ("token", "aB~" + "8" + "Q~" + noise(34)),
    "netlify": ("access token", "nf" + "p_" + noise(36)),
    "new relic": ("api key", "NR" + "AK-" + noise(27, UPPER)),
    "notion": ("access token", "nt" + "n_" + "12345678901" + noise(35)),
    "npm": ("access token", "np" + "m_" + noise(36)),
    "nvidia": ("api key", "nv" + "api-" + noise(64)),
    "octopus deploy": ("api key", "AP" + "I-" + noise(26, UPPER)),
    "openai": ("api key", "sk-" + "proj-" + noise(74) + "T3Blbk" + "FJ" + noise(74)),
    "openai service": ("api key", "sk-" + "svcacct-" + noise(74) + "T3Blbk" + "FJ" + noise(74)),
    "openrouter": ("api key", "sk-" + "or-v1-" + noise(64, HEX)),
    "openshift": ("access token", "sha" + "256~" + noise(43)),
    "perplexity": ("api key", "pp" + "lx-" + noise(48)),
    "plaid": ("token", "access" + "-sandbox-" + UUID),
    "planetscale": ("access token", "pscale" + "_tkn_" + noise(43)),
    "planetscale password": ("password", "pscale" + "_pw_" + noise(43)),
    "postman": ("api key", "PM" + "AK-" + groups(24, 34)),
    "prefect": ("access token", "pn" + "u_" + noise(36)),
    "pulumi": ("access token", "pu" + "l-" + noise(40, HEX)),
    "pypi": ("access token", "py" + "pi-AgEIcHlwaS5vcmc" + noise(80)),
    "readme": ("api key", "rd" + "me_" + noise(70, LOWER)),
    "replicate": ("access token", "r" + "8_" + noise(37)),
    "rubygems": ("api key", "ruby" + "gems_" + noise(48, HEX)),
    "scalingo": ("access token", "tk" + "-us-" + noise(48)),
    "sendgrid": ("api key", "S" + "G." + noise(22) + "." + noise(43)),
    "sendinblue": ("api key", "xkey" + "sib-" + noise(64, HEX) + "-" + noise(16)),
    "sentry": ("access token", "snt" + "ryu_" + noise(64, HEX)),
    "sentry organization": ("access token", "snt" + "rys_eyJ" + noise(90) + "=_" + noise(43)),
    "settlemint": ("access token", "sm" + "_pat_" + noise(16)),
    "shippo": ("api key", "ship" + "po_live_" + noise(40, HEX)),
    "shopify": ("access token", "sh" + "pat_" + noise(32, HEX)),
    "shopify custom": ("access token", "sh" + "pca_" + noise(32, HEX)),
    "shopify private": ("access token", "sh" + "ppa_" + noise(32, HEX)),
    "shopify shared": ("secret", "sh" + "pss_" + noise(32, HEX)),
    "slack app": (
        "access token",
        "xa" + "pp-1-A0" + noise(9, UPPER) + "-5290" + "-" + noise(64, HEX),
    ),
    "slack bot": ("access token", "xo" + "xb-" + noise(40)),
    "slack configuration": ("access token", "xo" + "xe.xo" + "xp-1-" + noise(163)),
    "sourcegraph": ("access token", "sg" + "p_" + noise(40, HEX)),
    "square": ("access token", "sq0" + "atp-" + noise(22)),
    "stripe": ("api key", "s" + "k_live_" + noise(24)),
    "stripe restricted": ("api key", "r" + "k_live_" + noise(24)),
    "stripe webhook": ("secret", "wh" + "sec_" + noise(32)),
    "supabase": ("access token", "sb" + "p_" + noise(40, HEX)),
    "tailscale": ("access token", "ts" + "key-auth-" + noise(12) + "-" + noise(32)),
    "tavily": ("api key", "tv" + "ly-" + noise(32)),
    "telegram": ("token", "123456789" + ":A" + noise(34)),
    "terraform": ("token", noise(14) + ".atlas" + "v1." + noise(67)),
    "twilio": ("api key", "S" + "K" + noise(32, HEX)),
    "typeform": ("access token", "tf" + "p_" + noise(59)),
    "vault": ("access token", "hv" + "s." + noise(92)),
    "vault batch": ("access token", "hv" + "b." + noise(140)),
    "xai": ("api key", "xa" + "i-" + noise(80)),
    "yandex": ("api key", "AQ" + "VN" + noise(36)),
}
FRAMES = {
    "bare": "{}",
    "prose": "use {} for it",
    "quoted": "'{}'",
    "json": '{{"a": "{}"}}',
    "json in json": '"{{\\"a\\": \\"{}\\"}}"',
    "new line in json": '"first\\n{}\\nlast"',
    "shell": "export VALUE={} && make",
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(("kind", "key"), KEYS.values(), ids=KEYS)
def test_a_key_is_masked_in_any_context(kind: str, key: str, frame: str) -> None:
    masked = frame.format(f"[REDACTED {kind}]")
    assert redacted(frame.format(key)) == masked
    assert redacted(masked) == masked


SECRET = noise(24)
CONTEXTS = {
    "slack webhook": f"https://hooks.slack.com/services/T0/B0/{SECRET}",
    "slack workflow": f"https://hooks.slack.com/triggers/T0/{SECRET}",
    "discord webhook": f"https://discord.com/api/webhooks/1234/{SECRET}",
    "teams webhook": f"https://acme.webhook.office.com/webhookb2/{UUID}/IncomingWebhook/{SECRET}",
    "azure account key": f"AccountName=acme;AccountKey={SECRET}==;EndpointSuffix=core.windows.net",
    "azure shared access": f"https://acme.blob.core.windows.net/a?sv=2024-01-01&sig={SECRET}%3D&se=1",
    "presigned url": f"https://bucket.s3.amazonaws.com/a?X-Amz-Date=1&X-Amz-Signature={SECRET}",
    "url without a user": f"redis://:{SECRET}@cache:6379/0",
    "url with a slash in the password": f"postgres://app:{SECRET[:9]}/{SECRET[9:]}@db:5432/app",
    "url with a token as user": f"https://{SECRET}@github.com/acme/app.git",
    "url with a token and oauth": f"https://{SECRET}:x-oauth-basic@github.com/acme/app.git",
    "authorization token": f"Authorization: token {SECRET}",
    "authorization without a scheme": f"authorization: {SECRET}",
    "authorization api key": f'"Authorization": "ApiKey {SECRET}"',
    "basic login": f"Authorization: Basic {LOGIN}",
    "cookie": f"Cookie: theme=dark; sessionid={SECRET}",
    "set-cookie": f"Set-Cookie: sid={SECRET}; Path=/; HttpOnly",
    "cookie flag": f"curl --cookie 'session={SECRET}' https://a.example",
    "docker auth": f'"auths": {{"registry.example": {{"auth": "{LOGIN}"}}}}',
    "npm auth": f"//registry.example/:_auth={LOGIN}",
    "netrc": f"machine a.example login robot password {SECRET}",
    "netrc on lines": f"machine a.example\n  login robot\n  password {SECRET}",
    "curl user": f"curl -s -u robot:{SECRET} https://a.example",
    "curl quoted user": f"curl --user 'robot:{SECRET}' https://a.example",
    "mysql": f"mysql -h db -u root -p{SECRET} app",
    "sshpass": f"sshpass -p {SECRET} ssh host",
    "docker login": f"docker login -u robot -p {SECRET}",
    "redis-cli": f"redis-cli -h cache -a {SECRET} ping",
    "openssl": f"openssl rsa -in a.pem -passin pass:{SECRET}",
    "password flag": f"tool --password {SECRET} --verbose",
    "quoted password flag": f"tool --db-password '{SECRET} with blanks'",
    "password flag in a list": f'["tool", "--password", "{SECRET}"]',
    "token flag": f"tool --token {SECRET}",
    "token flag with a sign": f"tool --api-token={SECRET}",
    "short token flag with a sign": f"tool --token={SECRET[:8]}",
    "quoted key flag with a sign": f"tool --api-key='{SECRET[:10]}'",
    "key store flag with a sign": f"keytool -storepass={SECRET[:6]}",
    "quoted key with a blank": f'TOKEN="{SECRET[:6]} {SECRET[6:]}"',
    "quoted key with blanks and dollars": f'SECRET="{SECRET[:5]}$9 {SECRET[5:15]} {SECRET[15:]}"',
    "quoted key that begins as prose": f'AUTH_TOKEN="a$b {SECRET}"',
    "bearer": f"curl -H 'X: Bearer {SECRET}'",
    "password with a quote": f'password="it\'s{SECRET}"',
    "password with an escaped quote": f'password = "{SECRET[:5]}\\"{SECRET[5:]}"',
    "password with dollars": f"DB_PASSWORD={SECRET[:4]}$${SECRET[4:]}",
    "password without a closing quote": f'PASSWORD="{SECRET}',
    "subscription key": f"Ocp-Apim-Subscription-Key: {SECRET}",
}


@pytest.mark.parametrize("text", CONTEXTS.values(), ids=CONTEXTS)
def test_a_secret_is_masked_by_its_context(text: str) -> None:
    masked = redacted(text)
    assert masked.count("[REDACTED") == 1
    assert not any(piece in masked for piece in (SECRET, SECRET[:5], SECRET[-5:], LOGIN))
    assert redacted(masked) == masked


def test_a_secret_is_masked_at_any_depth_of_json_in_json() -> None:
    text = json.dumps({"password": SECRET, "api_key": SECRET, "argv": ["--token", SECRET]})
    for _ in range(5):
        assert redacted(text) == text.replace(SECRET, "[REDACTED password]", 1).replace(
            SECRET, "[REDACTED key]"
        )
        text = json.dumps({"text": text})


def test_a_password_of_several_words_is_masked() -> None:
    assert redacted('password = "correct horse battery"') == 'password = "[REDACTED password]"'
    assert redacted('API_KEY="correct horse battery 42"') == 'API_KEY="[REDACTED key]"'
    argument = redacted("--password correcthorse --user me")
    assert argument == "--password [REDACTED password] --user me"
