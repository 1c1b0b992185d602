// docs/clients.md shows this:
import { readFileSync } from "node:fs";
import { Cluster } from "iovalkey";

export function connected(seeds, username, password, ca) {
  // Each node's name as SNI and as what its certificate has to cover; without TLS the node alone.
  const authorities = ca && readFileSync(ca);
  const node = (host, port) => (ca ? { host, port, tls: { ca: authorities, servername: host } } : { host, port });
  return new Cluster(
    seeds.map(([host, port]) => node(host, port)),
    {
      natMap: (address) => {
        const colon = address.lastIndexOf(":");
        return node(address.slice(0, colon), Number(address.slice(colon + 1)));
      },
      redisOptions: { username, password, connectTimeout: 5000, commandTimeout: 5000 },
    },
  );
}
// That is all.

export const name = "iovalkey";

export async function connect(...where) {
  const client = connected(...where);
  client.on("error", () => {}); // told by the requests that fail
  return {
    set: (key, value) => client.set(key, value),
    get: (key) => client.get(key),
    close: () => client.disconnect(),
  };
}
