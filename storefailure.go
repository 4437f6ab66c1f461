package minikcm

import (
	"fmt"

	"minikcm.dev/minikcm/store"
)

// StoreFailedError is why a cluster stopped whose store broke for good: the disk is
// full or failed, or files were changed beneath it. What the cluster acknowledged is
// in the data directory, if it has one.
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

// watchStore stops the cluster when its store breaks.
func (c *Cluster) watchStore(s *store.Embedded) {
	c.parts.Go(func() {
		select {
		case <-s.Failed():
			c.stopped(&StoreFailedError{DataDir: c.opts.DataDir, Err: s.Failure()})
		case <-c.closing:
		}
	})
}
