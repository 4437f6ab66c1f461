package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Etcd is a store on an etcd cluster, reached through its client. All reads are
// linearizable.
type Etcd struct {
	client *clientv3.Client
	// kv is client's KV service, below the layer of clientv3 that would copy each value
	// twice.
	kv pb.KVClient

	ended sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	watches map[*etcdWatch]context.CancelFunc
	opened  int64 // number of watches opened so far
}

func newEtcd(client *clientv3.Client) *Etcd {
	return &Etcd{client: client, kv: clientv3.RetryKVClient(client), watches: map[*etcdWatch]context.CancelFunc{}}
}

// Get implements Store.
func (s *Etcd) Get(ctx context.Context, key string, revision int64) (*KeyValue, error) {
	response, err := s.read(ctx, &pb.RangeRequest{Key: []byte(key), Revision: revision})
	if err != nil {
		return nil, fmt.Errorf("getting %q: %w", key, err)
	}
	if len(response.Kvs) == 0 {
		return nil, fmt.Errorf("getting %q: %w", key, ErrNotFound)
	}
	kv := fromProto(response.Kvs[0])
	return &kv, nil
}

// List implements Store.
func (s *Etcd) List(ctx context.Context, prefix string, opts ListOptions) (*ListResult, error) {
	start, end := wireRange(prefix, opts.From)
	response, err := s.read(ctx, &pb.RangeRequest{
		Key: start, RangeEnd: end, Revision: opts.Revision, Limit: opts.Limit, KeysOnly: opts.KeysOnly,
	})
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", prefix, err)
	}
	list := &ListResult{Revision: response.Header.Revision, Count: response.Count}
	if opts.Revision > 0 {
		list.Revision = opts.Revision
	}
	list.KeyValues = make([]KeyValue, len(response.Kvs))
	for i, kv := range response.Kvs {
		list.KeyValues[i] = fromProto(kv)
	}
	return list, nil
}

func (s *Etcd) read(ctx context.Context, request *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	response, err := s.kv.Range(ctx, request)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return response, nil
}

// Put implements Store.
func (s *Etcd) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	revision, err := s.write(ctx, &change{kind: Put, key: key, value: value, expected: expected})
	if err != nil {
		return 0, fmt.Errorf("putting %q: %w", key, err)
	}
	return revision, nil
}

// Delete implements Store.
func (s *Etcd) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	revision, err := s.write(ctx, &change{kind: Delete, key: key, expected: expected})
	if err != nil {
		return 0, fmt.Errorf("deleting %q: %w", key, err)
	}
	return revision, nil
}

func (s *Etcd) write(ctx context.Context, c *change) (int64, error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	if err := checkKey(c.key); err != nil {
		return 0, err
	}
	c.guards = GuardsOf(ctx)
	response, err := s.kv.Txn(ctx, c.txn())
	if err != nil {
		return 0, s.failed(ctx, err)
	}
	return c.revision(response)
}

// Revision implements Store.
func (s *Etcd) Revision(ctx context.Context) (int64, error) {
	response, err := s.read(ctx, &pb.RangeRequest{Key: []byte{0}, CountOnly: true})
	if err != nil {
		return 0, fmt.Errorf("reading the newest revision: %w", err)
	}
	return response.Header.Revision, nil
}

// Compact implements Store.
func (s *Etcd) Compact(ctx context.Context, revision int64) error {
	err := s.usable()
	if err == nil {
		if _, err = s.kv.Compact(ctx, &pb.CompactionRequest{Revision: revision}); err == nil {
			return nil
		}
		err = s.failed(ctx, err)
	}
	if compacted := (*CompactedError)(nil); errors.As(err, &compacted) {
		return nil // already done
	}
	return fmt.Errorf("compacting to revision %d: %w", revision, err)
}

// Close implements Store.
func (s *Etcd) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for _, cancel := range s.watches {
		cancel()
	}
	s.mu.Unlock()
	s.ended.Wait()
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("closing etcd's client: %w", err)
	}
	return nil
}

// usable returns the reason why the store accepts no operations, or nil.
func (s *Etcd) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &UnavailableError{Err: ErrClosed}
	}
	return nil
}

// failed converts an error of the etcd client to one of the store's.
func (s *Etcd) failed(ctx context.Context, err error) error {
	if broken := s.usable(); broken != nil {
		return broken
	}
	known := rpctypes.Error(err)
	switch etcdError := (rpctypes.EtcdError{}); {
	case errors.Is(known, rpctypes.ErrCompacted):
		return &CompactedError{}
	case errors.Is(known, rpctypes.ErrFutureRev):
		return s.futureRevision(ctx)
	case errors.Is(known, rpctypes.ErrNoSpace):
		return &UnavailableError{Err: ErrNoSpace}
	case errors.Is(known, rpctypes.ErrRequestTooLarge):
		return ErrTooLarge
	case !errors.As(known, &etcdError) && status.Code(err) == codes.ResourceExhausted:
		return ErrTooLarge // above gRPC's limit: etcd did not see the request
	}
	if ctx.Err() != nil {
		// The client's error says why no member answered in time.
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return &UnavailableError{Err: known}
}

// futureRevision returns a FutureRevisionError with the newest revision, which etcd's
// error does not include.
func (s *Etcd) futureRevision(ctx context.Context) error {
	newest, err := s.Revision(ctx)
	if err != nil {
		return err
	}
	return &FutureRevisionError{Current: newest}
}
