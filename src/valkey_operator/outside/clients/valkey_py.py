"""valkey-py."""

from valkey_operator.outside.clients.client import Client

VALKEY_PY = Client(
    name="valkey-py",
    file="client.py",
    install="pip install valkey",
    comment="#",
    seed='        ClusterNode("<host>", <port>),',
    between="\n",
    program="""
import os

from valkey.cluster import ClusterNode, ValkeyCluster

client = ValkeyCluster(
    startup_nodes=[
<seeds>
    ],
    username=os.environ["VALKEY_USERNAME"],
    password=os.environ["VALKEY_PASSWORD"],
    socket_connect_timeout=2,
    socket_timeout=5,
    decode_responses=True,
<options>)
print(client.get("greeting"))
client.close()
""",
    tls_options="""
    ssl=True,
    ssl_ca_certs=os.environ["VALKEY_CA_FILE"],
""",
)
