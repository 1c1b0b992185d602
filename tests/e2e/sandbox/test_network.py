import socket


def test_outside_reaches_node_ports_on_every_node_and_neither_pods_nor_services_nor_the_api_server(place):
    service = place.get("service", "some")["spec"]
    pod = place.get("pods")["items"][0]["status"]["podIP"]
    port = service["ports"][0]["nodePort"]

    assert [place.answers_outside(f"198.18.0.{number}", port) for number in (11, 12, 13)] == [True, True, True]
    assert not place.answers_outside(pod)
    assert not place.answers_outside(service["clusterIP"])
    assert place.kubernetes.outside("timeout", "2", "bash", "-c", "echo > /dev/tcp/198.18.0.1/6443").returncode != 0


def test_so_it_is_with_ipv6(place):
    service = place.get("service", "dual")["spec"]
    pod = place.get("pods")["items"][0]["status"]["podIPs"][1]["ip"]
    port = service["ports"][0]["nodePort"]

    assert [place.answers_outside(f"2001:2::{number}", port) for number in (11, 12, 13)] == [True, True, True]
    assert pod.startswith("fd00:10:245:")
    assert not place.answers_outside(pod)
    assert service["clusterIPs"][1].startswith("fd00:10:96::")
    assert not place.answers_outside(service["clusterIPs"][1])
    assert not place.answers_outside("2001:2::1", 6443)


def test_nodes_and_pods_have_both_families_and_services_only_ipv4_unless_they_ask_for_more(place):
    nodes = {node["metadata"]["name"]: node["status"]["addresses"] for node in place.get("nodes")["items"]}
    pods = [pod["status"] for pod in place.get("pods")["items"]]

    assert [address["address"] for address in nodes["node-2"] if address["type"] == "InternalIP"] == ["198.18.0.12", "2001:2::12"]
    assert {pod["podIP"] == pod["podIPs"][0]["ip"] and pod["podIP"].startswith("10.245.") for pod in pods} == {True}
    assert ["198.18.0.12", "2001:2::12"] in [[entry["ip"] for entry in pod["hostIPs"]] for pod in pods]
    assert place.get("service", "some")["spec"]["ipFamilies"] == ["IPv4"]


def test_this_machine_reaches_pods_and_services(place):
    pods = [entry["ip"] for pod in place.get("pods")["items"] for entry in pod["status"]["podIPs"]]

    for address in pods + place.get("service", "dual")["spec"]["clusterIPs"]:
        with socket.create_connection((address, 6379), 3) as connection:
            connection.sendall(b"PING\r\n")
            assert connection.recv(100) == b"+PONG\r\n"


def test_pods_reach_each_other_across_nodes_and_the_api_server(place):
    pods = place.get("pods")["items"]
    asking = pods[0]["metadata"]["name"]

    for address in (entry["ip"] for pod in pods for entry in pod["status"]["podIPs"]):
        assert place.kubectl("exec", asking, "--", "valkey-cli", "-h", address, "ping") == "PONG\n"
    assert place.kubectl("exec", asking, "--", "sh", "-c", "nc -w 2 10.96.0.1 443 < /dev/null && echo open") == "open\n"


def test_pods_have_an_identity_that_the_api_server_knows(place):
    token = place.kubectl("create", "token", "default")

    said = place.kubernetes.try_kubectl(
        "auth",
        "whoami",
        "--token",
        token,
        "--kubeconfig",
        "/dev/null",
        "--server",
        "https://198.18.0.1:6443",
        "--insecure-skip-tls-verify",
    )

    assert f"system:serviceaccount:{place.namespace}:default" in said.stdout


def test_a_name_that_does_not_exist_is_refused_at_once(place):
    name = place.get("pods")["items"][0]["metadata"]["name"]

    said = place.kubectl("exec", name, "--", "sh", "-c", "date +%s; nslookup nowhere.example >/dev/null 2>&1; date +%s").split()

    assert int(said[1]) - int(said[0]) <= 3


def test_pod_security_is_enforced(place):
    refused = place.kubernetes.try_kubectl(
        "--namespace", place.namespace, "run", "root", "--image=docker.io/valkey/valkey:9.1.2", "--privileged"
    )

    assert refused.returncode == 1
    assert 'violates PodSecurity "restricted' in refused.stderr


def test_nodes_lie_in_zones_of_their_own(place):
    labels = [node["metadata"]["labels"] for node in place.get("nodes")["items"]]

    assert [label["topology.kubernetes.io/zone"] for label in labels] == ["zone-1", "zone-2", "zone-3"]
