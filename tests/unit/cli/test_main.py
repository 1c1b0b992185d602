import yaml
from click.testing import CliRunner

from valkey_operator.cli.main import main


def test_crds_prints_the_definitions_and_nothing_else():
    printed = CliRunner().invoke(main, ["crds"]).output
    documents = list(yaml.safe_load_all(printed))
    assert [document["metadata"]["name"] for document in documents] == ["valkeyclusters.valkey.io", "valkeynodes.valkey.io"]
    assert {document["kind"] for document in documents} == {"CustomResourceDefinition"}


def test_help_names_every_option_of_a_run():
    printed = CliRunner().invoke(main, ["run", "--help"]).output
    for option in (
        "--namespace",
        "--no-leader-elect",
        "--lease-namespace",
        "--http-port",
        "--workers",
        "--cluster-domain",
        "--log-format",
        "--kubeconfig",
    ):
        assert option in printed
