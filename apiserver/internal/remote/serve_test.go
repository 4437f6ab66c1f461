package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// serve starts a server that runs o for every request, and returns its URL and the
// errors of the requests.
func serve(t *testing.T, o Options) (url string, ended <-chan error) {
	t.Helper()
	errs := make(chan error, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		errs <- Serve(w, r, o)
	}))
	t.Cleanup(server.Close)
	return server.URL, errs
}

func dial(t *testing.T, url string, protocols ...string) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: protocols}
	conn, response, err := dialer.DialContext(t.Context(), strings.Replace(url, "http", "ws", 1), nil)
	if err != nil {
		t.Fatalf("%v (%v)", err, response)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// messages returns the messages of a connection until its end, by the first byte.
func messages(conn *websocket.Conn) map[byte]string {
	got := map[byte]string{}
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return got
		}
		if len(data) > 0 {
			got[data[0]] += string(data[1:])
		}
	}
}

// upper is a process that writes its input in capitals, and exits with 3.
func upper(_ context.Context, streams remotecommand.StreamOptions) error {
	data, err := io.ReadAll(streams.Stdin)
	if err != nil {
		return err
	}
	_, _ = io.WriteString(streams.Stdout, strings.ToUpper(string(data)))
	_, _ = io.WriteString(streams.Stderr, "done")
	return utilexec.CodeExitError{Err: errors.New("exit 3"), Code: 3}
}

func TestProtocols(t *testing.T) {
	url, _ := serve(t, Options{Stdin: true, Stdout: true, Stderr: true, Doing: "testing", Run: upper})
	conn := dial(t, url, "v5.channel.k8s.io")
	for _, message := range []string{"\x00ab", "\x00c", "\xff\x00"} {
		if err := conn.WriteMessage(websocket.BinaryMessage, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	got := messages(conn)
	var status metav1.Status
	if err := json.Unmarshal([]byte(got[3]), &status); err != nil {
		t.Fatal(err)
	}
	delete(got, 3)
	if diff := cmp.Diff(map[byte]string{1: "ABC", 2: "done"}, got); diff != "" {
		t.Error(diff)
	}
	want := metav1.Status{
		Status: "Failure", Reason: "NonZeroExitCode", Message: "command terminated with non-zero exit code: exit 3",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "ExitCode", Message: "3"}}},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Error(diff)
	}
}

// The oldest protocols have neither exit codes nor Statuses.
func TestOldProtocols(t *testing.T) {
	url, _ := serve(t, Options{Stdout: true, Doing: "testing", Run: func(_ context.Context, streams remotecommand.StreamOptions) error {
		_, _ = io.WriteString(streams.Stdout, "hi")
		return errors.New("it broke")
	}})
	for protocol, want := range map[string]map[byte]string{
		"channel.k8s.io":        {1: "hi", 3: "Internal error occurred: error testing: it broke"},
		"base64.channel.k8s.io": {'1': "aGk=", '3': "SW50ZXJuYWwgZXJyb3Igb2NjdXJyZWQ6IGVycm9yIHRlc3Rpbmc6IGl0IGJyb2tl"},
	} {
		if diff := cmp.Diff(want, messages(dial(t, url, protocol))); diff != "" {
			t.Errorf("%s: %s", protocol, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	url, ended := serve(t, Options{Run: upper})
	response, err := http.Get(url) // the server still responds
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := <-ended; !errors.Is(err, ErrNoUpgrade) {
		t.Errorf("without an upgrade: %v", err)
	}
	_, response, err = (&websocket.Dialer{Subprotocols: []string{"v4.channel.k8s.io"}}).DialContext(t.Context(), strings.Replace(url, "http", "ws", 1), nil)
	if err == nil || response == nil || response.StatusCode != http.StatusBadRequest {
		t.Fatalf("without streams: %v, %v", response, err)
	}
	text, _ := io.ReadAll(response.Body)
	if string(text) != "you must specify at least 1 of stdin, stdout, stderr\n" {
		t.Errorf("without streams: %q", text)
	}
}

// A process ends when its client disconnects, even if it reads none of its input.
func TestClientGoes(t *testing.T) {
	started := make(chan struct{}, 1)
	url, ended := serve(t, Options{Stdin: true, Stdout: true, Run: func(ctx context.Context, _ remotecommand.StreamOptions) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}})
	conn := dial(t, url, "v5.channel.k8s.io")
	<-started
	_ = conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Unread terminal sizes do not block the input.
func TestSizesDoNotBlock(t *testing.T) {
	url, _ := serve(t, Options{Stdin: true, Stdout: true, TTY: true, Run: func(_ context.Context, streams remotecommand.StreamOptions) error {
		line := make([]byte, 5)
		_, err := io.ReadFull(streams.Stdin, line)
		_, _ = fmt.Fprintf(streams.Stdout, "%s %d", line, streams.TerminalSizeQueue.Next().Width)
		return err
	}})
	conn := dial(t, url, "v4.channel.k8s.io")
	for _, message := range []string{"\x04{\"Width\":1,\"Height\":1}", "\x04{\"Width\":2,\"Height\":2}", "\x04{\"Width\":3,\"Height\":3}", "\x00hello"} {
		if err := conn.WriteMessage(websocket.BinaryMessage, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	if got := messages(conn)[1]; !strings.HasPrefix(got, "hello ") {
		t.Errorf("got %q", got)
	}
}

// No client message breaks the server.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("\x00hello"), []byte("\x04{\"Width\":"), true)
	f.Add([]byte("\xff\x00"), []byte("\xff\x09"), true)
	f.Add([]byte(""), []byte("\x09x"), false)
	f.Fuzz(func(t *testing.T, one, two []byte, binary bool) {
		url, ended := serve(t, Options{Stdin: true, Stdout: true, TTY: true, Run: func(ctx context.Context, streams remotecommand.StreamOptions) error {
			go func() {
				for streams.TerminalSizeQueue.Next() != nil {
					continue
				}
			}()
			_, err := io.Copy(streams.Stdout, streams.Stdin)
			return err
		}})
		protocol, kind := "v5.channel.k8s.io", websocket.BinaryMessage
		if !binary {
			protocol, kind = "base64.channel.k8s.io", websocket.TextMessage
		}
		conn := dial(t, url, protocol)
		for _, message := range [][]byte{one, two} {
			if conn.WriteMessage(kind, message) != nil {
				break
			}
		}
		_ = conn.Close()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
