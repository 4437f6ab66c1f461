package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Snapshotter is a store that can write a snapshot of its whole state.
type Snapshotter interface {
	// Snapshot writes the state at one revision, the newest at the time of the call or
	// a later one, in the format of "etcdctl snapshot save": a database followed by the
	// SHA-256 of its bytes. Reads and writes continue meanwhile. It returns early if w
	// fails.
	Snapshot(ctx context.Context, w io.Writer) error
}

// Snapshot implements Snapshotter.
func (s *Embedded) Snapshot(ctx context.Context, w io.Writer) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	defer s.inFlight.RUnlock()
	s.space.fileMu.RLock()
	defer s.space.fileMu.RUnlock()
	snapshot := s.engine.backend().Snapshot()
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

// Snapshot implements Snapshotter. It returns the state of the member that answers.
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

// writerFunc adapts a function to io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// stoppable returns a writer that fails once ctx has ended.
func stoppable(ctx context.Context, w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return w.Write(p)
	})
}
