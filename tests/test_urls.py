"""The meaning of URLs, uploads to them (judged by boto3), and messages where they fail."""

from __future__ import annotations

import glob
import signal
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
import servers
from conftest import Run
from datasets import created
from servers import S3_ENVIRONMENT, write
from stopping import start

pytest.importorskip("moto")


def test_moving_chunks_takes_as_many_requests_as_decoding_them(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.nc"
    with created(path, t=300, x=40_000) as new:
        v = new.createVariable("v", "f4", ("t", "x"), zlib=True, complevel=1, chunksizes=(1, 40_000))
        v[:] = np.random.default_rng(0).normal(size=(300, 40_000)).round(1)
    counts = {}
    with servers.web(tmp_path) as server:
        for name, words in {"raw": [], "decoded": ["--codec", "deflate", "--level", "2"]}.items():
            server.behaviour.requests.clear()
            run("copy", f"{server.url}/a.nc", tmp_path / f"{name}.nc", *words)
            counts[name] = len(server.behaviour.requests)
        assert counts["raw"] <= 1.5 * counts["decoded"] < 200, counts
    with netCDF4.Dataset(path) as a, netCDF4.Dataset(tmp_path / "raw.nc") as b:
        np.testing.assert_array_equal(a["v"][...], b["v"][...])


def test_what_fails_says_what_to_do(
    web: servers.Web, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in S3_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def said(*words: str, code: int = 4) -> str:
        return run(*words, "--storage-option", "timeout=1s", code=code).stderr

    closed = f"127.0.0.1:{servers.free_port()}"
    for endpoint, why in ((f"http://{closed}", "connection refused"), ("http://nowhere.invalid", "of this name")):
        stderr = said("info", "s3://b/a.nc", "--storage-option", f"endpoint={endpoint}")
        assert why in stderr and "endpoint" in stderr and "disk" not in stderr
    stderr = said("info", "s3://b/a.nc", "--storage-option", f"endpoint={closed}", code=2)
    assert "write http:// or https:// in front" in stderr and "defect" not in stderr
    assert "did you mean `endpoint`?" in said("info", "s3://b/a.nc", "--storage-option", "endpiont=x", code=2)
    assert "connection refused" in said("info", f"http://{closed}/a.nc")
    stderr = said("info", web.url.replace("http:", "https:") + "/a.nc")
    assert "http" in stderr.split("hint:")[1] and "disk" not in stderr
    web.behaviour.ignores_ranges = True
    assert "download the file first" in said("info", f"{web.url}/a.nc", code=1)
    for url in ("s4://b/a.nc", "ftp://h/a.nc", "s3:/b/a.nc"):
        assert "no such scheme; known: s3://" in run("info", url, code=4).stderr


def test_faults_of_a_web_server_are_no_matter_of_credentials(web: servers.Web, run: Run) -> None:
    for fault in ({"cuts": 1000}, {"gzip": True}, {"later": 7}, {"ranges": False}):
        vars(web.behaviour).update(fault)
        stderr = run("info", f"{web.url}/a.nc", "--storage-option", "timeout=1s", code=4).stderr
        assert "server" in stderr and "credentials" not in stderr and "endpoint" not in stderr, (fault, stderr)
        vars(web.behaviour).update(cuts=0, gzip=False, later=0, ranges=True)
    stderr = run("info", f"{web.url}/a.nc", "--storage-option", "access_key_id=x", code=2).stderr
    assert "`access_key_id` is an option of other kinds of stores" in stderr and "did you mean" not in stderr


def test_secrets_of_the_command_are_not_written(web: servers.Web, tmp_path: Path, run: Run) -> None:
    url = web.url.replace("//", "//me:PASSWORD@") + "/a.nc?X-Amz-Signature=SIGNATURE"
    option = ["--storage-option", "secret_access_key=SECRETKEY"]
    write(tmp_path / "a.nc", n=3)
    write(tmp_path / "b.nc", n=3)
    commands: dict[str, tuple[object, ...]] = {
        "copy": ("copy", url, tmp_path / "1.nc"),
        "option": ("copy", *option, tmp_path / "a.nc", tmp_path / "2.nc"),
        "one word": ("copy", "=".join(option), tmp_path / "a.nc", tmp_path / "3.nc"),
        "several": ("copy", *option, tmp_path / "a.nc", tmp_path / "b.nc", f"{tmp_path}/several/"),
        "concat": ("concat", url, "-o", tmp_path / "4.nc"),
        "series": ("series", url, "-o", tmp_path / "series"),
    }
    outputs = set(tmp_path.rglob("*.nc"))
    for name, command in commands.items():
        done = run(*command, "-v")
        new = set(tmp_path.rglob("*.nc")) - outputs
        outputs |= new
        assert new, name
        said = [done.stdout, done.stderr]
        for path in new:
            with netCDF4.Dataset(path) as data:
                said.append(data.history)
        for secret in ("PASSWORD", "SIGNATURE", "SECRETKEY"):
            assert not any(secret in text for text in said), (name, said)
        assert all("ncforge" in text for text in said[2:])
    run("refs", url, "-o", tmp_path / "refs.json")
    refs = (tmp_path / "refs.json").read_text(encoding="utf-8")
    # The query is a part of the name: a server may want it.
    assert "PASSWORD" not in refs and f"{web.url}/a.nc?X-Amz-Signature=SIGNATURE" in refs


SECRETS = ("PASSWORD", "SIGNATURE")


def test_messages_have_no_secrets_of_urls(web: servers.Web, tmp_path: Path, run: Run) -> None:
    url = web.url.replace("//", "//me:PASSWORD@") + "/a.nc?X-Amz-Signature=SIGNATURE"
    shown = f"{web.url}/a.nc?…"
    # Names that files give: of sources, and of what links lead to.
    away = tmp_path / "away.nc"
    with h5py.File(away, "w") as file:
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource(url, "v", (4,))
        file.create_virtual_dataset("v", layout)
        file["link"] = h5py.ExternalLink(url, "/v")
    said = [
        run("info", away).stdout,
        run("verify", away).stderr,
        run("verify", "--json", away).stdout,
        run("copy", away, tmp_path / "copy.nc").stderr,
        run("--no-follow", "copy", away, tmp_path / "not.nc", code=1).stderr,
        run("copy", away, url, code=2).stderr,
    ]
    for act in (lambda: ncforge.Dataset(url, "a"), lambda: ncforge.copy(away, url)):
        with pytest.raises(ncforge.NcforgeError) as error:
            act()
        said.append(str(error.value))
    with ncforge.Dataset(url) as ds:
        v = ds["v"]
        assert ds.filepath() == url
    said += [repr(ds), repr(v)]
    for text in said:
        assert shown in text and not any(secret in text for secret in SECRETS), text
    # Readers of references and digests need the query: that is said.
    for words in (["refs", url, "-o", tmp_path / "refs.json"], ["digest", url]):
        noted = run(*words).stderr
        assert f"in which a signature may stand: `{shown}`" in noted and "SIGNATURE" not in noted, noted
    assert "query" not in run("refs", url, "--base", "https://h", "-o", tmp_path / "based.json", "--overwrite").stderr
    based = (tmp_path / "based.json").read_text(encoding="utf-8")
    assert "https://h/a.nc" in based and not any(secret in based for secret in SECRETS)


def test_the_doctor_of_a_url_with_secrets(web: servers.Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with created(web.folder / "slow.nc", t=200, x=5000) as new:
        new.createVariable("v", "f8", ("t", "x"), zlib=True, chunksizes=(1, 5))[:] = 1
    url = web.url.replace("//", "//me:PASSWORD@") + "/slow.nc?X-Amz-Signature=SIGNATURE"
    found = ncforge.doctor(url)
    (command,) = found.commands
    assert f"'{web.url}/slow.nc?…' slow-fixed.nc " in command
    assert not any(secret in str(found) + repr(found) for secret in SECRETS)
    found.apply("fixed.nc")
    found.findings[0].apply("one.nc")
    with netCDF4.Dataset("fixed.nc") as fixed:
        assert fixed["v"].chunking() != [1, 5]


def test_a_query_makes_no_pattern(web: servers.Web, tmp_path: Path, run: Run) -> None:
    url = f"{web.url}/a.nc?sig=[a*b]"
    for command in (["concat", "-o"], ["ncrcat", "-O", "-o"], ["series", "-o"]):
        run(command[0], url, *command[1:], tmp_path / f"{command[0]}.nc")
    with netCDF4.Dataset(web.folder / "a.nc") as theirs, ncforge.open_mfdataset(url) as ours:
        assert set(ours.variables) == set(theirs.variables)
    with ncforge.open_mfdataset(f"{web.url}/a*.nc?sig=1") as ours:
        assert ours.sizes
    assert any(path.endswith("/a.nc?sig=1") for path, _ in web.behaviour.requests)


def test_buckets_that_are_not_there(bucket: Any, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.nc", n=3)
    for words in (["info", "s3://no-such-bucket/a.nc"], ["info", "s3://no-such-bucket/*.nc"]):
        assert "no such bucket" in run(*words, code=4).stderr
    assert "no such bucket" in run("copy", tmp_path / "a.nc", "s3://no-such-bucket/a.nc", code=4).stderr


def test_an_interrupted_upload(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, name = bucket
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    write(tmp_path / "a.nc", n=4000)
    line = ["copy", tmp_path / "a.nc", f"s3://{name}/k/big.nc", "--codec", "deflate", "--level", 9, "-j", 1]

    def begun() -> set[str]:
        # Unlike `Path.glob`, no error if a folder disappears meanwhile: that of a killed process does.
        return set(glob.glob(f"{temporary}/ncforge-upload-*/.big.nc*"))

    def stopped(number: int) -> tuple[int, str]:
        """Sends a signal when the temporary file has begun. The work may be done just then; so it is tried a few times."""
        for _ in range(5):
            before = begun()
            running = start(*line)
            while running.poll() is None and not begun() - before:
                time.sleep(0.002)
            running.send_signal(number)
            _, said = running.communicate(timeout=600)
            if running.returncode != 0:
                return running.returncode, said
            client.delete_object(Bucket=name, Key="k/big.nc")
        raise AssertionError("it was always done before the signal came")

    code, said = stopped(signal.SIGTERM)
    assert code == 5 and f"nothing was uploaded to `s3://{name}/k/big.nc`" in said
    assert "start the same command again" in said and "--resume" not in said and str(temporary) not in said
    assert not list(temporary.iterdir())
    # The next process removes the rest of a killed one.
    assert stopped(signal.SIGKILL)[0] == -signal.SIGKILL and list(temporary.iterdir())
    assert stopped(signal.SIGTERM)[0] == 5 and not list(temporary.iterdir())
    assert "Contents" not in client.list_objects_v2(Bucket=name)


KEYS = ["k/run#1.nc", "k/run#2.nc", "k/run?1.nc", "k/a%41b c.nc", "k/q[1].nc", "k/s*.nc"]


def test_keys_are_taken_to_the_letter(bucket: Any, tmp_path: Path, run: Run) -> None:
    client, name = bucket
    for number, key in enumerate(KEYS):
        write(tmp_path / f"{number}.nc", n=number + 1)
        assert f"s3://{name}/{key}" in run("copy", tmp_path / f"{number}.nc", f"s3://{name}/{key}").stderr
    assert sorted(o["Key"] for o in client.list_objects_v2(Bucket=name)["Contents"]) == sorted(KEYS)
    for number, key in enumerate(KEYS):
        client.download_file(name, key, str(tmp_path / "back.nc"))
        with netCDF4.Dataset(tmp_path / "back.nc") as back:
            assert len(back["v"]) == number + 1
        with ncforge.Dataset(f"s3://{name}/{key}") as remote:
            assert len(remote["v"]) == number + 1
        # An object of exactly the pattern's name is the one that is meant.
        with ncforge.open_mfdataset(f"s3://{name}/{key}", combine="nested", concat_dim="time", data_vars="all") as ds:
            assert ds.sizes["time"] == number + 1
        run("info", "--kind", f"s3://{name}/{key}")
    kinds = run("info", "--kind", f"s3://{name}/k/run#*.nc").stdout
    assert kinds == "netCDF-4\n" * 2
    for key in ("k//x.nc", "k/../x.nc"):
        assert "hint: " in run("copy", tmp_path / "0.nc", f"s3://{name}/{key}", code=2).stderr
    assert len(client.list_objects_v2(Bucket=name)["Contents"]) == len(KEYS)


def test_files_are_copied_to_keys_that_begin_alike(
    bucket: Any, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, name = bucket
    inputs = [tmp_path / f"{number}.nc" for number in range(2)]
    for file in inputs:
        write(file, n=3)
    monkeypatch.chdir(tmp_path)
    for files in (inputs, inputs[:1]):
        run("copy", *files, f"s3://{name}/part{len(files)}/")
    keys = [o["Key"] for o in client.list_objects_v2(Bucket=name)["Contents"]]
    assert sorted(keys) == ["part1/0.nc", "part2/0.nc", "part2/1.nc"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.nc", "1.nc"]


def test_files_of_a_series_are_opened_side_by_side(
    tmp_path: Path, server: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads wait for servers, which may be more than processors."""
    under_way, most, changed = 0, 0, threading.Condition()
    answer = servers.Handler.do_GET

    def waiting(self: Any) -> None:
        nonlocal under_way, most
        with changed:
            under_way += 1
            most = max(most, under_way)
            changed.notify_all()
            changed.wait_for(lambda: most >= 8, 2)
        answer(self)
        with changed:
            under_way -= 1

    urls = []
    for i in range(17):
        with created(tmp_path / f"{i}.nc", time=None, x=3) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = [i]
            ds.createVariable("v", "f4", ("time", "x"))[:] = i
        urls.append(f"{server}/{i}.nc")
    monkeypatch.setattr(servers.Handler, "do_GET", waiting)
    run("concat", *urls, "-o", tmp_path / "all.nc", "-j", "1")
    assert most >= 8
    with netCDF4.Dataset(tmp_path / "all.nc") as ds:
        assert ds["v"][:, 0].tolist() == list(range(17))
