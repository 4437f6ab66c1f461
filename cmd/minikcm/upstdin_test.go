package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A program that starts a cluster gets its kubeconfig as JSON, and takes the cluster with it
// when it ends.
func TestUpForAProgram(t *testing.T) {
	t.Parallel()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	file := filepath.Join(t.TempDir(), "cluster.json")
	p := launchReading(t, in, t.TempDir(), "run", "up", "--stop-with-stdin", "--kubeconfig", file)
	if line := p.line(); line != "export KUBECONFIG="+file {
		t.Errorf("stdout begins with %q", line)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Kind     string `json:"kind"`
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := json.Unmarshal(data, &config); err != nil || config.Kind != "Config" || len(config.Clusters) != 1 || config.Clusters[0].Cluster.Server == "" {
		t.Errorf("%v: the kubeconfig is\n%s", err, data)
	}
	if n := nodesIn(t, file); n != 1 {
		t.Errorf("there are %d nodes", n)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if code, rest := p.end(); code != 0 || rest != "" {
		t.Errorf("at the end of stdin it ends with %d: %s%s", code, rest, p.stderr.String())
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is left: %v", err)
	}
}
