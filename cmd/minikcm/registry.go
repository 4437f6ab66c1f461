package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// runningCluster is the registration of a cluster that "minikcm up" runs on this machine: a
// file in the user's home directory.
type runningCluster struct {
	PID        int       `json:"pid"`
	Kubeconfig string    `json:"kubeconfig"`
	Server     string    `json:"server"`
	Started    time.Time `json:"started"`
	DataDir    string    `json:"dataDir,omitempty"`
}

// registryDir returns the directory of the registrations, one file per cluster.
func registryDir() (string, error) {
	standard, err := defaultKubeconfig()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(standard), "clusters"), nil
}

// register adds the cluster to the registry until remove is called. Without a home directory
// it does nothing.
func (c *runningCluster) register() (remove func(), err error) {
	dir, err := registryDir()
	if err != nil {
		return func() {}, nil // a cluster needs no home directory
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
		if json.Unmarshal(data, &c) != nil || c.PID <= 0 || !isAlive(c.PID) {
			_ = os.Remove(file)
			continue
		}
		all = append(all, c)
	}
	return all, nil
}

// isAlive reports whether a process with that ID exists, of any user.
func isAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
