/** What a load needs of a library. */
interface Client extends AutoCloseable {
  void set(String key, String value) throws Exception;

  /** Null where there is none. */
  String get(String key) throws Exception;

  @Override
  void close();
}
