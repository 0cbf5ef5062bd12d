"""Web servers, a Go program and a QUIC stack, unmodified, on a kernel in virtual time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from program_runs import entry, needs, run

import cwndlab

NGINX = """
daemon off;
master_process off;
error_log stderr;
pid nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen 443 ssl http2;
        ssl_certificate FOLDER/certificate;
        ssl_certificate_key FOLDER/key;
        location / { root FOLDER; }
    }
}
"""


def certify(folder: Path) -> None:
    """Makes a certificate and its key in a folder."""
    request = "req -x509 -newkey rsa:2048 -nodes -subj /CN=b -keyout key -out certificate"
    subprocess.run(["openssl", *request.split()], cwd=folder, check=True, capture_output=True)


def version_by_tls(folder: Path, server: str) -> str:
    """The version of HTTP by which curl gets a page of 500 kB by TLS, the same in two runs.

    The folder has the page, a certificate and its key.
    """
    certify(folder)
    (folder / "page").write_bytes(b"x" * 500_000)
    # The guest's clock shows 2001, when the certificate is not valid yet.
    client = (
        "curl -sS -k https://{server}/page -o page -w '%{{http_version}} %{{size_download}} %{{time_total}}'"
    )
    app = f'kind = "program", client = "{client}", server = "{server}", from = "server"'
    kept = [run(folder / name, entry(app)) for name in ("one", "two")]
    said = [programs[1]["stdout"] for _, programs in kept]
    connections = [result.records["connections"].to_pylist() for result, _ in kept]
    assert said[0] == said[1]
    assert connections[0] == connections[1]
    version, size, total = said[0].split()
    assert size == "500000"
    assert 0.5 < float(total) < 1
    ((connection,), _) = connections
    assert 500_000 < connection["bytes_down"] < 520_000
    return version


@pytest.mark.usefixtures("virtual")
def test_nginx_serves_a_page_by_tls_and_http_2(tmp_path: Path) -> None:
    needs("nginx", "curl", "openssl")
    (tmp_path / "nginx.conf").write_text(NGINX.replace("FOLDER", str(tmp_path)))
    assert version_by_tls(tmp_path, f"sh -c 'exec nginx -p $TMPDIR -c {tmp_path}/nginx.conf'") == "2"


PYTHON_TLS = """
import http.server, os, ssl
os.chdir("FOLDER")
http.server.SimpleHTTPRequestHandler.protocol_version = "HTTP/1.1"
server = http.server.ThreadingHTTPServer(("", 443), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate", "key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@pytest.mark.usefixtures("virtual")
def test_pythons_server_serves_a_page_by_tls(tmp_path: Path) -> None:
    needs("python3", "curl", "openssl")
    (tmp_path / "serve.py").write_text(PYTHON_TLS.replace("FOLDER", str(tmp_path)))
    assert version_by_tls(tmp_path, f"python3 {tmp_path}/serve.py") == "1.1"


GO = """
package main

import ("fmt"; "io"; "net/http"; "os"; "time")

func main() {
	if os.Args[1] == "serve" {
		http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1000000)) })
		fmt.Println(http.ListenAndServe(":8080", nil))
		os.Exit(1)
	}
	start := time.Now()
	answer, err := http.Get("http://" + os.Args[2] + ":8080/")
	if err != nil { fmt.Println(err); os.Exit(1) }
	n, _ := io.Copy(io.Discard, answer.Body)
	fmt.Println(n, time.Since(start).Seconds())
}
"""


@pytest.mark.usefixtures("virtual")
def test_a_go_program_with_its_own_scheduler_runs_twice_with_the_same_output(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    (tmp_path / "main.go").write_text(GO)
    environment = {**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0", "GOFLAGS": ""}
    program = tmp_path / "program"
    subprocess.run([go, "build", "-o", program, tmp_path / "main.go"], env=environment, check=True)
    app = (
        f'kind = "program", client = "{program} get {{server}}", server = "{program} serve", from = "server"'
    )
    said = [run(tmp_path / name, entry(app))[1][1]["stdout"] for name in ("one", "two")]
    assert said[0] == said[1]
    count, seconds = said[0].split()
    assert count == "1000000"
    assert 0.8 < float(seconds) < 2


#: A folder with the client and the server of quinn's examples (docs/guide/programs.md).
QUINN = os.environ.get("CWNDLAB_QUINN", "")


def quinn_keys(folder: Path) -> Path:
    """The certificate and the key that quinn's server makes at its first start on a machine."""
    if not QUINN:
        pytest.skip("CWNDLAB_QUINN names no folder with quinn's client and server")
    maker = subprocess.Popen(
        [f"{QUINN}/server", "--listen", "127.0.0.1:0", folder], env={"HOME": str(folder)}
    )
    keys = folder / ".local" / "share" / "quinn-examples"
    while not all((keys / name).exists() for name in ("cert.der", "key.der")):
        time.sleep(0.1)
    maker.kill()
    maker.wait()
    return keys


@pytest.mark.usefixtures("virtual")
def test_a_quic_stack_runs_twice_with_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"x" * 2_000_000)
    keys = quinn_keys(tmp_path)
    server = f"{QUINN}/server --listen {{server}}:4433 --key {keys}/key.der --cert {keys}/cert.der {tmp_path}"
    client = f"{QUINN}/client --bind {{client}}:0 --host localhost --ca {keys}/cert.der https://{{server}}:4433/page"
    app = f'kind = "program", client = "{client}", server = "{server}", from = "server"'
    kept = [run(tmp_path / name, entry(app)) for name in ("one", "two")]
    outputs = [[(row["stdout"], row["stderr"]) for row in rows] for _, rows in kept]
    assert outputs[0] == outputs[1]
    assert f"… {2_000_000 - (1 << 20)} bytes are left out …" in outputs[0][1][0]
    first, second = (result.records["connections"].to_pylist() for result, _ in kept)
    assert first == second
    (flow,) = first
    assert 2_000_000 < flow["bytes_down"] < 2_300_000
    assert flow["drops"] > 0


#: The path of the study quic, which quinn's example server, the embedded quinn and Linux cross.
QUINN_STUDY = Path(__file__).parents[2] / "docs/guide/quinn-program.toml"


def test_the_documented_study_of_quinn_has_the_bottleneck_of_the_study_quic() -> None:
    cells = cwndlab.Study.load(QUINN_STUDY).plan().cells
    assert len(cells) == 10
    (alone,) = cwndlab.Study.load("quic").set({"question": "alone", "law": "cubic", "buffer": 4}).plan().cells
    bottleneck = link(alone.scenario, "r1>r2")
    assert all(
        link(cell.scenario, "r1>r2") == {**bottleneck, "from": 1, "to": 2}
        for cell in cells
        if cell.axes["buffer"] == 4
    )


def link(scenario: str, name: str) -> dict[str, Any]:
    """A link of a compiled scenario."""
    (found,) = (link for link in json.loads(scenario)["links"] if link["name"] == name)
    return dict(found)


@pytest.mark.usefixtures("virtual")
def test_quinn_as_a_program_fills_the_path_like_the_embedded_quinn(tmp_path: Path) -> None:
    keys = quinn_keys(tmp_path)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "data").write_bytes(bytes(73_000_000))
    study = cwndlab.Study.load(QUINN_STUDY)
    for name, folder in (("quinn", QUINN), ("keys", keys), ("files", tmp_path / "files")):
        study = study.set({f"parameters.{name}": str(folder)})
    program, embedded = (
        cwndlab.run(
            study.set({"sender": sender, "buffer": 1, "run.replicates": 1}),
            out=tmp_path / sender,
            backend=backend,
        )
        for sender, backend in (("program", "linux-virtual"), ("quinn", "simulator"))
    )
    values = [
        {row["quantity"]: row["value"] for row in result.values.to_pylist()} for result in (program, embedded)
    ]
    for quantity, tolerance in (("utilization", 0.001), ("wait", 0.02), ("loss", 0.1), ("acks", 0.01)):
        assert values[0][quantity] == pytest.approx(values[1][quantity], rel=tolerance), quantity
    assert all(80 < value["slow_start_drops"] < 125 for value in values)
