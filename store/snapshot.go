package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Snapshotter is a store that can write down its whole state.
type Snapshotter interface {
	// Snapshot writes the state at one revision, which is no older than the newest
	// when it was called, in the format of "etcdctl snapshot save": a database and
	// the SHA-256 of its bytes. Others read and write meanwhile. It stops when w
	// fails.
	Snapshot(ctx context.Context, w io.Writer) error
}

// Snapshot implements Snapshotter.
func (s *Embedded) Snapshot(ctx context.Context, w io.Writer) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	defer s.inFlight.RUnlock()
	s.space.mending.RLock()
	defer s.space.mending.RUnlock()
	snapshot := s.server.Backend().Snapshot()
	hash := sha256.New()
	_, err := snapshot.WriteTo(stoppable(ctx, io.MultiWriter(w, hash)))
	if closeErr := snapshot.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		_, err = w.Write(hash.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	return nil
}

// Snapshot implements Snapshotter. The state is that of the member that answers.
func (s *Etcd) Snapshot(ctx context.Context, w io.Writer) error {
	err := s.usable()
	if err == nil {
		var response *clientv3.SnapshotResponse
		if response, err = s.client.SnapshotWithVersion(ctx); err == nil {
			_, err = io.Copy(w, response.Snapshot)
			err = errors.Join(err, response.Snapshot.Close())
		}
		if err != nil {
			err = s.failed(ctx, err)
		}
	}
	if err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	return nil
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// stoppable is a writer that fails once ctx has ended.
func stoppable(ctx context.Context, w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return w.Write(p)
	})
}
