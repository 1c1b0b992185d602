"""What all libraries for Node.js need with TLS: they let Node connect without a server name, which it then neither sends nor verifies."""

IMPORTS = """
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import tls from "node:tls";

// This library tells Node no server name: routers by SNI need it, and so does the verification of names.
const connect = tls.connect;
tls.connect = (options, ...more) =>
  connect(isIP(options.host) ? options : { ...options, servername: options.host }, ...more);
"""
