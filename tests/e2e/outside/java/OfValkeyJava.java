// docs/clients.md shows this:
import io.valkey.DefaultJedisClientConfig;
import io.valkey.HostAndPort;
import io.valkey.JedisCluster;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import javax.net.ssl.SSLParameters;
// That is all.

final class OfValkeyJava implements Client {
  // docs/clients.md shows this:
  static JedisCluster connected(List<String[]> seeds, String username, String password, String ca) {
    Set<HostAndPort> nodes =
        seeds.stream().map(seed -> new HostAndPort(seed[0], Integer.parseInt(seed[1]))).collect(Collectors.toSet());
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder().user(username).password(password).timeoutMillis(5000);
    if (ca != null) {
      SSLParameters verifying = new SSLParameters();
      verifying.setEndpointIdentificationAlgorithm("HTTPS"); // the name as well as the chain
      config.ssl(true).sslSocketFactory(Trust.in(ca)).sslParameters(verifying);
    }
    return new JedisCluster(nodes, config.build());
  }
  // That is all.

  static final String PACKAGE = "io.valkey/valkey-java";

  private final JedisCluster client;

  OfValkeyJava(List<String[]> seeds, String username, String password, String ca) {
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
