"""Tokens that are recognised by their prefix; prefixes and lengths are defined by their issuers."""

import re

from shared.secrets.kinds import SecretKind
from shared.secrets.rule import MaskRule

_BEFORE = rb"(?<![A-Za-z0-9])"

# The prefix (found in any case; the pattern itself is exact), and the whole token.
_PREFIXED: tuple[tuple[bytes, bytes], ...] = (
    (b"ghp_", rb"ghp_[A-Za-z0-9]{30,}"),
    (b"gho_", rb"gho_[A-Za-z0-9]{30,}"),
    (b"ghu_", rb"ghu_[A-Za-z0-9]{30,}"),
    (b"ghs_", rb"ghs_[A-Za-z0-9]{30,}"),
    (b"ghr_", rb"ghr_[A-Za-z0-9]{30,}"),
    (b"github_pat_", rb"github_pat_[A-Za-z0-9_]{40,}"),
    (b"glpat-", rb"glpat-[\w.-]{20,}"),
    (b"glrt-", rb"glrt-[\w.-]{20,}"),
    (b"gldt-", rb"gldt-[\w.-]{20,}"),
    (b"glptt-", rb"glptt-[\w.-]{20,}"),
    (b"glcbt-", rb"glcbt-[\w.-]{20,}"),
    (b"glsoat-", rb"glsoat-[\w.-]{20,}"),
    (b"glagent-", rb"glagent-[\w.-]{20,}"),
    (b"gr1348941", rb"GR1348941[\w-]{20}"),
    (b"akia", rb"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (b"asia", rb"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (b"xox", rb"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    (b"xapp-", rb"xapp-[A-Za-z0-9-]{20,}"),
    (b"hooks.slack.com", rb"(?<=hooks\.slack\.com/)(?:services|workflows)/[A-Za-z0-9/_-]{20,}"),
    (b"discord", rb"(?<=/api/webhooks/)\d{10,}/[\w-]{30,}"),
    (b"aiza", rb"AIza[\w-]{35}"),
    (b"gocspx-", rb"GOCSPX-[\w-]{20,}"),
    (b"ya29.", rb"ya29\.[\w-]{20,}"),
    (b"sk_live_", rb"sk_live_[A-Za-z0-9]{10,}"),
    (b"sk_test_", rb"sk_test_[A-Za-z0-9]{10,}"),
    (b"rk_live_", rb"rk_live_[A-Za-z0-9]{10,}"),
    (b"rk_test_", rb"rk_test_[A-Za-z0-9]{10,}"),
    (b"whsec_", rb"whsec_[A-Za-z0-9+/=]{16,}"),
    (b"sg.", rb"SG\.[\w-]{16,}\.[\w-]{16,}"),
    (b"npm_", rb"npm_[A-Za-z0-9]{30,}"),
    (b"pypi-", rb"pypi-[\w-]{50,}"),
    (b"rubygems_", rb"rubygems_[0-9a-f]{40,}"),
    (b"dckr_", rb"dckr_(?:pat|oat)_[\w-]{20,}"),
    (b"_v1_", rb"do[opr]_v1_[0-9a-f]{60,}"),
    (b"key-", rb"key-[0-9a-f]{32}(?![0-9a-f])"),
    (b"sk-", rb"sk-(?:ant-|proj-|svcacct-|admin-|or-v1-)[\w-]{20,}|sk-[A-Za-z0-9]{32,}"),
    (b"hf_", rb"hf_[A-Za-z0-9]{30,}"),
    (b"shp", rb"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    (b"hvs.", rb"hvs\.[\w-]{24,}"),
    (b"hvb.", rb"hvb\.[\w-]{24,}"),
    (b".atlasv1.", rb"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    (b"age-secret-key-", rb"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}"),
    (b"dapi", rb"dapi[0-9a-f]{32}"),
    (b"rpat_", rb"rpat_[A-Za-z0-9.-]+_[0-9a-f]{64}"),
    (b"lin_api_", rb"lin_api_[A-Za-z0-9]{32,}"),
    (b"nrak-", rb"NRAK-[A-Z0-9]{20,}"),
    (b"glsa_", rb"glsa_[\w]{32,}"),
    (b"glc_", rb"glc_[A-Za-z0-9+/=]{32,}"),
    (b"atatt3", rb"ATATT3[\w=-]{40,}"),
    (b"atctt3", rb"ATCTT3[\w=-]{40,}"),
    (b"pmak-", rb"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    (b"pul-", rb"pul-[0-9a-f]{40}"),
    (b"pscale_", rb"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}"),
    (b"dp.", rb"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}"),
    (b"fm2_", rb"fm2_[A-Za-z0-9+/=]{60,}"),
    (b"nfp_", rb"nfp_[A-Za-z0-9]{30,}"),
    (b"tskey-", rb"tskey-[a-z]+-[\w-]{16,}"),
    (b"sbp_", rb"sbp_[0-9a-f]{40}"),
    (b"sntry", rb"sntry[su]_[\w=+/-]{40,}"),
    (b"ops_eyj", rb"ops_eyJ[\w=-]{60,}"),
    (b"eyj", rb"eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?"),
    (b":aa", rb"(?:bot)?\d{8,10}:AA[\w-]{32,34}"),
    # base64 of a private key's first line, for each usual kind
    (b"ls0tls1crudjti", rb"LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFWS|BSU0EgUFJJVkFURSBLRV"
     rb"|BPUEVOU1NIIFBSSVZBVEUgS0VZ|BFQyBQUklWQVRFIEtFWS|BFTkNSWVBURUQgUFJJVkFURSBLRV)"
     rb"[A-Za-z0-9+/=]*"),
)  # fmt: skip

TOKENS: tuple[MaskRule, ...] = tuple(
    MaskRule(SecretKind.TOKEN, (begins,), re.compile(_BEFORE + rb"(?P<value>" + whole + rb")"))
    for begins, whole in _PREFIXED
)
