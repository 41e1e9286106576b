"""Secrets in sentences, as people type them: what stands where a password would."""

import re

from shared.secrets.kinds import SecretKind
from shared.secrets.rule import MaskRule
from shared.secrets.worth import is_guess, is_strong_token

_WORD = (
    rb"(?:pass(?:word|wd|phrase|code|wort)|kennwort|mot de passe|contrase(?:\xc3\xb1|n)a"
    rb"|(?<![a-z])(?:pw|pwd|pin(?: code)?))"
)
_BETWEEN = (
    rb"(?:(?:'s|is|are|was|will|should|must|be|set|reset|changed|to|too|now|still|for[ \t]+\S+"
    rb"|of[ \t]+\S+|here|as|being|equals|=|:|->|\(|,)[ \t]*){0,6}"
)
_TYPED = rb"[\"'`(\[<]?(?P<value>[^\s\"'`<>]{5,}[^\s\"'`<>.,;:!?)\]])"
_NAME = rb"[\"'`]?[\w.@+-]{1,60}[\"'`]?"
_HOLDER = rb"(?:log[ -]?in|sign[ -]?in|logon|credentials?|creds|account|access data|zugang)s?"


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return re.compile(text, re.IGNORECASE)


PHRASES = (
    MaskRule(
        SecretKind.PASSWORD,
        (
            b"passwo",
            b"passwd",
            b"passph",
            b"passco",
            b"kennwort",
            b"mot de passe",
            b"contrase",
            b"pw ",
            b"pw=",
            b"pw:",
            b"pwd ",
            b"pin ",
        ),
        _pattern(_WORD + rb"(?:s?[ \t]+|(?='s))" + _BETWEEN + _TYPED),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (
            b"kennwort",
            b"mot de passe",
            b"contrase",
            b"pw:",
            b"pw=",
            b"pw =",
            b"pw :",
            b"pin:",
            b"code:",
            b"seed=",
        ),
        _pattern(
            rb"(?:kennwort|mot de passe|contrase(?:\xc3\xb1|n)a|(?<![a-z])(?:[a-z]+[_-])?pw"
            rb"|pin(?: code)?|seed)[ \t]*[:=][ \t]*" + _TYPED
        ),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (
            b"login",
            b"log in",
            b"log-in",
            b"sign in",
            b"signin",
            b"logon",
            b"creden",
            b"creds",
            b"account",
            b"zugang",
        ),
        _pattern(
            _HOLDER
            + rb"(?![a-z])[ \t]*(?:(?:is|are|as|with|by|using|data|to[ \t]+\S+|:|=)[ \t]*){0,4}"
            + _NAME
            + rb"[ \t]*(?:/|:|,|\||and|with|pw)[ \t]*"
            + _TYPED
        ),
        is_guess,
    ),
    MaskRule(
        SecretKind.PASSWORD,
        (
            b"as password",
            b"as the password",
            b"as a password",
            b"as its password",
            b"as passphrase",
            b"as pw",
        ),
        _pattern(
            _TYPED + rb"[\"'`]?[ \t]+as[ \t]+(?:the|a|its|my)?[ \t]*(?:password|passphrase|pw)\b"
        ),
        is_guess,
    ),
    MaskRule(
        SecretKind.TOKEN,
        (b"token ", b"secret ", b"key ", b"bearer ", b"token's", b"secrets ", b"tokens "),
        _pattern(
            rb"(?<![\w/-])(?:tokens?|secrets?|bearer|(?:api|access|secret|private|license|auth)"
            rb"[ _-]?(?:access[ _-]?)?key)[ \t]+" + _BETWEEN + _TYPED
        ),
        is_strong_token,
    ),
)
"""Only what could not be a word counts: sentences about passwords stay as they are."""
