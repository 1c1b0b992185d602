"""Jedis."""

from valkey_operator.outside.clients.client import Client

JEDIS = Client(
    name="jedis",
    file="Client.java",
    install="add redis.clients:jedis to the class path (Maven Central)",
    comment="//",
    seed='        new HostAndPort("<host>", <port>)',
    between=",\n",
    program="""
<imports>import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;

public class Client {
  public static void main(String[] arguments) throws Exception {
    DefaultJedisClientConfig.Builder configuration = DefaultJedisClientConfig.builder()
        .user(System.getenv("VALKEY_USERNAME"))
        .password(System.getenv("VALKEY_PASSWORD"))
        .connectionTimeoutMillis(2000)
        .socketTimeoutMillis(5000);
<options>    Set<HostAndPort> start = Set.of(
<seeds>);
    try (RedisClusterClient client = RedisClusterClient.builder().nodes(start).clientConfig(configuration.build()).build()) {
      System.out.println(client.get("greeting"));
    }
  }
}
""",
    tls_imports="""
import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
""",
    tls_options="""
    KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
    authorities.load(null);
    try (FileInputStream file = new FileInputStream(System.getenv("VALKEY_CA_FILE"))) {
      for (Certificate authority : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
        authorities.setCertificateEntry("authority-" + authorities.size(), authority);
      }
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(authorities);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    SSLParameters names = new SSLParameters();
    names.setEndpointIdentificationAlgorithm("HTTPS");
    configuration.ssl(true).sslSocketFactory(context.getSocketFactory()).sslParameters(names);
""",
)
