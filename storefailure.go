package minikcm

import (
	"fmt"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// StoreFailedError is the error of a cluster that stopped because its store failed: the
// disk is full or failed, or another program changed its files. All acknowledged writes
// are in the data directory, if there is one.
type StoreFailedError struct {
	// DataDir is empty for an ephemeral cluster.
	DataDir string
	Err     error
}

func (e *StoreFailedError) Error() string {
	if e.DataDir == "" {
		return fmt.Sprintf("the store failed: %v; the cluster was ephemeral and is gone (its files were in the directory for temporary files, $TMPDIR)", e.Err)
	}
	return fmt.Sprintf("the store in %s failed: %v; nothing that was acknowledged is lost: once the disk has room and works, start again with the same data directory", e.DataDir, e.Err)
}

func (e *StoreFailedError) Unwrap() error { return e.Err }

// brokenPatience limits the start and the end of a cluster whose store has failed, in real
// time.
const brokenPatience = 10 * time.Second

// unlessBroken calls call and returns what it returns. If the store fails and call does not
// return within brokenPatience, unlessBroken returns the failure and leaves call behind:
// a goroutine of etcd that ends in its fatal log line keeps the locks that it holds.
//
//	commit of etcd's backend  locks readTx, writes to a full disk, logs a fatal line, ends
//	apiserver.New             asks for the newest revision, which waits for readTx
//	Start                     waits for apiserver.New
func (c *Cluster) unlessBroken(call func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	select {
	case err := <-ended:
		return err
	case <-c.broken:
	}
	patience := clock.Real().NewTimer(brokenPatience)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-patience.C():
		return c.failure
	}
}

// watchStore stops the cluster when its store breaks. It watches until Close returns: a store
// may also break while the cluster is closed, and c.close may then wait for it forever.
func (c *Cluster) watchStore(s *store.Embedded) {
	c.watching.Go(func() {
		select {
		case <-s.Failed():
			c.stopped(&StoreFailedError{DataDir: c.opts.Storage.DataDir, Err: s.Failure()})
			close(c.broken)
		case <-c.closed:
		}
	})
}
