"""Secrets recognised by their place: after a name, in a header, in a URL, after an option."""

import re

from shared.secrets.kinds import SecretKind
from shared.secrets.phrases import PHRASES
from shared.secrets.products import PRODUCTS
from shared.secrets.rule import Found, MaskRule
from shared.secrets.tokens import TOKENS
from shared.secrets.worth import is_no_word, is_pass, is_password, is_token

_BARE = rb"[^\s\"'&;](?:[^\s&;]*[^\s&;\"'`,.)\]}>])?"
_VALUE = (
    rb"(?P<open>\\{0,3}[\"'])?"
    rb"(?P<value>(?(open)(?:(?!(?P=open))(?:\\.|[^\r\n]))+|" + _BARE + rb"))"
)
"""Between quotes (escaped ones, too) up to the closing one; unquoted up to a blank, & or ;."""

_IS = rb"(?:\\{0,3}[\"'])?\]?[ \t]{0,40}(?:=>|:=|==|=|:)[ \t]{0,40}"
_TAIL = rb"(?:[_-]?(?:value|data|base64|b64|plain|plaintext|text|string|new|old|\d{1,3})){0,2}"
_BARE_PASS = tuple(b"pass%c" % byte for byte in b"=:\"'\\] \t_-vdbptsno0123456789")
"""What may follow a bare `pass`; `passed` and `passing` occur in too many lines."""
_PASS_WORD = rb"pass(?:word|wd|phrase|code|wort)"
_BEFORE_PASS = (
    rb"(?:(?<![a-z])|(?<=db)|(?<=user)|(?<=root)|(?<=admin)|(?<=mysql)|(?<=pg)|(?<=smtp))"
)
_OPTION = (
    rb"(?:" + _PASS_WORD + rb"|passwd|pass|token|secret|api-?key|secret-?key|access-?key"
    rb"|private-?key|auth|credential|bearer)"
)
_KEY_WORDS = (
    b"api access private secret signing encryption shared preshared pre-shared auth master account "
    b"license session storage admin deploy webhook application app encrypt crypt data jwt hmac"
).split()
_KEYS = tuple(word + between + b"key" for word in _KEY_WORDS for between in (b"", b"_", b"-", b"."))
"""Every way to write a key with its purpose: `key` alone occurs in too many lines."""
_NAMED_TOKEN = (
    rb"(?<!\$\{)(?:(?:" + b"|".join(_KEY_WORDS) + rb")[_.-]?keys?|secrets?|tokens?"
    rb"|client-key-data|tls\.key|psk|credentials?|unseal key \d+|connection[_-]?string)"
)


def _any(found: Found) -> bool:
    return bool(found["value"])


def _cookie(found: Found) -> bool:
    return b"=" in found["value"]


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return re.compile(text, re.IGNORECASE)


def _triggers(text: bytes) -> tuple[bytes, ...]:
    return tuple(text.split())


_NAMED = (
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"passwo passwd passph passco"),
        _pattern(rb"pass(?:word|wd|phrase|code|wort)s?" + _TAIL + _IS + _VALUE),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _BARE_PASS,
        _pattern(_BEFORE_PASS + rb"pass" + _TAIL + _IS + _VALUE),
        is_pass,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"pwd"),
        _pattern(rb"(?<!old)(?<![a-z])pwd" + _TAIL + _IS + _VALUE),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"passwo passwd passph passco"),
        _pattern(
            rb"(?:" + _PASS_WORD + rb"|passwd)[ \t]+(?:is|was|set to|changed to|will be)"
            rb"[ \t]*:?[ \t]*" + _VALUE
        ),
        is_no_word,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"password identified"),
        _pattern(
            rb"(?:password|identified[ \t]+(?:with[ \t]+\S+[ \t]+)?by)[ \t]+"
            rb"(?P<quote>[\"'])(?P<value>[^\"'\r\n]+)"
        ),
    ),
    MaskRule(
        SecretKind.TOKEN,
        (b"secret", b"token", b"credential", b"connectionstring", b"connection_string",
         b"connection-string", b"unseal", b"client-key-data", b"tls.key", b"psk", *_KEYS),
        _pattern(_NAMED_TOKEN + _TAIL + _IS + _VALUE),
        is_token,
        near=re.compile(_NAMED_TOKEN + _TAIL + _IS),
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"passwo"),
        _pattern(
            rb"(?:temporary|initial|generated|new|default|one-time)[ \t]+password\b"
            rb"[^:=\r\n]{1,60}:[ \t]+" + _VALUE
        ),
        is_no_word,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"requirepass masterauth"),
        _pattern(rb"^[ \t]*(?:requirepass|masterauth)[ \t]+" + _VALUE),
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"passwo passwd secret token apikey api-key"),
        _pattern(
            rb"<(?:[\w.:-]{0,40}?)(?:password|passwd|secret|token|api-?key)>"
            rb"(?P<value>[^<\r\n]+)</"
        ),
        is_password,
        needs=b"</",
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"passwo passwd secret token api_key"),
        _pattern(
            rb"(?:password|passwd|secret|token|secret_key|api_key)[\"'][ \t]*,[ \t]*"
            rb"(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote))[^\r\n])+)(?P=quote)"
        ),
        is_no_word,
        needs=b",",
    ),
    MaskRule(
        SecretKind.TOKEN,
        _triggers(b'auth"'),
        _pattern(rb"\"auth\"[ \t]*:[ \t]*\"(?P<value>[A-Za-z0-9+/=_-]{8,})\""),
    ),
)  # fmt: skip

