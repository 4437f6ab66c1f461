package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"minikcm.dev/minikcm/scenarios"
)

// Every tour runs to its end, and shows what its texts announce.
func TestTours(t *testing.T) {
	t.Parallel()
	all, err := scenarios.Tours()
	if err != nil {
		t.Fatal(err)
	}
	for _, tour := range all {
		name := tour.Metadata.Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"demo", name, "--no-wait"}
			if name == "watch-stream" {
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip(err)
				}
				args = append(args, "--set", fmt.Sprintf("PORT=%d", freePort(t)))
			}
			p := launch(t, t.TempDir(), "run", args...)
			if code, out := p.end(); code != 0 || !strings.Contains(out, "PASS "+name) {
				t.Errorf("it ends with %d:\n%s%s", code, out, p.stderr.String())
			}
		})
	}
}

// freePort returns a port that is free now.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// A tour says which of its programs --examples lacks, and what it has no variable for.
func TestDemoBadFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"clients", "--examples", "no such folder"}, "--examples: the tour runs clientset, and exec: "},
		{[]string{"clients", "--examples", "no such folder"}, "build it there with: go -C examples build -o 'no such folder' ./clientset"},
		{[]string{"clients", "--set", "PORT=8002"}, "PORT"},
		{[]string{"client"}, "did you mean clients?"},
		{[]string{"restclient"}, "the tour that runs the example is clients"},
	} {
		p := launch(t, t.TempDir(), "run", append([]string{"demo"}, test.args...)...)
		if code, _ := p.end(); code != 2 || !strings.Contains(p.stderr.String(), test.want) {
			t.Errorf("demo %q ends with %d: %s", test.args, code, p.stderr.String())
		}
	}
}

// The presenter's lines move a tour on or end it. Its page is served to its end.
func TestDemoWaits(t *testing.T) {
	t.Parallel()
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p := launchReading(t, in, t.TempDir(), "run", "demo", "node-dies", "--ui")
	if line := p.line(); !strings.Contains(line, "Open the live page at http://127.0.0.1:") {
		t.Errorf("it begins with %q", line)
	}
	for !strings.Contains(p.line(), "Six pods of a Deployment") {
		// The title of the tour is before that.
	}
	if _, err := keys.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(p.line(), "The machine of node-0 stops") {
		// The steps are before that.
	}
	if _, err := keys.WriteString("q\n"); err != nil {
		t.Fatal(err)
	}
	code, rest := p.end()
	if code != 0 || strings.Contains(rest, "kill node/node-0") || strings.Contains(rest, "FAIL") {
		t.Errorf("after q it ends with %d:\n%s%s", code, rest, p.stderr.String())
	}
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
}
