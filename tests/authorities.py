"""Certificate authorities of tests, and what they sign."""

from __future__ import annotations

import datetime as dt
import functools
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
HOUR = dt.timedelta(hours=1)


@dataclass(frozen=True)
class Pair:
    """A certificate (with those of intermediate authorities behind it) and its key, as PEM texts."""

    certificate: str
    key: str

    @property
    def fingerprint(self) -> str:
        return x509.load_pem_x509_certificate(self.certificate.encode()).fingerprint(hashes.SHA256()).hex()

    def secret(self, *authorities: Authority) -> dict[str, str]:
        """The values of a Secret as users make it."""
        return {"tls.crt": self.certificate, "tls.key": self.key, "ca.crt": "".join(each.certificate for each in authorities)}


@dataclass(frozen=True)
class Authority:
    """Signs certificates."""

    name: str
    signing: ec.EllipticCurvePrivateKey
    own: x509.Certificate
    above: Authority | None = None

    @classmethod
    def made(cls, name: str = "test authority", *, above: Authority | None = None, uses=(), path_length=None, ca=True, **more):
        """A root, or an authority below another one; `more` is what `_signed` takes."""
        key = _key()
        extensions = [x509.BasicConstraints(ca=ca, path_length=path_length if ca else None)]
        extensions += [x509.ExtendedKeyUsage(uses)] if uses else []
        extensions += [usage(digital_signature=True, key_cert_sign=True, crl_sign=True)] if ca else []
        issuer = (above.own.subject, above.signing) if above else (_named(name), key)
        return cls(name, key, _signed(name, key, extensions, issuer=issuer, **more), above)

    @property
    def certificate(self) -> str:
        return _pem(self.own)

    def issue(self, *hosts: str, uses=(SERVER, CLIENT), usage=None, key=None, **more) -> Pair:
        """A certificate for these names and addresses; `more` is what `_signed` takes."""
        key = key or _key()
        extensions = [x509.SubjectAlternativeName([_general_name(host) for host in hosts])] if hosts else []
        extensions += [x509.ExtendedKeyUsage(uses)] if uses else []
        extensions += [usage] if usage else []
        issued = _signed("server", key, extensions, issuer=(self.own.subject, self.signing), **more)
        chain, authority = _pem(issued), self
        while authority.above is not None:  # roots are sent by nobody
            chain, authority = chain + authority.certificate, authority.above
        return Pair(chain, key_pem(key))


@functools.cache
def authority(name: str) -> Authority:
    """The root of that name, the same in a whole run."""
    return Authority.made(name)


def key_pem(key, password: bytes | None = None) -> str:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()


def usage(**wanted: bool) -> x509.KeyUsage:
    """A key usage of just these."""
    kinds = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    kinds += ("key_cert_sign", "crl_sign", "encipher_only", "decipher_only")
    return x509.KeyUsage(**{kind: wanted.get(kind, False) for kind in kinds})


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _signed(name, key, extensions, *, issuer, begins=None, ends=None) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    by, signing = issuer
    builder = x509.CertificateBuilder().subject_name(_named(name)).issuer_name(by).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(begins or now - HOUR).not_valid_after(ends or now + 1000 * HOUR)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints | x509.KeyUsage))
    return builder.sign(signing, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
