package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
)

func TestImages(t *testing.T) {
	own := filepath.Join(t.TempDir(), "ours.yaml")
	text := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata:\n  image: shop:*\n  server: 'listen: [{port: 8080}, {port: 53, protocol: UDP, mode: echo}]'\n---\n"
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newImages()
		cmd.SetArgs(append([]string{}, args...)) // nil stands for the arguments of the process
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.Execute()
		return out.String(), err
	}
	var all strings.Builder
	for _, args := range [][]string{nil, {"postgres", "-o", "json"}, {"redis", "-o", "yaml"}, {"--image-catalog", own}, {"--image-catalog", "none"}} {
		out, err := run(args...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		all.WriteString("$ minikcm images " + strings.ReplaceAll(strings.Join(args, " "), own, "ours.yaml") + "\n" + out)
	}
	golden.Compare(t, "testdata/images.golden", all.String())
	for want, args := range map[string][]string{
		`the catalog has no profile "nosuch"`: {"nosuch"},
		"--output=wide: must be":              {"-o", "wide"},
		"no such file":                        {"--image-catalog", filepath.Join(t.TempDir(), "x")},
	} {
		if _, err := run(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	if err := os.WriteFile(own, []byte("kind: ConfigMap\nmetadata: {name: a}\ndata: {image: a, server: 'listen: []'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run("--image-catalog", own); err == nil || !strings.Contains(err.Error(), "profile 1 of the catalog: server is ignored: listen has no port") {
		t.Errorf("an invalid catalog: %v", err)
	}
}
