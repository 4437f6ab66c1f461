package hunt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program of the control plane is known by its help, and gets the flags for its parts.
func TestUpstreamParts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		help  string
		names []string
		flag  string
		err   string
	}{
		"controller manager": {
			"All controllers: job-controller, gardener, node-lifecycle-controller, deployment-controller\nDisabled-by-default controllers: gardener",
			[]string{"deployment-controller", "job-controller"},
			"--controllers=deployment-controller,job-controller", "",
		},
		"scheduler":      {"The Kubernetes scheduler\n--write-config-to string", []string{ownScheduler}, "--leader-elect=false", ""},
		"something else": {"usage: ls", nil, "", "neither a kube-controller-manager nor a kube-scheduler"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\ncat <<'END'\n"+test.help+"\nEND\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			names, flags, err := upstreamParts(t.Context(), program)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || !slices.Equal(names, test.names) || !slices.Contains(flags, test.flag) {
				t.Errorf("its parts are %v with %v (%v), want %v with %s", names, flags, err, test.names, test.flag)
			}
		})
	}
}
