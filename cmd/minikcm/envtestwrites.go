package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// writesEnv names the variable with the file, or the folder of files, that API servers of
// "minikcm envtest" save their records to.
const writesEnv = "MINIKCM_WRITES"

// writesFile returns the file for the record of this process, empty if none is wanted. In a
// folder, each process has a file of its own: suites of several packages run at the same time.
func writesFile(lookup func(string) (string, bool), port int) (string, error) {
	path, _ := lookup(writesEnv)
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return filepath.Join(path, fmt.Sprintf("%s-%d-%d.json", programAPIServer, port, os.Getpid())), nil
	case err == nil && !info.Mode().IsRegular():
		return "", fmt.Errorf("%s=%s must be a file or a folder", writesEnv, path)
	case strings.HasSuffix(path, string(filepath.Separator)):
		return "", fmt.Errorf("%s=%s: the folder does not exist", writesEnv, path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s=%s: the folder %s does not exist", writesEnv, path, filepath.Dir(path))
	}
	return path, nil
}

// recording is the record of a cluster that is saved when it ends. A nil one does nothing.
type recording struct {
	path     string
	cluster  *minikcm.Cluster
	recorder *runrecord.Recorder
}

// record begins a record of the cluster for a file.
func record(path string, cluster *minikcm.Cluster) *recording {
	if path == "" {
		return nil
	}
	options := runrecord.Options{Scenario: runrecord.Scenario{Name: programAPIServer, Seed: cluster.Seed(), Clock: "real"}}
	return &recording{path, cluster, runrecord.Start(cluster, options)}
}

// save ends the record and writes it to its file, in one step. The cluster must not be closed yet.
func (r *recording) save() error {
	if r == nil {
		return nil
	}
	run := r.recorder.Stop(runrecord.Interrupted, "the API server was stopped")
	r.addEarlier(run)
	file, err := os.CreateTemp(filepath.Dir(r.path), ".minikcm-writes-*")
	if err != nil {
		return fmt.Errorf("saving the writes (%s): %w", writesEnv, err)
	}
	err = errors.Join(run.Save(file), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), r.path)
	}
	if err != nil {
		return fmt.Errorf("saving the writes (%s): %w", writesEnv, errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// addEarlier makes the run begin with the cluster's first write. Its recorder began later:
// clients, too, may write before Start returns.
func (r *recording) addEarlier(run *runrecord.Run) {
	log := r.cluster.Writes()
	run.Writes, run.Totals.ForgottenWrites = log.Writes(nil), log.Forgotten()
	run.Totals.Writes = run.Totals.ForgottenWrites + int64(len(run.Writes))
	if len(run.Writes) == 0 || !run.Writes[0].Time.Before(run.Start) {
		return
	}
	earlier := run.Start.Sub(run.Writes[0].Time)
	run.Start, run.Cluster = run.Start.Add(-earlier), run.Cluster+earlier
	for i := range run.Events {
		run.Events[i].At += earlier
	}
}
