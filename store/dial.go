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
	// keepAliveTime and keepAliveTimeout find a connection that died silently.
	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
	// minReconnect and maxReconnect are the pauses between attempts to connect.
	minReconnect   = 50 * time.Millisecond
	maxReconnect   = time.Second
	connectTimeout = 5 * time.Second
)

// EtcdOptions configure DialEtcd.
type EtcdOptions struct {
	// Endpoints are the URLs of the etcd members: http, https, unix or unixs.
	Endpoints []string
	// CAFile has the certificates (PEM) that the members' are verified by. Empty:
	// those of the system.
	CAFile string
	// CertFile and KeyFile (PEM) are the client certificate. Both or neither.
	CertFile, KeyFile string
	// DialTimeout is how long DialEtcd waits for a member to answer. 0 is 10 s.
	DialTimeout time.Duration
	// Logger gets what etcd's client logs, from warnings up. The zero value
	// discards it.
	Logger klog.Logger
}

// DialEtcd opens a store on an etcd cluster that runs elsewhere, 3.5 or later, and
// returns once a member has answered. Several stores, in several processes, may
// share the cluster.
func DialEtcd(ctx context.Context, opts EtcdOptions) (*Etcd, error) {
	if len(opts.Endpoints) == 0 {
		return nil, errors.New("no etcd endpoint is given")
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
		// Larger values than the server takes are its to refuse.
		MaxCallSendMsgSize: math.MaxInt32,
		// An etcd that has come back is found soon; gRPC's own pauses grow to two minutes.
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

// reach returns once a member has answered. Waiting for the connection, rather
// than trying again and again, is what gets the reason into the error.
func (s *Etcd) reach(ctx context.Context) error {
	_, err := pb.NewKVClient(s.client.ActiveConnection()).Range(ctx,
		&pb.RangeRequest{Key: []byte{0}, CountOnly: true}, grpc.WaitForReady(true))
	return err
}

// tls returns nil when nothing about TLS is given and no endpoint asks for it.
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
