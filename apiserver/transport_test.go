package apiserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
)

// flood writes more than all buffers on the way to a client can hold.
func flood(t testing.TB, h *harness) {
	t.Helper()
	maps := h.client().CoreV1().ConfigMaps("default")
	big := strings.Repeat("x", 500_000)
	for i := range 64 {
		must(maps.Create(h.ctx, configMap(fmt.Sprintf("big%d", i), "k", big), metav1.CreateOptions{}))(t)
	}
}

// Close returns although a client does not read its watch.
func TestCloseWithStalledWatch(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		ctx, cancel := context.WithCancel(h.ctx)
		defer cancel()
		resp := h.open(ctx, cfg, "GET", "/api/v1/configmaps?watch=true", "")
		defer resp.Body.Close() // cut off
		flood(t, h)
		closes(t, h)
	})
}

// closes fails the test unless the server closes within patience.
func closes(t testing.TB, h *harness) {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.server.Close()
	}()
	select {
	case <-closed:
	case <-h.ctx.Done():
		t.Fatal("the server does not close")
	}
}

// Close returns although a client does not read a long list, or does not send the body
// that it announced.
func TestCloseWithStalledClients(t *testing.T) {
	for _, w := range []wire{overHTTPS(), overHTTP1()} {
		t.Run(w.name, func(t *testing.T) {
			h := start(t)
			flood(t, h)
			cfg := w.config(h)
			ctx, cancel := context.WithCancel(h.ctx)
			defer cancel()
			resp := h.open(ctx, cfg, "GET", "/api/v1/configmaps", "")
			defer resp.Body.Close() // cut off
			reader, writer := io.Pipe()
			defer writer.Close() // never fails
			req, err := http.NewRequestWithContext(ctx, "POST", cfg.Host+"/api/v1/namespaces/default/configmaps", reader)
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan error, 1)
			go func() {
				resp, err := h.httpClient(cfg).Do(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				answered <- err
			}()
			if _, err := writer.Write([]byte(`{"kind":`)); err != nil {
				t.Fatal(err)
			}
			closes(t, h)
			_ = writer.CloseWithError(io.ErrUnexpectedEOF)
			<-answered
		})
	}
}

// A client that stops reading its watch is disconnected, while other watches continue.
func TestStalledWatchIsCutOff(t *testing.T) {
	for _, w := range []wire{overHTTPS(), overHTTP1()} {
		t.Run(w.name, func(t *testing.T) {
			h := start(t)
			h.stall = 50 * time.Millisecond
			cfg := w.config(h)
			ctx, cancel := context.WithCancel(h.ctx)
			defer cancel()
			stalled := h.open(ctx, cfg, "GET", "/api/v1/configmaps?watch=true", "")
			defer stalled.Body.Close() // cut off
			good := must(h.client().CoreV1().ConfigMaps("default").Watch(h.ctx, metav1.ListOptions{}))(t)
			defer good.Stop()
			go flood(t, h)
			for range 64 {
				if event := h.next(t, good); event.Type != watch.Added {
					t.Fatalf("%+v", event)
				}
			}
			// The metrics list watches of all namespaces first.
			for !strings.HasSuffix(metricLine(h, "apiserver_longrunning_requests{"), "} 0") {
				if h.ctx.Err() != nil {
					t.Fatal("the stalled watch is still served")
				}
			}
			if _, err := io.Copy(io.Discard, stalled.Body); err == nil {
				t.Fatal("the stalled watch has ended as if all had been sent")
			}
		})
	}
}

// A watch without events continues for longer than a write may stall.
func TestIdleWatchGoesOn(t *testing.T) {
	for _, w := range []wire{overHTTPS(), overHTTP1()} {
		t.Run(w.name, func(t *testing.T) {
			h := start(t)
			h.stall = 200 * time.Millisecond
			must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
			idle := h.open(h.ctx, w.config(h), "GET", "/api/v1/configmaps?watch=true&timeoutSeconds=1", "")
			defer idle.Body.Close() // read to the end
			if _, err := io.Copy(io.Discard, idle.Body); err != nil {
				t.Fatalf("the watch was cut off: %v", err)
			}
		})
	}
}

