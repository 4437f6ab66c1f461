package store_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// freeURL returns a URL of a port that was free.
func freeURL(t *testing.T) url.URL {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// TestServer stores a key through the server's socket, and finds it after a restart.
func TestServer(t *testing.T) {
	ctx := storetest.Context(t)
	opts := store.ServerOptions{DataDir: t.TempDir(), ClientURLs: []url.URL{freeURL(t)}, NoFsync: true}
	for round := range 2 {
		server, err := store.StartServer(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			wantHealthy(t, opts.ClientURLs[0])
			taken := opts
			taken.DataDir = t.TempDir()
			if _, err := store.StartServer(ctx, taken); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("a second server at the address: %v", err)
			}
			taken.DataDir, taken.ClientURLs = opts.DataDir, []url.URL{freeURL(t)}
			inUse := (*store.InUseError)(nil)
			if _, err := store.StartServer(ctx, taken); !errors.As(err, &inUse) {
				t.Errorf("a second server on the directory: %v", err)
			}
		}
		client, err := store.DialEtcd(ctx, store.EtcdOptions{Endpoints: []string{opts.ClientURLs[0].String()}})
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, client, fmt.Sprintf("/key-%d", round), "x", 0)
		list, err := client.List(ctx, "/", store.ListOptions{})
		if err != nil || len(list.KeyValues) != round+1 {
			t.Errorf("round %d: %v, %v", round, list, err)
		}
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	}
}

func wantHealthy(t *testing.T, at url.URL) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.JoinPath("health").String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"health":"true"`) {
		t.Errorf("/health: %d %s, %v", response.StatusCode, body, err)
	}
}
