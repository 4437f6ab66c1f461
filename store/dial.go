package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"k8s.io/klog/v2"
)

const (
	defaultDialTimeout = 10 * time.Second
	// keepAliveTime and keepAliveTimeout detect a connection that has died silently.
	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
	// minReconnect and maxReconnect bound the delay between attempts to connect.
	minReconnect   = 50 * time.Millisecond
	maxReconnect   = 250 * time.Millisecond
	connectTimeout = 5 * time.Second
)

// EtcdOptions configure DialEtcd.
type EtcdOptions struct {
	// Endpoints are the URLs of the etcd members: http, https, unix or unixs.
	Endpoints []string
	// CAFile has the certificates (PEM) that verify the members' certificates. Empty means
	// the system's certificates.
	CAFile string
	// CertFile and KeyFile (PEM) are the client certificate and its key. Set both or
	// neither.
	CertFile, KeyFile string
	// DialTimeout limits how long DialEtcd waits for a member to answer. 0 means 10 s.
	DialTimeout time.Duration
	// Logger receives the etcd client's log messages at level warning and above. The zero
	// value discards them.
	Logger klog.Logger
}

// DialEtcd opens a store on an external etcd cluster, 3.5 or later, and returns once a
// member has answered. Several stores, in several processes, may share the cluster.
func DialEtcd(ctx context.Context, opts EtcdOptions) (*Etcd, error) {
	if len(opts.Endpoints) == 0 {
		return nil, errors.New("no etcd endpoint given")
	}
	tlsConfig, err := opts.tls()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            opts.Endpoints,
		TLS:                  tlsConfig,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		// The server limits the size of a value; the client does not.
		MaxCallSendMsgSize: math.MaxInt32,
		// Reconnect soon after etcd is back; gRPC's default backoff grows to two minutes.
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: minReconnect, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxReconnect}, MinConnectTimeout: connectTimeout,
		})},
		Logger: zap.New(&logCore{logger: opts.Logger}),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd at %s: %w", strings.Join(opts.Endpoints, ", "), err)
	}
	s := newEtcd(client)
	timeout := opts.DialTimeout
	if timeout == 0 {
		timeout = defaultDialTimeout
	}
	dialCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.reach(dialCtx); err != nil {
		err = fmt.Errorf("etcd at %s gave no answer within %v: %w", strings.Join(opts.Endpoints, ", "), timeout, err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// reach returns once a member has answered. It waits for the connection instead of
// retrying, because only the waiting call returns the reason why the connection fails.
func (s *Etcd) reach(ctx context.Context) error {
	_, err := pb.NewKVClient(s.client.ActiveConnection()).Range(ctx,
		&pb.RangeRequest{Key: []byte{0}, CountOnly: true}, grpc.WaitForReady(true))
	return err
}

// tls returns nil if no TLS option is set and no endpoint requires TLS.
func (o *EtcdOptions) tls() (*tls.Config, error) {
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("etcd's client certificate and its key must be given together")
	}
	wanted := o.CAFile != "" || o.CertFile != ""
	for _, endpoint := range o.Endpoints {
		wanted = wanted || strings.HasPrefix(endpoint, "https://") || strings.HasPrefix(endpoint, "unixs://")
	}
	if !wanted {
		return nil, nil
	}
	info := transport.TLSInfo{TrustedCAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}
	config, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the TLS files for etcd: %w", err)
	}
	return config, nil
}
