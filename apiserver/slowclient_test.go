package apiserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// smallBuffer is the amount of data that a slow client's socket accepts before the
// server blocks.
const smallBuffer = 64 << 10

// dialSlow opens an HTTP/1.1 connection with a small receive buffer.
func dialSlow(t testing.TB, h *harness) *tls.Conn {
	t.Helper()
	cfg := overHTTP1().config(h)
	config, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(h.ctx, "tcp", strings.TrimPrefix(cfg.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(smallBuffer); err != nil {
		t.Fatal(err)
	}
	config.ServerName = "127.0.0.1"
	secured := tls.Client(conn, config)
	t.Cleanup(func() { _ = conn.Close() })
	return secured
}

func say(t testing.TB, conn io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// answer reads a response's headers and returns its code and body.
func answer(t testing.TB, conn io.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return resp
}

// A client that does not read a long list is disconnected, and does not delay others
// meanwhile.
func TestStalledListIsCutOff(t *testing.T) {
	for name, stalled := range map[string]func(t *testing.T, h *harness) io.Reader{
		"http1": func(t *testing.T, h *harness) io.Reader {
			conn := dialSlow(t, h)
			say(t, conn, "GET /api/v1/configmaps HTTP/1.1\r\nHost: x\r\n\r\n")
			return answer(t, conn).Body
		},
		"compressed": func(t *testing.T, h *harness) io.Reader {
			conn := dialSlow(t, h)
			say(t, conn, "GET /api/v1/configmaps HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
			return answer(t, conn).Body
		},
		"https": func(t *testing.T, h *harness) io.Reader {
			return h.open(h.ctx, overHTTPS().config(h), "GET", "/api/v1/configmaps", "", "Accept-Encoding", "identity").Body
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			h.stall = time.Second // the other client may be late too
			floodWith(t, h, name == "compressed")
			body := stalled(t, h)
			if _, err := h.client(overHTTPS().config(h)).CoreV1().ConfigMaps("default").Get(h.ctx, "big0", metav1.GetOptions{}); err != nil {
				t.Errorf("another client: %v", err)
			}
			h.idle() // the request is not being served any more
			n, err := io.Copy(io.Discard, body)
			if err == nil {
				t.Errorf("the list has ended as if all of it, %d bytes, had been sent", n)
			}
		})
	}
}

// floodWith writes 32 MB, which are incompressible if random is set.
func floodWith(t *testing.T, h *harness, random bool) {
	t.Helper()
	if !random {
		flood(t, h)
		return
	}
	floodRandom(t, h, 64)
}

// floodRandom writes n incompressible objects of 500 kB.
func floodRandom(t *testing.T, h *harness, n int) {
	t.Helper()
	maps := h.client().CoreV1().ConfigMaps("default")
	chance := clock.NewRandom(1)
	for i := range n {
		var text strings.Builder
		for text.Len() < 500_000 {
			fmt.Fprintf(&text, "%x", chance.Uint64())
		}
		must(maps.Create(h.ctx, configMap(fmt.Sprintf("big%d", i), "k", text.String()), metav1.CreateOptions{}))(t)
	}
}

const slowObject = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"slow"},"data":{"a":"b"}}`

func post(length int) string {
	return fmt.Sprintf("POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
}

// A client that stops sending its body gets a response and is disconnected; a client
// that sends slowly is served.
func TestSlowBody(t *testing.T) {
	h := start(t)
	h.stall = 300 * time.Millisecond
	stopped := dialSlow(t, h)
	say(t, stopped, post(len(slowObject))+slowObject[:20])
	resp := answer(t, stopped)
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("the answer to half a body is %d, %v: %s", resp.StatusCode, err, body)
	}
	if n, err := stopped.Read(make([]byte, 1)); err == nil {
		t.Errorf("the connection is open, and sends %d bytes more", n)
	}
	if _, err := h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "slow", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("half a body has made an object: %v", err)
	}

	slow := dialSlow(t, h)
	say(t, slow, post(len(slowObject)))
	for i := range len(slowObject) {
		say(t, slow, slowObject[i:i+1])
	}
	if resp := answer(t, slow); resp.StatusCode != http.StatusCreated {
		t.Errorf("the answer to a body that came byte by byte is %d", resp.StatusCode)
	}
	// The connection can still be used.
	say(t, slow, "GET /api/v1/namespaces/default/configmaps/slow HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp := answer(t, slow); resp.StatusCode != http.StatusOK {
		t.Errorf("the next answer is %d", resp.StatusCode)
	}
	h.idle()
}

// A truncated body creates nothing, even if it contains a complete object.
func TestTruncatedBody(t *testing.T) {
	h := start(t)
	for name, sent := range map[string]string{
		"half":  post(len(slowObject)) + slowObject[:20],
		"whole": post(len(slowObject)+10) + slowObject,
		"chunk": strings.Replace(post(0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) + fmt.Sprintf("%x\r\n%s\r\n", len(slowObject), slowObject),
	} {
		t.Run(name, func(t *testing.T) {
			conn := dialSlow(t, h)
			say(t, conn, sent)
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && resp.StatusCode != http.StatusBadRequest {
				t.Errorf("the answer is %d", resp.StatusCode)
			}
			h.idle()
			if _, err := h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "slow", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the object exists: %v", err)
			}
		})
	}
}

// When a client closes its half of the connection, its watch ends.
func TestHalfClosedWatch(t *testing.T) {
	h := start(t)
	conn := dialSlow(t, h)
	say(t, conn, "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n")
	resp := answer(t, conn)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %d", resp.StatusCode)
	}
	if err := conn.NetConn().(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, resp.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) || h.ctx.Err() != nil {
		t.Errorf("the watch goes on: %v", err)
	}
}

// TestManySlowWatchers has 500 clients that do not read their watches, over sockets and
// in the process, while 1,000 objects are written. Writers and a reading watcher are
// served; the others are disconnected. TestSlowWatchesAreBounded checks their memory.
func TestManySlowWatchers(t *testing.T) {
	const watchers, writes, valueSize = 500, 1000, 2000
	for name, open := range map[string]func(ctx context.Context, t *testing.T, h *harness){
		"sockets": func(_ context.Context, t *testing.T, h *harness) {
			conn := dialSlow(t, h)
			say(t, conn, "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n")
			if resp := answer(t, conn); resp.StatusCode != http.StatusOK {
				t.Fatalf("the answer to a watch is %d", resp.StatusCode)
			}
		},
		"memory": func(ctx context.Context, t *testing.T, h *harness) {
			h.open(ctx, inMemory().config(h), "GET", "/api/v1/configmaps?watch=true", "") // never read; ctx ends it
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			h.stall = 5 * time.Second // the reading watcher may be late too
			ctx, cancel := context.WithCancel(h.ctx)
			defer cancel()
			h.https()
			var opening sync.WaitGroup
			limit := make(chan struct{}, 16)
			for range watchers {
				limit <- struct{}{}
				opening.Go(func() {
					defer func() { <-limit }()
					open(ctx, t, h)
				})
			}
			opening.Wait()
			good := must(h.client(overHTTPS().config(h)).CoreV1().ConfigMaps("default").Watch(h.ctx, metav1.ListOptions{}))(t)
			defer good.Stop()
			var writing sync.WaitGroup
			defer writing.Wait()
			writing.Go(func() { writeMaps(t, h, writes, valueSize) })
			for range writes {
				h.next(t, good)
			}
			if name == "memory" {
				return
			}
			for !strings.HasSuffix(metricLine(h, "apiserver_longrunning_requests{"), "} 0") {
				if h.ctx.Err() != nil {
					t.Fatal("slow watches are still served")
				}
			}
		})
	}
}

// writeMaps creates n ConfigMaps with a value of that many bytes.
func writeMaps(t *testing.T, h *harness, n, size int) {
	t.Helper()
	maps := h.client().CoreV1().ConfigMaps("default")
	value := strings.Repeat("x", size)
	for i := range n {
		if _, err := maps.Create(h.ctx, configMap(fmt.Sprintf("c%d", i), "k", value), metav1.CreateOptions{}); err != nil {
			t.Errorf("writing: %v", err)
			return
		}
	}
}

// stalledWriter is the response of a client that reads nothing: the first write after the
// header blocks until the client disconnects.
type stalledWriter struct {
	header http.Header
	gone   <-chan struct{}
	// pending gets the length of the write that blocks: what the server holds for the
	// client beside the events, which all watchers share.
	pending chan<- int
}

func (w *stalledWriter) Header() http.Header { return w.header }
func (w *stalledWriter) WriteHeader(int)     {}
func (w *stalledWriter) Flush()              {}

func (w *stalledWriter) Write(p []byte) (int, error) {
	select {
	case w.pending <- len(p):
	case <-w.gone:
	}
	<-w.gone
	return 0, io.ErrClosedPipe
}

// TestSlowWatchesAreBounded counts the bytes that the server holds for the watchers that
// read nothing while 2 MB are written: one chunk each, however much is waiting. (What a
// pipe or a socket buffers in addition is tested in packages transport and slowclient.)
func TestSlowWatchesAreBounded(t *testing.T) {
	const (
		watchers, writes, valueSize = 50, 1000, 2000
		most                        = 64<<10 + 4<<10 // a chunk, which ends with an event
	)
	h := start(t)
	ctx, cancel := context.WithCancel(auth.WithUser(h.ctx, &auth.User{Name: "tester", Groups: []string{auth.GroupMasters, auth.GroupAuthenticated}}))
	pending := make(chan int, watchers)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	// The objects exist before the watches: the first batch of each is all of them.
	writeMaps(t, h, writes, valueSize)
	for range watchers {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/configmaps?watch=true&resourceVersion=0", nil)
		w := &stalledWriter{header: http.Header{}, gone: ctx.Done(), pending: pending}
		watching.Go(func() { h.server.Handler().ServeHTTP(w, r) })
	}
	for range watchers {
		select {
		case n := <-pending:
			if n == 0 || n > most {
				t.Errorf("%d bytes are held for a watcher, at most %d may be", n, most)
			}
		case <-h.ctx.Done():
			t.Fatal("a watcher gets nothing")
		}
	}
}

// Clients that do not read a long list hold pieces of it in memory, not the whole.
func TestStalledListsHoldLittle(t *testing.T) {
	const (
		objects    = 24 // 12 MB
		clients    = 12
		heldByEach = 4 << 20 // a piece, and the buffers of a connection and a compressor
	)
	for name, accept := range map[string]string{
		"plain": "application/json", "compressed": "application/json\r\nAccept-Encoding: gzip", "indented": "application/json;pretty=1",
		"table": "application/json;as=Table;v=v1;g=meta.k8s.io", "protobuf": "application/vnd.kubernetes.protobuf",
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			floodRandom(t, h, objects)
			before := liveHeap()
			for range clients {
				conn := dialSlow(t, h)
				say(t, conn, "GET /api/v1/configmaps?includeObject=Object HTTP/1.1\r\nHost: x\r\nAccept: "+accept+"\r\n\r\n")
				defer answer(t, conn).Body.Close()
			}
			if held := liveHeap() - before; held > clients*heldByEach {
				t.Errorf("%d stalled lists hold %d MB", clients, held>>20)
			}
		})
	}
}

// liveHeap returns the bytes of the heap that are reachable.
func liveHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
