// docs/clients.md shows this:
import java.io.FileInputStream;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
// That is all.

final class Trust {
  // docs/clients.md shows this:
  /** Sockets that trust the authorities in a PEM file and no others. */
  static SSLSocketFactory in(String file) {
    try (InputStream pem = new FileInputStream(file)) {
      KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
      authorities.load(null, null);
      for (Certificate authority : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        authorities.setCertificateEntry("authority-" + authorities.size(), authority);
      }
      TrustManagerFactory trusting = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trusting.init(authorities);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trusting.getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (java.io.IOException | GeneralSecurityException error) {
      throw new IllegalArgumentException("no authorities in " + file, error);
    }
  }
  // That is all.
}
