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
	// DataDir is the server's data directory. Empty: a temporary directory.
	DataDir string
	// Name is the member's name, which must match an existing data directory. Empty:
	// etcd's default.
	Name string
	// QuotaBytes limits the size of the database. 0: etcd's default.
	QuotaBytes int64
	// TLS configures client connections. Nil: no TLS.
	TLS *transport.TLSInfo
}

// Etcd is an etcd server with none of minikcm's settings, except those that make it
// start fast. It can be stopped and started again with its data and at the same
// endpoint.
type Etcd struct {
	// Endpoint is a unix socket or, with TLS, a port of the loopback interface.
	Endpoint string

	t      testing.TB
	config *embed.Config
	server *embed.Etcd
}

// StartEtcd runs an etcd server until the test ends, and returns its endpoint.
func StartEtcd(t testing.TB, opts EtcdOptions) string {
	t.Helper()
	return NewEtcd(t, opts).Endpoint
}

// NewEtcd runs an etcd server until it is stopped or the test ends.
func NewEtcd(t testing.TB, opts EtcdOptions) *Etcd {
	t.Helper()
	// The path of a socket must be short; t.TempDir may return a long one.
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
	cfg.QuotaBackendBytes = opts.QuotaBytes
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e := &Etcd{t: t, config: cfg, Endpoint: client.String()}
	t.Cleanup(e.Stop)
	e.Start()
	if opts.TLS != nil {
		e.Endpoint = "https://" + e.server.Clients[0].Addr().String()
	}
	return e
}

// Start returns once the server accepts requests.
func (e *Etcd) Start() {
	e.t.Helper()
	config := *e.config
	server, err := embed.StartEtcd(&config)
	if err != nil {
		e.t.Fatalf("starting etcd: %v", err)
	}
	e.server = server
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		e.t.Fatalf("starting etcd: %v", err)
	}
}

// Stop ends the server and its connections. Clients have five seconds to end their
// watches.
func (e *Etcd) Stop() {
	if e.server != nil {
		e.server.Close()
		e.server = nil
	}
}
