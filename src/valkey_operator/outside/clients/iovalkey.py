"""iovalkey, and its like ioredis."""

from valkey_operator.outside.clients import node_tls
from valkey_operator.outside.clients.client import Client

PROGRAM = """
import { Cluster } from "<library>";
<imports>
const client = new Cluster(
  [
<seeds>
  ],
  {
    // Names stay names, so that they are what the certificate is compared with.
    dnsLookup: (address, callback) => callback(null, address),
    redisOptions: {
      username: process.env.VALKEY_USERNAME,
      password: process.env.VALKEY_PASSWORD,
      connectTimeout: 2000,
<options>    },
  },
);
console.log(await client.get("greeting"));
await client.quit();
"""
SEED = '    { host: "<host>", port: <port> },'
TLS_OPTIONS = """
      tls: { ca: readFileSync(process.env.VALKEY_CA_FILE) },
"""

IOVALKEY = Client(
    name="iovalkey",
    file="client.mjs",
    install="npm install iovalkey",
    comment="//",
    seed=SEED,
    between="\n",
    program=PROGRAM.replace("<library>", "iovalkey"),
    tls_imports=node_tls.IMPORTS,
    tls_options=TLS_OPTIONS,
)
