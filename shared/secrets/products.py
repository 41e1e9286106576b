"""Secrets in the files and commands of particular programs, by the names that these use."""

import re

from shared.secrets.kinds import SecretKind
from shared.secrets.rule import Found, MaskRule
from shared.secrets.worth import is_guess, is_password

_SET = rb"(?:[\"']?[ \t]*(?:=>|:=|=|:)[ \t]*|[ \t]+)"
_PLAIN = rb"[\"']?(?P<value>[^\s\"',;)>]+)"


def _always(_found: Found) -> bool:
    return True


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return re.compile(text, re.IGNORECASE)


def _named(names: bytes, *triggers: bytes) -> MaskRule:
    """A setting of one of these names, with its value behind a sign or a blank."""
    pattern = _pattern(rb"(?:" + names + rb")" + _SET + _PLAIN)
    return MaskRule(SecretKind.PASSWORD, triggers, pattern, is_password)


def _given(command: bytes, option: bytes, *triggers: bytes) -> MaskRule:
    """An option of a command, with its value."""
    pattern = _pattern(rb"\b(?:" + command + rb")\b[^|;\r\n]{0,300}?[ \t]" + option + _PLAIN)
    return MaskRule(SecretKind.PASSWORD, triggers, pattern, is_password)


def _exactly(kind: SecretKind, text: bytes, *triggers: bytes) -> MaskRule:
    return MaskRule(kind, triggers, re.compile(text), _always)