_COMMANDS = (
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(
            b"-pass -token -secret -api-key -apikey -access-key -accesskey -private-key "
            b"-privatekey -auth -credential -bearer"
        ),
        _pattern(rb"(?<![\w-])--?(?:[a-z]{1,12}-){0,2}" + _OPTION + rb"[ \t]+(?!-)" + _VALUE),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"mysql mariadb"),
        _pattern(rb"(?:mysql\w*|mariadb[\w-]*)\b[^|;\r\n]{0,400}?[ \t]-p(?P<value>[^\s;|&]+)"),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"sshpass docker podman helm redis-cli htpasswd ldap createuser useradd"),
        _pattern(
            rb"(?:sshpass\b[^|;\r\n]{0,80}?[ \t]-p[ \t]*"
            rb"|(?:docker|podman|helm)\b[^|;\r\n]{0,80}?\blogin\b[^|;\r\n]{0,200}?[ \t]-p[ \t]+"
            rb"|redis-cli\b[^|;\r\n]{0,200}?[ \t]-a[ \t]+"
            rb"|ldap\w{1,12}\b[^|;\r\n]{0,200}?[ \t]-w[ \t]*"
            rb"|useradd\b[^|;\r\n]{0,200}?[ \t]-p[ \t]+"
            rb"|createuser[ \t]+\S+[ \t]+(?:md5|sha\S*)[ \t]+"
            rb"|htpasswd[ \t]+-\w*b\w*(?:[ \t]+-\w+)*[ \t]+\S+[ \t]+\S+[ \t]+)" + _VALUE
        ),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"curl"),
        _pattern(
            rb"\bcurl\b[^|;\r\n]{0,400}?[ \t](?:-u|--user|--proxy-user)[ \t=]*"
            rb"[\"']?[^\s:\"']{1,100}:(?!//)(?P<value>[^\s\"']+)"
        ),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"pass:"),
        _pattern(rb"-pass(?:in|out)?[ \t]+[\"']?pass:(?P<value>[^\s\"']+)"),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"chpasswd sudo --stdin --password-stdin"),
        _pattern(
            rb"(?:echo|printf)[ \t]+(?:-\w+[ \t]+|%s\S*[ \t]+)?[\"']?(?:[\w.-]+:)?"
            rb"(?P<value>[^\s\"'|]+)(?:\\n)?[\"']?[ \t]*\|[^|\r\n]{0,80}?"
            rb"(?:chpasswd|sudo[ \t]+(?:-\w+[ \t]+)*-\w*S|--stdin|--password-stdin)"
        ),
        is_password,
    ),
)

