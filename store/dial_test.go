package store_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.uber.org/zap"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

func TestDialEtcd(t *testing.T) {
	ctx := storetest.Context(t)
	s := storetest.DialEtcd(t, store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}})
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
	if err := s.RequestProgress(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 0 || batch.Revision != revision {
		t.Errorf("got %+v", batch)
	}
}

func TestDialEtcdUnreachable(t *testing.T) {
	endpoints := []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}
	_, err := store.DialEtcd(storetest.Context(t), store.EtcdOptions{Endpoints: endpoints, DialTimeout: 200 * time.Millisecond})
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

func TestDialEtcdTLS(t *testing.T) {
	ctx, log := storetest.Context(t), zap.NewNop()
	server, err := transport.SelfCert(log, t.TempDir(), []string{"127.0.0.1:0"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	client, err := transport.SelfCert(log, t.TempDir(), []string{"127.0.0.1:0"}, 1, x509.ExtKeyUsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := storetest.StartEtcd(t, storetest.EtcdOptions{TLS: &transport.TLSInfo{
		CertFile: server.CertFile, KeyFile: server.KeyFile, TrustedCAFile: client.CertFile, ClientCertAuth: true,
	}})
	whole := store.EtcdOptions{
		Endpoints: []string{endpoint}, CAFile: server.CertFile, CertFile: client.CertFile, KeyFile: client.KeyFile,
		DialTimeout: 10 * time.Second,
	}
	s := storetest.DialEtcd(t, whole)
	if _, err := s.Put(ctx, "/a", []byte("1"), 0); err != nil {
		t.Error(err)
	}
	table := []struct {
		name   string
		change func(*store.EtcdOptions)
		want   string
	}{
		{"unknown CA", func(o *store.EtcdOptions) { o.CAFile = client.CertFile }, "certificate signed by unknown authority"},
		{"no CA", func(o *store.EtcdOptions) { o.CAFile = "" }, "certificate signed by unknown authority"},
		{"no client certificate", func(o *store.EtcdOptions) { o.CertFile, o.KeyFile = "", "" }, "https://127.0.0.1"},
		{"missing file", func(o *store.EtcdOptions) { o.CAFile += "x" }, "no such file"},
		{"certificate without key", func(o *store.EtcdOptions) { o.KeyFile = "" }, "given together"},
		{"no endpoint", func(o *store.EtcdOptions) { o.Endpoints = nil }, "no etcd endpoint"},
		{"no URL", func(o *store.EtcdOptions) { o.Endpoints = []string{"http://"} }, "http://"},
	}
	for _, test := range table {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			opts := whole
			// Long enough for a handshake on a busy machine.
			opts.DialTimeout = 5 * time.Second
			test.change(&opts)
			if _, err := store.DialEtcd(storetest.Context(t), opts); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Error(err)
			}
		})
	}
}

// TestDialEtcdGoesAway stops the server while the store is open.
func TestDialEtcdGoesAway(t *testing.T) {
	ctx := storetest.Context(t)
	var s *store.Etcd
	t.Run("while it runs", func(t *testing.T) {
		endpoint := storetest.StartEtcd(t, storetest.EtcdOptions{})
		var err error
		if s, err = store.DialEtcd(ctx, store.EtcdOptions{Endpoints: []string{endpoint}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(ctx, "/a", []byte("1"), 0); err != nil {
			t.Error(err)
		}
	})
	defer s.Close()
	unavailable := (*store.UnavailableError)(nil)
	if _, err := s.Put(ctx, "/a", []byte("2"), 0); !errors.As(err, &unavailable) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Get(ctx, "/a", 0); !errors.As(err, &unavailable) {
		t.Errorf("get: %v", err)
	}
}
