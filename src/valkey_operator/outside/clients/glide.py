"""Valkey GLIDE for Python."""

from valkey_operator.outside.clients.client import Client

GLIDE = Client(
    name="glide",
    file="client.py",
    install="pip install 'valkey-glide>=2.6'",
    comment="#",
    seed='            NodeAddress("<host>", <port>),',
    between="\n",
    program="""
import asyncio
import os

<imports>from glide import GlideClusterClient, GlideClusterClientConfiguration, NodeAddress, ServerCredentials


async def main() -> None:
    configuration = GlideClusterClientConfiguration(
        [
<seeds>
        ],
        credentials=ServerCredentials(os.environ["VALKEY_PASSWORD"], os.environ["VALKEY_USERNAME"]),
        request_timeout=5000,
<options>    )
    client = await GlideClusterClient.create(configuration)
    value = await client.get("greeting")
    print(value.decode() if value is not None else None)
    await client.close()


asyncio.run(main())
""",
    tls_imports="""
from glide import AdvancedGlideClusterClientConfiguration, TlsAdvancedConfiguration
""",
    tls_options="""
        use_tls=True,
        advanced_config=AdvancedGlideClusterClientConfiguration(
            tls_config=TlsAdvancedConfiguration(root_pem_cacerts=open(os.environ["VALKEY_CA_FILE"], "rb").read()),
        ),
""",
)
