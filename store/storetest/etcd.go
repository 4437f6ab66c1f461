package storetest

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// EtcdOptions configure StartEtcd.
type EtcdOptions struct {
	// DataDir is where it works. Empty: a temporary directory.
	DataDir string
	// Name of the member, which a data directory that exists says. Empty: etcd's
	// default.
	Name string
	// TLS of its clients' connections. Nil: none.
	TLS *transport.TLSInfo
}

// StartEtcd runs an etcd server as a stranger would, with no settings of
// minikcm's but those that make it start fast, and returns its endpoint: a unix
// socket, or with TLS a port of the loopback interface. It ends with the test.
func StartEtcd(t testing.TB, opts EtcdOptions) string {
	t.Helper()
	// A socket's path must be short, and that of t.TempDir need not be.
	dir, err := os.MkdirTemp("", "etcd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	peer := url.URL{Scheme: "unix", Path: filepath.Join(dir, "peer")}
	client := url.URL{Scheme: "unix", Path: filepath.Join(dir, "client")}
	cfg := embed.NewConfig()
	if opts.Name != "" {
		cfg.Name = opts.Name
	}
	if opts.TLS != nil {
		client = url.URL{Scheme: "https", Host: "127.0.0.1:0"}
		cfg.ClientTLSInfo = *opts.TLS
	}
	if cfg.Dir = opts.DataDir; cfg.Dir == "" {
		cfg.Dir = filepath.Join(dir, "data")
	}
	cfg.TickMs, cfg.ElectionMs = 10, 50
	cfg.UnsafeNoFsync = true
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatalf("starting etcd: %v", err)
	}
	t.Cleanup(etcd.Close)
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		t.Fatalf("starting etcd: %v", err)
	}
	if opts.TLS != nil {
		return "https://" + etcd.Clients[0].Addr().String()
	}
	return client.String()
}
