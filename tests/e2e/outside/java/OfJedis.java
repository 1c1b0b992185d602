// docs/clients.md shows this:
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import javax.net.ssl.SSLParameters;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;
// That is all.

final class OfJedis implements Client {
  // docs/clients.md shows this:
  static RedisClusterClient connected(List<String[]> seeds, String username, String password, String ca) {
    Set<HostAndPort> nodes =
        seeds.stream().map(seed -> new HostAndPort(seed[0], Integer.parseInt(seed[1]))).collect(Collectors.toSet());
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder().user(username).password(password).timeoutMillis(5000);
    if (ca != null) {
      SSLParameters verifying = new SSLParameters();
      verifying.setEndpointIdentificationAlgorithm("HTTPS"); // the name as well as the chain
      config.ssl(true).sslSocketFactory(Trust.in(ca)).sslParameters(verifying);
    }
    return RedisClusterClient.builder().nodes(nodes).clientConfig(config.build()).build();
  }
  // That is all.

  static final String PACKAGE = "redis.clients/jedis";

  private final RedisClusterClient client;

  OfJedis(List<String[]> seeds, String username, String password, String ca) {
    client = connected(seeds, username, password, ca);
  }

  @Override
  public void set(String key, String value) {
    client.set(key, value);
  }

  @Override
  public String get(String key) {
    return client.get(key);
  }

  @Override
  public void close() {
    client.close();
  }
}
