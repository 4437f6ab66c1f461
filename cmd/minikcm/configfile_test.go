package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// upCommand returns the command "up" and its flags, which the arguments have set.
func upCommand(t *testing.T, args ...string) (*cobra.Command, *upFlags) {
	t.Helper()
	f, cmd := &upFlags{}, &cobra.Command{Use: "up"}
	f.register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd, f
}

// TestConfigFile sets flags of all kinds from a file. Those on the command line come before it.
func TestConfigFile(t *testing.T) {
	cmd, f := upCommand(t, "--seed", "7", "--pool", "name=mine")
	path := file(t, "cluster.yaml", `apiVersion: minikcm.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  nodes: [2, testdata/pools.yaml]
  seed: 9
  clock: virtual=60
  startDelay: 2s
  ui: true
  scheduler: false
  maxRequestsInflight: 5
  pool: [{name: theirs}]
  controllers: ["*", -job-controller]
  oidcRequiredClaim: {aud: a}
  oidcSigningAlgs: [RS512]
`)
	if err := applyConfigFile(cmd, path); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"name": "shop", "nodes": "2", "seed": "7", "clock": "virtual=60", "start-delay": "2s", "ui": "true", "scheduler": "false", "max-requests-inflight": "5",
		"pool": "[name=mine]", "controllers": "[*,-job-controller]", "oidc-required-claim": "[aud=a]", "oidc-signing-algs": "[RS512]",
	} {
		if got := cmd.Flags().Lookup(name).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", name, got, want)
		}
	}
	if len(f.nodes.files) != 1 {
		t.Errorf("the files of --nodes are %v", f.nodes.files)
	}
	cmd, f = upCommand(t)
	path = file(t, "cluster.yaml", "apiVersion: minikcm.dev/v1alpha1\nkind: Cluster\nspec: {pool: [{name: a, cpu: 4, label: [x=1, y=2]}, name=b]}\n")
	if err := applyConfigFile(cmd, path); err != nil || strings.Join(f.pools, " ") != "name=a,cpu=4,label=x=1,label=y=2 name=b" {
		t.Errorf("the pools are %q, %v", f.pools, err)
	}
}

// Every flag has a field of its own.
func TestConfigFileHasAllFlags(t *testing.T) {
	cmd, _ := upCommand(t)
	fields := map[string]string{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		field := fieldName(flag.Name)
		if other, taken := fields[field]; taken || flagName(field) != flag.Name {
			t.Errorf("--%s has the field %s, whose flag is --%s, as --%s", flag.Name, field, flagName(field), other)
		}
		fields[field] = flag.Name
	})
}

func TestConfigFileMistakes(t *testing.T) {
	const head = "apiVersion: minikcm.dev/v1alpha1\nkind: Cluster\n"
	for text, want := range map[string]string{
		"":                                     "is empty",
		"# nothing\n":                          "is empty",
		"a: [b\n":                              "is not YAML",
		"- a\n":                                ":1: the document is not an object",
		"kind: Cluster\nspec: {}\n":            ":1: apiVersion is missing",
		head + "---\n" + head:                  "has more than one document",
		"apiVersion: v1\nkind: Cluster\n":      `:1: apiVersion is "v1", want minikcm.dev/v1alpha1`,
		head + "specs: {}\n":                   ":3: unknown field specs; did you mean spec?",
		head + "spec: {startDelays: 2s}\n":     ":3: unknown field spec.startDelays; did you mean startDelay?",
		head + "spec: {start-delay: 2s}\n":     ":3: unknown field spec.start-delay; did you mean startDelay?",
		head + "spec: {config: a}\n":           ":3: unknown field spec.config",
		head + "spec: {seed: [1, 2]}\n":        ":3: spec.seed is a list, but has one value",
		head + "spec: {seed: x}\n":             ":3: spec.seed: ",
		head + "spec: {seed: ~}\n":             ":3: spec.seed has no value",
		head + "spec:\n  ui: true\n  ui: 1\n":  ":5: the field spec.ui occurs twice",
		head + "spec: {pool: [{a: {b: c}}]}\n": ":3: spec.pool.a is not a plain value",
		head + "spec: {a: &a [*a, *a]}\n":      "unknown field spec.a",
		head + "metadata: {names: a}\n":        ":3: unknown field metadata.names",
	} {
		cmd, _ := upCommand(t)
		if err := applyConfigFile(cmd, file(t, "c.yaml", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte("apiVersion: minikcm.dev/v1alpha1\nkind: Cluster\nspec: {nodes: 3, pool: [{name: a}]}\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		flags, cmd := &upFlags{}, &cobra.Command{Use: "up"}
		flags.register(cmd)
		c := &configFile{path: "f", flags: cmd.Flags(), given: map[string]bool{}}
		_ = c.apply(data)
	})
}
