import ssl
import stat

import pytest
import yaml
from cryptography import x509

from sandbox import kubeconfig, pki


@pytest.fixture
def authority(tmp_path):
    return pki.Authority(tmp_path / "pki")


def test_a_certificate_says_who_it_is_and_where_it_serves(authority):
    pair = authority.issue("node", name="system:node:node-1", groups=["system:nodes"], hosts=["node-1", "198.18.0.11"])
    certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())

    assert certificate.subject.rfc4514_string() == "CN=system:node:node-1,O=system:nodes"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["node-1", "198.18.0.11"]


def test_a_certificate_is_of_its_authority(authority):
    pair = authority.issue("client", name="somebody")
    parent = x509.load_pem_x509_certificate(authority.pair.certificate.read_bytes())

    x509.load_pem_x509_certificate(pair.certificate.read_bytes()).verify_directly_issued_by(parent)
    ssl.create_default_context(cafile=str(authority.pair.certificate)).load_cert_chain(pair.certificate, pair.key)


def test_keys_are_for_their_owner_alone(authority, tmp_path):
    pair = authority.issue("client", name="somebody")
    private, _ = pki.service_account_keys(tmp_path)
    path = kubeconfig.write(tmp_path / "kubeconfig", server="https://127.0.0.1:6443", authority=authority.pair, client=pair)

    for file in (authority.pair.key, pair.key, private, path):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_kubeconfig_needs_no_other_file(authority, tmp_path):
    pair = authority.issue("client", name="somebody")

    path = kubeconfig.write(tmp_path / "kubeconfig", server="https://127.0.0.1:6443", authority=authority.pair, client=pair)

    content = yaml.safe_load(path.read_text())
    assert content["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert str(tmp_path) not in path.read_text()
