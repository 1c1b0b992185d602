// docs/clients.md shows this:
import { readFileSync } from "node:fs";
import { createCluster } from "redis";

export async function connected(seeds, username, password, ca) {
  // Each node's name as SNI and as what its certificate has to cover; without TLS the node alone.
  const node = (host, port) => (ca ? { host, port, servername: host } : { host, port });
  const client = createCluster({
    rootNodes: seeds.map(([host, port]) => ({ socket: node(host, port) })),
    nodeAddressMap: (address) => {
      const colon = address.lastIndexOf(":");
      return node(address.slice(0, colon), Number(address.slice(colon + 1)));
    },
    defaults: {
      username,
      password,
      socket: { connectTimeout: 5000, ...(ca && { tls: true, ca: readFileSync(ca) }) },
    },
  });
  client.on("error", () => {}); // yours to log
  await client.connect();
  return client;
}
// That is all.

export const name = "redis";

export async function connect(...where) {
  const client = await connected(...where);
  return {
    set: (key, value) => client.set(key, value),
    get: (key) => client.get(key),
    close: () => client.destroy(),
  };
}
