package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const sharedNamespaces = sharedPath + "/api/v1/namespaces"

// dial opens a WebSocket as the page does, with the origin.
func (b *browser) dial(path, origin string) (*websocket.Conn, int) {
	b.t.Helper()
	dialer := websocket.Dialer{EnableCompression: true}
	conn, response, err := dialer.DialContext(b.t.Context(), "ws://"+b.page.Address()+path, http.Header{"Origin": {origin}, "Cookie": {b.cookie()}})
	if err != nil {
		if response == nil {
			b.t.Fatal(err)
		}
		return nil, response.StatusCode
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn, response.StatusCode
}

// namespacesUntil reads messages until one has the namespace, and returns the events' types by name.
func namespacesUntil(t *testing.T, conn *websocket.Conn, name string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for seen[name] == "" {
		_, message, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(message)); lines.Scan(); {
			var event struct {
				Type   string
				Object corev1.Namespace
			}
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				t.Fatal(err)
			}
			seen[event.Object.Name] = event.Type
		}
	}
	return seen
}

// TestSharedWatch has two pages on one watch, of which one comes later.
func TestSharedWatch(t *testing.T) {
	t.Parallel()
	c, page := newPage(t)
	b := newBrowser(t, page).open()
	client := c.Client().CoreV1().Namespaces()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := sharedNamespaces + "?resourceVersion=" + list.ResourceVersion
	first, _ := b.dial(at, b.origin())
	for _, name := range []string{"a", "b"} {
		if _, err := client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	namespacesUntil(t, first, "b")
	second, _ := b.dial(at, b.origin())
	if seen := namespacesUntil(t, second, "b"); seen["a"] == "" {
		t.Errorf("the second page has %v", seen)
	}
	page.Close()
	for _, conn := range []*websocket.Conn{first, second} {
		for err = error(nil); err == nil; {
			_, _, err = conn.ReadMessage()
		}
	}
}

// TestSharedWatchIsRefused has requests that the page does not make, and a watch that the API server
// refuses.
func TestSharedWatchIsRefused(t *testing.T) {
	t.Parallel()
	_, page := newPage(t)
	b := newBrowser(t, page).open()
	for name, test := range map[string]struct {
		path, origin string
		want         int
	}{
		"of another origin":         {sharedNamespaces + "?resourceVersion=1", "http://evil.example", 403},
		"without a version":         {sharedNamespaces, b.origin(), 400},
		"with a version of letters": {sharedNamespaces + "?resourceVersion=x", b.origin(), 400},
		"of a kind that is missing": {sharedPath + "/apis/example.com/v1/widgets?resourceVersion=1", b.origin(), 404},
	} {
		if conn, code := b.dial(test.path, test.origin); conn != nil || code != test.want {
			t.Errorf("%s: the answer is %d, want %d", name, code, test.want)
		}
	}
	if code, _, body := b.do(http.MethodGet, sharedNamespaces+"?resourceVersion=1", map[string]string{pageHeader: "1"}, ""); code != http.StatusBadRequest || !strings.Contains(body, "WebSocket") {
		t.Errorf("without a WebSocket, the answer is %d: %s", code, body)
	}
	page.attach(nil)
	if conn, code := b.dial(sharedNamespaces+"?resourceVersion=1", b.origin()); conn != nil || code != http.StatusServiceUnavailable {
		t.Errorf("without a cluster, the answer is %d", code)
	}
}
