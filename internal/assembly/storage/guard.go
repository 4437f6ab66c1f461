package storage

import (
	"fmt"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// FailedError is the error of a cluster that stopped because its store failed: the
// disk is full or failed, or another program changed its files. All acknowledged writes
// are in the data directory, if there is one.
type FailedError struct {
	// DataDir is empty for an ephemeral cluster.
	DataDir string
	Err     error
}

func (e *FailedError) Error() string {
	if e.DataDir == "" {
		return fmt.Sprintf("the store failed: %v; the cluster was ephemeral and is gone (its files were in the directory for temporary files, $TMPDIR)", e.Err)
	}
	return fmt.Sprintf("the store in %s failed: %v; nothing that was acknowledged is lost: once the disk has room and works, start again with the same data directory", e.DataDir, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// brokenPatience limits the start and the end of a cluster whose store has failed, in real
// time.
const brokenPatience = 10 * time.Second

// Guard keeps the start and the end of a cluster from waiting for a store that has failed.
type Guard struct {
	onFailure func(error)
	// failure is set when broken is closed.
	failure        error
	broken, closed chan struct{}
	watching       sync.WaitGroup
}

// NewGuard returns a guard that calls onFailure with a *FailedError when the store fails.
func NewGuard(onFailure func(error)) *Guard {
	return &Guard{onFailure: onFailure, broken: make(chan struct{}), closed: make(chan struct{})}
}

// Do calls call and returns what it returns. If the store fails and call does not return within
// brokenPatience, Do returns the failure and leaves call behind: a goroutine of etcd that ends in
// its fatal log line keeps the locks that it holds.
//
//	commit of etcd's backend  locks readTx, writes to a full disk, logs a fatal line, ends
//	apiserver.New             asks for the newest revision, which waits for readTx
//	Start                     waits for apiserver.New
func (g *Guard) Do(call func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	select {
	case err := <-ended:
		return err
	case <-g.broken:
	}
	patience := clock.Real().NewTimer(brokenPatience)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-patience.C():
		return g.failure
	}
}

// watch watches over a store until Close: it may also break while the cluster is closed, which may
// then wait for it forever.
func (g *Guard) watch(dataDir string, s *store.Embedded) {
	g.watching.Go(func() {
		select {
		case <-s.Failed():
			g.failure = &FailedError{DataDir: dataDir, Err: s.Failure()}
			g.onFailure(g.failure)
			close(g.broken)
		case <-g.closed:
		}
	})
}

// Close ends the watch. It must be called once.
func (g *Guard) Close() {
	close(g.closed)
	g.watching.Wait()
}
