"""Client programs beside the tests: outside, where clients of external access are, or on the machine, which reaches pods as well."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import cluster

PROGRAMS = Path(__file__).with_name("outside")
PODS = "10.245.0.0/16"
PATIENCE = 60.0  # seconds until a program works


def python(name, *, is_outside, hosts=None):
    """The words that run one of the programs with the project's Python; `hosts`: a file of names and addresses for it alone."""
    command = [sys.executable, "-W", "ignore", str(PROGRAMS / name)]
    if hosts is not None:
        command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *command]
    return [str(cluster.SANDBOX), "outside", "--", *command] if is_outside else command


class Running:
    """A program that runs while `with` holds, and reports when it is stopped."""

    def __init__(self, command, settings):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._settings = settings
        self._report = None

    def __enter__(self):
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        self._process.stdin.write(json.dumps(self._settings) + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        timer.cancel()
        assert said == "working\n", f"a client program does not work: {said}{self._rest()}"
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            stream.close()

    def stop(self):
        """What it reports in the end."""
        if self._report is None:
            said, complaint = self._process.communicate(timeout=60)
            assert self._process.returncode == 0, f"a client program failed: {complaint}"
            self._report = json.loads(said.splitlines()[-1])
        return self._report

    def _rest(self):
        self._process.kill()
        return "".join(self._process.communicate())


def load(library, *, seeds, login, prefix, is_outside=True, fresh_every=0.2, hosts=None, trust=None):
    """A load by `valkey-py` or `glide`; `seeds` are addresses as host:port, `login` a user and its password, `trust` a file with authorities."""
    settings = {
        "library": library,
        "seeds": [_pair(address) for address in seeds],
        "username": login[0],
        "password": login[1],
        "prefix": prefix,
        "fresh_every": fresh_every,
        "trust": trust and str(trust),
    }
    return Running(python("load.py", is_outside=is_outside, hosts=hosts), settings)


def sampler(servers, *, login, hosts=None, trust=None, inside=None):
    """The check of every pair that any of the servers (their pod IPs) tells; `inside`: names inside and the addresses to which they lead."""
    settings = {
        "servers": list(servers),
        "username": login[0],
        "password": login[1],
        "pods": PODS,
        "trust": trust and str(trust),
        "inside": inside or {},
        "dial": python("dial.py", is_outside=True, hosts=hosts),
    }
    return Running(python("sample.py", is_outside=False), settings)


def node_ids(addresses, *, login, hosts=None, trust=None):
    """Which server a client outside reaches at each address."""
    who = {"username": login[0], "password": login[1], "trust": trust and str(trust)}
    settings = [who, [_pair(address) for address in addresses]]
    text = "".join(json.dumps(line) + "\n" for line in settings)
    done = subprocess.run(
        python("dial.py", is_outside=True, hosts=hosts), input=text, capture_output=True, text=True, check=True, timeout=30
    )
    return dict(zip(addresses, json.loads(done.stdout), strict=True))


def _pair(address):
    host, _, port = address.rpartition(":")
    return [host, int(port)]
