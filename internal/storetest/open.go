package storetest

import (
	"context"
	"testing"

	"minikcm.dev/minikcm/store"
)

// Context returns a context that lives until the test's other cleanups have run. It has no
// deadline: a slow disk is no failure, and a store that hangs ends at go test's own timeout,
// which prints every goroutine.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx
}

// StartEmbedded starts a store that is closed when the test ends.
func StartEmbedded(t testing.TB, opts store.EmbeddedOptions) *store.Embedded {
	t.Helper()
	s, err := store.StartEmbedded(context.Background(), opts)
	return closing(t, s, err)
}

// DialEtcd opens a store that is closed when the test ends.
func DialEtcd(t testing.TB, opts store.EtcdOptions) *store.Etcd {
	t.Helper()
	s, err := store.DialEtcd(t.Context(), opts)
	return closing(t, s, err)
}

// closing returns a store that was opened, and closes it when the test ends.
func closing[S store.Store](t testing.TB, s S, err error) S {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
