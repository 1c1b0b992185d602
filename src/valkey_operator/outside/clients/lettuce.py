"""Lettuce."""

from valkey_operator.outside.clients.client import Client

LETTUCE = Client(
    name="lettuce",
    file="Client.java",
    install="add io.lettuce:lettuce-core to the class path (Maven Central)",
    comment="//",
    seed='        uri("<host>", <port>)',
    between=",\n",
    program="""
import io.lettuce.core.RedisURI;
<imports>import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.List;

public class Client {
  static RedisURI uri(String host, int port) {
    return RedisURI.builder()
        .withHost(host)
        .withPort(port)
        .withSsl(<secured>)
        .withAuthentication(System.getenv("VALKEY_USERNAME"), System.getenv("VALKEY_PASSWORD").toCharArray())
        .withTimeout(Duration.ofSeconds(5))
        .build();
  }

  public static void main(String[] arguments) {
    RedisClusterClient client = RedisClusterClient.create(List.of(
<seeds>));
    client.setOptions(ClusterClientOptions.builder()
<options>        .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
            .enableAllAdaptiveRefreshTriggers()
            .enablePeriodicRefresh(Duration.ofSeconds(10))
            .build())
        .build());
    try (var connection = client.connect()) {
      System.out.println(connection.sync().get("greeting"));
    } finally {
      client.shutdown();
    }
  }
}
""",
    tls_imports="""
import io.lettuce.core.SslOptions;
""",
    tls_options="""
        .sslOptions(SslOptions.builder()
            .jdkSslProvider()
            .trustManager(new java.io.File(System.getenv("VALKEY_CA_FILE")))
            .build())
""",
)
