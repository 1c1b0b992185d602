"""Dials addresses from where it runs and says which server answers at each: lines of JSON in, lines of JSON out.

The first line says as whom, and with TLS whom to trust (a file): {"username": …, "password": …, "trust": …}. Then each line [[host, port], …] is answered by a line of as many node ids, or of why there is none.
"""

import asyncio
import json
import ssl
import sys

TIMEOUT = 2.0  # seconds


async def node_id(host, port, *, username, password, trust=None, address=None):
    """The id of the server that a new connection reaches; the complaint, in brackets, when there is none.

    `trust`: a file with the authorities; the certificate must cover the host. `address`: where the host leads, if not where a resolver says.
    """
    secured = {"ssl": ssl.create_default_context(cafile=trust), "server_hostname": host} if trust else {}
    try:
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(address or host, port, **secured)
            try:
                writer.write(_command("AUTH", username, password) + _command("CLUSTER", "MYID"))
                logged_in = await reader.readline()
                if logged_in != b"+OK\r\n":
                    return f"({logged_in.decode().strip() or 'closed the connection'})"
                length = await reader.readline()
                return (await reader.readline()).decode().strip() if length == b"$40\r\n" else f"({length.decode().strip()})"
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        return f"({type(error).__name__}: {error})"


def _command(*words):
    return f"*{len(words)}\r\n".encode() + b"".join(f"${len(word)}\r\n{word}\r\n".encode() for word in words)


async def main():
    login = json.loads(sys.stdin.readline())
    while line := await asyncio.to_thread(sys.stdin.readline):
        found = await asyncio.gather(*(node_id(host, port, **login) for host, port in json.loads(line)))
        print(json.dumps(found), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
