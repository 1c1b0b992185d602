// docs/clients.md shows this:
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import java.io.File;
import java.time.Duration;
import java.util.List;
// That is all.
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

final class OfLettuce implements Client {
  // docs/clients.md shows this:
  static RedisClusterClient configured(List<String[]> seeds, String username, String password, String ca) {
    List<RedisURI> uris = seeds.stream().map(seed -> {
      RedisURI.Builder uri = RedisURI.builder()
          .withHost(seed[0])
          .withPort(Integer.parseInt(seed[1]))
          .withAuthentication(username, password.toCharArray())
          .withTimeout(Duration.ofSeconds(5));
      return (ca == null ? uri : uri.withSsl(true).withVerifyPeer(SslVerifyMode.FULL)).build();
    }).toList();
    ClusterClientOptions.Builder options = ClusterClientOptions.builder()
        .topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder().enablePeriodicRefresh(Duration.ofSeconds(30)).build())
        .timeoutOptions(TimeoutOptions.enabled());
    if (ca != null) {
      options.sslOptions(SslOptions.builder().jdkSslProvider().trustManager(new File(ca)).build());
    }
    RedisClusterClient client = RedisClusterClient.create(uris);
    client.setOptions(options.build());
    return client;
  }
  // That is all.

  static final String PACKAGE = "io.lettuce/lettuce-core";

  private final RedisClusterClient client;
  private final StatefulRedisClusterConnection<String, String> connection;

  OfLettuce(List<String[]> seeds, String username, String password, String ca) throws Exception {
    client = configured(seeds, username, password, ca);
    try {
      // It would wait for ever for a server whose certificate it refuses.
      connection = CompletableFuture.supplyAsync(client::connect).get(10, TimeUnit.SECONDS);
    } catch (Exception error) {
      client.shutdownAsync(); // and its end as well
      throw error;
    }
  }

  @Override
  public void set(String key, String value) {
    connection.sync().set(key, value);
  }

  @Override
  public String get(String key) {
    return connection.sync().get(key);
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
