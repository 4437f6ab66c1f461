// Code generated from examples/watchstream/main.go by go generate. DO NOT EDIT.

package examples

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// path has no resourceVersion, so that the watch begins with an ADDED event for each object.
const path = "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=colors&timeoutSeconds=5"

// The program watchstream watches ConfigMaps without a client of Kubernetes, and prints each event when it
// arrives. A watch is a GET whose response does not end. It has no Content-Length: HTTP/1.1 sends
// it in chunks, each with its length before it, and the server flushes a chunk for each event.
func watchstream(ctx context.Context, config *rest.Config) error {
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has frames instead of chunks
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		return err
	}
	begin := time.Now() //verify:allow a program beside the cluster has the machine's time
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
		var event struct {
			Type   string                       `json:"type"`
			Object metav1.PartialObjectMetadata `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		fmt.Printf("after %.1fs %s %s, resourceVersion %s, in %d bytes\n",
			time.Since(begin).Seconds(), event.Type, event.Object.Name, event.Object.ResourceVersion, len(lines.Bytes())) //verify:allow a program beside the cluster has the machine's time
	}
	return lines.Err()
}
