"""node-redis."""

from valkey_operator.outside.clients import node_tls
from valkey_operator.outside.clients.client import Client

NODE_REDIS = Client(
    name="node-redis",
    file="client.mjs",
    install="npm install redis",
    comment="//",
    seed='    { socket: { host: "<host>", port: <port> } },',
    between="\n",
    program="""
import { createCluster } from "redis";
<imports>
const client = createCluster({
  rootNodes: [
<seeds>
  ],
  defaults: {
    username: process.env.VALKEY_USERNAME,
    password: process.env.VALKEY_PASSWORD,
    socket: {
      connectTimeout: 2000,
<options>    },
  },
});
client.on("error", (error) => console.error(error));
await client.connect();
console.log(await client.get("greeting"));
await client.close();
""",
    tls_imports=node_tls.IMPORTS,
    tls_options="""
      tls: true,
      ca: readFileSync(process.env.VALKEY_CA_FILE),
""",
)
