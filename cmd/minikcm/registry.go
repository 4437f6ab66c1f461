package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/processgroup"
)

// runningCluster is the registration of a cluster that "minikcm up" runs on this machine: a
// file in the user's home directory.
type runningCluster struct {
	// Name is unique among the running clusters of a user.
	Name       string    `json:"name"`
	PID        int       `json:"pid"`
	Kubeconfig string    `json:"kubeconfig"`
	Server     string    `json:"server"`
	Started    time.Time `json:"started"`
	DataDir    string    `json:"dataDir,omitempty"`
	// Clock is as --clock: real, virtual=N or scaled=N.
	Clock string `json:"clock,omitempty"`
	// Page is the address of the live page; empty: there is none.
	Page string `json:"page,omitempty"`
	// Log is the file with the output of a cluster in the background.
	Log string `json:"log,omitempty"`
}

// isVirtual reports whether the cluster has a clock that can be paused.
func (c *runningCluster) isVirtual() bool {
	return strings.HasPrefix(c.Clock, string(clock.ModeVirtual))
}

// defaultName is the name of the first cluster without a name. Others have a number, too.
const defaultName = "default"

// freeName returns a name that no running cluster has: the wanted one, or one of the defaults if that
// is empty.
func freeName(wanted string) (string, error) {
	running, err := runningClusters()
	if err != nil {
		return cmp.Or(wanted, defaultName), nil // a cluster needs no registry
	}
	taken := map[string]*runningCluster{}
	for i := range running {
		taken[running[i].Name] = &running[i]
	}
	if wanted != "" {
		if other := taken[wanted]; other != nil {
			return "", fmt.Errorf("a cluster with the name %s runs already, at %s: stop it with \"minikcm down %s\", or choose another name", wanted, other.Server, wanted)
		}
		return wanted, nil
	}
	name := defaultName
	for n := 2; taken[name] != nil; n++ {
		name = fmt.Sprintf("%s-%d", defaultName, n)
	}
	return name, nil
}

// registryDir returns the directory of the registrations, one file per cluster.
func registryDir() (string, error) {
	dir, err := ownFolder()
	if err != nil {
		return "", fmt.Errorf("finding the home directory, in which running clusters are registered: %w", err)
	}
	return filepath.Join(dir, "clusters"), nil
}

// register adds the cluster to the registry until remove is called.
func (c *runningCluster) register() (remove func(), err error) {
	dir, err := registryDir()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("registering the cluster: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("registering the cluster: %w", err)
	}
	if _, err := runningClusters(); err != nil { // removes the files of killed processes
		return nil, err
	}
	file := filepath.Join(dir, strconv.Itoa(c.PID)+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, fmt.Errorf("registering the cluster: %w", err)
	}
	return func() {
		_ = os.Remove(file)
		_ = os.Remove(dir) // unless another cluster is registered there
	}, nil
}

// runningClusters returns the registered clusters whose processes run. It removes the
// registrations of processes that ended without doing so, such as killed ones.
func runningClusters() ([]runningCluster, error) {
	dir, err := registryDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the running clusters: %w", err)
	}
	var all []runningCluster
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has just ended
		}
		var c runningCluster
		if json.Unmarshal(data, &c) != nil || c.PID <= 0 || !processgroup.Exists(c.PID) {
			_ = os.Remove(file)
			continue
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b runningCluster) int { return cmp.Or(a.Started.Compare(b.Started), a.PID-b.PID) })
	return all, nil
}
