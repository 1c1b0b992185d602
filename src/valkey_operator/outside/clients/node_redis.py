"""node-redis."""

from valkey_operator.outside.clients import node_maps
from valkey_operator.outside.clients.client import Client

NODE_REDIS = Client(
    name="node-redis",
    file="client.mjs",
    install="npm install redis",
    comment="//",
    seed='    { socket: { host: "<host>", port: <port> } },',
    tls_seed='    { socket: node("<host>", <port>) },',
    between="\n",
    program="""
import { createCluster } from "redis";
<imports>
const client = createCluster({
  rootNodes: [
<seeds>
  ],
<options>  defaults: {
    username: process.env.VALKEY_USERNAME,
    password: process.env.VALKEY_PASSWORD,
    socket: { connectTimeout: 5000 },
  },
});
client.on("error", (error) => console.error(error));
await client.connect();
console.log(await client.get("greeting"));
await client.close();
""",
    tls_imports=node_maps.imports("tls: true, ca, servername: host"),
    tls_options=node_maps.mapped("nodeAddressMap", indent=2),
)