PRODUCTS = (
    _named(
        rb"secret_key_base|\w*bindpw|\w*rootpw|\w*authtok|\w*auth_pass|\w*authkey|shared-secret"
        rb"|insecure-password|r[ow]community6?|erlang\.cookie|(?:key|trust)?store_?pass(?:word)?"
        rb"|key_?pass(?:word)?|ssl_?pass(?:word)?|passwords?\.(?:encrypted|plain|enc)|(?<!\w)_auth"
        rb"|radius-server key|tacacs-server key|\w+user_pw|\w*dbpw|monitorpw|adminpw"
        rb"|bind_?passwd|bind_?credentials|sasl_?secret|community_?string|psk_?identity_?hint_?key"
        rb"|gateway_?secret|turn_?secret|static-auth-secret|registration_shared_secret"
        rb"|form_secret|macaroon_secret_key|stonith_?passwd|enable_?passwd",
        b"secret_key_base",
        b"bindpw",
        b"rootpw",
        b"authtok",
        b"auth_pass",
        b"authkey",
        b"shared-secret",
        b"insecure-password",
        b"community",
        b"erlang.cookie",
        b"storepass",
        b"store_pass",
        b"keypass",
        b"key_pass",
        b"sslpass",
        b"ssl_pass",
        b".encrypted",
        b".plain",
        b"password.enc",
        b"_auth=",
        b"_auth =",
        b"-server key",
        b"user_pw",
        b"dbpw",
        b"monitorpw",
        b"adminpw",
        b"bind_pass",
        b"bindpass",
        b"bind_cred",
        b"bindcred",
        b"sasl_secret",
        b"saslsecret",
        b"gateway_secret",
        b"turn_secret",
        b"auth-secret",
        b"shared_secret",
        b"form_secret",
        b"macaroon",
        b"stonith",
        b"enable_pass",
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b"passwo", b"passwd", b'pwd"', b'secret"', b'token"', b'key"', b"pwd'", b"secret'"),
        _pattern(
            rb"(?:key|name|id)[ \t]*=[ \t]*[\"'][^\"']{0,60}(?:password|passwd|pwd|passphrase"
            rb"|secret|token|api_?key)[\"'][^<>]{0,80}?[ \t]value[ \t]*=[ \t]*"
            rb"(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote))[^\r\n])+)"
        ),
        is_password,
        needs=b"alue",
    ),
    _exactly(
        SecretKind.HASH,
        rb"(?<![\w*])(?P<value>\*[0-9A-F]{40})(?![0-9A-Za-z])",
        b"| *",
        b"'*",
        b"\t*",
        b'"*',
        b": *",
        b", *",
    ),
    _exactly(SecretKind.HASH, rb"(?<![\w/-])(?P<value>md5[0-9a-f]{32})(?![0-9A-Za-z])", b"md5"),
    _exactly(
        SecretKind.HASH, rb"(?P<value>SCRAM-SHA-\d+\$\d+:[A-Za-z0-9+/=$:]{40,})", b"scram-sha"
    ),
    _exactly(SecretKind.TOKEN, rb"(?P<value>K10[0-9a-f]{50,}::[\w:.-]+)", b"k10"),
    _exactly(SecretKind.TOKEN, rb"(?P<value>replan_[0-9a-f]{12}_[A-Za-z0-9_-]{43})", b"replan_"),
    MaskRule(
        SecretKind.PASSWORD,
        tuple(b"%s %d" % (word, n) for word in (b"password", b"secret", b"key") for n in range(10)),
        _pattern(rb"(?:password|secret|key)[ \t]+[0-9][ \t]+(?P<value>[0-9a-f]{8,}|[$]\S{8,})"),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b"static:", b"]:587", b"]:465", b"]:25", b":587", b":465"),
        _pattern(
            rb"(?:\bstatic:[^:\s]{1,60}|^\[?[\w.-]{1,80}\]?(?::\d+)?[ \t]+[\w.+@-]{1,80})"
            rb":(?P<value>\S{4,})"
        ),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b"com2sec",),
        _pattern(rb"com2sec6?[ \t]+\S+[ \t]+\S+[ \t]+(?P<value>\S+)"),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b" on >", b"acl setuser", b"user default"),
        _pattern(rb"\b(?:user|setuser)[ \t]+\S+[ \t][^\r\n]{0,200}?>(?P<value>[^\s>\"']{4,})"),
        is_password,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b"auth ",),
        re.compile(rb"^[ \t>]*AUTH[ \t]+(?:\S+[ \t]+)?(?P<value>\S{6,})[ \t]*$", re.MULTILINE),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b"password('", b'password("', b"passwd('"),
        _pattern(rb"passw(?:or)?d\((?P<quote>[\"'])(?P<value>[^\"'\r\n]+)(?P=quote)"),
        is_guess,
    ),
    MaskRule(
        SecretKind.TOKEN,
        (b"_key'", b"_salt'", b'_key"', b'_salt"'),
        _pattern(
            rb"\w+_(?:key|salt)[\"'][ \t]*,[ \t]*"
            rb"(?P<quote>[\"'])(?P<value>[^\"'\r\n]{6,})(?P=quote)"
        ),
        is_guess,
    ),
    MaskRule(
        SecretKind.TOKEN,
        (b"encrypt", b'secret "', b'psk "', b'eap "', b'xauth "', b'ntlm "', b'rsa "'),
        _pattern(
            rb"(?:\bencrypt[\"']?[ \t]*[:=][ \t]*|\bsecret[ \t]+"
            rb"|:[ \t]*(?:psk|eap|xauth|ntlm)[ \t]+)"
            rb"[\"'](?P<value>[A-Za-z0-9+/=!@#$%^&*_.]{6,})[\"']"
        ),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b" * ", b"\t*\t"),
        _pattern(
            rb"^[ \t]*[\"']?[\w.@-]+[\"']?[ \t]+(?:\*|[\w.-]+)[ \t]+[\"']?(?P<value>[^\s\"'*]{6,})"
            rb"[\"']?[ \t]+\*[ \t]*$"
        ),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (b"stats auth",),
        _pattern(rb"stats auth[ \t]+[^\s:]+:(?P<value>\S+)"),
        is_password,
    ),
    _given(rb"mongo\w*", rb"-p[ \t]+", b"mongo"),
    _given(rb"zip|unzip", rb"-P[ \t]*", b"zip"),
    _given(rb"7z[ar]?", rb"-p", b"7z"),
    _given(rb"snmp\w+", rb"-[cAX][ \t]+", b"snmp"),
    _given(
        rb"ipmitool|ipmi\w*|sqlcmd|bcp|osql", rb"-P[ \t]*", b"ipmi", b"sqlcmd", b"bcp ", b"osql"
    ),
    _given(rb"lftp|ncftp\w*", rb"-u[ \t]*[^\s,]+,", b"lftp", b"ncftp"),
    _given(
        rb"smb\w+|rpcclient|net ads|nmblookup|winexe",
        rb"-U[ \t]*[^\s%]+%",
        b"smb",
        b"rpcclient",
        b"net ads",
        b"winexe",
    ),
    _given(
        rb"keytool|jarsigner", rb"-(?:store|key|src|dest)\w*pass[ \t]+", b"keytool", b"jarsigner"
    ),
    _given(rb"nmcli", rb"password[ \t]+", b"nmcli"),
    _given(rb"mc (?:alias|config host) (?:set|add) \S+ \S+ \S+", rb"", b"mc alias", b"mc config"),
    _given(rb"wpa_passphrase[ \t]+[\"']?[\w-]+[\"']?", rb"", b"wpa_passphrase"),
    _given(rb"net user[ \t]+\S+", rb"", b"net user"),
    _given(
        rb"sqlplus|exp|imp|expdp|impdp|rman",
        rb"[\w$#]+/(?![/\s])(?=\S+@)",
        b"sqlplus",
        b"expdp",
        b"impdp",
        b"rman",
    ),
    _given(rb"xfreerdp|rdesktop", rb"(?:/p:|-p[ \t]+)", b"freerdp", b"rdesktop"),
    _given(rb"vault|bao", rb"(?:password|token|secret\w*)=", b"vault ", b"bao "),
    _given(
        rb"az|gcloud|doctl|heroku|flyctl",
        rb"(?:-p|--password|--client-secret|--token)[ \t=]+",
        b"az login",
        b"gcloud",
        b"doctl",
        b"heroku",
        b"flyctl",
    ),
)
