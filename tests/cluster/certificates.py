# SPDX-License-Identifier: Apache-2.0
"""Certificates for tasks and clients of a test, made with the openssl program."""
import subprocess


def _openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)


def make(folder):
    """The variables that name an authority and a certificate that it signed for 127.0.0.1 and localhost."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    _openssl(folder, "req", "-x509", *key, "-days", "30", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    _openssl(folder, "req", *key, "-subj", "/CN=task", "-keyout", "key.pem", "-out", "request.pem")
    _openssl(folder, "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
             "-extfile", "names", "-out", "cert.pem")
    return {"MILLSTREAM_TLS_CERT": str(folder / "cert.pem"), "MILLSTREAM_TLS_KEY": str(folder / "key.pem"), "MILLSTREAM_TLS_CA": str(folder / "ca.pem")}
