package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// dial opens a WebSocket. headers are alternating names and values.
func (h *harness) dial(cfg *rest.Config, path string, headers ...string) (*websocket.Conn, *http.Response, error) {
	h.t.Helper()
	config, err := rest.TLSConfigFor(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	header := http.Header{"Origin": {"http://example.com"}}
	for i := 0; i < len(headers); i += 2 {
		header.Del(headers[i])
		if headers[i+1] != "" {
			header.Set(headers[i], headers[i+1])
		}
	}
	dialer := websocket.Dialer{TLSClientConfig: config}
	conn, resp, err := dialer.DialContext(h.ctx, "wss"+strings.TrimPrefix(cfg.Host, "https")+path, header)
	if conn != nil {
		h.t.Cleanup(func() { _ = conn.Close() })
		deadline, _ := h.ctx.Deadline()
		_ = conn.SetReadDeadline(deadline)
	}
	return conn, resp, err
}

// message reads one event of JSON.
func message(t *testing.T, conn *websocket.Conn) (string, *corev1.ConfigMap) {
	t.Helper()
	kind, data, err := conn.ReadMessage()
	if err != nil || kind != websocket.TextMessage {
		t.Fatalf("want a message of text, got %d: %s (%v)", kind, data, err)
	}
	var event metav1.WatchEvent
	cm := &corev1.ConfigMap{}
	if err := errors.Join(json.Unmarshal(data, &event), json.Unmarshal(event.Object.Raw, cm)); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return event.Type, cm
}

func TestWatchByWebSocket(t *testing.T) {
	h := start(t)
	cfg := overHTTP1().config(h)
	maps := h.client(cfg).CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b"} {
		must(maps.Create(h.ctx, configMap(name), metav1.CreateOptions{}))(t)
	}
	conn, _, err := h.dial(cfg, "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", "b"} {
		if kind, cm := message(t, conn); kind != string(watch.Added) || cm.Name != want {
			t.Fatalf("want %s, got %s of %s", want, kind, cm.Name)
		}
	}
	if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if kind, cm := message(t, conn); kind != string(watch.Deleted) || cm.Name != "a" || cm.Kind != "ConfigMap" {
		t.Fatalf("got %s of %s", kind, cm.Name)
	}
	// Messages of the client are ignored; its close ends the watch.
	if err := conn.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")); err != nil {
		t.Fatal(err)
	}
	if _, data, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Fatalf("want the end, got %s (%v)", data, err)
	}
	h.idle()
}

func TestWatchByWebSocketProtobuf(t *testing.T) {
	h := start(t)
	cfg := overHTTP1().config(h)
	must(h.client(cfg).CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a", "k", "v"), metav1.CreateOptions{}))(t)
	conn, _, err := h.dial(cfg, "/api/v1/watch/configmaps?timeoutSeconds=1", "Accept", "application/vnd.kubernetes.protobuf;stream=watch")
	if err != nil {
		t.Fatal(err)
	}
	kind, data, err := conn.ReadMessage()
	if err != nil || kind != websocket.BinaryMessage {
		t.Fatalf("want a binary message, got %d: %s (%v)", kind, data, err)
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
	if cm, ok := obj.(*corev1.ConfigMap); err != nil || !ok || cm.Data["k"] != "v" || event.Type != string(watch.Added) {
		t.Fatalf("got %s of %+v (%v)", event.Type, obj, err)
	}
	// The timeout is over.
	if _, data, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Fatalf("want the end, got %s (%v)", data, err)
	}
}

// A compacted revision is reported as the watch's only event.
func TestWatchByWebSocketExpired(t *testing.T) {
	h := start(t)
	for i := range 3 {
		must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap(strconv.Itoa(i)), metav1.CreateOptions{}))(t)
	}
	h.compact()
	conn, _, err := h.dial(overHTTP1().config(h), "/api/v1/configmaps?watch=1&resourceVersion=2")
	if err != nil {
		t.Fatal(err)
	}
	_, data, err := conn.ReadMessage()
	if err != nil || !strings.Contains(string(data), `"type":"ERROR"`) || !strings.Contains(string(data), "too old resource version") {
		t.Fatalf("got %s (%v)", data, err)
	}
	if _, data, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Fatalf("want the end, got %s (%v)", data, err)
	}
}

func TestWatchByWebSocketProtocols(t *testing.T) {
	h := start(t, allowAll)
	cfg := overHTTP1().config(h)
	token := h.tokenFor(authenticationv1.TokenRequestSpec{})
	bearer := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	anonymous := rest.AnonymousClientConfig(cfg)
	anonymous.NextProtos = cfg.NextProtos
	for name, c := range map[string]struct {
		cfg     *rest.Config
		headers []string
		code    int
		chosen  string
	}{
		"none":              {cfg, nil, http.StatusSwitchingProtocols, ""},
		"one":               {cfg, []string{"Sec-WebSocket-Protocol", "base64.binary.k8s.io"}, http.StatusSwitchingProtocols, "base64.binary.k8s.io"},
		"several":           {cfg, []string{"Sec-WebSocket-Protocol", "a, b"}, http.StatusBadRequest, ""},
		"no origin":         {cfg, []string{"Origin", ""}, http.StatusForbidden, ""},
		"token":             {anonymous, []string{"Sec-WebSocket-Protocol", bearer + ", base64.binary.k8s.io"}, http.StatusSwitchingProtocols, "base64.binary.k8s.io"},
		"token by itself":   {anonymous, []string{"Sec-WebSocket-Protocol", bearer}, http.StatusUnauthorized, ""},
		"two tokens":        {anonymous, []string{"Sec-WebSocket-Protocol", bearer + ", " + bearer + ", x"}, http.StatusUnauthorized, ""},
		"unreadable format": {cfg, []string{"Accept", "application/cbor"}, http.StatusNotAcceptable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, resp, err := h.dial(c.cfg, "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=600", c.headers...)
			if resp == nil || resp.StatusCode != c.code {
				t.Fatalf("want %d, got %+v (%v)", c.code, resp, err)
			}
			if got := resp.Header.Get("Sec-WebSocket-Protocol"); got != c.chosen {
				t.Fatalf("want the protocol %q, got %q", c.chosen, got)
			}
			if conn != nil {
				_ = conn.Close()
			}
		})
	}
}

// A client that does not read is disconnected; one without events does not delay the
// server's shutdown.
func TestWatchByWebSocketSlow(t *testing.T) {
	h := start(t)
	h.stall = 50 * time.Millisecond
	cfg := overHTTP1().config(h)
	if _, _, err := h.dial(cfg, "/api/v1/namespaces/default/configmaps?watch=1&labelSelector=none"); err != nil {
		t.Fatal(err)
	}
	flood(t, h)
	slow, _, err := h.dial(cfg, "/api/v1/configmaps?watch=1&resourceVersion=0")
	if err != nil {
		t.Fatal(err)
	}
	// The metrics list watches of all namespaces first.
	for !strings.HasSuffix(metricLine(h, "apiserver_longrunning_requests{"), "} 0") {
		if h.ctx.Err() != nil {
			t.Fatal("the stalled watch is still served")
		}
	}
	for err == nil {
		_, _, err = slow.ReadMessage()
	}
	if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Fatal("the stalled watch has ended as if all had been sent")
	}
}
