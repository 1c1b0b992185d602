"""A certificate authority of a test, and certificates by it."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True)
class Authority:
    """Signs certificates; its own is `ca.crt` in the directory."""

    directory: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    @classmethod
    def made_in(cls, directory: Path) -> "Authority":
        directory.mkdir()
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        authority = cls(directory, key, name)
        certificate = authority._signed(name, key.public_key(), x509.BasicConstraints(ca=True, path_length=None))
        (directory / "ca.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return authority

    def issue(self, directory: Path, *hosts: str) -> None:
        """Write `tls.crt`, `tls.key` and `ca.crt` for these names and addresses, good for servers and clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = self._signed(
            subject, key.public_key(), x509.SubjectAlternativeName([_general_name(host) for host in hosts]), usage
        )
        (directory / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (directory / "tls.key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        (directory / "ca.crt").write_bytes((self.directory / "ca.crt").read_bytes())

    def _signed(self, subject: x509.Name, public: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + dt.timedelta(hours=1))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self.key, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
