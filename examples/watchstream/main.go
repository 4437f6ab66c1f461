// The program watchstream prints the bytes of a watch as they arrive. A watch is a GET whose response
// does not end. It has no Content-Length: HTTP/1.1 sends it in chunks, each with its length before
// it, and the server flushes a chunk for each event.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/examples/connect"
)

func main() { connect.Main(run) }

func run(ctx context.Context, config *rest.Config) error {
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has frames instead of chunks
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	// Without a resourceVersion, the watch begins with an ADDED event for each object.
	url := config.Host + "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=3"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	begin := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Println(response.Proto, response.Status, "Transfer-Encoding:", response.TransferEncoding)
	// net/http has removed the lengths of the chunks: each event is a line of JSON.
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Text()
		fmt.Printf("%.1fs %d bytes %.60s...\n", time.Since(begin).Seconds(), len(line), line)
	}
	return lines.Err()
}
