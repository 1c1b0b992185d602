"""go-redis."""

from valkey_operator.outside.clients.client import Client
from valkey_operator.outside.clients.valkey_go import VALKEY_GO

GO_REDIS = Client(
    name="go-redis",
    file="main.go",
    install="go get github.com/redis/go-redis/v9",
    comment="//",
    seed=VALKEY_GO.seed,
    between="\n",
    program="""
package main

import (
\t"context"
<imports>\t"errors"
\t"fmt"
\t"log"
\t"os"
\t"time"

\t"github.com/redis/go-redis/v9"
)

func main() {
\toption := redis.ClusterOptions{
\t\tAddrs: []string{
<seeds>
\t\t},
\t\tUsername:    os.Getenv("VALKEY_USERNAME"),
\t\tPassword:    os.Getenv("VALKEY_PASSWORD"),
\t\tDialTimeout: 2 * time.Second,
\t}
<options>\tclient := redis.NewClusterClient(&option)
\tdefer client.Close()
\tvalue, err := client.Get(context.Background(), "greeting").Result()
\tif err != nil && !errors.Is(err, redis.Nil) {
\t\tlog.Fatal(err)
\t}
\tfmt.Println(value)
}
""",
    tls_imports=VALKEY_GO.tls_imports,
    tls_options=VALKEY_GO.tls_options,
)
