from sandbox import faults


def test_a_partition_drops_what_comes_from_the_other_node_and_from_its_pods():
    rules = faults.drop_rules(2).splitlines()

    assert "add rule inet sandbox-partition prerouting ip saddr { 198.18.0.12, 10.245.2.0/24 } drop" in rules
    assert "add rule inet sandbox-partition prerouting ip6 saddr { 2001:2::12, fd00:10:245:2::/64 } drop" in rules
