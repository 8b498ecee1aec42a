import pytest

from kdiag.net.tls.pem import certificate_pem, key_pem, read_pem
from secure_ends.certificates import make_authority

ROOT = make_authority("Root")


def test_what_is_written_is_read_again() -> None:
    """Certificates and keys keep their bytes, and lines are as long as OpenSSL wants them."""
    text = certificate_pem(ROOT.der) + key_pem(b"key" * 100)

    certificate, key = read_pem(text)

    assert (certificate.is_certificate, certificate.is_key, certificate.der) == (
        True,
        False,
        ROOT.der,
    )
    assert (key.is_certificate, key.is_key, key.der) == (False, True, b"key" * 100)
    assert str(certificate) == ROOT.pem


def test_line_breaks_do_not_matter() -> None:
    """PEM on one line, as a properties file may hold it, is what it is on many."""
    one_line = " ".join(ROOT.pem.split("\n"))

    (block,) = read_pem(f"before {one_line} after")

    assert str(block) == ROOT.pem


def test_headers_of_old_encrypted_keys_are_kept() -> None:
    """They say how a key is encrypted, and end with an empty line."""
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AABB\n"
    text = f"-----BEGIN EC PRIVATE KEY-----\n{headers}\nAAAA\n-----END EC PRIVATE KEY-----\n"

    (block,) = read_pem(text)

    assert block.is_encrypted
    assert str(block) == text


def test_a_key_in_pkcs8_says_by_its_label_that_it_is_encrypted() -> None:
    """Only the label tells."""
    encrypted, plain = read_pem(ROOT.encrypted_key_pem("secret") + ROOT.key_pem)

    assert (encrypted.is_encrypted, plain.is_encrypted) == (True, False)


def test_what_is_no_base64_is_refused() -> None:
    """A character too few cannot be made up for."""
    (block,) = read_pem("-----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----")

    with pytest.raises(ValueError, match="CERTIFICATE is not base64"):
        _ = block.der


def test_nothing_is_found_in_other_text() -> None:
    """A block that does not end is none."""
    assert list(read_pem("-----BEGIN CERTIFICATE-----\nAAAA")) == []
