"""valkey-go."""

from valkey_operator.outside.clients.client import Client

VALKEY_GO = Client(
    name="valkey-go",
    file="main.go",
    install="go get github.com/valkey-io/valkey-go",
    comment="//",
    seed='\t\t\t"<host>:<port>",',
    between="\n",
    program="""
package main

import (
\t"context"
<imports>\t"fmt"
\t"log"
\t"net"
\t"os"
\t"time"

\t"github.com/valkey-io/valkey-go"
)

func main() {
\toption := valkey.ClientOption{
\t\tInitAddress: []string{
<seeds>
\t\t},
\t\tUsername: os.Getenv("VALKEY_USERNAME"),
\t\tPassword: os.Getenv("VALKEY_PASSWORD"),
\t\t// All requests for a server wait while it is dialled, and nobody answers where a pod has just gone.
\t\tDialer: net.Dialer{Timeout: time.Second},
\t}
<options>\tclient, err := valkey.NewClient(option)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tdefer client.Close()
\tvalue, err := client.Do(context.Background(), client.B().Get().Key("greeting").Build()).ToString()
\tif err != nil && !valkey.IsValkeyNil(err) {
\t\tlog.Fatal(err)
\t}
\tfmt.Println(value)
}
""",
    tls_imports="""
\t"crypto/tls"
\t"crypto/x509"
""",
    tls_options="""
\tauthorities, err := os.ReadFile(os.Getenv("VALKEY_CA_FILE"))
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tpool := x509.NewCertPool()
\tpool.AppendCertsFromPEM(authorities)
\toption.TLSConfig = &tls.Config{RootCAs: pool}
""",
)
