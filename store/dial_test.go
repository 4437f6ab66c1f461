package store_test

import (
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/store"
	"minikcm.dev/minikcm/store/storetest"
)

func dialEtcd(t testing.TB, opts store.EtcdOptions) *store.Etcd {
	t.Helper()
	s, err := store.DialEtcd(t.Context(), opts)
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

func TestDialEtcd(t *testing.T) {
	ctx := testContext(t)
	s := dialEtcd(t, store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}})
	w, err := s.Watch(ctx, "/a/", 0)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := s.Put(ctx, "/a/1", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 1 || batch.Revision != revision {
		t.Errorf("got %+v", batch)
	}
	if err := s.RequestProgress(ctx); err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 0 || batch.Revision != revision {
		t.Errorf("got %+v", batch)
	}
}

func TestDialEtcdUnreachable(t *testing.T) {
	endpoints := []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}
	_, err := store.DialEtcd(testContext(t), store.EtcdOptions{Endpoints: endpoints, DialTimeout: 200 * time.Millisecond})
	if err == nil {
		t.Fatal("no error")
	}
	for _, endpoint := range endpoints {
		if !strings.Contains(err.Error(), endpoint) {
			t.Errorf("the error does not name %s: %v", endpoint, err)
		}
	}
	t.Log(err)
}
