package minikcm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/kubeletsim"
)

// Loaded returns the result of loading Options.Storage.Objects; nil: there were none.
func (c *Cluster) Loaded() *LoadSummary { return c.loaded }

// validateObjects returns an error if objects would be loaded into a store that may
// already have a state.
func (o *Options) validateObjects() error {
	switch {
	case o.Storage.Objects == nil:
		return nil
	case o.Storage.Snapshot != "":
		return fmt.Errorf("a snapshot (%s) and objects to begin with were both given: choose one", o.Storage.Snapshot)
	case len(o.Sharing.Etcd.Endpoints) > 0:
		return errors.New("objects to begin with and an external etcd were both given: only a new cluster can begin with objects")
	case o.Storage.DataDir == "":
		return nil
	}
	if _, err := os.Stat(filepath.Join(etcdDir(o.Storage.DataDir), "member")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the data directory %s has a cluster already: leave out the objects to begin with, or choose another directory", o.Storage.DataDir)
	}
	return nil
}

// observes reports whether the cluster begins with the state of another one, whose pods and nodes go on
// as they were.
func (o *Options) observes() bool { return o.Storage.Objects != nil || o.Storage.Snapshot != "" }

// loadObjects loads Options.Storage.Objects, and prepares the StorageClasses of these or of
// Options.Snapshot. No controller runs yet, and virtual time stands
// still.
func (c *Cluster) loadObjects(ctx context.Context) error {
	if c.opts.Storage.Objects == nil {
		if c.opts.Storage.Snapshot == "" {
			return nil
		}
		return c.simulateStorageClasses(ctx)
	}
	loaded, err := c.opts.Storage.Objects.Load(ctx, c.Config(), dump.Options{
		Now: c.clock.Now(), Nodes: kubeletsim.NodeNames(max(c.opts.Nodes.Count, 0), c.opts.Nodes.Pools),
	})
	c.loaded = loaded
	if err != nil {
		return err
	}
	return c.simulateStorageClasses(ctx)
}

// awaitedNodes returns the nodes that waitReady waits for: the nodes of the options, and the loaded
// ones that are simulated.
func (c *Cluster) awaitedNodes() []string {
	names := c.kubelets.Nodes()
	if c.opts.shares() { // the nodes of the other processes, too
		names = kubeletsim.NodeNames(c.opts.Nodes.Count, c.opts.Nodes.Pools)
	}
	if c.loaded == nil || c.opts.Nodes.Manage != ManageAll {
		return names
	}
	for _, name := range c.loaded.Nodes {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