_PLACES = (
    MaskRule(
        SecretKind.PASSWORD,
        (b"://",),
        _pattern(rb"://[^\s/?#@:'\"<>]{0,256}:(?P<value>[^\s/'\"<>]+)@"),
        is_password,
        needs=b"@",
    ),
    MaskRule(
        SecretKind.TOKEN,
        (b"://",),
        _pattern(rb"://(?P<value>[A-Za-z0-9_-]{16,})@"),
        needs=b"@",
    ),
    MaskRule(
        SecretKind.TOKEN,
        _triggers(b"sig= signature= token= code= key="),
        _pattern(
            rb"[?&](?:sig|x-amz-signature|x-amz-security-token|x-goog-signature|signature|code"
            rb"|(?:access_|id_|refresh_|auth_)?token|(?:api_?)?key)=(?P<value>[^\s&\"'#<>]+)"
        ),
        is_token,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b"login"),
        _pattern(rb"\blogin[ \t]+\S+[ \t]+password[ \t]+(?P<value>\S+)"),
    ),
    MaskRule(
        SecretKind.PASSWORD,
        _triggers(b":*: :5432: :6432:"),
        _pattern(rb"^[\w.*-]+:(?:[56]432|\*):[\w*-]+:[\w*-]+:(?P<value>\S+)[ \t]*$"),
    ),
    MaskRule(
        SecretKind.HASH,
        _triggers(b"$1$ $5$ $6$ $7$ $y$ $gy$ $2a$ $2b$ $2y$ $apr1$ $argon2 $pbkdf2 $scrypt"),
        _pattern(rb"(?P<value>\$(?:[1567y]|gy|2[aby]|apr1|argon2\w*|pbkdf2[\w-]*|scrypt)\$"
                 rb"[./A-Za-z0-9,=$+-]{8,})"),
    ),
    MaskRule(
        SecretKind.HASH,
        _triggers(b"{ssha {sha scram-sha {crypt pbkdf2_sha {md5} {smd5}"),
        _pattern(rb"(?P<value>\{(?:S?SHA\d*|CRYPT|S?MD5)\}[A-Za-z0-9+/=$.]{16,}"
                 rb"|scram-sha-\d+\$\d+:[A-Za-z0-9+/=$:]{40,}"
                 rb"|pbkdf2_sha\d+\$\d+\$[A-Za-z0-9+/=$]{20,})"),
    ),
)  # fmt: skip

_HEADERS = (
    MaskRule(
        SecretKind.HEADER,
        _triggers(b"authorization"),
        _pattern(
            rb"authorization(?:\\{0,3}[\"'])?[ \t]*[:=][ \t]*(?:\\{0,3}[\"'])?(?:digest|hawk"
            rb"|aws4-hmac-sha256)[ \t]+(?P<value>[^\r\n]*[^\s'])"
        ),
    ),
    MaskRule(
        SecretKind.HEADER,
        _triggers(b"authorization"),
        _pattern(
            rb"authorization(?:\\{0,3}[\"'])?[ \t]*[:=][ \t]*(?:\\{0,3}[\"'])?(?:bearer|basic|token"
            rb"|negotiate|ntlm|apikey|bot|key|splunk)[ \t]+(?!realm)"
            rb"(?P<value>[^\s\"'\\][^\"'\\\r\n]*)"
        ),
    ),
    MaskRule(
        SecretKind.HEADER,
        _triggers(b"authorization"),
        _pattern(rb"authorization" + _IS + _VALUE),
        is_token,
    ),
    MaskRule(
        SecretKind.HEADER,
        _triggers(b"bearer"),
        _pattern(rb"\bbearer[ \t]+(?P<value>[A-Za-z0-9._~+/-]{16,}=*)"),
        is_token,
    ),
    MaskRule(
        SecretKind.HEADER,
        _triggers(b"cookie"),
        _pattern(rb"\b(?:set-)?cookie2?(?:[\"'])?[ \t]*:[ \t]*[\"']?(?P<value>[^\"'\r\n]+)"),
        _cookie,
    ),
    MaskRule(
        SecretKind.HEADER,
        _triggers(b"-token -key -secret -auth -apikey"),
        _pattern(
            rb"\bx-(?:[a-z]{1,20}-){0,3}(?:token|key|secret|auth|authorization|apikey)"
            + _IS + _VALUE
        ),
        is_password,
    ),
)  # fmt: skip

RULES: tuple[MaskRule, ...] = (
    *(*TOKENS, *_HEADERS, *_PLACES, *_COMMANDS, *_NAMED),
    *(*PHRASES, *PRODUCTS),
)
"""All rules; every rule searches each line, and their findings are merged."""
