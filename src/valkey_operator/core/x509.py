"""What a Secret's PEM texts say, read as servers read them: whose key it is, who vouches for whom, for what and how long.

Import this late: the library behind it costs some 15 MB and a third of a second, which operators without TLS clusters need not spend.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from valkey_operator.core.certificates import AUTHORITIES_KEY, CERTIFICATE_KEY, PRIVATE_KEY, Certificate, Files, Flawed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Chain = tuple[x509.Certificate, ...]

E = TypeVar("E", bound=x509.ExtensionType)

_KEYS = {
    CERTIFICATE_KEY: "the certificate in PEM, followed by intermediate ones",
    PRIVATE_KEY: "the certificate's private key in PEM",
    AUTHORITIES_KEY: "the certificates of the authorities that issued it",
}
_USES = {ExtendedKeyUsageOID.SERVER_AUTH: "serverAuth", ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth"}
_LONGEST_CHAIN = 10


def read(values: Mapping[str, bytes]) -> Certificate | Flawed:
    """The certificate that a Secret's values hold, or all that keeps servers from using it. Whether its time has come is not asked here."""
    missing = [f"has no key {key}: add {what}" for key, what in _KEYS.items() if not values.get(key, b"").strip()]
    if missing:
        return Flawed(tuple(missing))
    certificates, authorities = _certificates(values[CERTIFICATE_KEY]), _certificates(values[AUTHORITIES_KEY])
    problems = [
        f"{key} holds no PEM certificate that can be read: write the whole text from -----BEGIN CERTIFICATE----- on"
        for key, found in ((CERTIFICATE_KEY, certificates), (AUTHORITIES_KEY, authorities))
        if not found
    ]
    problems += _key_problems(values[PRIVATE_KEY], certificates)
    if not certificates or not authorities:
        return Flawed(tuple(problems))
    names = _names(certificates[0])
    if not names:
        problems.append("the certificate has no subject alternative names: clients verify those alone, so issue one that has them")
    chain = _chain(certificates, authorities)
    if chain is None:
        problems.append(
            f"the certificate was not issued by an authority in {AUTHORITIES_KEY}, as far as its chain is told: its issuer is "
            f"{certificates[0].issuer.rfc4514_string() or 'not named'}; add that authority up to its root, and intermediate ones to {CERTIFICATE_KEY}"
        )
        return Flawed(tuple(problems))
    problems += _use_problems(chain)
    if problems:
        return Flawed(tuple(problems))
    return Certificate(
        files=Files(
            certificate=values[CERTIFICATE_KEY].decode(),
            key=values[PRIVATE_KEY].decode(),
            authorities=values[AUTHORITIES_KEY].decode(),
        ),
        names=names,
        begins=max(each.not_valid_before_utc for each in chain),
        ends=min(each.not_valid_after_utc for each in chain),
        fingerprint=fingerprint(certificates[0].public_bytes(Encoding.DER)),
    )


def read_public(certificate: str, authorities: str) -> Certificate | None:
    """A certificate whose key is not at hand, as it was once read; None where the texts are not those of one."""
    certificates = _certificates(certificate.encode())
    names = _names(certificates[0]) if certificates else ()
    if not names or not _certificates(authorities.encode()):
        return None
    return Certificate(
        files=Files(certificate=certificate, key="", authorities=authorities),
        names=names,
        begins=certificates[0].not_valid_before_utc,
        ends=certificates[0].not_valid_after_utc,
        fingerprint=fingerprint(certificates[0].public_bytes(Encoding.DER)),
    )


def vouches(authorities: str, certificate: str) -> bool:
    """Whether who trusts these authorities accepts that certificate, as far as its time is not asked."""
    certificates = _certificates(certificate.encode())
    return bool(certificates) and _chain(certificates, _certificates(authorities.encode())) is not None


def der(authorities: str) -> bytes:
    """The certificates of a PEM text one after the other in DER; texts may have comments that not everybody can read."""
    return b"".join(each.public_bytes(Encoding.DER) for each in _certificates(authorities.encode()))


def fingerprint(der: bytes) -> str:
    """The SHA-256 fingerprint of a certificate in DER, hexadecimal."""
    return hashlib.sha256(der).hexdigest()


def _certificates(pem: bytes) -> Chain:
    """All certificates of a PEM text; none where one of them, or the text, cannot be read."""
    try:
        pem.decode()
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return ()


def _key_problems(pem: bytes, certificates: Chain) -> Iterator[str]:
    try:
        pem.decode()
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        yield f"{PRIVATE_KEY} is encrypted: store it without a passphrase"
        return
    except (ValueError, UnsupportedAlgorithm):
        yield f"{PRIVATE_KEY} holds no PEM private key that can be read"
        return
    if certificates and _public(key.public_key()) != _public(certificates[0].public_key()):
        yield f"{PRIVATE_KEY} does not belong to the certificate, which must be the first in {CERTIFICATE_KEY}"


def _public(key: object) -> bytes:
    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]  # any kind of public key
    return encoded


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Host names and addresses; other kinds of names are of no use to a client."""
    names = _extension(certificate, x509.SubjectAlternativeName)
    if names is None:
        return ()
    hosts = names.get_values_for_type(x509.DNSName)
    return (*hosts, *(str(address) for address in names.get_values_for_type(x509.IPAddress)))


def _chain(certificates: Chain, authorities: Chain) -> Chain | None:
    """From the first certificate up to a root among the authorities, as OpenSSL asks for; of several the one that holds longest."""
    found = _chains((certificates[0],), certificates[1:], authorities)
    return max(found, key=lambda chain: min(each.not_valid_after_utc for each in chain), default=None)


def _chains(begun: Chain, intermediate: Sequence[x509.Certificate], authorities: Chain) -> Iterator[Chain]:
    last = begun[-1]
    if last in authorities and last.subject == last.issuer and _issued(last, last):
        yield begun
        return
    if len(begun) == _LONGEST_CHAIN:
        return
    for issuer in dict.fromkeys((*authorities, *intermediate)):
        if issuer not in begun and _is_authority(issuer, below=len(begun) - 1) and _issued(last, issuer):
            yield from _chains((*begun, issuer), intermediate, authorities)


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_authority(certificate: x509.Certificate, *, below: int) -> bool:
    """Whether it may issue certificates; `below`: how many authorities there are between it and the server's certificate."""
    constraints = _extension(certificate, x509.BasicConstraints)
    if constraints is None or not constraints.ca or (constraints.path_length is not None and constraints.path_length < below):
        return False
    usage = _extension(certificate, x509.KeyUsage)
    return usage is None or usage.key_cert_sign


def _extension(certificate: x509.Certificate, kind: type[E]) -> E | None:
    """The extension of that kind; None where there is none, or none that can be read."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, ValueError):
        return None


def _use_problems(chain: Chain) -> Iterator[str]:
    """Servers are each other's clients: what is good for serving alone cannot join the cluster bus."""
    for place, certificate in enumerate(chain):
        uses = _extension(certificate, x509.ExtendedKeyUsage)
        lacking = [name for oid, name in _USES.items() if oid not in uses] if uses is not None else []
        if lacking:
            which = "the certificate" if place == 0 else f"the authority {certificate.subject.rfc4514_string()}"
            yield (
                f"{which} is not allowed the extended key usage {' and '.join(lacking)}: servers talk to each other both as servers and as "
                "clients, so issue it for both"
            )
    usage = _extension(chain[0], x509.KeyUsage)
    if usage is not None and not (usage.digital_signature or usage.key_agreement):
        yield "the certificate's key usage lacks digitalSignature: issue it with that, servers are each other's clients"
