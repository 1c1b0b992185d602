"""iovalkey, and its like ioredis."""

from valkey_operator.outside.clients import node_maps
from valkey_operator.outside.clients.client import Client

PROGRAM = """
import { Cluster } from "<library>";
<imports>
const client = new Cluster(
  [
<seeds>
  ],
  {
<options>    redisOptions: {
      username: process.env.VALKEY_USERNAME,
      password: process.env.VALKEY_PASSWORD,
      connectTimeout: 5000,
      commandTimeout: 5000,
    },
  },
);
console.log(await client.get("greeting"));
await client.quit();
"""

IOVALKEY = Client(
    name="iovalkey",
    file="client.mjs",
    install="npm install iovalkey",
    comment="//",
    seed='    { host: "<host>", port: <port> },',
    tls_seed='    node("<host>", <port>),',
    between="\n",
    program=PROGRAM.replace("<library>", "iovalkey"),
    tls_imports=node_maps.imports("tls: { ca, servername: host }"),
    tls_options=node_maps.mapped("natMap", indent=4),
)
