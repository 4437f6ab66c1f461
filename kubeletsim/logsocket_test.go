package kubeletsim_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// TestLogsOverWebSockets reads a log over a WebSocket with each subprotocol: an empty message, and then the log.
func TestLogsOverWebSockets(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(podNamed("web", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Command = []string{"sh", "-c", "echo container is alive; sleep 10000"}
	}))
	tls, err := rest.TLSConfigFor(c.config)
	if err != nil {
		t.Fatal(err)
	}
	at := "wss" + strings.TrimPrefix(c.config.Host, "https") + "/api/v1/namespaces/default/pods/web/log"
	for _, tt := range []struct {
		protocol string
		kind     int
		decode   func(string) ([]byte, error)
	}{
		{"", websocket.BinaryMessage, func(s string) ([]byte, error) { return []byte(s), nil }},
		{"binary.k8s.io", websocket.BinaryMessage, func(s string) ([]byte, error) { return []byte(s), nil }},
		{"base64.binary.k8s.io", websocket.TextMessage, base64.StdEncoding.DecodeString},
	} {
		dialer := websocket.Dialer{TLSClientConfig: tls}
		if tt.protocol != "" {
			dialer.Subprotocols = []string{tt.protocol}
		}
		conn, _, err := dialer.DialContext(t.Context(), at, http.Header{"Origin": {"http://example.com"}})
		if err != nil {
			t.Fatalf("%s: %v", tt.protocol, err)
		}
		if conn.Subprotocol() != tt.protocol {
			t.Errorf("the subprotocol is %q, want %q", conn.Subprotocol(), tt.protocol)
		}
		var log strings.Builder
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				break
			}
			piece, err := tt.decode(string(message))
			if kind != tt.kind || err != nil {
				t.Errorf("%s: message of kind %d: %q (%v)", tt.protocol, kind, message, err)
			}
			log.Write(piece)
		}
		if got := log.String(); got != "container is alive\n" {
			t.Errorf("%s: the log is %q", tt.protocol, got)
		}
		_ = conn.Close()
	}
	dialer := websocket.Dialer{TLSClientConfig: tls, Subprotocols: []string{"v5.channel.k8s.io"}}
	if conn, _, err := dialer.DialContext(t.Context(), at, http.Header{"Origin": {"http://example.com"}}); !errors.Is(err, websocket.ErrBadHandshake) {
		t.Errorf("an unknown subprotocol: %v, %v", conn, err)
	}
}