// metricLine returns the first line of /metrics with the prefix.
func metricLine(h *harness, prefix string) string {
	for line := range strings.Lines(string(h.mustSend("GET", "/metrics", "").body)) {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// Close ends every watch cleanly.
func TestCloseEndsWatches(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		var all []watch.Interface
		for range 5 {
			all = append(all, must(maps.Watch(h.ctx, metav1.ListOptions{}))(t))
		}
		resp := h.open(h.ctx, cfg, "GET", "/api/v1/configmaps?watch=true", "")
		must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
		for _, w := range all {
			h.want(t, w, watch.Added, "a")
		}
		closes(t, h)
		for _, w := range all {
			h.ended(t, w)
		}
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // the end is in flight until then
		if err != nil || strings.Count(string(data), "\n") != 1 {
			t.Fatalf("the stream's end: %v\n%s", err, data)
		}
		h.idle()
	})
}

// After Close every request is rejected with a Retry-After.
func TestAfterClose(t *testing.T) {
	h := start(t)
	h.server.Close()
	r := h.send("GET", "/api/v1/configmaps", "")
	wantReply(t, r, 503, metav1.StatusReasonServiceUnavailable, "shutting down")
	if r.header.Get("Retry-After") == "" {
		t.Fatal("no Retry-After")
	}
	wantReply(t, h.send("GET", "/api/v1/configmaps?watch=true", ""), 503, metav1.StatusReasonServiceUnavailable, "shutting down")
	h.idle()
}

// A client may disconnect at any moment: before the response, during it, by its context
// or by closing the body. Nothing leaks.
func TestClientsThatGo(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		fill(t, h, 3)
		gone, cancel := context.WithCancel(h.ctx)
		cancel()
		if _, err := h.try(gone, cfg, "GET", "/api/v1/configmaps", ""); err == nil {
			t.Fatal("a request of a client that has gone is answered")
		}
		for range 20 {
			ctx, cancel := context.WithCancel(h.ctx)
			resp := h.open(ctx, cfg, "GET", "/api/v1/configmaps?watch=true", "")
			line := bufio.NewScanner(resp.Body)
			if !line.Scan() {
				t.Fatal(line.Err())
			}
			cancel()
			// Over HTTP/1.1 the client may see the server close the connection first.
			if _, err := io.Copy(io.Discard, resp.Body); err == nil && len(cfg.NextProtos) == 0 {
				t.Fatal("a watch that was cancelled ends as if complete")
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			resp = h.open(h.ctx, cfg, "GET", "/api/v1/configmaps?watch=true", "")
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
				t.Fatal("a closed body can be read")
			}
		}
		h.idle()
	})
}

// Unread bytes of an in-memory stream are in flight: virtual time stands still.
func TestUnreadIsInFlight(t *testing.T) {
	h := start(t)
	resp := h.open(h.ctx, inMemory().config(h), "GET", "/api/v1/configmaps?watch=true", "")
	h.idle()
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	if !strings.Contains(h.ledger.String(), "watch event") {
		t.Fatalf("in flight: %s", h.ledger)
	}
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if h.ledger.Idle() {
		t.Fatal("idle although the event is only half read")
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	h.idle()
}

// Concurrent requests of every sort leak nothing (checked by the package's leak test and
// the ledger).
func TestManyClients(t *testing.T) {
	h := start(t, func(o *apiserver.Options) { o.Clock = clock.Real() })
	done := make(chan struct{})
	for i := range 32 {
		w := []wire{inMemory(), overHTTPS()}[i%2]
		cfg := w.config(h)
		client := h.client(cfg)
		go func() {
			defer func() { done <- struct{}{} }()
			ctx, cancel := context.WithCancel(h.ctx)
			defer cancel()
			maps := client.CoreV1().ConfigMaps("default")
			watcher, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: fmt.Sprintf("metadata.name=c%d", i)})
			if err != nil {
				t.Error(err)
				return
			}
			defer watcher.Stop()
			if _, err := maps.Create(ctx, configMap(fmt.Sprintf("c%d", i)), metav1.CreateOptions{}); err != nil {
				t.Error(err)
				return
			}
			h.want(t, watcher, watch.Added, fmt.Sprintf("c%d", i))
			if err := maps.Delete(ctx, fmt.Sprintf("c%d", i), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
				return
			}
			h.want(t, watcher, watch.Deleted, fmt.Sprintf("c%d", i))
		}()
	}
	for range 32 {
		<-done
	}
	h.idle()
}
