package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"k8s.io/klog/v2"
)

// ServerOptions configure StartServer.
type ServerOptions struct {
	// DataDir is the data directory, in etcd's layout.
	DataDir string
	// ClientURLs are the addresses to listen on. AdvertiseURLs are the URLs in the list of members,
	// which clients read; empty means ClientURLs.
	ClientURLs, AdvertiseURLs []url.URL
	// CertFile and KeyFile (PEM) are the certificate of https addresses. With TrustedCAFile,
	// clients need a certificate of one of its authorities.
	CertFile, KeyFile, TrustedCAFile string
	// NoFsync acknowledges writes before they are on the disk.
	NoFsync bool
	// QuotaBytes limits the size of the database; 0 means 8 GiB.
	QuotaBytes int64
	// Logger receives etcd's log messages at level warning and above. The zero value
	// discards them.
	Logger klog.Logger
}

// Server is an etcd server of one member that serves etcd's API, and /health, to other
// processes.
type Server struct{ embedded *Embedded }

// StartServer starts an etcd server and returns once it accepts writes. A data directory that
// another store or server uses is an InUseError, and a damaged one is not changed.
func StartServer(ctx context.Context, opts ServerOptions) (*Server, error) {
	s := &Server{&Embedded{failure: newFailure()}}
	if err := s.open(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context, opts ServerOptions) error {
	if opts.DataDir == "" || len(opts.ClientURLs) == 0 {
		return errors.New("an etcd server needs a data directory and an address to listen on")
	}
	dir, err := s.embedded.takeDir(opts.DataDir)
	if err != nil {
		return err
	}
	cfg := etcdConfig(dir, EmbeddedOptions{DataDir: dir, QuotaBytes: opts.QuotaBytes, Logger: opts.Logger}, s.embedded.failure)
	cfg.UnsafeNoFsync = opts.NoFsync
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = opts.ClientURLs, opts.AdvertiseURLs
	if len(cfg.AdvertiseClientUrls) == 0 {
		cfg.AdvertiseClientUrls = opts.ClientURLs
	}
	cfg.ClientTLSInfo = transport.TLSInfo{
		CertFile: opts.CertFile, KeyFile: opts.KeyFile, TrustedCAFile: opts.TrustedCAFile, ClientCertAuth: opts.TrustedCAFile != "",
	}
	etcd, err := startReplicated(ctx, cfg, s.embedded.failure)
	if etcd != nil {
		s.embedded.engine = etcd
	}
	if err != nil {
		return fmt.Errorf("starting etcd on %s at %s: %w%s", dir, joinURLs(opts.ClientURLs), err, noRoom(dir))
	}
	return nil
}

func joinURLs(urls []url.URL) string {
	var texts []string
	for _, u := range urls {
		texts = append(texts, u.String())
	}
	return strings.Join(texts, ", ")
}

// Failed is closed when the server has failed for good; Failure then returns the error.
func (s *Server) Failed() <-chan struct{} { return s.embedded.Failed() }

// Failure returns why the server has failed, or nil if it has not.
func (s *Server) Failure() error { return s.embedded.Failure() }

// Close stops the server and waits for the requests that it serves, for some seconds.
func (s *Server) Close() error { return s.embedded.Close() }
