package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// echo serves a connection to a port: it sends back what it gets in capitals. Nothing listens on port 81.
func echo(_ context.Context, port uint16, conn io.ReadWriteCloser) error {
	if port == 81 {
		return errors.New("connection refused")
	}
	buf := make([]byte, 100)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if _, err := conn.Write(bytes.ToUpper(buf[:n])); err != nil {
				return nil
			}
		}
		if err != nil {
			return nil
		}
	}
}

// servePorts starts a server that forwards to ports by echo, and returns its URL.
func servePorts(t *testing.T, ports ...int32) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ServePorts(w, r, PortOptions{Pod: "p_default", UID: "u", Ports: ports, Forward: echo}); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// receive returns the next message of a channel, which are numbered by bytes from first on.
func receive(t *testing.T, conn *websocket.Conn, decode func([]byte) []byte) (channel byte, data string) {
	t.Helper()
	_, message, err := conn.ReadMessage()
	if err != nil || len(message) == 0 {
		t.Fatalf("%q %v", message, err)
	}
	return message[0], string(decode(message[1:]))
}

// TestPortChannels forwards two ports on one WebSocket, in each protocol.
func TestPortChannels(t *testing.T) {
	plain := func(data []byte) []byte { return data }
	for _, test := range []struct {
		protocol       string
		zero           byte
		encode, decode func([]byte) []byte
	}{
		{"", 0, plain, plain},
		{"v4.channel.k8s.io", 0, plain, plain},
		{"portforward.k8s.io", 0, plain, plain},
		{"v4.base64.channel.k8s.io", '0', func(data []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(data)) }, func(data []byte) []byte {
			decoded, err := base64.StdEncoding.DecodeString(string(data))
			if err != nil {
				t.Fatal(err)
			}
			return decoded
		}},
	} {
		t.Run(test.protocol, func(t *testing.T) {
			var protocols []string
			if test.protocol != "" {
				protocols = []string{test.protocol}
			}
			conn := dial(t, servePorts(t, 80, 81), protocols...)
			if conn.Subprotocol() != test.protocol {
				t.Errorf("the protocol is %q", conn.Subprotocol())
			}
			got := map[byte]string{}
			for range 5 { // the port on each channel, and the error of port 81
				channel, data := receive(t, conn, test.decode)
				got[channel-test.zero] += data
			}
			failure := "error forwarding port 81 to pod p_default, uid u: connection refused"
			if got[0] != "P\x00" || got[1] != "P\x00" || got[2] != "Q\x00" || got[3] != "Q\x00"+failure {
				t.Errorf("received %q", got)
			}
			kind := websocket.BinaryMessage
			if test.zero != 0 {
				kind = websocket.TextMessage
			}
			if err := conn.WriteMessage(kind, append([]byte{test.zero}, test.encode([]byte("hello"))...)); err != nil {
				t.Fatal(err)
			}
			if channel, data := receive(t, conn, test.decode); channel != test.zero || data != "HELLO" {
				t.Errorf("received %q on channel %d", data, channel)
			}
		})
	}
}

// TestPortChannelsOfBadRequests rejects WebSockets without ports, with too many, and with protocols of others.
func TestPortChannelsOfBadRequests(t *testing.T) {
	for name, test := range map[string]struct {
		ports     []int32
		protocols []string
		code      int
	}{
		"no port":  {nil, []string{"v4.channel.k8s.io"}, 400},
		"port 0":   {[]int32{0}, []string{"v4.channel.k8s.io"}, 400},
		"no such":  {[]int32{65536}, []string{"v4.channel.k8s.io"}, 400},
		"many":     {make([]int32, 128), []string{"v4.channel.k8s.io"}, 400},
		"protocol": {[]int32{80}, []string{"v5.channel.k8s.io"}, 403},
	} {
		dialer := websocket.Dialer{Subprotocols: test.protocols}
		_, response, err := dialer.DialContext(t.Context(), strings.Replace(servePorts(t, test.ports...), "http", "ws", 1), nil)
		if err == nil || response == nil || response.StatusCode != test.code {
			t.Errorf("%s: %v %v", name, response, err)
		}
	}
}
