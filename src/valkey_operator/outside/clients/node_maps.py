"""What all libraries for Node.js need with TLS: a name for each node, which they neither send nor verify by themselves."""


def imports(secured: str) -> str:
    """Lines that make `node`: a host and a port with what a library takes for TLS."""
    return f"""
import {{ readFileSync }} from "node:fs";

const ca = readFileSync(process.env.VALKEY_CA_FILE);
// Each node's name as SNI and as what its certificate has to cover.
const node = (host, port) => ({{ host, port, {secured} }});
"""


def mapped(option: str, *, indent: int) -> str:
    """Lines that give the nodes that servers tell what `node` gives the first ones, by an option of the library."""
    lines = (
        f"{option}: (address) => {{",
        '  const colon = address.lastIndexOf(":");',
        "  return node(address.slice(0, colon), Number(address.slice(colon + 1)));",
        "},",
    )
    return "".join(f"{' ' * indent}{line}\n" for line in lines)
