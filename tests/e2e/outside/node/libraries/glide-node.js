// docs/clients.md shows this:
import { readFileSync } from "node:fs";
import { GlideClusterClient } from "@valkey/valkey-glide";

export function connected(seeds, username, password, ca) {
  return GlideClusterClient.createClient({
    addresses: seeds.map(([host, port]) => ({ host, port })),
    credentials: { username, password },
    requestTimeout: 5000,
    ...(ca && {
      useTLS: true,
      advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: readFileSync(ca) } },
    }),
  });
}
// That is all.

import { Logger } from "@valkey/valkey-glide";

Logger.setLoggerConfig("off");

export const name = "@valkey/valkey-glide";

export async function connect(...where) {
  const client = await connected(...where);
  return {
    set: (key, value) => client.set(key, value),
    get: (key) => client.get(key),
    close: () => client.close(),
  };
}
