import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;

/** A load on a cluster by a client library for Java, until told to stop. Speaks as load.py does and does the same, with one long-lived client. */
final class Load {
  private static final int SHOWN = 20;
  private static final long LAST_ROUND = 30_000_000_000L; // nanoseconds
  private static final int SORRY = 20; // milliseconds

  /** What it is told. */
  static final class Settings {
    String library;
    List<String[]> seeds;
    String username;
    String password;
    String trust;
    String prefix;
    int keys;
    int warm;
    double pause;
    boolean last_round;
  }

  /** What it tells in the end. */
  static final class Report {
    int requests;
    int failures;
    final List<String> complaints = new ArrayList<>();
    final List<String> lost = new ArrayList<>();
    double worst_gap;
    int clients;
    int writes;
    int reads;
    Boolean recovered;
    int keys;
    String version;
  }

  private final Settings settings;
  private final Report report = new Report();
  private final Map<String, List<String>> mayBe = new HashMap<>(); // the values of each key: one, unless a write of it failed
  private final List<String> known = new ArrayList<>();
  private Client client;
  private Long lastSuccess;
  private volatile boolean measureAnew;
  private volatile boolean stopping;

  private Load(Settings settings) {
    this.settings = settings;
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    Load load = new Load(new Gson().fromJson(input.readLine(), Settings.class));
    Thread listener = new Thread(() -> load.listen(input));
    listener.setDaemon(true);
    listener.start();
    load.work();
    load.report.keys = load.known.size();
    load.report.version = version(load.artifact());
    System.out.println(new Gson().toJson(load.report));
    System.exit(0); // whatever a client still has open
  }

  private void listen(BufferedReader input) {
    try {
      while (input.readLine() != null) measureAnew = true;
    } catch (IOException ended) {
      // as good as its end
    }
    stopping = true;
  }

  private String artifact() {
    return switch (settings.library) {
      case "lettuce" -> OfLettuce.PACKAGE;
      case "jedis" -> OfJedis.PACKAGE;
      default -> OfValkeyJava.PACKAGE;
    };
  }

  private Client connect() throws Exception {
    Settings s = settings;
    return switch (s.library) {
      case "lettuce" -> new OfLettuce(s.seeds, s.username, s.password, s.trust);
      case "jedis" -> new OfJedis(s.seeds, s.username, s.password, s.trust);
      default -> new OfValkeyJava(s.seeds, s.username, s.password, s.trust);
    };
  }

  private static String version(String artifact) throws IOException {
    Properties built = new Properties();
    try (InputStream told = Load.class.getResourceAsStream("/META-INF/maven/" + artifact + "/pom.properties")) {
      built.load(told);
    }
    return built.getProperty("version");
  }

  private void work() throws InterruptedException {
    int inARow = 0;
    boolean works = false;
    for (int number = 0; !stopping; number++) {
      if (client == null && !attempt("connect", () -> client = connect())) continue;
      inARow = step(number) ? inARow + 1 : 0;
      if (inARow == settings.warm && !works) {
        works = true;
        System.out.println("working");
      }
    }
    if (client == null) return;
    if (settings.last_round) report.recovered = lastRound();
    noteGap();
    for (String key : known) read(key); // every key has its value in the end
    client.close();
  }

  /** Whether every key was written and read in a row. */
  private boolean lastRound() throws InterruptedException {
    int inARow = 0;
    for (long began = System.nanoTime(); inARow < settings.keys && System.nanoTime() - began < LAST_ROUND; ) {
      inARow = step(inARow) ? inARow + 1 : 0;
    }
    return inARow == settings.keys;
  }

  private boolean step(int number) throws InterruptedException {
    String key = settings.prefix + ":steady:" + number % settings.keys;
    String value = String.valueOf(number);
    if (!mayBe.containsKey(key)) {
      List<String> none = new ArrayList<>();
      none.add(null);
      mayBe.put(key, none);
      known.add(key);
    }
    mayBe.get(key).add(value);
    boolean written = attempt("set " + key, () -> {
      client.set(key, value);
      return null;
    });
    if (written) {
      report.writes++;
      mayBe.put(key, new ArrayList<>(List.of(value)));
    }
    ThreadLocalRandom random = ThreadLocalRandom.current();
    boolean done = read(random.nextBoolean() ? key : known.get(random.nextInt(known.size()))) && written;
    if (measureAnew) {
      measureAnew = false;
      report.worst_gap = 0;
      lastSuccess = System.nanoTime();
    }
    if (done) {
      noteGap();
      lastSuccess = System.nanoTime();
    }
    Thread.sleep(Math.round(settings.pause * 1000));
    return done;
  }

  private boolean read(String key) throws InterruptedException {
    String[] value = new String[1];
    if (!attempt("get " + key, () -> value[0] = client.get(key))) return false;
    report.reads++;
    if (!mayBe.get(key).contains(value[0])) report.lost.add(key + ": " + value[0] + " instead of " + mayBe.get(key));
    return true;
  }

  private void noteGap() {
    if (lastSuccess != null) report.worst_gap = Math.max(report.worst_gap, (System.nanoTime() - lastSuccess) / 1e9);
  }

  /** Whether the request succeeded; a failure is counted as an application would see it. */
  private boolean attempt(String what, Callable<?> request) throws InterruptedException {
    report.requests++;
    try {
      request.call();
      return true;
    } catch (Exception error) {
      report.failures++;
      Throwable cause = error;
      while (cause.getCause() != null) cause = cause.getCause();
      if (report.complaints.size() < SHOWN) {
        report.complaints.add(System.currentTimeMillis() / 1000.0 + " " + what + ": " + error + " (" + cause + ")");
      }
      Thread.sleep(SORRY);
      return false;
    }
  }
}
