package minikcm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"minikcm.dev/minikcm/dump"
	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// Loaded says what became of Options.Objects; nil: there were none.
func (c *Cluster) Loaded() *dump.Summary { return c.loaded }

// validateObjects refuses to load objects into what may have a state already.
func (o *Options) validateObjects() error {
	switch {
	case o.Objects == nil:
		return nil
	case o.Snapshot != "":
		return fmt.Errorf("a snapshot (%s) and objects to begin with were both given: choose one", o.Snapshot)
	case len(o.Etcd.Endpoints) > 0:
		return errors.New("objects to begin with and an external etcd were both given: only a new cluster can begin with objects")
	case o.DataDir == "":
		return nil
	}
	if _, err := os.Stat(filepath.Join(etcdDir(o.DataDir), "member")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the data directory %s has a cluster already: leave out the objects to begin with, or choose another directory", o.DataDir)
	}
	return nil
}

// loadObjects loads the objects that the cluster begins with. Nothing acts on them yet, and
// no time passes.
func (c *Cluster) loadObjects(ctx context.Context) error {
	if c.opts.Objects == nil {
		return nil
	}
	loaded, err := c.opts.Objects.Load(ctx, c.Config(), dump.Options{
		Now: c.clock.Now(), Nodes: nodes.Names(max(c.opts.Nodes, 0), c.opts.Pools),
	})
	c.loaded = loaded
	return err
}

// awaitedNodes are the nodes that are Ready before the cluster is: those of the options, and
// those that were loaded and are simulated.
func (c *Cluster) awaitedNodes() []string {
	names := c.kubelets.Nodes()
	if c.loaded == nil || c.opts.ManageNodes != nodes.ManageAll {
		return names
	}
	for _, name := range c.loaded.Nodes {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
